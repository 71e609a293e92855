"""An update needs free instances in the plan."""

import math
from typing import Any

from constructs_lib.rules.authoring import App, Findings, Kind, Severity, Subject, rule, unverified, warning
from constructs_lib.rules.uses import Demand, configs_of, demands_of, uses_of
from constructs_lib.rules.values import known_text, mapping, number


@rule(
    "GPU-EP06",
    title="an update policy without room in the plan",
    kinds=(Kind.ENDPOINT,),
    finds={Severity.WARNING: "blue/green, or a rolling batch, that needs more free instances than the plan leaves"},
    why="an update starts a new fleet, or a batch of it, before the old one goes; on a full plan it finds no capacity "
    "and rolls back",
    fix="use a rolling update with a batch that the plan has free, lower the count first, or delete and create anew "
    "with the downtime stated",
    source="SageMaker guide, deployment-guardrails; botocore: UpdateEndpoint (deploys to a new fleet)",
)
def no_room_to_update(subject: Subject, app: App) -> Findings:
    """Compare what an update needs with what the plan has free."""
    for config in configs_of(subject, app):
        mine = uses_of(config)
        for demand in demands_of(config, app):
            yield from _judge(subject, demand, [use.count for use in demand.uses if use in mine])


def _judge(endpoint: Subject, demand: Demand, mine: list[int | float | None]) -> Findings:
    total, held = demand.plan.instance_count, [use.count for use in demand.of("endpoint", "hyperpod-cluster")]
    policy, needed = _needed(endpoint.data.get("DeploymentConfig"), mine)
    if total is None or needed is None or None in held:
        yield unverified(f"whether {demand.plan.label} has room for an update is not known here", "DeploymentConfig")
        return
    free = total - sum(count for count in held if count is not None)
    if needed > free:
        words = (
            f"a {policy} update needs {needed:g} free instances, {demand.plan.label} leaves {max(0, free):g} of {total}"
        )
        yield warning(words, "DeploymentConfig")


def _needed(deployment: Any, mine: list[int | float | None]) -> tuple[str, int | float | None]:
    """Return the kind of update and the instances that it starts before it stops any."""
    counts = [count for count in mine if count is not None]
    size = mapping(mapping(mapping(deployment).get("RollingUpdatePolicy")).get("MaximumBatchSize"))
    if len(counts) < len(mine) or (deployment is not None and not mapping(deployment)):
        return "", None
    if not size:
        return "blue/green", sum(counts)
    value = number(size.get("Value"))
    if known_text(size.get("Type")) != "CAPACITY_PERCENT" or value is None:
        return "rolling", value
    return "rolling", math.ceil(sum(counts) * value / 100)
