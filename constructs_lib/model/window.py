"""The time in which reserved capacity has to lie."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from constructs_lib.facts.capacity import purchase_limits
from constructs_lib.model.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CapacityWindow", "as_moment", "capacity_block_end", "moment_text", "whole_days", "zoned"]

_DAY = timedelta(days=1)
_EXPIRATION = "SAGEMAKER_CURRENT_CAPACITY_BLOCK_EXPIRATION_TIMESTAMP"


def zoned(given: Any, name: str) -> datetime:
    """Read a moment with its time zone, as UTC.

    Parameters
    ----------
    given : datetime or str
        ISO 8601 when text.
    name : str
        What errors call it.

    Raises
    ------
    InvalidInputError
        If it is no moment, or has no time zone.

    Examples
    --------
    >>> zoned("2027-01-27T01:00+01:00", "start_after").isoformat()
    '2027-01-27T00:00:00+00:00'
    """
    try:
        moment = given if isinstance(given, datetime) else datetime.fromisoformat(given)
    except (TypeError, ValueError):
        raise InvalidInputError(
            f"{name} {given!r} is no moment: write it as '2027-01-27T00:00Z', or give a datetime with tzinfo"
        ) from None
    if moment.tzinfo is None:
        raise InvalidInputError(
            f"{name} {given if isinstance(given, str) else moment.isoformat()!r} has no time zone: "
            f"write '{moment.isoformat()}Z' for UTC, or give a datetime with tzinfo"
        )
    return moment.astimezone(UTC)


def as_moment(value: datetime | float) -> datetime:
    """Return a moment of an AWS answer, a `datetime` or epoch seconds, as UTC."""
    return value.astimezone(UTC) if isinstance(value, datetime) else datetime.fromtimestamp(value, UTC)


def moment_text(moment: datetime) -> str:
    """Write a moment as UTC.

    Examples
    --------
    >>> moment_text(datetime(2027, 1, 27, 11, 30, tzinfo=UTC))
    '2027-01-27T11:30:00Z'
    """
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def capacity_block_end(environ: Mapping[str, str]) -> datetime | None:
    """Return when the reserved capacity under a running training job ends, for a last checkpoint before it.

    Parameters
    ----------
    environ : Mapping
        The container's environment, such as ``os.environ``. SageMaker writes the end as milliseconds since the epoch.

    Returns
    -------
    datetime or None
        ``None`` where the variable is absent or ``"0"``: no reserved capacity.

    Raises
    ------
    InvalidInputError
        If the variable holds anything else than digits.

    Examples
    --------
    >>> capacity_block_end({"SAGEMAKER_CURRENT_CAPACITY_BLOCK_EXPIRATION_TIMESTAMP": "1797247800000"}).isoformat()
    '2026-12-14T11:30:00+00:00'

    Notes
    -----
    Source: SageMaker guide, training-plan-utilization-for-training-jobs.
    """
    given = environ.get(_EXPIRATION, "0").strip() or "0"
    if not given.isascii() or not given.isdigit():
        raise InvalidInputError(f"{_EXPIRATION} is {given!r}: milliseconds since the epoch are expected")
    return datetime.fromtimestamp(int(given) / 1000, UTC) if int(given) else None


def whole_days(hours: float) -> int:
    """Return the days as which hours are sold: a search rounds a duration up to whole days.

    Examples
    --------
    >>> whole_days(72), whole_days(39.85)
    (3, 2)
    """
    return int(-(-hours // 24))


@dataclass(frozen=True, slots=True, init=False)
class CapacityWindow:
    """The window in which reserved capacity has to begin and to end.

    Parameters
    ----------
    start_after : datetime or str, optional
        The capacity begins then or later: ISO 8601 with a time zone. Without it, from the deploy on.
    end_before : datetime or str, optional
        The capacity ends then or earlier. Without it, no matter when.

    Raises
    ------
    InvalidInputError
        If a moment has no time zone, or the window ends before it starts.

    Examples
    --------
    >>> window = CapacityWindow(start_after="2027-01-27T00:00Z", end_before="2027-02-05T12:00Z")
    >>> window.refusal(72) is None
    True
    >>> CapacityWindow(start_after="2027-01-27T00:00Z", end_before="2027-01-31T00:00Z").refusal(168)
    '7 days do not fit between 2027-01-27T00:00:00Z and 2027-01-31T00:00:00Z'
    """

    start_after: datetime | None
    end_before: datetime | None

    def __init__(self, *, start_after: datetime | str | None = None, end_before: datetime | str | None = None) -> None:
        start = None if start_after is None else zoned(start_after, "start_after")
        end = None if end_before is None else zoned(end_before, "end_before")
        if start and end and end <= start:
            raise InvalidInputError(
                f"the window ends at {moment_text(end)}, before it starts at {moment_text(start)}: "
                "end_before has to be later than start_after"
            )
        object.__setattr__(self, "start_after", start)
        object.__setattr__(self, "end_before", end)

    def refusal(self, hours: float, now: datetime | None = None) -> str | None:
        """Return why a duration does not fit, or ``None``.

        Parameters
        ----------
        hours : float
            The duration, which is sold in whole days.
        now : datetime, optional
            The present; without it only the window itself is looked at.

        Notes
        -----
        Source: SageMaker guide, search-training-plan-offerings: the window has to be at least 24 hours long.
        """
        days = whole_days(hours)
        needed = max(days * _DAY, timedelta(hours=purchase_limits("training-plan").min_window_hours))
        start = max(filter(None, (self.start_after, now)), default=None)
        if start and self.end_before and self.end_before - start < needed:
            span = f"{days} day{'s' if days != 1 else ''}"
            return f"{span} do not fit between {moment_text(start)} and {moment_text(self.end_before)}"
        return None

    def holds(self, start: datetime, end: datetime) -> bool:
        """Tell whether a time lies in the window."""
        early = self.start_after is not None and start < self.start_after
        return not early and (self.end_before is None or end <= self.end_before)

    def to_request(self) -> dict[str, str]:
        """Return the window as a search, or the purchase's properties, take it."""
        times = {"StartTimeAfter": self.start_after, "EndTimeBefore": self.end_before}
        return {name: moment_text(time) for name, time in times.items() if time is not None}
