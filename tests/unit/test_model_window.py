"""A window has time zones and holds what is asked for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructs_lib.model import CapacityWindow, InvalidInputError, capacity_block_end

START = datetime(2027, 1, 27, tzinfo=UTC)


@pytest.mark.parametrize("naive", ["2027-01-27T00:00", "2027-01-27", START.replace(tzinfo=None)])
def test_a_moment_without_a_zone_is_refused_with_the_fix(naive):
    with pytest.raises(InvalidInputError, match="no time zone: write '2027-01-27T00:00:00Z' for UTC"):
        CapacityWindow(start_after=naive)


@pytest.mark.parametrize("moment", ["tomorrow", "", 5, object()])
def test_what_is_no_moment_is_refused(moment):
    with pytest.raises(InvalidInputError, match=r"end_before .* is no moment"):
        CapacityWindow(end_before=moment)


def test_a_window_that_ends_before_it_starts_is_refused():
    with pytest.raises(InvalidInputError, match="before it starts"):
        CapacityWindow(start_after=START, end_before=START)


def test_zones_are_one_moment():
    east = timezone(timedelta(hours=9))
    assert CapacityWindow(start_after=START) == CapacityWindow(start_after=START.astimezone(east))


def test_a_week_in_four_days_is_refused():
    window = CapacityWindow(start_after=START, end_before=START + timedelta(days=4))
    assert window.refusal(168) == "7 days do not fit between 2027-01-27T00:00:00Z and 2027-01-31T00:00:00Z"


def test_the_present_shortens_a_window():
    window = CapacityWindow(start_after=START, end_before=START + timedelta(days=4))
    assert window.refusal(72) is None
    assert window.refusal(72, START + timedelta(days=2)) is not None
    assert CapacityWindow().refusal(24 * 182, START) is None


@given(st.integers(1, 24 * 30), st.integers(1, 24 * 30))
def test_what_is_refused_is_exactly_what_does_not_fit_in_whole_days(hours, length):
    window = CapacityWindow(start_after=START, end_before=START + timedelta(hours=length))
    days = -(-hours // 24)
    assert (window.refusal(hours) is None) == (24 * days <= length)


def test_the_request_is_in_utc():
    window = CapacityWindow(start_after="2027-01-27T01:00+01:00")
    assert window.to_request() == {"StartTimeAfter": "2027-01-27T00:00:00Z"}


def test_a_window_holds_what_lies_in_it():
    window = CapacityWindow(start_after=START, end_before=START + timedelta(days=2))
    assert window.holds(START, START + timedelta(days=2))
    assert not window.holds(START - timedelta(seconds=1), START + timedelta(days=1))
    assert not window.holds(START, START + timedelta(days=2, seconds=1))


def test_an_environment_that_holds_no_number_is_refused():
    with pytest.raises(InvalidInputError, match="milliseconds"):
        capacity_block_end({"SAGEMAKER_CURRENT_CAPACITY_BLOCK_EXPIRATION_TIMESTAMP": "soon"})
