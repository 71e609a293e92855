"""How an update replaces a fleet: all of it beside the old one, or batch by batch."""

from __future__ import annotations

import itertools
import math
from collections import deque
from typing import TYPE_CHECKING, Any

from .endpoint_request import invalid
from .endpoint_rollout import Step

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .endpoint_state import Fleet
    from .seeds import EndpointTimes

__all__ = ["check_deployment", "longest", "peak", "steps_of"]

Request = dict[str, Any]
# Source: SageMaker guide, deployment-guardrails-rolling.
_LEAST_PERCENT, _MOST_PERCENT = 5, 50


def check_deployment(deployment: Request, old: Fleet, fleet: Fleet) -> None:
    """Refuse a DeploymentConfig that does not fit what it is to take out of and to bring into service.

    Source: SageMaker guide, deployment-guardrails-rolling and deployment-guardrails-exclusions.
    """
    rolling = deployment.get("RollingUpdatePolicy")
    if rolling is None:
        return
    if "BlueGreenUpdatePolicy" in deployment:
        raise invalid("DeploymentConfig can have BlueGreenUpdatePolicy or RollingUpdatePolicy, not both.")
    if max(len(fleet.config.variants), len(old.config.variants)) > 1:
        raise invalid("A rolling deployment is not supported for an endpoint with several variants.")
    if not fleet.config.variants[0].entries:
        raise invalid("A rolling deployment is not supported for a serverless variant.")
    size, (count,) = rolling["MaximumBatchSize"], fleet.counts.values()
    percent = size["Value"] if size["Type"] == "CAPACITY_PERCENT" else 100 * size["Value"] / count
    if not _LEAST_PERCENT <= percent <= _MOST_PERCENT:
        raise invalid(
            f"MaximumBatchSize must be between {_LEAST_PERCENT}% and {_MOST_PERCENT}% of the variant's total instance"
            f" count ({count}); it is {size['Value']}{'%' if size['Type'] == 'CAPACITY_PERCENT' else ''}."
        )


def steps_of(deployment: Request, old: dict[str, int], fleet: Fleet, times: EndpointTimes) -> deque[Step]:
    """Return the batches of an update.

    Parameters
    ----------
    deployment
        The DeploymentConfig; what names no policy is blue/green, all at once.
    old
        How many instances each variant has now.
    fleet
        What is to come.
    times
        How long instances take to serve.
    """
    if rolling := deployment.get("RollingUpdatePolicy"):
        return deque(_rolling(rolling, sum(old.values()), old, fleet, times))
    policy = deployment.get("BlueGreenUpdatePolicy", {})
    pause = _shifting(policy.get("TrafficRoutingConfiguration", {})) + policy.get("TerminationWaitInSeconds", 0)
    return deque([Step(fleet.counts, old, times.update, pause)])


def _rolling(policy: Request, left: int, old: dict[str, int], fleet: Fleet, times: EndpointTimes) -> Iterable[Step]:
    ((name, count),) = fleet.counts.items()
    batch = _batch(policy["MaximumBatchSize"], count)
    for begin in range(0, count, batch):
        adds = min(batch, count - begin)
        drops = left if begin + batch >= count else min(batch, left)
        left -= drops
        yield Step({name: adds}, dict.fromkeys(old, drops), times.update, policy["WaitIntervalInSeconds"])


def _batch(size: Request, count: int) -> int:
    value: int = size["Value"]
    return value if size["Type"] == "INSTANCE_COUNT" else max(1, count * value // 100)


def _shifting(routing: Request) -> float:
    """Return how long traffic shifts from the old fleet to the new one, baking included."""
    wait: float = routing.get("WaitIntervalInSeconds", 0)
    if routing.get("Type") == "CANARY":
        return 2 * wait
    if routing.get("Type") == "LINEAR":
        step = routing["LinearStepSize"]
        return wait * math.ceil(100 / step["Value"]) if step["Type"] == "CAPACITY_PERCENT" else 2 * wait
    return wait


def peak(steps: Iterable[Step]) -> int:
    """Return how many instances a deployment needs at most beside those that the endpoint has.

    Examples
    --------
    >>> peak([Step({"all": 2}, {"all": 2}), Step({"all": 2}, {"all": 1})])
    2
    """
    changes = itertools.chain.from_iterable((sum(s.adds.values()), -sum(s.drops.values())) for s in steps)
    return max(itertools.accumulate(changes, initial=0))


def longest(deployment: Request) -> float | None:
    """Return the seconds after which an update is given up; None: never."""
    policy = deployment.get("RollingUpdatePolicy") or deployment.get("BlueGreenUpdatePolicy") or {}
    limit: float | None = policy.get("MaximumExecutionTimeoutInSeconds")
    return limit
