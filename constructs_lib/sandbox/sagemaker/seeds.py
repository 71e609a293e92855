"""What a capacity file says, as values: levels of free instances, plans that are already bought, and how jobs run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

__all__ = ["UNLIMITED", "JobTimes", "Level", "Moment", "PlanSeed", "SegmentSeed"]

UNLIMITED: Final = math.inf


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment: epoch seconds if `absolute`, else seconds after the sandbox's start."""

    seconds: float
    absolute: bool = False

    def after(self, start: float) -> float:
        """Return epoch seconds, given those at which the sandbox starts."""
        return self.seconds if self.absolute else start + self.seconds


@dataclass(frozen=True, slots=True)
class Level:
    """From `at` on, `free` instances are free for whoever asks then."""

    at: Moment
    free: float


@dataclass(frozen=True, slots=True)
class JobTimes:
    """How long a job's phases take, in seconds, and with which FailureReason it fails at the end of its runtime."""

    start: float = 60
    download: float = 120
    runtime: float = 1800
    upload: float = 60
    stop_takes: float = 120
    fail: str | None = None


@dataclass(frozen=True, slots=True)
class SegmentSeed:
    """One reserved capacity of a plan."""

    start: Moment
    end: Moment
    count: int
    zone: str | None = None


@dataclass(frozen=True, slots=True)
class PlanSeed:
    """A training plan that exists when the sandbox starts; a `status` given here stays whatever the clock says."""

    name: str
    instance_type: str
    segments: tuple[SegmentSeed, ...]
    target: str = "training-job"
    status: str | None = None
    upfront_fee: str | None = None
    currency: str = "USD"
    tags: tuple[tuple[str, str], ...] = ()
