"""How many On-Demand instances of each type AWS could give, zone by zone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from constructs_lib.sandbox.errors import SandboxError

if TYPE_CHECKING:
    from collections.abc import Iterator, Set

    from .capacity import Capacity

__all__ = ["Supply", "Taken"]


@dataclass
class _Pot:
    free: float
    level: int = 0  # counts the levels, so that instances return only to the level they were taken from


@dataclass(frozen=True)
class Taken:
    """Instances that someone holds."""

    pool: str
    count: int
    zone: str | None
    level: int


class Supply:
    """The free instances of every pool: a type's On-Demand instances, or its spot instances.

    A *level* says what is free for whoever asks from then on. Instances return to the level they were taken from: what
    a job took before the newest level does not add to it.
    """

    def __init__(self, capacity: Capacity) -> None:
        self._pots: dict[str, dict[str | None, _Pot]] = {
            pool: {zone: _Pot(0) for zone in zones} for pool, zones in capacity.pools().items()
        }
        self._default_of = capacity.default_of

    def free(self, pool: str, zones: Set[str] | None = None) -> float:
        """Return how many instances one zone can give at most; `zones` limits where to look, None does not."""
        return max((pot.free for _, pot in self._within(pool, zones)), default=0)

    def has_zones(self, pool: str) -> bool:
        """Say whether the pool's free instances are told by zone."""
        return None not in self._of(pool)

    def set_level(self, pool: str, free: float, zone: str | None = None) -> None:
        """Begin a new level.

        Raises
        ------
        SandboxError
            If `free` is negative, or the zone is not among those of the pool.
        """
        if not free >= 0:
            raise SandboxError(f"{free!r} instances of {pool} can not be free: give 0 or more")
        pots = self._of(pool)
        if zone not in pots:
            known = ", ".join(str(name) for name in pots if name)
            raise SandboxError(f"{pool} has no zone {zone!r}: give {f'one of {known}' if known else 'none'}")
        pots[zone].free = free
        pots[zone].level += 1

    def take(self, pool: str, count: int, zones: Set[str] | None = None) -> Taken:
        """Take instances from the first zone that has enough; ask `free` before."""
        zone, pot = next((zone, pot) for zone, pot in self._within(pool, zones) if pot.free >= count)
        pot.free -= count
        return Taken(pool, count, zone, pot.level)

    def give_back(self, taken: Taken) -> None:
        """Return instances."""
        pot = self._of(taken.pool)[taken.zone]
        if pot.level == taken.level:
            pot.free += taken.count

    def _of(self, pool: str) -> dict[str | None, _Pot]:
        return self._pots.setdefault(pool, {None: _Pot(self._default_of(pool))})

    def _within(self, pool: str, zones: Set[str] | None) -> Iterator[tuple[str | None, _Pot]]:
        for zone, pot in self._of(pool).items():
            if zone is None or zones is None or zone in zones:
                yield zone, pot
