"""When rate, cron and at expressions fire."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from constructs_lib.sandbox import ServiceError
from constructs_lib.sandbox.events.rates import parse

slow = pytest.mark.slow
Recorder = Callable[..., tuple[str, Callable[[], list[Any]]]]
PASS = json.dumps({"StartAt": "Only", "States": {"Only": {"Type": "Pass", "End": True}}})
OFF = {"Mode": "OFF"}


def moments(text: str, start: str, count: int, zone: str = "UTC") -> list[str]:
    where = ZoneInfo(zone)
    t = datetime.fromisoformat(start).replace(tzinfo=where).timestamp()
    expression, found = parse(text, zone), []
    for _ in range(count):
        t = expression.next_after(t, 0.0)
        if t is None:
            break
        found.append(datetime.fromtimestamp(t, where).strftime("%Y-%m-%dT%H:%M"))
    return found


@pytest.mark.parametrize(
    ("text", "start", "expected"),
    [
        ("cron(0 10 * * ? *)", "2026-11-29T12:00", ["2026-11-30T10:00", "2026-12-01T10:00"]),
        ("cron(15 12 * * ? *)", "2026-11-29T12:14", ["2026-11-29T12:15", "2026-11-30T12:15"]),
        ("cron(0 18 ? * MON-FRI *)", "2026-11-27T18:00", ["2026-11-30T18:00", "2026-12-01T18:00"]),
        ("cron(0 8 1 * ? *)", "2026-11-29T00:00", ["2026-12-01T08:00", "2027-01-01T08:00"]),
        ("cron(0/15 * * * ? *)", "2026-11-29T12:20", ["2026-11-29T12:30", "2026-11-29T12:45", "2026-11-29T13:00"]),
        ("cron(0/30 20-2 ? * SAT,SUN *)", "2026-11-28T23:40", ["2026-11-29T00:00", "2026-11-29T00:30"]),
        ("cron(0 0 L * ? *)", "2027-02-01T00:00", ["2027-02-28T00:00", "2027-03-31T00:00"]),
        ("cron(0 0 LW * ? *)", "2026-10-01T00:00", ["2026-10-30T00:00", "2026-11-30T00:00"]),
        ("cron(0 0 1W * ? *)", "2026-08-02T00:00", ["2026-08-03T00:00", "2026-09-01T00:00"]),
        ("cron(0 0 15W * ? *)", "2026-08-01T00:00", ["2026-08-14T00:00", "2026-09-15T00:00"]),
        ("cron(0 0 ? * 2#1 *)", "2026-11-01T00:00", ["2026-11-02T00:00", "2026-12-07T00:00"]),
        ("cron(0 0 ? * 6L *)", "2026-11-01T00:00", ["2026-11-27T00:00", "2026-12-25T00:00"]),
        ("cron(0 0 ? * L *)", "2026-11-29T00:00", ["2026-12-05T00:00"]),
        ("cron(0 0 29 FEB ? *)", "2026-11-01T00:00", ["2028-02-29T00:00", "2032-02-29T00:00"]),
        ("cron(0 0 1 1 ? 2026-2027)", "2026-06-01T00:00", ["2027-01-01T00:00"]),
        ("cron(0 0 1 1 ? 2025)", "2026-06-01T00:00", []),
        ("at(2026-12-01T08:30:00)", "2026-11-29T00:00", ["2026-12-01T08:30"]),
        ("at(2026-11-01T08:30:00)", "2026-11-29T00:00", []),
    ],
)
def test_an_expression_fires_when_aws_says(text: str, start: str, expected: list[str]) -> None:
    assert moments(text, start, max(len(expected), 1) if len(expected) < 2 else len(expected)) == expected


def test_a_cron_in_a_time_zone_follows_its_clocks() -> None:
    # In New York the clock goes forward on 2027-03-14 and back on 2026-11-01, each at 02:00.
    assert moments("cron(30 2 * * ? *)", "2027-03-12T12:00", 2, "America/New_York") == [
        "2027-03-13T02:30", "2027-03-15T02:30",
    ]  # fmt: skip
    assert moments("cron(30 1 * * ? *)", "2026-10-31T12:00", 2, "America/New_York") == [
        "2026-11-01T01:30", "2026-11-02T01:30",
    ]  # fmt: skip
    eight = parse("cron(0 8 * * ? *)", "Europe/Berlin").next_after(datetime(2026, 7, 1, tzinfo=UTC).timestamp(), 0.0)
    assert datetime.fromtimestamp(eight, UTC).hour == 6


def test_a_rate_counts_from_when_the_schedule_began_and_begins_at_once() -> None:
    rate = parse("rate(5 minutes)")
    assert rate.next_after(99.0, 100.0) == 100.0
    assert rate.next_after(100.0, 100.0) == 400.0
    assert rate.next_after(1234.0, 100.0) == 1300.0
    assert [parse(f"rate({text})").next_after(0, 0) for text in ("1 hour", "2 days")] == [3600, 172800]


def test_a_cron_does_not_fire_before_its_schedule_began() -> None:
    assert parse("cron(0 * * * ? *)").next_after(0.0, 7201.0) == 10800.0


@pytest.mark.parametrize(
    "text",
    ["rate(0 minutes)", "rate(5 weeks)", "rate(minutes)", "every 5 minutes", "cron(0 10 * * *)", "cron(0 10 * * * *)",
     "cron(0 10 ? * ? *)", "cron(61 10 * * ? *)", "cron(0 10 32 * ? *)", "cron(0 10 ? * XYZ *)", "cron(0 10 * 13 ? *)",
     "cron(0/0 * * * ? *)", "cron(a * * * ? *)", "at(tomorrow)", "at(2026-12-01)"],
)  # fmt: skip
def test_a_bad_expression_is_refused_in_words(text: str) -> None:
    with pytest.raises(ServiceError, match="ValidationException: Invalid Schedule Expression"):
        parse(text)


def test_an_unknown_time_zone_is_refused() -> None:
    with pytest.raises(ServiceError, match="Invalid Schedule Expression Timezone: Mars/Olympus"):
        parse("cron(0 8 * * ? *)", "Mars/Olympus")
