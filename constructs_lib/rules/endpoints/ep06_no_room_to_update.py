"""An update needs free instances in the plan."""

import math
from typing import Any

from constructs_lib.rules.authoring import (
    App,
    Findings,
    Kind,
    Severity,
    Subject,
    is_unresolved,
    rule,
    unverified,
    warning,
)
from constructs_lib.rules.uses import Demand, configs_of, demands_of, uses_of
from constructs_lib.rules.values import known_text, mapping, number


@rule(
    "GPU-EP06",
    title="an update policy without room in the plan",
    kinds=(Kind.ENDPOINT, Kind.RESERVED_ENDPOINT),
    finds={
        Severity.WARNING: "blue/green, or a rolling batch, that needs more free instances than the plan leaves; a "
        "reserved endpoint that can neither find nor free an instance, and accepts no downtime"
    },
    why="an update starts a new fleet, or a batch of it, before the old one goes; on a full plan it finds no capacity "
    "and rolls back",
    fix="use a rolling update with a batch that the plan has free, lower the count first, or delete and create anew "
    "with the downtime stated (accept_downtime of a ReservedEndpoint)",
    source="SageMaker guide, deployment-guardrails; botocore: UpdateEndpoint (deploys to a new fleet)",
)
def no_room_to_update(subject: Subject, app: App) -> Findings:
    """Compare what an update needs with what the plan has free."""
    if subject.kind is Kind.RESERVED_ENDPOINT:
        yield from _reserved(subject, app)
        return
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


def _reserved(endpoint: Subject, app: App) -> Findings:
    """Judge a reserved endpoint: it lowers its count before an update where it has one variant of several instances."""
    accepted, at = endpoint.data.get("AcceptDowntimeSeconds", 0), "AcceptDowntimeSeconds"
    here = (endpoint.file, endpoint.stack, endpoint.place("EndpointConfig"))
    for config in app.of(Kind.ENDPOINT_CONFIG):
        if (config.file, config.stack, config.path) != here or (number(accepted) or 0) > 0:
            continue
        mine = uses_of(config)
        for demand in demands_of(config, app):
            counts, held = [use.count for use in mine], [use.count for use in demand.of("endpoint", "hyperpod-cluster")]
            total = demand.plan.instance_count
            if total is None or None in held or is_unresolved(accepted):
                yield unverified(f"whether {demand.plan.label} has room for an update is not known here", at)
                continue
            needed, free = sum(filter(None, counts)), total - sum(filter(None, held))
            if needed > free and (len(counts) > 1 or needed == 1):
                words = (
                    f"an update needs {needed:g} free instances, {demand.plan.label} leaves {max(0, free):g} of {total}"
                )
                yield warning(f"{words}, and no downtime is accepted: the endpoint keeps its first model", at)
