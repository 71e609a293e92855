"""The ways to ask for capacity that are compared, as data."""

from __future__ import annotations

from dataclasses import dataclass

from bench.scarcity.histories import HOUR, MINUTE, PATIENCE

__all__ = ["INSTANCES_PER_UNIT", "PLAN_COUNT", "PLAN_NAME", "STRATEGIES", "Step", "Strategy"]

# A unit of work takes the same hours on each: an assumption, for most models a coarse one.
INSTANCES_PER_UNIT = {"ml.p5.48xlarge": 1, "ml.p4d.24xlarge": 2, "ml.g6e.48xlarge": 2}
BEST, *_ = TYPES = tuple(INSTANCES_PER_UNIT)
PLAN_NAME = "week"
PLAN_COUNT = 3


@dataclass(frozen=True, slots=True)
class Step:
    """One create call: a list in its order, how long it may wait (None: not at all), and which type is on the plan."""

    types: tuple[str, ...]
    pending: float | None
    on_plan: str | None = None


@dataclass(frozen=True, slots=True)
class Strategy:
    """Steps, one after the other; ``every`` begins them anew that often, as a script does."""

    name: str
    steps: tuple[Step, ...]
    every: float | None = None

    @property
    def has_plan(self) -> bool:
        """Whether the plan has to be paid for."""
        return any(step.on_plan for step in self.steps)


STRATEGIES = (
    Strategy("one fixed type", (Step((BEST,), PATIENCE),)),
    Strategy("retry script, every 15 min", tuple(Step((name,), None) for name in TYPES), every=15 * MINUTE),
    Strategy("one list", (Step(TYPES, PATIENCE),)),
    Strategy("steps: best 1 h, then list", (Step((BEST,), HOUR), Step(TYPES, PATIENCE - HOUR))),
    Strategy("one list, plan first", (Step(TYPES, PATIENCE, on_plan=BEST),)),
    Strategy(
        "steps: plan 30 min, then list",
        (Step((BEST,), HOUR / 2, on_plan=BEST), Step(TYPES, PATIENCE - HOUR / 2)),
    ),
)
