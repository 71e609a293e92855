"""The window must hold the plan."""

from constructs_lib.rules.authoring import App, Findings, Severity, Subject, rule
from constructs_lib.rules.buying import PLAN, PLAN_PURCHASES, window


@rule(
    "GPU-TP04",
    title="a window that cannot hold the plan",
    kinds=PLAN_PURCHASES,
    finds={
        Severity.ERROR: "in a purchase: too short for the duration, without a time zone, ending before it starts, past "
        "or more than eight weeks ahead",
        Severity.WARNING: "the same in a bare search",
        Severity.UNVERIFIED: "whether it lies ahead, without a clock",
    },
    why="the search answers with nothing, which reads as missing capacity",
    fix="give a window with a zone, at least as long as the duration in whole days, within the next eight weeks",
    source="SageMaker guide, search-training-plan-offerings and reserve-capacity-with-training-plans",
)
def plan_window(subject: Subject, app: App) -> Findings:
    """Compare start, end, duration and clock."""
    yield from window(subject, PLAN, app)
