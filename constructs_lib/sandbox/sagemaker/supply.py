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

    instance_type: str
    count: int
    zone: str | None
    level: int


class Supply:
    """The free instances of every type.

    A *level* says what is free for whoever asks from then on. Instances return to the level they were taken from: what
    a job took before the newest level does not add to it.
    """

    def __init__(self, capacity: Capacity) -> None:
        self._default = capacity.default_free
        self._pots: dict[str, dict[str | None, _Pot]] = {
            name: {zone: _Pot(0) for zone in zones} for name, zones in capacity.types.items()
        }

    def free(self, instance_type: str, zones: Set[str] | None = None) -> float:
        """Return how many instances one zone can give at most; `zones` limits where to look, None does not."""
        return max((pot.free for _, pot in self._within(instance_type, zones)), default=0)

    def has_zones(self, instance_type: str) -> bool:
        """Say whether the type's free instances are told by zone."""
        return None not in self._of(instance_type)

    def set_level(self, instance_type: str, free: float, zone: str | None = None) -> None:
        """Begin a new level.

        Raises
        ------
        SandboxError
            If `free` is negative, or the zone is not among those of the type.
        """
        if not free >= 0:
            raise SandboxError(f"{free!r} instances of {instance_type} can not be free: give 0 or more")
        pots = self._of(instance_type)
        if zone not in pots:
            known = ", ".join(str(name) for name in pots if name)
            raise SandboxError(f"{instance_type} has no zone {zone!r}: give {f'one of {known}' if known else 'none'}")
        pots[zone].free = free
        pots[zone].level += 1

    def take(self, instance_type: str, count: int, zones: Set[str] | None = None) -> Taken:
        """Take instances from the first zone that has enough; ask `free` before."""
        zone, pot = next((zone, pot) for zone, pot in self._within(instance_type, zones) if pot.free >= count)
        pot.free -= count
        return Taken(instance_type, count, zone, pot.level)

    def give_back(self, taken: Taken) -> None:
        """Return instances."""
        pot = self._of(taken.instance_type)[taken.zone]
        if pot.level == taken.level:
            pot.free += taken.count

    def _of(self, instance_type: str) -> dict[str | None, _Pot]:
        return self._pots.setdefault(instance_type, {None: _Pot(self._default)})

    def _within(self, instance_type: str, zones: Set[str] | None) -> Iterator[tuple[str | None, _Pot]]:
        for zone, pot in self._of(instance_type).items():
            if zone is None or zones is None or zone in zones:
                yield zone, pot
