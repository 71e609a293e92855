"""CreateEndpoint and UpdateEndpoint need both of their resources."""

from constructs_lib.facts import iam
from constructs_lib.model.wildcards import matches
from constructs_lib.rules.authoring import App, Findings, Kind, Severity, Subject, error, rule, unverified
from constructs_lib.rules.iam._common import actions_of
from constructs_lib.rules.policies.documents import Statement
from constructs_lib.rules.values import UNKNOWN, text

ACTIONS = ("sagemaker:CreateEndpoint", "sagemaker:UpdateEndpoint")


@rule(
    "GPU-IAM10",
    title="an endpoint action allowed on one of its two resources",
    kinds=(Kind.IAM_DOCUMENT,),
    finds={Severity.ERROR: "CreateEndpoint or UpdateEndpoint on only one of endpoint and endpoint-config"},
    why="the call is authorized on the endpoint and on its configuration; with one of them it is refused",
    fix="allow the action on endpoint/* and on endpoint-config/* (or on your names of both)",
    source="service-authorization reference: CreateEndpoint and UpdateEndpoint, required resources",
)
def endpoint_resources(subject: Subject, _app: App) -> Findings:
    """Collect what the document's Allows give each action."""
    for action in ACTIONS:
        giving = [one for one, named in actions_of(subject) if one.effect == "Allow" and action in (named or ())]
        if not giving or any(one.not_resources for one in giving):
            continue
        patterns = [text(resource) for one in giving for resource in one.resources]
        missing = [kind for kind in iam.actions()[action].resources if not any(_covers(p, kind) for p in patterns)]
        if None in patterns or any(_unknown(pattern) for pattern in patterns):
            yield unverified(f"the resources of {action} are not known here", _at(giving[0]))
        elif missing and len(missing) < len(iam.actions()[action].resources):
            yield error(f"{action} is allowed, but on no {missing[0]}", _at(giving[0]))


def _at(statement: Statement) -> str:
    return f"{statement.path}.Resource"


def _covers(pattern: str | None, kind: str) -> bool:
    resource = (pattern or "").split(":", 5)[-1]
    wanted = resource.partition("/")[0]
    return resource == "*" or matches(wanted, kind)


def _unknown(pattern: str | None) -> bool:
    """Whether not even the resource's kind is known."""
    return UNKNOWN in (pattern or UNKNOWN).split(":", 5)[-1].partition("/")[0]
