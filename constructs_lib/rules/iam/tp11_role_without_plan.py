"""A role that starts work on a plan needs the plan's resources."""

from constructs_lib.rules.authoring import App, Findings, Kind, Severity, Subject, error, rule, unverified
from constructs_lib.rules.roles import allowed
from constructs_lib.rules.uses import CONSUMERS, uses_of
from constructs_lib.rules.values import items, known_text, mapping

_KINDS = {"CreateTrainingJob": Kind.TRAINING_JOB, "CreateCluster": Kind.CLUSTER, "UpdateCluster": Kind.CLUSTER}
_RESOURCES = ("training-plan", "reserved-capacity")


@rule(
    "GPU-TP11",
    title="a caller's role without the plan's resources",
    kinds=(Kind.ROLE,),
    finds={Severity.ERROR: "a call with a plan, and the role does not allow it on training-plan or reserved-capacity"},
    why="a call with a plan is authorized on three resources; CDK's own policy for .sync tasks names the job only",
    fix="allow the action on arn:...:training-plan/* and arn:...:reserved-capacity/* as well",
    source="SageMaker guide, training-plan-iam-permissions; service-authorization reference for SageMaker",
)
def role_without_plan(subject: Subject, _app: App) -> Findings:
    """Ask for each call with a plan whether the role's statements allow it on the plan's resources."""
    for call in items(subject.about.get("Calls")):
        action = str(mapping(call).get("Action"))
        kind = _KINDS.get(action)
        if kind in CONSUMERS and uses_of(Subject(kind, mapping(mapping(call).get("Request")))):
            yield from _judge(subject, action, known_text(mapping(call).get("Path")) or "a call")


def _judge(role: Subject, action: str, where: str) -> Findings:
    for resource in _RESOURCES:
        may = allowed(role, action, resource)
        if may is None:
            yield unverified(f"whether the role allows {action} on {resource} is not known here", "Statements")
        elif not may:
            yield error(f"{action} with a plan ({where}) is not allowed on {resource}", "Statements")
