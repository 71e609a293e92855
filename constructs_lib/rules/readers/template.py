"""CloudFormation templates as subjects: every resource that a rule knows, with its place and what is said around it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from constructs_lib.model.endpoint_names import RESERVED_ENDPOINT
from constructs_lib.rules.readers.document import Document, dotted
from constructs_lib.rules.readers.reading import Reading
from constructs_lib.rules.readers.resolver import Resolver
from constructs_lib.rules.reserved_endpoints import subjects_of
from constructs_lib.rules.subjects import Carrier, Kind, Subject

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = ["Resource", "Template", "is_template", "read_template"]

# Resource types whose properties are a subject's data as they stand.
_PLAIN = {
    "AWS::SageMaker::TrainingJob": Kind.TRAINING_JOB,
    "AWS::SageMaker::ProcessingJob": Kind.PROCESSING_JOB,
    "AWS::SageMaker::EndpointConfig": Kind.ENDPOINT_CONFIG,
    "AWS::SageMaker::Endpoint": Kind.ENDPOINT,
    "AWS::SageMaker::Cluster": Kind.CLUSTER,
    "AWS::ApplicationAutoScaling::ScalableTarget": Kind.SCALABLE_TARGET,
    "Custom::SageMakerTrainingPlan": Kind.TRAINING_PLAN,
    "Custom::EC2CapacityBlock": Kind.CAPACITY_BLOCK,
}
_CALL_HOOKS = ("Create", "Update", "Delete")


@dataclass(frozen=True, slots=True)
class Template:
    """A parsed template, the path of its resources in the file, and where it belongs."""

    document: Document
    body: Mapping[str, Any]
    resolver: Resolver
    path: tuple[str | int, ...] = ("Resources",)
    stack: str | None = None
    region: str | None = None
    account: str | None = None

    def resources(self) -> Iterator[Resource]:
        """Yield the resources whose condition does not rule them out."""
        section = self.body.get("Resources")
        for name, raw in (section if isinstance(section, dict) else {}).items():
            if not isinstance(raw, dict) or not isinstance(raw.get("Type"), str):
                continue
            condition = raw.get("Condition")
            if isinstance(condition, str) and self.resolver.condition(condition) is False:
                continue
            properties = self.resolver.resolve(raw.get("Properties", {}))
            yield Resource(self, name, raw["Type"], raw, properties if isinstance(properties, dict) else {})


@dataclass(frozen=True, slots=True)
class Resource:
    """One resource of a template, its properties resolved as far as the template determines them."""

    template: Template
    name: str
    type: str
    raw: Mapping[str, Any] = field(repr=False)
    properties: Mapping[str, Any] = field(repr=False)

    def place(self, *keys: str | int) -> tuple[str | int, ...]:
        """Return the path of something in this resource, from the top of the file."""
        return (*self.template.path, self.name, *keys)

    def subject(self, kind: Kind, data: Any, *keys: str | int, **given: Any) -> Subject:
        """Return a subject that lies at ``keys`` below this resource."""
        place = {"path": dotted(self.place(*keys)), "carrier": Carrier.TEMPLATE, **self.surroundings(), **given}
        return Subject(kind, data if isinstance(data, dict) else {}, **place)

    def surroundings(self) -> dict[str, Any]:
        """Return what every subject of this resource says about where it stands."""
        template = self.template
        return {
            "file": template.document.name,
            "resource": self.name,
            "stack": template.stack,
            "region": template.region,
            "account": template.account,
            "ignore": self._ignored(),
        }

    def refers_to(self, name: str) -> bool:
        """Tell whether anything in this resource refers to the resource ``name``."""
        stack: list[Any] = [self.raw]
        while stack:
            value = stack.pop()
            if isinstance(value, dict):
                if value.get("Ref") == name:
                    return True
                target = value.get("Fn::GetAtt")
                if (target.split(".") if isinstance(target, str) else target or [None])[0] == name:
                    return True
                stack.extend(value.values())
            elif isinstance(value, list):
                stack.extend(value)
        return False

    def _ignored(self) -> frozenset[str]:
        """Return the rule ids that the resource's own metadata acknowledges: only with a reason."""
        metadata = self.raw.get("Metadata")
        said = metadata.get("gpucap") if isinstance(metadata, dict) else None
        if not isinstance(said, dict) or not str(said.get("reason", "")).strip():
            return frozenset()
        ids = said.get("ignore")
        return frozenset(map(str, ids)) if isinstance(ids, list) else frozenset()


def is_template(data: Any) -> bool:
    """Tell whether parsed data is a CloudFormation or SAM template, or a bare map of its resources."""
    if not isinstance(data, dict):
        return False
    resources = data.get("Resources")
    if isinstance(resources, dict):
        return not resources or any(isinstance(r, dict) and "Type" in r for r in resources.values())
    # CDK writes a stack without resources as its bootstrap parameter and the rule that checks it.
    return "AWSTemplateFormatVersion" in data or {"Parameters", "Rules"} <= data.keys() or _is_resource_map(data)


def _is_resource_map(data: Any) -> bool:
    values = list(data.values()) if isinstance(data, dict) else []
    return bool(values) and all(isinstance(r, dict) and "::" in str(r.get("Type", "")) for r in values)


def read_template(
    document: Document,
    *,
    stack: str | None = None,
    region: str | None = None,
    account: str | None = None,
) -> Reading:
    """Return the subjects of a template.

    Parameters
    ----------
    document : Document
        The parsed file.
    stack, region, account : str, optional
        Of the stack that deploys it, where they are known; a cloud assembly's manifest says so.
    """
    bare = _is_resource_map(document.data)
    body = {"Resources": document.data} if bare else document.data
    pseudo = {"AWS::Region": region, "AWS::AccountId": account}
    resolver = Resolver(body, {key: value for key, value in pseudo.items() if value})
    path = () if bare else ("Resources",)
    template = Template(document, body, resolver, path, stack or document.name, region, account)
    reading = Reading()
    resources = list(template.resources())
    for resource in resources:
        if kind := _PLAIN.get(resource.type):
            reading.subjects.append(resource.subject(kind, resource.properties, "Properties", about=_about(resource)))
        elif reader := _READERS.get(resource.type):
            reader(resource, resources, reading)
    from constructs_lib.rules.readers.roles import read_roles  # noqa: PLC0415 - roles know templates

    read_roles(resources, reading)
    return reading


def _about(resource: Resource) -> dict[str, Any]:
    said = {key: resource.raw.get(key) for key in ("DeletionPolicy", "UpdateReplacePolicy")}
    said["ServiceTimeout"] = resource.properties.get("ServiceTimeout")
    return {key: value for key, value in said.items() if value is not None}


def _launch_template(resource: Resource, resources: list[Resource], reading: Reading) -> None:
    users = [
        {"Type": other.type, "Properties": other.properties}
        for other in resources
        if other is not resource and other.refers_to(resource.name)
    ]
    data = resource.properties.get("LaunchTemplateData")
    place = ("Properties", "LaunchTemplateData")
    reading.subjects.append(resource.subject(Kind.LAUNCH_TEMPLATE, data, *place, about={"Users": users}))


def _event_rule(resource: Resource, _resources: list[Resource], reading: Reading) -> None:
    if isinstance(pattern := resource.properties.get("EventPattern"), dict):
        reading.subjects.append(resource.subject(Kind.EVENT_PATTERN, pattern, "Properties", "EventPattern"))


def _reserved_endpoint(resource: Resource, resources: list[Resource], reading: Reading) -> None:
    path = dotted(resource.place("Properties"))
    models = [
        {"Name": other.name, "UpdateReplacePolicy": other.raw.get("UpdateReplacePolicy")}
        for other in resources
        if other.type == "AWS::SageMaker::Model" and resource.refers_to(other.name)
    ]
    around = resource.surroundings()
    reading.subjects.extend(subjects_of(resource.properties, path=path, models=models, **around))


def _aws_custom_resource(resource: Resource, _resources: list[Resource], reading: Reading) -> None:
    """Read CDK's AwsCustomResource: each hook is a call, written as JSON text."""
    latest = str(resource.properties.get("InstallLatestAwsSdk", "true")).lower() == "true"
    for hook in _CALL_HOOKS:
        call = _json_object(resource.properties.get(hook))
        if "service" not in call:
            continue
        data = {key.capitalize(): call.get(key) for key in ("service", "action", "parameters")}
        about = {"Via": "AwsCustomResource", "InstallLatestAwsSdk": latest}
        reading.subjects.append(resource.subject(Kind.SDK_CALL, data, "Properties", hook, about=about))


def _schedule(resource: Resource, _resources: list[Resource], reading: Reading) -> None:
    """Read a Scheduler universal target, ``arn:aws:scheduler:::aws-sdk:service:action``."""
    target = resource.properties.get("Target")
    parts = str(target.get("Arn", "")).split(":") if isinstance(target, dict) else []
    if isinstance(target, dict) and len(parts) >= 8 and parts[5] == "aws-sdk":
        data = {"Service": parts[6], "Action": parts[7], "Parameters": _json_object(target.get("Input"))}
        about = {"Via": "schedule"}
        reading.subjects.append(resource.subject(Kind.SDK_CALL, data, "Properties", "Target", about=about))


def _build_project(resource: Resource, _resources: list[Resource], reading: Reading) -> None:
    """Read the AWS CLI calls in a CodeBuild project's commands."""
    source = resource.properties.get("Source")
    text = source.get("BuildSpec") if isinstance(source, dict) else None
    words = (text if isinstance(text, str) else json.dumps(text or "")).replace("\\", " ").replace('"', " ").split()
    for at, word in enumerate(words[:-2]):
        if word == "aws":
            data = {"Service": words[at + 1], "Action": _camel(words[at + 2]), "Parameters": {}}
            place = ("Properties", "Source", "BuildSpec")
            reading.subjects.append(resource.subject(Kind.SDK_CALL, data, *place, about={"Via": "command"}))


def _state_machine(resource: Resource, resources: list[Resource], reading: Reading) -> None:
    from constructs_lib.rules.readers.states import read_machine_resource  # noqa: PLC0415 - states know templates

    read_machine_resource(resource, resources, reading)


def _pipeline(resource: Resource, _resources: list[Resource], reading: Reading) -> None:
    from constructs_lib.rules.readers.pipelines import read_pipeline_resource  # noqa: PLC0415

    read_pipeline_resource(resource, reading)


def _camel(command: str) -> str:
    first, *rest = command.split("-")
    return first + "".join(word.capitalize() for word in rest)


def _json_object(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    try:
        found = json.loads(value) if isinstance(value, str) else {}
    except json.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}


_READERS: dict[str, Callable[[Resource, list[Resource], Reading], None]] = {
    "AWS::EC2::LaunchTemplate": _launch_template,
    "AWS::Events::Rule": _event_rule,
    "Custom::AWS": _aws_custom_resource,
    RESERVED_ENDPOINT: _reserved_endpoint,
    "AWS::Scheduler::Schedule": _schedule,
    "AWS::CodeBuild::Project": _build_project,
    "AWS::StepFunctions::StateMachine": _state_machine,
    "AWS::Serverless::StateMachine": _state_machine,
    "AWS::SageMaker::Pipeline": _pipeline,
}
