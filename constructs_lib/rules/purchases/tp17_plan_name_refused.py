"""A plan's name must be one that the API takes."""

from constructs_lib.model import InvalidInputError
from constructs_lib.model.plan_names import plan_name
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
from constructs_lib.rules.values import number


@rule(
    "GPU-TP17",
    title="a plan name or generation that the API refuses",
    kinds=(Kind.TRAINING_PLAN,),
    finds={
        Severity.ERROR: "a name of other characters, above 64 with the generation's suffix, or a generation below 1"
    },
    why="the purchase is refused at deploy; a name is the only guard against a second purchase and never changes",
    fix="choose a short name of letters, digits and inner hyphens, and leave room for -2, -3 and so on",
    source="botocore: TrainingPlanName",
)
def plan_name_refused(subject: Subject, _app: App) -> Findings:
    """Make the name as the purchase would."""
    given, generation = subject.data.get("TrainingPlanName"), subject.data.get("Generation", 1)
    if is_unresolved(given) or is_unresolved(generation):
        yield unverified("the plan's name or generation is not known here", "TrainingPlanName")
        return
    try:
        count = number(generation)
        plan_name(given if isinstance(given, str) else "", count if isinstance(count, int) else 0)
    except InvalidInputError as refusal:
        yield error(str(refusal), "TrainingPlanName")
