"""A plan has so many instances and no more."""

from collections.abc import Callable

from constructs_lib.rules.authoring import App, Findings, Found, Severity, Subject, error, rule, unverified, warning
from constructs_lib.rules.uses import CONSUMERS, Demand, Use, demands_of


@rule(
    "GPU-TP09",
    title="more instances than the plan has",
    kinds=CONSUMERS,
    finds={
        Severity.ERROR: "clusters (with endpoints) of one plan that ask for more than it has, or one job that does",
        Severity.WARNING: "jobs of one plan that together ask for more: they queue",
    },
    why="what does not fit is refused when it starts, or waits while the plan runs out",
    fix="lower the counts, or start the users one after the other",
    source="SageMaker guide, training-plan-utilization-for-training-jobs and -for-hyperpod",
)
def too_many(subject: Subject, app: App) -> Findings:
    """Sum the uses of each plan; the first of them carries the finding."""
    for demand in demands_of(subject, app):
        standing = demand.of("hyperpod-cluster", "endpoint")
        if any(use.target == "hyperpod-cluster" for use in standing) and standing[0].subject is subject:
            yield from _sum(standing, demand, error)
        jobs = demand.of("training-job")
        for use in jobs:
            if use.subject is subject:
                yield from _one(use, demand)
        if len(jobs) > 1 and jobs[0].subject is subject:
            yield from _sum(jobs, demand, warning)


def _one(use: Use, demand: Demand) -> Findings:
    total = demand.plan.instance_count
    if total is None or use.count is None:
        yield unverified(f"whether {demand.plan.label} has enough instances is not known here", use.at)
    elif use.count > total:
        yield error(f"{use.count} instances are asked for, {demand.plan.label} has {total}", use.at)


def _sum(uses: list[Use], demand: Demand, judge: Callable[[str, str], Found]) -> Findings:
    total, counts = demand.plan.instance_count, [use.count for use in uses]
    asked = sum(count for count in counts if count is not None)
    if total is not None and asked > total:
        users = ", ".join(f"{use.count} by {use.place}" for use in uses)
        yield judge(f"{asked} instances are asked for, {demand.plan.label} has {total}: {users}", uses[0].at)
    elif total is None or None in counts:
        yield unverified(f"whether {demand.plan.label} has enough instances for all is not known here", uses[0].at)
