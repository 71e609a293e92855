"""A role that starts work on a plan needs the plan's resources."""

from typing import Any

from constructs_lib.rules.authoring import App, Findings, Kind, Severity, Subject, error, rule, unverified
from constructs_lib.rules.policies.evaluator import Policies, Request, Verdict, evaluate
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
    document: dict[str, Any] = {"Version": "2012-10-17", "Statement": list(items(role.data.get("Statements")))}
    for resource in _RESOURCES:
        asked = Request(action=f"sagemaker:{action}", resource=f"arn:aws:sagemaker:us-east-1:111122223333:{resource}/x")
        verdict = (
            evaluate(asked, Policies(identity=(document,))).verdict if document["Statement"] else Verdict.NOT_ALLOWED
        )
        if verdict is Verdict.UNVERIFIED or (verdict.is_refusal and role.data.get("Complete") is not True):
            yield unverified(f"whether the role allows {action} on {resource} is not known here", "Statements")
        elif verdict.is_refusal:
            yield error(
                f"{where} calls {action} with a plan, and the role does not allow it on {resource}", "Statements"
            )
