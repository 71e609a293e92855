"""The wait for capacity has bounds."""

from constructs_lib import facts
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
from constructs_lib.rules.values import mapping, number, show


@rule(
    "GPU-PL07",
    title="MaxPendingTimeInSeconds out of bounds",
    kinds=(Kind.TRAINING_JOB,),
    finds={Severity.ERROR: "a value outside 1800 to 2419200"},
    why="the API refuses the request; older documents name 7200 as the lowest value",
    fix="give 30 minutes to 28 days, or leave it out",
    source="botocore: MaxPendingTimeInSeconds",
)
def pending_limits(subject: Subject, _app: App) -> Findings:
    """Compare with the model's bounds."""
    stopping = subject.data.get("StoppingCondition")
    given, at = mapping(stopping).get("MaxPendingTimeInSeconds"), "StoppingCondition.MaxPendingTimeInSeconds"
    bounds = facts.limit("MaxPendingTimeInSeconds")
    allowed = f"{bounds.min} to {bounds.max} is allowed"
    seconds = number(given)
    if is_unresolved(stopping) or is_unresolved(given):
        yield unverified(f"MaxPendingTimeInSeconds is not known here; {allowed}", at)
    elif given is not None and (seconds is None or not (bounds.min or 0) <= seconds <= (bounds.max or 0)):
        yield error(f"MaxPendingTimeInSeconds is {show(given)}; {allowed}", at)
