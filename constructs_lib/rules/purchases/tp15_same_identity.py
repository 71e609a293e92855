"""One purchase, one identity."""

from constructs_lib.rules.authoring import (
    App,
    Findings,
    Kind,
    Severity,
    Subject,
    error,
    is_unresolved,
    rule,
    unverified,
)
from constructs_lib.rules.buying import is_ours
from constructs_lib.rules.known_plans import bought_name


@rule(
    "GPU-TP15",
    title="two purchases of one identity",
    kinds=(Kind.TRAINING_PLAN,),
    finds={
        Severity.ERROR: "equal TrainingPlanName whatever the generation, or equal plan names, in one account and region"
    },
    why="both resources would take the one plan for their own: what one asks for is never bought, or is bought twice",
    fix="give each purchase its own training_plan_name; raise generation in the one resource to buy again",
    source="botocore: CreateTrainingPlanRequest.TrainingPlanName, the API's only guard against a second purchase",
)
def same_identity(subject: Subject, app: App) -> Findings:
    """Compare with the purchases before this one."""
    name, at = subject.data.get("TrainingPlanName"), "TrainingPlanName"
    others = [other for other in app.of(Kind.TRAINING_PLAN) if is_ours(other)]
    if not is_ours(subject) or len(others) < 2:
        return
    if is_unresolved(name) or bought_name(subject) is None:
        yield unverified("the plan's name is not known here; no two purchases may share one", at)
        return
    for other in others[: others.index(subject)]:
        if name != other.data.get("TrainingPlanName") and bought_name(subject) != bought_name(other):
            continue
        known = [_place(subject), _place(other)]
        label = f"{other.resource or 'another purchase'} in stack {other.stack or 'unnamed'}"
        if None in known and subject.stack != other.stack:
            yield unverified(f"plan {bought_name(other)!r} is bought by {label} too; whether here is not known", at)
        elif known[0] == known[1]:
            yield error(f"plan {bought_name(other)!r} is already bought by {label}", at)


def _place(subject: Subject) -> tuple[str, str] | None:
    """Return account and region, or None if either is open."""
    return (subject.account, subject.region) if subject.account and subject.region else None
