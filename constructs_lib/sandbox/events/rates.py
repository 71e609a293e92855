"""EventBridge's schedule expressions: ``rate(5 minutes)``, ``cron(0 8 ? * MON-FRI *)``, ``at(2026-12-01T08:00:00)``."""

from __future__ import annotations

import calendar
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Protocol
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from constructs_lib.sandbox.errors import ServiceError

__all__ = ["At", "Cron", "Expression", "Rate", "parse"]

_UNITS = {"minute": 60, "minutes": 60, "hour": 3600, "hours": 3600, "day": 86400, "days": 86400}
_MONTHS = {name.upper(): number for number, name in enumerate(calendar.month_abbr) if name}
_DAYS = {name: number for number, name in enumerate(["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"], 1)}
_LAST_YEAR = 2199
_HORIZON = 366 * 28  # days in which every day of week meets every 29 February


class Expression(Protocol):
    """When a schedule fires."""

    def next_after(self, t: float, born: float) -> float | None:
        """Return the first moment after `t` and not before `born`, when the schedule began; None if there is none."""


@dataclass(frozen=True)
class Rate:
    """Every so many seconds, counted from when the schedule began; the first time is that moment itself."""

    seconds: int

    def next_after(self, t: float, born: float) -> float | None:
        """Return the next multiple of the rate."""
        if t < born:
            return born
        return born + (int((t - born) // self.seconds) + 1) * self.seconds


@dataclass(frozen=True)
class At:
    """Once."""

    moment: float

    def next_after(self, t: float, born: float) -> float | None:  # noqa: ARG002 - one moment, whoever waits for it
        """Return the moment if it is still to come."""
        return self.moment if self.moment > t else None


@dataclass(frozen=True)
class Cron:
    """Each minute that all six fields allow, in a time zone.

    A local time that a clock change skips does not fire, one that it repeats fires once.
    Source: EventBridge Scheduler user guide, schedule types, daylight saving time.
    """

    minutes: frozenset[int]
    hours: frozenset[int]
    days: str
    months: frozenset[int]
    weekdays: str
    years: frozenset[int]
    zone: ZoneInfo

    def next_after(self, t: float, born: float) -> float | None:
        """Return the next minute that matches."""
        day = datetime.fromtimestamp(t, self.zone).date()
        for _ in range(_HORIZON):
            if day.year > _LAST_YEAR:
                return None
            if self._allows(day):
                for moment in self._moments(day):
                    if moment > t and moment >= born:
                        return moment
            day += timedelta(days=1)
        return None

    def _moments(self, day: date) -> list[float]:
        moments = []
        for hour in sorted(self.hours):
            for minute in sorted(self.minutes):
                local = datetime(day.year, day.month, day.day, hour, minute, tzinfo=self.zone)
                moment = local.timestamp()
                if datetime.fromtimestamp(moment, self.zone).replace(tzinfo=None) == local.replace(tzinfo=None):
                    moments.append(moment)
        return sorted(moments)

    def _allows(self, day: date) -> bool:
        if day.year not in self.years or day.month not in self.months:
            return False
        if self.weekdays == "?":
            return _day_matches(self.days, day)
        return _weekday_matches(self.weekdays, day)


def parse(text: str, zone: str = "UTC") -> Expression:
    """Return what an expression means.

    Raises
    ------
    ServiceError
        ``ValidationException``, as AWS raises when the schedule is made.
    """
    found = re.fullmatch(r"(rate|cron|at)\((.*)\)", text.strip())
    if found is None:
        raise _invalid(text, "write rate(...), cron(...) or at(...)")
    kind, body = found.groups()
    try:
        where = ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError):
        raise ServiceError("ValidationException", f"Invalid Schedule Expression Timezone: {zone}.") from None
    if kind == "rate":
        return _rate(text, body)
    if kind == "at":
        return _at(text, body, where)
    return _cron(text, body, where)


def _rate(text: str, body: str) -> Rate:
    found = re.fullmatch(r"\s*(\d+)\s+(\w+)\s*", body)
    if found is None or found[2] not in _UNITS or int(found[1]) < 1:
        raise _invalid(text, "a rate is a whole number above 0 and minutes, hours or days")
    return Rate(int(found[1]) * _UNITS[found[2]])


def _at(text: str, body: str, zone: ZoneInfo) -> At:
    try:
        local = datetime.strptime(body.strip(), "%Y-%m-%dT%H:%M:%S")  # noqa: DTZ007 - the zone is a parameter of its own
    except ValueError:
        raise _invalid(text, "a moment is yyyy-mm-ddThh:mm:ss") from None
    return At(local.replace(tzinfo=zone).astimezone(UTC).timestamp())


def _cron(text: str, body: str, zone: ZoneInfo) -> Cron:
    fields = body.upper().split()
    if len(fields) != 6:
        raise _invalid(text, "cron has six fields: minutes hours day-of-month month day-of-week year")
    minutes, hours, days, months, weekdays, years = fields
    if (days == "?") == (weekdays == "?"):
        raise _invalid(text, "exactly one of day-of-month and day-of-week is ?")
    try:
        cron = Cron(
            minutes=_values(minutes, 0, 59),
            hours=_values(hours, 0, 23),
            days=days,
            months=_values(months, 1, 12, _MONTHS),
            weekdays=weekdays,
            years=_values(years, 1970, _LAST_YEAR),
            zone=zone,
        )
        # A month with five of each weekday shows whether the day fields can be read at all.
        for number in range(1, 32):
            _day_matches(days, date(2024, 1, number))
            _weekday_matches(weekdays, date(2024, 1, number))
    except ValueError as error:
        raise _invalid(text, str(error)) from None
    return cron


def _values(field: str, low: int, high: int, names: dict[str, int] | None = None) -> frozenset[int]:
    """Return the numbers of a field of ``*``, ``a``, ``a-b``, ``x/step`` and commas."""
    result: set[int] = set()
    for part in field.split(","):
        span, _, step = part.partition("/")
        first, dash, last = span.partition("-")
        if span == "*":
            start, end = low, high
        else:
            start = _number(first, names)
            end = _number(last, names) if dash else high if step else start
        if not (low <= start <= high and low <= end <= high) or (step and int(step) < 1):
            raise ValueError(f"{part!r} is not within {low}-{high}")
        # A span of names may run over the end of the week.
        numbers = range(start, end + 1) if start <= end else [*range(start, high + 1), *range(low, end + 1)]
        result.update(list(numbers)[:: int(step) if step else 1])
    return frozenset(result)


def _number(word: str, names: dict[str, int] | None) -> int:
    if names and word in names:
        return names[word]
    if not word.isdecimal():
        raise ValueError(f"{word!r} is no number here")
    return int(word)


def _day_matches(field: str, day: date) -> bool:
    if field == "?":
        return True
    last = calendar.monthrange(day.year, day.month)[1]
    if field == "L":
        return day.day == last
    if field.endswith("W"):
        return day.day == _nearest_weekday(day, last if field == "LW" else _number(field[:-1], None), last)
    return day.day in _values(field, 1, 31)


def _nearest_weekday(day: date, number: int, last: int) -> int:
    target = day.replace(day=min(number, last))
    if target.isoweekday() == 6:
        return target.day - 1 if target.day > 1 else target.day + 2
    if target.isoweekday() == 7:
        return target.day + 1 if target.day < last else target.day - 2
    return target.day


def _weekday_matches(field: str, day: date) -> bool:
    if field == "?":
        return True
    weekday = day.isoweekday() % 7 + 1  # 1 is Sunday
    if field == "L":
        return weekday == 7
    if field.endswith("L"):
        last = calendar.monthrange(day.year, day.month)[1]
        return weekday == _number(field[:-1], _DAYS) and day.day > last - 7
    if "#" in field:
        name, _, which = field.partition("#")
        return weekday == _number(name, _DAYS) and (day.day - 1) // 7 + 1 == _number(which, None)
    return weekday in _values(field, 1, 7, _DAYS)


def _invalid(text: str, why: str) -> ServiceError:
    return ServiceError("ValidationException", f"Invalid Schedule Expression {text}: {why}.")
