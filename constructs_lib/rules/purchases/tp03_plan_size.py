"""Plans are sold in certain sizes."""

from constructs_lib.rules.authoring import App, Findings, Severity, Subject, rule
from constructs_lib.rules.buying import PLAN, PLAN_PURCHASES, size


@rule(
    "GPU-TP03",
    title="a count or duration that is not sold",
    kinds=PLAN_PURCHASES,
    finds={
        Severity.ERROR: "a count outside 1 to 256 or a duration outside 1 to 182 days, or none in a purchase",
        Severity.WARNING: "a count that is no power of two up to 64; a duration that is no multiple of 24 hours: it is "
        "rounded up and billed",
    },
    why="the search answers with nothing, or with a longer plan than was asked for",
    fix="ask for 1, 2, 4, 8, 16, 32 or 64 instances and for whole days",
    source="botocore: ReservedCapacityInstanceCount; SageMaker guide, reserve-capacity-with-training-plans",
)
def plan_size(subject: Subject, _app: App) -> Findings:
    """Compare with the sizes on sale."""
    yield from size(subject, PLAN)
