"""The time in which an endpoint can live on a training plan: edges of every segment, and what has to happen there."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from constructs_lib.facts.capacity import plan_targets
from constructs_lib.model.window import as_moment, moment_text, zoned

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["DEAD", "GONE", "UNREADABLE", "PlanSegment", "PlanSight", "Position"]

GONE = "Gone"
"""The status of a plan that AWS does not know (any more)."""
UNREADABLE = "Unreadable"
"""The status of a plan that could not be looked up now; its edges are those of the last look."""
DEAD = ("Expired", "Failed", GONE)

_DISTANT = datetime(9999, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class PlanSegment:
    """One reserved capacity of a plan."""

    start: datetime
    end: datetime
    count: int = 0


@dataclass(frozen=True, slots=True)
class Position:
    """Where in a plan's time a moment lies.

    Parameters
    ----------
    zone : str
        ``before`` the first segment, ``open`` for whatever moves onto the plan, ``hold`` (nothing moves onto it any
        more), ``leave`` (from the cut on), ``gap`` between segments, or ``after`` the last.
    since : datetime or None
        When the zone began.
    cut : datetime or None
        When the segment that runs, or the next, has to be left.
    usable_end : datetime or None
        When the instances of the segment that runs, or ran last, are taken away.
    start : datetime or None
        When the next segment starts.
    """

    zone: str
    since: datetime | None = None
    cut: datetime | None = None
    usable_end: datetime | None = None
    start: datetime | None = None

    @property
    def phase(self) -> str:
        """The position as a key: a try that failed in one phase may be made again in another."""
        zone = "open" if self.zone == "hold" else self.zone
        at = self.cut if zone in ("open", "leave") else self.since
        return f"{zone}@{moment_text(at)}" if at else zone

    @property
    def leaving(self) -> bool:
        """Whether the capacity is about to be taken away, or was."""
        return self.zone in ("leave", "gap", "after")


@dataclass(frozen=True, slots=True)
class PlanSight:
    """A training plan as one look shows it.

    Parameters
    ----------
    arn, status : str
        ``status`` is AWS's, or `GONE`, or `UNREADABLE`.
    segments : tuple of PlanSegment
        In the order of time.
    instance_type, target : str
        "" while unknown.
    total, available : int or None
        Instances of the plan, and how many of them nobody uses.
    """

    arn: str
    status: str
    segments: tuple[PlanSegment, ...] = ()
    instance_type: str = ""
    target: str = "endpoint"
    total: int | None = None
    available: int | None = None

    @classmethod
    def of(cls, described: Mapping[str, Any]) -> PlanSight:
        """Read what DescribeTrainingPlan answers."""
        parts = described.get("ReservedCapacitySummaries", ())
        segments = [_segment(part) for part in parts if {"StartTime", "EndTime"} <= part.keys()]
        if not segments and {"StartTime", "EndTime"} <= described.keys():
            segments = [_segment(described)]
        types = [part["InstanceType"] for part in parts if "InstanceType" in part]
        return cls(
            str(described["TrainingPlanArn"]),
            str(described.get("Status", "")),
            tuple(sorted(segments, key=lambda segment: segment.start)),
            types[0] if types else "",
            next(iter(described.get("TargetResources", ())), ""),
            described.get("TotalInstanceCount"),
            described.get("AvailableInstanceCount"),
        )

    @classmethod
    def remembered(cls, arn: str, data: Mapping[str, Any]) -> PlanSight:
        """Read what `to_dict` wrote."""
        segments = [
            PlanSegment(zoned(part["start"], "start"), zoned(part["end"], "end"), part["count"])
            for part in data["segments"]
        ]
        rest = {name: data[name] for name in ("instance_type", "target", "total", "available")}
        return cls(arn, data["status"], tuple(segments), **rest)

    def to_dict(self, margin: timedelta) -> dict[str, Any]:
        """Return what is remembered of the plan, with the cut of each segment."""
        segments = [
            {
                "start": moment_text(part.start),
                "end": moment_text(part.end),
                "cut": moment_text(part.end - self.early - margin),
                "count": part.count,
            }
            for part in self.segments
        ]
        rest = {name: getattr(self, name) for name in ("status", "instance_type", "target", "total", "available")}
        return rest | {"segments": segments}

    @property
    def early(self) -> timedelta:
        """How long before a segment's end its instances are taken away, at the earliest."""
        known = plan_targets().get(self.target)
        return timedelta(minutes=known.early_end_minutes if known else 60)

    @property
    def dead(self) -> bool:
        """Whether the plan will never give instances again."""
        return self.status in DEAD

    def fits_endpoints(self) -> bool:
        """Whether endpoints can run on the plan, as far as is known."""
        return self.target in ("endpoint", "")

    def ended_since(self, until: str, now: datetime) -> bool:
        """Tell whether the segment whose usable end was remembered is over, although the plan goes on."""
        return bool(until) and moment_text(now - self.early) >= until

    def position(self, now: datetime, margin: timedelta, *, every_segment: bool = True) -> Position:
        """Return where in the plan's time a moment lies.

        Parameters
        ----------
        now : datetime
        margin : timedelta
            How long before the usable end leaving begins; nothing moves onto the plan in the same time before that.
        every_segment : bool
            False looks at the plan's start and end alone.
        """
        segments = self.segments if every_segment else self._whole()
        if not segments:
            return Position("before")
        for number, segment in enumerate(segments):
            following = segments[number + 1].start if number + 1 < len(segments) else None
            usable = segment.end - self.early
            cut = usable - margin
            if now < segment.start:
                if not number:
                    return Position("before", None, cut, usable, segment.start)
                last = segments[number - 1]
                return Position("gap", last.end, cut, last.end - self.early, segment.start)
            if now < cut:
                return Position("open" if now < cut - margin else "hold", segment.start, cut, usable, following)
            if now < min(segment.end, following or _DISTANT):
                return Position("leave", cut, cut, usable, following)
        return Position("after", segments[-1].end, None, segments[-1].end - self.early)

    def _whole(self) -> Sequence[PlanSegment]:
        return self.segments and (PlanSegment(self.segments[0].start, self.segments[-1].end),)


def _segment(part: Mapping[str, Any]) -> PlanSegment:
    return PlanSegment(as_moment(part["StartTime"]), as_moment(part["EndTime"]), part.get("TotalInstanceCount", 0))
