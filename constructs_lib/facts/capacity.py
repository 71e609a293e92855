"""What can be bought, in which sizes, for which use, and what a use does with a plan's last minutes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from constructs_lib.facts import load

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["PlanTarget", "PurchaseLimits", "block_events", "plan_targets", "purchase_limits"]


@dataclass(frozen=True, slots=True)
class PurchaseLimits:
    """Sizes of a ``training-plan`` or a ``capacity-block``; beyond ``daily_until_days`` only whole weeks are sold."""

    product: str
    max_count: int
    documented_counts: tuple[int, ...]
    max_days: int
    daily_until_days: int
    ahead_days: int
    min_window_hours: int
    source: str


@dataclass(frozen=True, slots=True)
class PlanTarget:
    """One value of TargetResources: the API whose types it may hold, and how early its instances end."""

    target: str
    api: str
    early_end_minutes: int
    needs_active: bool
    source: str


@cache
def purchase_limits(product: str) -> PurchaseLimits:
    """Return the limits of ``training-plan`` or ``capacity-block``."""
    row = next(row for row in load("purchase_limits")["rows"] if row["product"] == product)
    return PurchaseLimits(**row | {"documented_counts": tuple(row["documented_counts"])})


@cache
def plan_targets() -> Mapping[str, PlanTarget]:
    """Return the targets of training plans by name."""
    return MappingProxyType({row["target"]: PlanTarget(**row) for row in load("plan_targets")["rows"]})


@cache
def block_events() -> Mapping[str, tuple[str, ...]]:
    """Return the documented names of each event of a capacity block: ``delivered`` and ``expiration-warning``."""
    return MappingProxyType({row["event"]: tuple(row["names"]) for row in load("block_events")["rows"]})
