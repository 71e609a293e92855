"""What a capacity file says, as values: levels of free instances, plans that are already bought, and how jobs run."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final

__all__ = [
    "TARGETS",
    "UNLIMITED",
    "EndpointTimes",
    "ExtensionSeed",
    "JobTimes",
    "Level",
    "Moment",
    "OfferingSeed",
    "Payment",
    "PlanSeed",
    "Price",
    "SegmentSeed",
    "spot_pool",
]

UNLIMITED: Final = math.inf
TARGETS: Final = ("training-job", "hyperpod-cluster", "endpoint", "studio-apps")


def spot_pool(instance_type: str) -> str:
    """Return the name of the pool of a type's spot instances; On-Demand instances are in the pool of the type's name.

    Examples
    --------
    >>> spot_pool("ml.g5.xlarge")
    'ml.g5.xlarge spot'
    """
    return f"{instance_type} spot"


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
    """From `at` on, `free` instances are free for whoever asks then; `interrupts` takes those of running spot jobs."""

    at: Moment
    free: float
    interrupts: bool = False


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
class EndpointTimes:
    """How long an endpoint's transitions take, in seconds.

    Parameters
    ----------
    create, update, scale
        From having all instances to serving: a new endpoint, a new fleet or one batch of it, more or fewer instances.
    rollback, delete
        From the decision to its end.
    capacity_wait
        How long instances are waited for, unless the variant tells its own time.
    fail
        The FailureReason with which instances do not come into service.
    """

    create: float = 300
    update: float = 360
    scale: float = 120
    rollback: float = 120
    delete: float = 60
    capacity_wait: float = 1800
    fail: str | None = None


@dataclass(frozen=True, slots=True)
class SegmentSeed:
    """One reserved capacity of a plan; its instances come `late` seconds after its start."""

    start: Moment
    end: Moment
    count: int
    zone: str | None = None
    late: float = 0


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
    extension: ExtensionSeed = field(default_factory=lambda: ExtensionSeed())  # noqa: PLW0108  defined below


@dataclass(frozen=True, slots=True)
class Payment:
    """How many seconds a payment takes, and the StatusMessage with which it then fails."""

    takes: float = 120
    fail: str | None = None


@dataclass(frozen=True, slots=True)
class Price:
    """From `at` on, something costs `amount`, in all or per instance-hour."""

    at: Moment
    amount: str
    per_hour: bool


@dataclass(frozen=True, slots=True)
class ExtensionSeed:
    """By how many days a plan can be extended (None: as AWS documents) and at what price per instance-hour."""

    days: tuple[int, ...] | None = None
    price: str | None = None  # None: what the plan itself cost
    payment: Payment = field(default_factory=Payment)


@dataclass(frozen=True, slots=True)
class OfferingSeed:
    """What AWS sells: fixed `segments`, or whole `days` from any 11:30 UTC to another."""

    instance_type: str
    counts: tuple[int, ...]
    prices: tuple[Price, ...]
    segments: tuple[SegmentSeed, ...] = ()
    days: tuple[int, ...] = ()
    zone: str | None = None
    late: float = 0
    targets: tuple[str, ...] = TARGETS
    currency: str = "USD"
    sold_from: Moment | None = None
    sold_until: Moment | None = None
    payment: Payment = field(default_factory=Payment)
    extension: ExtensionSeed = field(default_factory=ExtensionSeed)
