"""Application Auto Scaling of variants: target tracking on the virtual clock."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from constructs_lib.sandbox.errors import ServiceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .agenda import Agenda
    from .endpoints import Endpoints

__all__ = ["METRIC", "PERIOD", "Scaling", "ScalingPolicy", "ScalingTarget"]

METRIC = "SageMakerVariantInvocationsPerInstance"
PERIOD = 60.0  # seconds between two looks; AWS's alarms look over several such minutes before they act


@dataclass(frozen=True, slots=True)
class ScalingPolicy:
    """A target tracking policy: invocations per instance and minute, and the seconds of rest after each change."""

    target: float
    out_cooldown: float = 300
    in_cooldown: float = 300
    scales_in: bool = True


@dataclass(frozen=True, slots=True)
class ScalingTarget:
    """A variant that is registered, and between which numbers of instances it may move."""

    endpoint: str
    variant: str
    least: int
    most: int
    policies: tuple[ScalingPolicy, ...] = ()
    may_grow: bool = True
    may_shrink: bool = True


@dataclass
class Scaling:
    """Changes the number of instances of the variants that are registered, once a virtual minute.

    Source: Application Auto Scaling guide, target tracking: with several policies the largest number counts, and none
    shrinks what another holds.

    Parameters
    ----------
    agenda
        The order of time.
    endpoints
        What is scaled.

    Attributes
    ----------
    activities
        Every change that was tried: ``time``, ``endpoint``, ``variant``, ``from``, ``to``, ``status`` (``Successful``
        or ``Failed``) and ``cause``.
    """

    agenda: Agenda
    endpoints: Endpoints
    activities: list[dict[str, Any]] = field(default_factory=list)
    _targets: Callable[[], Iterable[ScalingTarget]] = field(default=lambda: ())
    _changed: dict[tuple[str, str], float] = field(default_factory=dict)
    _ticks: bool = False

    def follow(self, targets: Callable[[], Iterable[ScalingTarget]]) -> None:
        """Ask a registry from now on."""
        self._targets = targets
        self.refresh()

    def refresh(self) -> None:
        """Look at the registry, which may have changed; while it holds nothing, nobody looks."""
        with self.agenda.moment() as now:
            if not self._ticks and any(True for _ in self._targets()):
                self._ticks = True
                self.agenda.at(now + PERIOD, self._tick)

    def _tick(self, now: float) -> None:
        self._ticks = False
        rows = self.endpoints.invocations_since(now - PERIOD)
        answered = Counter((row["endpoint"], row["variant"]) for row in rows if row["error"] is None)
        for target in self._targets():
            self._look(target, answered[target.endpoint, target.variant], now)
        self.refresh()

    def _look(self, target: ScalingTarget, invocations: int, now: float) -> None:
        have = self.endpoints.in_service(target.endpoint, target.variant)
        if have is None:
            return
        want, cause = have, "the capacity limits changed"
        wishes = [(max(1, math.ceil(invocations / policy.target)), policy) for policy in target.policies]
        if wishes:
            wish, policy = max(wishes, key=lambda row: row[0])
            rested = now - self._changed.get((target.endpoint, target.variant), -math.inf)
            grows = wish > have and target.may_grow and rested >= policy.out_cooldown
            shrinks = wish < have and target.may_shrink and rested >= policy.in_cooldown and policy.scales_in
            if grows or shrinks:
                want, cause = wish, f"{invocations} invocations in the last minute"
        want = min(max(want, target.least), target.most)
        if want != have:
            self._change(target, have, want, cause, now)

    def _change(self, target: ScalingTarget, have: int, want: int, cause: str, now: float) -> None:
        row = {"time": now, "endpoint": target.endpoint, "variant": target.variant, "from": have, "to": want}
        try:
            self.endpoints.set_count(target.endpoint, target.variant, want)
        except ServiceError as error:
            self.activities.append(row | {"status": "Failed", "cause": error.message})
        else:
            self._changed[target.endpoint, target.variant] = now
            self.activities.append(row | {"status": "Successful", "cause": cause})
