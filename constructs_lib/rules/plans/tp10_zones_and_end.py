"""A plan lies in certain zones and ends early."""

from datetime import timedelta
from typing import Any

from constructs_lib.facts.capacity import plan_targets
from constructs_lib.rules.authoring import (
    App,
    Findings,
    Kind,
    Phase,
    Severity,
    Subject,
    error,
    is_unresolved,
    rule,
    unverified,
    warning,
)
from constructs_lib.rules.known_plans import Plan, plan_of
from constructs_lib.rules.uses import CONSUMERS, Use, uses_of
from constructs_lib.rules.values import items, known_text, mapping, number
from constructs_lib.rules.zones import one_name, zones_of_subnets


@rule(
    "GPU-TP10",
    title="subnets outside the plan's zones, or a job beyond its usable end",
    kinds=CONSUMERS,
    finds={
        Severity.ERROR: "job or cluster subnets without the zone of every block of the plan",
        Severity.WARNING: "the same for endpoints; a job that may run past the usable end, or has no checkpoint",
    },
    why="capacity outside the subnets' zones is never reached; instances end before the plan does, and what was not "
    "saved is lost",
    fix="add a subnet in each zone of the plan; cut MaxRuntimeInSeconds to the usable end and set CheckpointConfig",
    source="SageMaker guide, train-get-capacity and training-plan-utilization-for-training-jobs",
)
def zones_and_end(subject: Subject, app: App) -> Findings:
    """Hold each use against its plan's zones and end."""
    for use in uses_of(subject):
        plan = plan_of(use.reference, subject, app)
        yield from _zones(use, plan, app)
        if subject.kind is Kind.TRAINING_JOB:
            yield from _end(use, plan, app)


def _zones(use: Use, plan: Plan, app: App) -> Findings:
    raw = mapping(use.subject.data.get("VpcConfig")).get("Subnets")
    if raw is None:
        return
    subnets, known = [known_text(subnet) for subnet in items(raw)], zones_of_subnets(use.subject, app)
    here = {known.get(str(subnet)) for subnet in subnets}
    at, label = "VpcConfig.Subnets", plan.label
    missing = [zone for zone in plan.zones if not here & {one_name(name, use.subject, app) for name in zone}]
    if is_unresolved(raw) or not plan.zones or (missing and None in here):
        yield unverified(f"whether the subnets lie in every zone of {label} is not known here", at)
    elif missing:
        zones = " and ".join("/".join(zone) for zone in missing)
        judge = warning if use.target == "endpoint" else error
        yield judge(f"no subnet lies in {zones}, where {label} has capacity", at)


def _end(use: Use, plan: Plan, app: App) -> Findings:
    if not use.subject.data.get("CheckpointConfig"):
        yield warning(f"the job runs on {plan.label} and has no CheckpointConfig", use.at, phase=Phase.RUN)
    at, early = "StoppingCondition.MaxRuntimeInSeconds", plan_targets()[use.target].early_end_minutes
    runtime: Any = mapping(use.subject.data.get("StoppingCondition")).get("MaxRuntimeInSeconds")
    starts = max(filter(None, (plan.starts, app.now)), default=None)
    seconds = number(runtime)
    if plan.ends is None or starts is None or seconds is None:
        yield unverified(f"whether the job ends before {plan.label} does is not known here", at, phase=Phase.RUN)
        return
    usable = plan.ends - timedelta(minutes=early)
    if starts + timedelta(seconds=seconds) > usable:
        left = max(0, int((usable - starts).total_seconds()))
        words = f"the job may run {seconds} seconds; {plan.label} is usable until {usable.isoformat()}, {left} seconds"
        yield warning(words, at, phase=Phase.RUN)
    elif app.now is None:
        yield unverified(f"when the job starts on {plan.label} is not known here", at, phase=Phase.RUN)
