"""How an endpoint gets from one configuration to another without ever asking for more than its plan holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from constructs_lib.model.endpoint_names import config_prefix
from constructs_lib.model.endpoints_declaration import content_hash

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constructs_lib.model.endpoints_view import EndpointSight
    from constructs_lib.model.endpoints_window import PlanSight

__all__ = [
    "BLUE_GREEN",
    "LOWER",
    "NO_HEAD_ROOM",
    "ROLLING",
    "STOP_AND_REPLACE",
    "Room",
    "Strategy",
    "config_name",
    "counts_of",
    "deployment",
    "fit",
    "strategy",
    "with_counts",
]

BLUE_GREEN, ROLLING = "blue/green", "rolling"
LOWER, STOP_AND_REPLACE, NO_HEAD_ROOM = "lower", "stop and replace", "no head-room"

_SIDES = ("ProductionVariants", "ShadowProductionVariants")
# Source: botocore 1.44.8, MaximumExecutionTimeoutInSeconds.
_LEAST_TIMEOUT, _MOST_TIMEOUT = 600, 28800

Request = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Room:
    """What one endpoint may use of a plan.

    Parameters
    ----------
    total, used, free : int
        Instances of the plan, those of this endpoint, and those that nobody uses.
    """

    total: int
    used: int
    free: int

    @classmethod
    def of(cls, plan: PlanSight, endpoint: EndpointSight) -> Room:
        """Return the room of an endpoint on a plan; what is not known counts as the plan's whole size."""
        used = endpoint.used(plan.arn)
        total = plan.total if plan.total is not None else used
        free = max(0, total - used) if plan.available is None else max(0, min(plan.available, total - used))
        return cls(total, used, free)

    @property
    def limit(self) -> int:
        """The most instances that the endpoint may have."""
        return min(self.total, self.used + self.free)

    @property
    def others(self) -> int:
        """What others use."""
        return max(0, self.total - self.used - self.free)


@dataclass(frozen=True, slots=True)
class Strategy:
    """How to update: by what, with which counts or batch, and whether the new fleet takes the configuration's counts.

    Parameters
    ----------
    kind : str
    counts : Mapping
        For ``lower``: the instances of each variant.
    batch : int
        For ``rolling``.
    fresh_counts : bool
        Whether the counts come from the new configuration, not from what is in service.
    """

    kind: str
    counts: Mapping[str, int] | None = None
    batch: int = 0
    fresh_counts: bool = False


def counts_of(request: Mapping[str, Any]) -> dict[str, int]:
    """Return the instances of each variant of a configuration; shadow variants count, they share the capacity.

    Examples
    --------
    >>> counts_of({"ProductionVariants": [{"VariantName": "a", "InitialInstanceCount": 2}, {"VariantName": "b"}]})
    {'a': 2, 'b': 1}
    """
    variants = [variant for side in _SIDES for variant in request.get(side, ())]
    return {variant["VariantName"]: variant.get("InitialInstanceCount", 1) for variant in variants}


def fit(counts: Mapping[str, int], limit: int) -> dict[str, int] | None:
    """Return the counts, lowered until their sum is within the limit; ``None`` if not even one instance each fits.

    Examples
    --------
    >>> fit({"a": 4, "b": 1}, 3), fit({"a": 1, "b": 1}, 1)
    ({'a': 2, 'b': 1}, None)
    """
    found = dict(counts)
    while sum(found.values()) > limit:
        largest = max(found, key=lambda name: found[name])
        if found[largest] <= 1:
            return None
        found[largest] -= 1
    return found


def with_counts(request: Mapping[str, Any], counts: Mapping[str, int]) -> Request:
    """Return a configuration with other counts."""
    sides = {
        side: [
            variant | {"InitialInstanceCount": counts[variant["VariantName"]]}
            if "InitialInstanceCount" in variant
            else variant
            for variant in request[side]
        ]
        for side in _SIDES
        if request.get(side)
    }
    return {**request, **sides}


def config_name(endpoint: str, request: Mapping[str, Any]) -> str:
    """Return the name of a configuration: equal for equal content.

    Examples
    --------
    >>> config_name("chat", {"ProductionVariants": []})
    'chat-93686a169c'
    """
    return config_prefix(endpoint) + content_hash({key: value for key, value in request.items() if key != "Tags"})


def strategy(
    endpoint: EndpointSight, goal: Mapping[str, int], room: Room | None, *, same_capacity: bool, downtime: bool
) -> Strategy:
    """Choose how to update an endpoint that is InService.

    Parameters
    ----------
    endpoint : EndpointSight
    goal : Mapping
        The counts that the new configuration has, which fit the plan.
    room : Room, optional
        Of the plan that the new fleet runs on; without it, on-demand capacity.
    same_capacity : bool
        Whether the old fleet runs there too, so that its instances make room.
    downtime : bool
        Whether the interruption of stopping first was accepted.

    Notes
    -----
    Source: SageMaker guide, deployment-guardrails-rolling: a batch has 5 to 50 % of the instances, and there is one
    production variant.
    """
    wanted, desired = sum(goal.values()), endpoint.desired
    if room is None:
        return Strategy(BLUE_GREEN, fresh_counts=True)
    if room.free >= wanted and (not same_capacity or wanted != desired):
        return Strategy(BLUE_GREEN, fresh_counts=True)
    if same_capacity and goal.keys() == endpoint.variants.keys():
        if room.free >= desired:
            return Strategy(BLUE_GREEN)
        least = -(-desired // 20)
        if len(goal) == 1 and desired >= 2:
            if room.free >= least:
                return Strategy(ROLLING, batch=min(room.free, desired // 2))
            name = next(iter(goal))
            return Strategy(LOWER, {name: max(1, min(desired - least, goal[name]))})
    return Strategy(STOP_AND_REPLACE if same_capacity and downtime else NO_HEAD_ROOM)


def deployment(chosen: Strategy, seconds: float) -> Request:
    """Return UpdateEndpoint's DeploymentConfig; an update that takes longer than ``seconds`` gives up."""
    timeout = int(max(_LEAST_TIMEOUT, min(_MOST_TIMEOUT, seconds)))
    limits = {"WaitIntervalInSeconds": 0, "MaximumExecutionTimeoutInSeconds": timeout}
    if chosen.kind == ROLLING:
        batch = {"Type": "INSTANCE_COUNT", "Value": chosen.batch}
        return {"RollingUpdatePolicy": {"MaximumBatchSize": batch, "RollbackMaximumBatchSize": batch, **limits}}
    return {
        "BlueGreenUpdatePolicy": {
            "TrafficRoutingConfiguration": {"Type": "ALL_AT_ONCE", "WaitIntervalInSeconds": 0},
            "TerminationWaitInSeconds": 0,
            "MaximumExecutionTimeoutInSeconds": timeout,
        }
    }
