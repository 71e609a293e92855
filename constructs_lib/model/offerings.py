"""What AWS offers: reserved capacity in one or more segments, for one fee; and what is wanted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from constructs_lib.model.price import Money
from constructs_lib.model.window import CapacityWindow, as_moment, moment_text, whole_days

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ExtensionOffering", "Offering", "Requirement", "Segment"]

_HOUR = 3600


@dataclass(frozen=True, slots=True)
class Requirement:
    """What is wanted.

    Parameters
    ----------
    instance_type, instance_count
    duration_hours : int
        Sold in whole days.
    window : CapacityWindow
    target : str
        What the plan is for, such as ``training-job``.
    allow_discontinuous : bool
        Whether segments with a gap between them will do.
    """

    instance_type: str
    instance_count: int
    duration_hours: int
    window: CapacityWindow
    target: str
    allow_discontinuous: bool = False

    @property
    def days(self) -> int:
        """The duration as it is sold."""
        return whole_days(self.duration_hours)

    def of_days(self, days: int) -> Requirement:
        """Return the same for another duration."""
        return replace(self, duration_hours=24 * days)

    def to_search(self) -> dict[str, Any]:
        """Return SearchTrainingPlanOfferings' request."""
        return {
            "InstanceType": self.instance_type,
            "InstanceCount": self.instance_count,
            "DurationHours": self.duration_hours,
            "TargetResources": [self.target],
            **self.window.to_request(),
        }

    def __str__(self) -> str:
        times = zip(("after", "before"), (self.window.start_after, self.window.end_before), strict=True)
        bounds = " and ".join(f"{word} {moment_text(moment)}" for word, moment in times if moment)
        where = f", {bounds}" if bounds else ""
        shape = "" if self.allow_discontinuous else " in one piece"
        return (
            f"{self.instance_count} x {self.instance_type} for {self.duration_hours} hours{shape}, "
            f"for {self.target}{where}"
        )


@dataclass(frozen=True, slots=True)
class Segment:
    """One reserved capacity of an offering."""

    instance_type: str
    instance_count: int
    availability_zone: str
    start: datetime
    end: datetime

    @property
    def instance_hours(self) -> Decimal:
        """Hours times instances."""
        return _hours(self.end - self.start) * self.instance_count


@dataclass(frozen=True, slots=True)
class Offering:
    """One row of SearchTrainingPlanOfferings.

    Examples
    --------
    >>> part = {"InstanceType": "ml.p5.48xlarge", "InstanceCount": 4, "AvailabilityZone": "us-east-1a",
    ...         "StartTime": 1800000000, "EndTime": 1800172800}
    >>> offering = Offering.of({"TrainingPlanOfferingId": "tpo-1", "UpfrontFee": "29900.00", "CurrencyCode": "USD",
    ...                         "TargetResources": ["training-job"], "ReservedCapacityOfferings": [part]})
    >>> str(offering.price), offering.hours, offering.in_one_piece
    ('155.7292 USD', Decimal('48'), True)
    """

    id: str
    fee: Money
    segments: tuple[Segment, ...]
    targets: tuple[str, ...]

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Offering:
        """Read a row; times as `datetime` or epoch seconds.

        Raises
        ------
        InvalidInputError
            If the fee is no plain amount with a currency.
        """
        segments = [
            Segment(
                part["InstanceType"],
                part["InstanceCount"],
                part.get("AvailabilityZone", ""),
                as_moment(part["StartTime"]),
                as_moment(part["EndTime"]),
            )
            for part in row["ReservedCapacityOfferings"]
        ]
        segments.sort(key=lambda segment: segment.start)
        fee = Money.of(row.get("UpfrontFee", ""), row.get("CurrencyCode", ""))
        return cls(row["TrainingPlanOfferingId"], fee, tuple(segments), tuple(row.get("TargetResources", ())))

    @property
    def start(self) -> datetime:
        """When the first segment begins."""
        return self.segments[0].start

    @property
    def end(self) -> datetime:
        """When the last segment ends."""
        return self.segments[-1].end

    @property
    def hours(self) -> Decimal:
        """How long the segments are together, to the second."""
        return _hours(sum((part.end - part.start for part in self.segments), timedelta()))

    @property
    def price(self) -> Money:
        """The fee for one instance and hour, which alone compares offerings of different length."""
        return self.fee.per(sum((part.instance_hours for part in self.segments), Decimal(0)))

    @property
    def zones(self) -> tuple[str, ...]:
        """The zones, each once, in the order of time."""
        return tuple(dict.fromkeys(part.availability_zone for part in self.segments if part.availability_zone))

    @property
    def in_one_piece(self) -> bool:
        """Whether no segment begins later than the one before it ends."""
        return all(a.end >= b.start for a, b in zip(self.segments, self.segments[1:], strict=False))

    def misfit(self, wanted: Requirement) -> str | None:
        """Return why this is not what is wanted, or ``None``. Longer than wanted is no misfit."""
        if any(part.instance_type != wanted.instance_type for part in self.segments):
            return "another instance type"
        if any(part.instance_count != wanted.instance_count for part in self.segments):
            return "another number of instances"
        if wanted.target not in self.targets:
            return "another target"
        if whole_days(float(self.hours)) < wanted.days:
            return "shorter"
        if not wanted.window.holds(self.start, self.end):
            return "outside the window"
        return "segments with a gap" if not (self.in_one_piece or wanted.allow_discontinuous) else None

    def __str__(self) -> str:
        part = self.segments[0]
        pieces = "" if len(self.segments) == 1 else f" in {len(self.segments)} segments"
        zones = f" in {', '.join(self.zones)}" if self.zones else ""
        return (
            f"{part.instance_count} x {part.instance_type} for {_number(self.hours)} hours{pieces}{zones}, "
            f"{moment_text(self.start)} to {moment_text(self.end)}, {self.fee} ({self.price} an instance-hour)"
        )


@dataclass(frozen=True, slots=True)
class ExtensionOffering:
    """One row of the extension offerings of a plan."""

    id: str
    fee: Money
    start: datetime
    end: datetime

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> ExtensionOffering:
        """Read a row; errors are those of `Offering.of`."""
        fee = Money.of(row.get("UpfrontFee", ""), row.get("CurrencyCode", ""))
        return cls(row["TrainingPlanExtensionOfferingId"], fee, as_moment(row["StartDate"]), as_moment(row["EndDate"]))

    def __str__(self) -> str:
        return f"{moment_text(self.start)} to {moment_text(self.end)}, {self.fee}"


def _hours(span: timedelta) -> Decimal:
    return Decimal(int(span.total_seconds())) / _HOUR


def _number(hours: Decimal) -> str:
    return f"{hours.quantize(Decimal('0.01')).normalize():f}"
