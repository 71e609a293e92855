"""Limits of a launch: read, contradicted, and passed at the right moment."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructs_lib.model import InvalidInputError, Limits, PriceBook, PriceCeiling, RunEnd
from constructs_lib.model.limits import SWEEP_SECONDS, Bounds

BOOK = PriceBook({"ml.g5.xlarge": "1.5"}, "USD", "2026-11-29", "us")
NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)
MOMENTS = st.none() | st.integers(1, 10**6) | st.timedeltas(timedelta(seconds=1)) | st.just("2027-01-27T01:00+01:00")


def test_limits_come_back_from_the_payload():
    limits = Limits(
        start_by=timedelta(hours=1),
        finish_by="2027-01-27T00:00Z",
        max_cost=PriceCeiling("12", "USD"),
        prices=BOOK,
        on_quota="drop",
        reserved_only=True,
    )
    payload = limits.to_payload(["ml.g5.xlarge", "ml.p5.48xlarge"])
    assert payload["prices"]["per_hour"] == {"ml.g5.xlarge": "1.5"}
    assert Limits.from_payload(payload) == limits
    assert Limits().to_payload([]) == {}
    assert Limits.from_payload({}) == Limits()


@given(start_by=MOMENTS)
def test_only_durations_count_from_the_begin_of_the_run(start_by):
    limits = Limits(start_by=start_by)
    assert limits.relative == isinstance(start_by, int | timedelta)
    moved = limits.bounds(1000.0).start_by != limits.bounds(2000.0).start_by
    assert moved == limits.relative


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"start_by": 100, "finish_by": 100}, "finish_by 100 is not after start_by 100"),
        ({"start_by": NOON, "finish_by": NOON - timedelta(1)}, "nothing could ever run"),
        ({"start_by": 0}, "not after the run began"),
        ({"start_by": float("inf")}, "start_by inf is no time"),
        ({"start_by": timedelta(seconds=-1)}, "not after the run began"),
        ({"finish_by": "2027-01-27T00:00"}, "finish_by '2027-01-27T00:00' has no time zone"),
        ({"finish_by": True}, "is no moment"),
        ({"max_cost": PriceCeiling("1", "USD")}, "max_cost 1 USD needs prices"),
        ({"max_cost": PriceCeiling("1", "EUR"), "prices": BOOK}, "in different currencies"),
        ({"on_quota": "ignore"}, "on_quota 'ignore'"),
    ],
    ids=str,
)
def test_limits_that_cannot_hold_are_refused_in_words(given, words):
    with pytest.raises(InvalidInputError, match=words):
        Limits(**given)


@pytest.mark.parametrize(
    ("bounds", "at", "end"),
    [
        ({}, 10**9, None),
        ({"start_by": 100.0}, 99.9, None),
        ({"start_by": 100.0}, 100.0, RunEnd.START_BY_PASSED),
        ({"start_by": 100.0, "finish_by": 100.0}, 100.0, RunEnd.FINISH_BY_PASSED),
        ({"budget": Decimal(0)}, 0.0, RunEnd.COST_LIMIT_REACHED),
        ({"budget": Decimal("0.01")}, 0.0, None),
    ],
    ids=str,
)
def test_nothing_is_created_from_the_moment_of_a_limit_on(bounds, at, end):
    assert Bounds(**bounds).before(at) is end


@given(budget=st.decimals(1, 10**5, places=2), rate=st.decimals("0.01", 10**4, places=2), ran=st.integers(0, 10**6))
def test_a_running_job_is_stopped_before_the_next_sweep_would_find_it_too_dear(budget, rate, ran):
    stopped = Bounds(budget=budget).passed(float(ran), created=0.0, started=0.0, rate=rate)
    assert (stopped is RunEnd.COST_LIMIT_REACHED) == (rate * (ran + SWEEP_SECONDS) / 3600 > budget)


@pytest.mark.parametrize(
    ("bounds", "started", "end"),
    [
        ({"max_pending": 600.0}, None, RunEnd.INSUFFICIENT_CAPACITY),
        ({"max_pending": 600.0}, 10.0, None),
        ({"max_pending": 600.0, "start_by": 700.0}, None, RunEnd.START_BY_PASSED),
        ({"max_pending": 900.0}, None, None),
        ({"start_by": 700.0}, 650.0, None),
        ({"start_by": 700.0, "finish_by": 710.0}, 650.0, RunEnd.FINISH_BY_PASSED),
    ],
    ids=str,
)
def test_a_job_that_waits_and_one_that_runs_have_limits_of_their_own(bounds, started, end):
    assert Bounds(**bounds).passed(720.0, created=20.0, started=started, rate=None) is end


@given(
    budget=st.none() | st.decimals(1, 1000, places=2),
    finish_by=st.none() | st.integers(1000, 10**6).map(float),
    rates=st.lists(st.none() | st.decimals(0, 100, places=2), max_size=3),
)
def test_the_runtime_is_bounded_by_the_nearest_limit_and_never_by_an_unknown_price(budget, finish_by, rates):
    found = Bounds(budget=budget, finish_by=finish_by).longest(500.0, rates)
    known = [rate for rate in rates if rate is not None]
    if found is None:
        assert finish_by is None
        assert budget is None or not known or min(known) == 0
        return
    seconds, limit = found
    if finish_by is not None:
        assert seconds <= finish_by - 500
    if limit is RunEnd.COST_LIMIT_REACHED:
        assert min(known) * seconds / 3600 <= budget or seconds == 1


@given(
    st.builds(
        Bounds,
        start_by=st.none() | st.floats(0, 10**9),
        max_pending=st.none() | st.integers(1, 10**6),
        budget=st.none() | st.decimals(0, 10**6, places=4),
    )
)
def test_bounds_come_back_from_a_row(bounds):
    assert Bounds.of(bounds.to_dict()) == bounds


def test_an_earlier_start_keeps_start_by_and_earlier_costs_shrink_the_budget():
    limits = Limits(start_by=60, max_cost=PriceCeiling("10", "USD"), prices=BOOK)
    bounds = limits.bounds(0.0, spent=Decimal("4.5"), started=True)
    assert (bounds.start_by, bounds.budget) == (None, Decimal("5.5"))


def test_a_job_that_has_got_instances_waits_no_more_but_may_still_start_too_late():
    bounds = Bounds(max_pending=100, start_by=500.0)
    still = {"created": 0.0, "started": None, "rate": None}
    assert bounds.passed(101.0, **still) is RunEnd.INSUFFICIENT_CAPACITY
    assert bounds.passed(101.0, selected=True, **still) is None
    assert bounds.passed(500.0, selected=True, **still) is RunEnd.START_BY_PASSED
