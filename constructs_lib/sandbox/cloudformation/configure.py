"""From a request to a configuration: everything that CloudFormation checks before it begins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlparse

from botocore.exceptions import ClientError

from constructs_lib.sandbox.errors import ServiceError

from . import parameters, templates
from .intrinsics import invalid, references
from .scopes import StackScope
from .stacks import Configuration

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constructs_lib.sandbox.context import Context

    from .registry import Registry
    from .scopes import Identity
    from .templates import Template

__all__ = ["configure", "needed_capabilities", "template_of"]

_NAMED_IAM = {
    "AWS::IAM::Group": "GroupName",
    "AWS::IAM::InstanceProfile": "InstanceProfileName",
    "AWS::IAM::ManagedPolicy": "ManagedPolicyName",
    "AWS::IAM::Role": "RoleName",
    "AWS::IAM::User": "UserName",
}
_REFUSED = {  # members of a request whose meaning the sandbox does not have
    "NotificationARNs": "it publishes no stack events to topics; they are on the default event bus",
    "ResourcesToImport": "it imports no resources",
    "StackPolicyBody": "it has no stack policies",
    "StackPolicyURL": "it has no stack policies",
}


def template_of(context: Context, request: Mapping[str, Any], previous: Template | None) -> Template:
    """Return the template of a request: its body, its object in S3, or the stack's own."""
    if request.get("UsePreviousTemplate"):
        if previous is None:
            raise invalid("UsePreviousTemplate is true, but the stack has no template yet")
        return previous
    if "TemplateBody" in request:
        return templates.read(request["TemplateBody"])
    if "TemplateURL" not in request:
        raise invalid("Either Template URL or Template Body must be specified.")
    bucket, key = _location(request["TemplateURL"])
    try:
        body: bytes = context.client("s3").get_object(Bucket=bucket, Key=key)["Body"].read()
    except ClientError as error:
        raise invalid(f"S3 error: {error.response['Error']['Message']} (template {request['TemplateURL']})") from None
    return templates.read(body.decode())


def _location(url: str) -> tuple[str, str]:
    """Return bucket and key of a path-style or virtual-hosted address."""
    parts = urlparse(url)
    host, path = parts.hostname or "", unquote(parts.path.lstrip("/"))
    bucket = host.split(".s3", 1)[0] if ".s3" in host and not host.startswith("s3") else ""
    if bucket:
        return bucket, path
    bucket, _, key = path.partition("/")
    if not key:
        raise invalid(f"TemplateURL must be a supported URL, not {url}")
    return bucket, key


def configure(
    types: Registry,
    identity: Identity,
    template: Template,
    request: Mapping[str, Any],
    previous: Configuration | None,
) -> Configuration:
    """Return what a stack should be by a request.

    Raises
    ------
    ServiceError
        For anything that CloudFormation refuses before it makes or changes a resource.
    """
    for member, why in _REFUSED.items():
        if request.get(member):
            raise invalid(f"the sandbox cannot honour {member}: {why}")
    if (request.get("DeploymentConfig") or {}).get("Mode") == "EXPRESS":
        raise invalid("the sandbox has no express mode: deploy without it")
    if (request.get("RollbackConfiguration") or {}).get("RollbackTriggers"):
        raise invalid("the sandbox has no rollback triggers: leave RollbackConfiguration out")
    template.check()
    types.check(template)
    _check_capabilities(template, request.get("Capabilities", []))
    values = parameters.decide(
        template,
        request.get("Parameters", []),
        previous.parameters if previous else {},
        parameters.parameter_store(identity.context.client("ssm")),
    )
    scope = StackScope(identity, template, values)
    parameters.check_rules(template, scope)
    conditions = template.decide(scope)
    resources = template.active(conditions.__getitem__)
    outputs = template.active_outputs(conditions.__getitem__)
    for part in [*(declared.properties for declared in resources.values()), outputs]:
        for name, attribute in references(part):
            if attribute and name in resources:
                types.check_attribute(template, name, attribute)
    if previous is not None:
        _check_types(previous, resources)
    tags = request.get("Tags")
    return Configuration(
        template=template,
        parameters=values,
        conditions=conditions,
        resources=resources,
        outputs=outputs,
        tags=dict(previous.tags if previous else {}) if tags is None else {t["Key"]: t["Value"] for t in tags},
    )


def _check_types(previous: Configuration, resources: Mapping[str, Any]) -> None:
    changed = [i for i, d in resources.items() if i in previous.resources and previous.resources[i].type != d.type]
    if changed:
        raise invalid(
            "Update of resource type is not permitted. The new template modifies resource type of the following"
            f" resources: [{', '.join(changed)}]"
        )


def needed_capabilities(template: Template) -> list[str]:
    """Return the capabilities a template needs to be acknowledged."""
    iam = [d for d in template.resources.values() if d["Type"].startswith("AWS::IAM::")]
    named = any(_NAMED_IAM.get(d["Type"]) in d.get("Properties", {}) for d in iam)
    return ["CAPABILITY_NAMED_IAM"] if named else ["CAPABILITY_IAM"] if iam else []


def _check_capabilities(template: Template, given: list[str]) -> None:
    for needed in needed_capabilities(template):
        if needed not in given and not (needed == "CAPABILITY_IAM" and "CAPABILITY_NAMED_IAM" in given):
            raise ServiceError("InsufficientCapabilitiesException", f"Requires capabilities : [{needed}]")
