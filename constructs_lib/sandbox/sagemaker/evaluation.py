"""The choice itself: the first entry of a list that has capacity, all or nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .seeds import UNLIMITED, spot_pool

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Entry", "Look", "evaluate"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One acceptable way to run: a type, how many, and the ARN of the plan that gives them; else On-Demand or spot."""

    instance_type: str
    count: int
    plan: str | None = None
    is_spot: bool = False

    @property
    def source(self) -> str:
        """Where the instances come from: a plan's ARN, or the name of a pool of free instances."""
        return self.plan or (spot_pool(self.instance_type) if self.is_spot else self.instance_type)


@dataclass(frozen=True, slots=True)
class Look:
    """What one evaluation saw at one entry."""

    rank: int
    entry: Entry
    free: float
    selected: bool

    def record(self, now: float) -> dict[str, Any]:
        """Return the look as plain data."""
        return {
            "time": now,
            "rank": self.rank,
            "instance_type": self.entry.instance_type,
            "training_plan_arn": self.entry.plan,
            "needed": self.entry.count,
            "free": "unlimited" if self.free == UNLIMITED else int(self.free),
            "outcome": "selected" if self.selected else "no capacity",
        }


def evaluate(entries: Sequence[Entry], free: Callable[[Entry], float]) -> tuple[Entry | None, list[Look]]:
    """Go through a list in order and stop at the first entry whose whole count is free.

    Parameters
    ----------
    entries
        The list in its order; an entry without capacity is passed over, never waited for.
    free
        Says how many instances an entry could get now.

    Examples
    --------
    >>> available = {"ml.p5.48xlarge": 7, "ml.p4d.24xlarge": 8}
    >>> entries = [Entry("ml.p5.48xlarge", 8), Entry("ml.p4d.24xlarge", 8)]
    >>> winner, looks = evaluate(entries, lambda entry: available[entry.instance_type])
    >>> winner.instance_type, [look.free for look in looks]
    ('ml.p4d.24xlarge', [7, 8])
    """
    looks = []
    for rank, entry in enumerate(entries, 1):
        available = free(entry)
        looks.append(Look(rank, entry, available, selected=available >= entry.count))
        if looks[-1].selected:
            return entry, looks
    return None, looks
