"""The margin leaves time to leave the plan, and time on it."""

from datetime import timedelta

from constructs_lib.facts.capacity import plan_targets
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
    warning,
)
from constructs_lib.rules.known_plans import plan_of
from constructs_lib.rules.values import items, mapping, number, show

_RUNS = 2
_STEPS = (
    "VariantInstanceProvisionTimeoutInSeconds",
    "ModelDataDownloadTimeoutInSeconds",
    "ContainerStartupHealthCheckTimeoutInSeconds",
)


@rule(
    "GPU-EP10",
    title="a margin that leaves no time on the plan, or too little to leave it",
    kinds=(Kind.RESERVED_ENDPOINT,),
    finds={
        Severity.ERROR: "a margin of which two leave nothing of a segment of the plan, or that is shorter than two "
        "periods of the keeper",
        Severity.WARNING: "a margin shorter than two periods and the time that the move may take by its own time-outs",
    },
    why="the endpoint would never come up, or would still be on the plan when its capacity is taken away",
    fix="choose a margin from two periods to less than half of the usable segment, such as 15 minutes",
    source="SageMaker guide, training-plan-utilization-for-inference-endpoints",
)
def margin(subject: Subject, app: App) -> Findings:
    """Hold the margin against the keeper's period, the move and the plan."""
    given, every = subject.data.get("MarginSeconds"), number(subject.data.get("PeriodSeconds"))
    seconds, at = number(given), "MarginSeconds"
    if is_unresolved(given):
        yield unverified("the margin is not known here", at)
    elif seconds is None or seconds < 0:
        yield error(f"MarginSeconds is {show(given)}; a number of seconds is needed", at)
    else:
        yield from _short(seconds, every, subject, at)
        yield from _long(seconds, subject, app, at)


def _short(seconds: float, every: float | None, subject: Subject, at: str) -> Findings:
    if every is None:
        yield unverified("whether the margin holds two periods of the keeper is not known here", at)
        return
    move = max(_moves(subject), default=0)
    if seconds < _RUNS * every:
        yield error(f"the margin is {seconds} seconds; two periods of the keeper are {_RUNS * every}", at)
    elif seconds < _RUNS * every + move:
        words = f"the margin is {seconds} seconds; two periods and the move may take {_RUNS * every + move}"
        yield warning(f"{words}: capacity, the model's data and the container's start", at)


def _moves(subject: Subject) -> list[int | float]:
    """Return how long each variant may take to serve somewhere else, by the time-outs that are declared."""
    config = mapping(mapping(subject.data.get("OnExpiry")).get("EndpointConfig"))
    variants = map(mapping, items(config.get("ProductionVariants")))
    return [sum(number(variant.get(step)) or 0 for step in _STEPS) for variant in variants]


def _long(seconds: float, subject: Subject, app: App, at: str) -> Findings:
    plan = plan_of(subject.data.get("TrainingPlanArn"), subject, app)
    early = plan_targets()["endpoint"].early_end_minutes
    # The endpoint leaves one margin before the usable end, and nothing moves onto the plan one margin before that.
    lead = timedelta(seconds=2 * seconds, minutes=early)
    if plan.shortest is None:
        yield unverified(f"whether the margin leaves time on {plan.label} is not known here", at)
    elif lead >= plan.shortest:
        words = f"two margins and the {early} minutes that are not usable take {lead}"
        yield error(f"{words}; {plan.label} has a segment of {plan.shortest}, and the endpoint would never come up", at)
