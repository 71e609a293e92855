"""How instances come to an endpoint and go: one fleet, one batch or one change of number at a time."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from .endpoint_state import Unit
from .placement import Ticket

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .agenda import Task
    from .endpoint_request import Variant
    from .endpoint_state import Endpoint, Fleet
    from .placement import Holding, Placement

__all__ = ["USAGE", "Rollout", "Step", "release"]

USAGE = "endpoint usage"  # as quota names say it
NO_CAPACITY = (
    "Unable to provision requested ML compute capacity due to InsufficientInstanceCapacity error. Please retry using a"
    " different ML instance type or after some time."
)


@dataclass(frozen=True, slots=True)
class Step:
    """One batch.

    Parameters
    ----------
    adds
        How many instances each variant gets.
    drops
        How many instances of each variant of the old fleet go once these serve.
    takes, pause
        Seconds until they serve, and from then until the drops.
    """

    adds: dict[str, int]
    drops: dict[str, int] = field(default_factory=dict)
    takes: float = 0
    pause: float = 0


@dataclass(eq=False)
class Rollout:
    """Brings a fleet into service step by step, and takes another out of it.

    Parameters
    ----------
    placement
        Where instances come from; every method is called within a moment of its agenda.
    endpoint, fleet, old
        Whose instances, for which fleet, and from which fleet the drops are; the same one when only a number changes.
    steps
        The batches in their order.
    patience
        Returns for how many seconds a variant's instances may be waited for; None: not at all.
    failure
        Why the instances do not come into service; None if they do.
    done, failed
        Called once, with the moment; `failed` receives the reason first.
    lost
        Called with an instance that the end of its reservation took.
    """

    placement: Placement
    endpoint: Endpoint
    fleet: Fleet
    old: Fleet
    steps: deque[Step]
    patience: Callable[[Variant], float | None]
    failure: str | None
    done: Callable[[float], None]
    failed: Callable[[str, float], None]
    lost: Callable[[Unit | None, float], None]
    _tickets: list[Ticket] = field(default_factory=list)
    _waiting: int = 0
    _task: Task | None = None
    _batch: list[Unit] = field(default_factory=list)
    _over: bool = False

    def go_on(self, now: float) -> None:
        """Begin the next step, or end."""
        if not self.steps:
            self._over = True
            self.done(now)
            return
        step = self.steps.popleft()
        self._batch, self._tickets = [], list(self._wishes(step))
        self._waiting = len(self._tickets)
        if not self._tickets:
            self._hired(step, now)
        for ticket in self._tickets:
            if not self._over:
                self.placement.submit(ticket, now)

    def cancel(self, now: float) -> None:
        """Stop where it is: what already serves stays, the batch under way is given back."""
        self._over = True
        if self._task is not None:
            self._task.cancel()
        for ticket in self._tickets:
            self.placement.withdraw(ticket, now)
        release(self.placement, self.endpoint, [unit for unit in self._batch if not unit.serves], now)

    def fail(self, reason: str, now: float) -> None:
        """Cancel and say why, unless it is over."""
        if not self._over:
            self.cancel(now)
            self.failed(reason, now)

    def _wishes(self, step: Step) -> Iterable[Ticket]:
        """Yield one ticket a variant, or one an instance where types may mix."""
        for variant in self.fleet.config.variants:
            count = step.adds.get(variant.name, 0)
            if len(variant.entries) > 1:
                yield from (self._ticket(step, variant, 1) for _ in range(count))
            elif count and variant.entries:
                yield self._ticket(step, variant, count)

    def _ticket(self, step: Step, variant: Variant, count: int) -> Ticket:
        def placed(holding: Holding, now: float) -> None:
            parts = self.placement.split(holding)
            units = [Unit(self.fleet, variant, part) for part in parts]
            self.endpoint.units += units
            self._batch += units
            self._waiting -= 1
            if not self._waiting:
                self._hired(step, now)

        return Ticket(
            owner=f"endpoint/{self.endpoint.name}",
            usage=USAGE,
            entries=tuple(replace(entry, count=count) for entry in variant.entries),
            zones=None,
            patience=self.patience(variant),
            placed=placed,
            gave_up=lambda _, now: self.fail(NO_CAPACITY, now),
            evicted=self._evicted,
        )

    def _hired(self, step: Step, now: float) -> None:
        self._task = self.placement.agenda.at(now + step.takes, lambda t: self._serve(step, t))

    def _serve(self, step: Step, now: float) -> None:
        if self.failure is not None and self._batch:
            self.fail(self.failure, now)
            return
        for unit in self._batch:
            unit.serves = True
        self._task = self.placement.agenda.at(now + step.pause, lambda t: self._drop(step, t))

    def _drop(self, step: Step, now: float) -> None:
        for variant in self.old.config.variants:
            units = [unit for unit in self.endpoint.of(self.old, variant) if unit not in self._batch]
            count = min(step.drops.get(variant.name, 0), len(units))
            release(self.placement, self.endpoint, units[len(units) - count :], now)
        self.go_on(now)

    def _evicted(self, holding: Holding, now: float) -> None:
        unit = next((unit for unit in self.endpoint.units if unit.holding is holding), None)
        if unit is not None:
            self.endpoint.units.remove(unit)
        self.lost(unit, now)


def release(placement: Placement, endpoint: Endpoint, units: Iterable[Unit], now: float) -> None:
    """Give instances back."""
    for unit in units:
        if unit in endpoint.units:
            endpoint.units.remove(unit)
            placement.release(unit.holding, now)
