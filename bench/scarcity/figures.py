"""What the runs of one strategy come to: how long jobs waited for their start, and what they cost."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from bench.scarcity.histories import DAY, MINUTE, WATCHED
from bench.scarcity.strategies import BEST, PLAN_COUNT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bench.scarcity.play import Run

__all__ = ["Figures", "Prices", "figures_of", "on_demand_cost", "percentile", "plan_fee", "share_within"]


@dataclass(frozen=True, slots=True)
class Prices:
    """A dated price book: what an instance-hour costs, on demand and on a plan."""

    currency: str
    as_of: str
    source: str
    per_hour: Mapping[str, Decimal]
    plan_per_hour: Mapping[str, Decimal]

    @classmethod
    def given(cls) -> Prices:
        """Read the book beside this file."""
        book = json.loads((Path(__file__).parent / "prices.json").read_text())
        tables = ("per_hour", "plan_per_hour")
        return cls(**book | {table: {name: Decimal(text) for name, text in book[table].items()} for table in tables})


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of one strategy in one regime; times in seconds, infinite where a job never started."""

    soon: float
    median: float
    late: float
    never: int
    on_best: int
    calls: int
    on_demand: Decimal
    fee: Decimal

    @property
    def cost(self) -> Decimal:
        """What all of it costs."""
        return self.on_demand + self.fee


def figures_of(runs: Sequence[Run], prices: Prices, *, has_plan: bool) -> Figures:
    """Return the figures of one strategy's runs; a job that never started counts as one that waited for ever."""
    waits = [math.inf if run.waited is None else run.waited for run in runs]
    return Figures(
        soon=share_within(waits, 30 * MINUTE),
        median=percentile(waits, 50),
        late=percentile(waits, 95),
        never=waits.count(math.inf),
        on_best=sum(run.instance_type == BEST for run in runs),
        calls=sum(run.calls for run in runs),
        on_demand=on_demand_cost(runs, prices),
        fee=plan_fee(prices) if has_plan else Decimal(0),
    )


def share_within(waits: Sequence[float], limit: float) -> float:
    """Return the part of the waits that end within a limit."""
    return sum(wait <= limit for wait in waits) / len(waits)


def percentile(waits: Sequence[float], percent: int) -> float:
    """Return the least wait that so many percent of all do not exceed (nearest rank; nothing is interpolated)."""
    return sorted(waits)[math.ceil(len(waits) * percent / 100) - 1]


def on_demand_cost(runs: Sequence[Run], prices: Prices) -> Decimal:
    """Return what the runs outside of the plan are billed, count times time times price."""
    billed = (
        Decimal(str(run.billed)) * run.count * prices.per_hour[run.instance_type] / 3600
        for run in runs
        if run.waited is not None and not run.on_plan
    )
    return sum(billed, Decimal(0)).quantize(Decimal("0.01"))


def plan_fee(prices: Prices) -> Decimal:
    """Return what the plan costs: paid upfront and in full, used or not."""
    return prices.plan_per_hour[BEST] * PLAN_COUNT * (WATCHED // DAY) * 24
