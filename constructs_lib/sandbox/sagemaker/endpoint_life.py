"""The life of endpoints on the virtual clock."""

from __future__ import annotations

import functools
import re
from collections import deque
from typing import TYPE_CHECKING, Any

from constructs_lib.sandbox.switches import reading

from .endpoint_deployment import longest
from .endpoint_rollout import Rollout, Step, release

if TYPE_CHECKING:
    from collections.abc import Callable

    from constructs_lib.sandbox.context import Context

    from .capacity import Capacity
    from .endpoint_request import Variant
    from .endpoint_state import Endpoint, Fleet, Unit
    from .placement import Placement
    from .seeds import EndpointTimes
    from .tags import Tags

__all__ = ["EXPIRED", "EndpointLife"]

# Source: SageMaker guide, training-plan-utilization-for-inference-endpoints.
EXPIRED = "Endpoint capacity reservation has expired. Please update endpoint configuration."


class EndpointLife:
    """Moves endpoints through their statuses and tells of each change.

    Parameters
    ----------
    context
        Where events go, and the switches.
    capacity
        How long transitions take.
    placement
        Where instances come from; every method is called within a moment of its agenda.
    tags
        What events show of an endpoint's tags.
    has_config
        Says whether a configuration still exists.

    Attributes
    ----------
    log
        What happened to endpoints: ``time``, ``endpoint``, ``what`` (a status, or words), ``config`` and ``reason``.
    """

    def __init__(
        self,
        context: Context,
        capacity: Capacity,
        placement: Placement,
        tags: Tags,
        has_config: Callable[[str], bool],
    ) -> None:
        self.log: list[dict[str, Any]] = []
        self._context, self._capacity, self._placement, self._tags = context, capacity, placement, tags
        self._agenda, self._has_config = placement.agenda, has_config

    def times(self, endpoint: str, fleet: Fleet) -> EndpointTimes:
        """Return how long transitions to a fleet take."""
        return self._capacity.endpoint_times(fleet.config.name, endpoint)

    def create(self, endpoint: Endpoint, now: float) -> None:
        """Bring a new endpoint into service, or let it fail."""

        def failed(reason: str, t: float) -> None:
            release(self._placement, endpoint, list(endpoint.units), t)
            self._move(endpoint, "Failed", t, reason)

        times = self.times(endpoint.name, endpoint.live)
        self._move(endpoint, "Creating", now)
        steps = deque([Step(endpoint.live.counts, takes=times.create)])
        done = functools.partial(self._move, endpoint, "InService")
        self._roll(endpoint, endpoint.live, steps, now, done=done, failed=failed)

    def update(self, endpoint: Endpoint, fleet: Fleet, steps: deque[Step], now: float) -> None:
        """Replace the fleet, or go back to the old one."""
        endpoint.coming = fleet
        self._move(endpoint, "Updating", now)

        def done(t: float) -> None:
            if self._lacks(fleet):
                self._roll_back(endpoint, _not_found(fleet), t)
                return
            release(self._placement, endpoint, endpoint.of(endpoint.live), t)
            endpoint.live, endpoint.coming, endpoint.expired = fleet, None, False
            self._move(endpoint, "InService", t)

        failed = functools.partial(self._roll_back, endpoint)
        rollout = self._roll(endpoint, fleet, steps, now, done=done, failed=failed)
        limit = longest(endpoint.deployment or {})
        if limit is not None:
            words = f"The deployment exceeded MaximumExecutionTimeoutInSeconds ({limit:.0f})."
            self._agenda.at(now + limit, lambda t: rollout.fail(words, t))

    def scale(self, endpoint: Endpoint, counts: dict[str, int], weights: dict[str, float], now: float) -> None:
        """Change how many instances variants have and how traffic is shared, or go back to what was."""
        fleet = endpoint.live
        before = fleet.counts, fleet.weights
        have = {variant.name: len(endpoint.of(fleet, variant)) for variant in fleet.config.variants}
        adds = {name: max(0, count - have[name]) for name, count in counts.items()}
        drops = {name: max(0, have[name] - count) for name, count in counts.items()}
        fleet.counts, fleet.weights = counts, weights
        self._move(endpoint, "Updating", now)

        def failed(reason: str, t: float) -> None:
            fleet.counts, fleet.weights = before
            self._roll_back(endpoint, reason, t)

        steps = deque([Step(adds, drops, self.times(endpoint.name, fleet).scale)])
        done = functools.partial(self._move, endpoint, "InService")
        self._roll(endpoint, fleet, steps, now, done=done, failed=failed, fails=False)

    def delete(self, endpoint: Endpoint, gone: Callable[[float], None], now: float) -> None:
        """Take an endpoint down."""
        self._move(endpoint, "Deleting", now)

        def end(t: float) -> None:
            release(self._placement, endpoint, list(endpoint.units), t)
            gone(t)

        self._agenda.at(now + self.times(endpoint.name, endpoint.live).delete, end)

    def set_status(self, endpoint: Endpoint, status: str, now: float) -> None:
        """Let an endpoint have a status that AWS gives it of itself."""
        self._move(endpoint, status, now)

    def note(self, endpoint: Endpoint, what: str, now: float, reason: str | None = None) -> None:
        """Write down what happened."""
        row = {"time": now, "endpoint": endpoint.name, "what": what, "config": endpoint.live.config.name}
        self.log.append(row | {"reason": reason})

    def _roll(
        self,
        endpoint: Endpoint,
        fleet: Fleet,
        steps: deque[Step],
        now: float,
        *,
        done: Callable[[float], None],
        failed: Callable[[str, float], None],
        fails: bool = True,
    ) -> Rollout:
        times = self.times(endpoint.name, fleet)
        endpoint.rollout = Rollout(
            self._placement,
            endpoint,
            fleet,
            endpoint.live,
            steps,
            patience=lambda variant: self._patience(variant, times),
            failure=times.fail if fails else None,
            done=done,
            failed=failed,
            lost=lambda unit, t: self._lose(endpoint, unit, t),
        )
        endpoint.rollout.go_on(now)
        return endpoint.rollout

    def _patience(self, variant: Variant, times: EndpointTimes) -> float | None:
        if variant.plan and reading(self._context.faults, "sagemaker.endpoint-full-plan") == "rolls back":
            return None
        patience: float = variant.request.get("VariantInstanceProvisionTimeoutInSeconds", times.capacity_wait)
        return patience

    def _roll_back(self, endpoint: Endpoint, reason: str, now: float) -> None:
        """Give the new instances back and bring back what the old fleet lacks."""
        if endpoint.coming is not None:
            release(self._placement, endpoint, endpoint.of(endpoint.coming), now)
        endpoint.coming = None
        self._move(endpoint, "RollingBack", now, reason)
        live = endpoint.live
        missing = {
            variant.name: max(0, live.counts[variant.name] - len(endpoint.of(live, variant)))
            for variant in live.config.variants
            if not (endpoint.expired and variant.plan)
        }
        steps = deque([Step(missing, takes=self.times(endpoint.name, live).rollback)])

        def done(t: float) -> None:
            if not self._expire(endpoint, t):
                self._move(endpoint, "UpdateRollbackFailed" if self._lacks(live) else "InService", t, reason)

        def failed(_: str, t: float) -> None:
            if not self._expire(endpoint, t):
                self._move(endpoint, "UpdateRollbackFailed", t, reason)

        self._roll(endpoint, live, steps, now, done=done, failed=failed, fails=False)

    def _lacks(self, fleet: Fleet) -> bool:
        """Say whether a fleet's configuration was deleted, as far as that matters."""
        matters = reading(self._context.faults, "sagemaker.endpoint-config-deleted") == "refused"
        return matters and not self._has_config(fleet.config.name)

    def _lose(self, endpoint: Endpoint, unit: Unit | None, now: float) -> None:
        """Go on without an instance whose reservation has ended."""
        if unit is None or endpoint.status == "Deleting":
            return
        rollout = endpoint.rollout
        if unit.fleet is not endpoint.live or endpoint.status == "Creating":
            if rollout is not None:
                rollout.fail(EXPIRED, now)
            return
        endpoint.expired = True
        if rollout is not None and endpoint.status == "Updating" and endpoint.coming is None:
            rollout.fail(EXPIRED, now)  # it was only to change the number
        elif endpoint.status not in ("Updating", "RollingBack"):
            self._expire(endpoint, now)

    def _expire(self, endpoint: Endpoint, now: float) -> bool:
        """Give an endpoint that lost its last instances the status of such, and say whether it did."""
        if not endpoint.expired or endpoint.serving():
            return False
        status = reading(self._context.faults, "sagemaker.endpoint-expired")
        if endpoint.status != status:
            self._move(endpoint, status, now, EXPIRED)
        self.note(endpoint, "reservation expired", now)
        return True

    def _move(self, endpoint: Endpoint, status: str, now: float, reason: str | None = None) -> None:
        """Go to another status, and tell of it."""
        endpoint.status, endpoint.failure_reason, endpoint.modified = status, reason, now
        if status in ("Creating", "Updating", "RollingBack", "Deleting"):
            endpoint.changed = now
        self.note(endpoint, status, now, reason)
        as_word = reading(self._context.faults, "sagemaker.endpoint-events") == "IN_SERVICE"
        detail = {
            "EndpointName": endpoint.name,
            "EndpointArn": endpoint.arn,
            "EndpointConfigName": endpoint.live.config.name,
            "EndpointStatus": re.sub("(?<!^)(?=[A-Z])", "_", status).upper() if as_word else status,
            "CreationTime": round(endpoint.created * 1000),
            "LastModifiedTime": round(now * 1000),
            "Tags": dict(self._tags.of(endpoint.arn)),
        }
        self._context.emit("aws.sagemaker", "SageMaker Endpoint State Change", detail, [endpoint.arn])


def _not_found(fleet: Fleet) -> str:
    return f"Could not find endpoint configuration {fleet.config.name}."
