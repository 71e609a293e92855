"""Offerings in one or more segments, what fits, and which is chosen."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructs_lib.model import CapacityWindow, Choice, InvalidInputError, Offering, Requirement
from constructs_lib.model.choice import longer, neighbours

P5 = "ml.p5.48xlarge"
NOW = datetime(2027, 1, 20, tzinfo=UTC)
START = datetime(2027, 1, 27, 11, 30, tzinfo=UTC)
WANTED = Requirement(
    P5,
    4,
    48,
    CapacityWindow(start_after="2027-01-27T00:00Z", end_before="2027-02-05T12:00Z"),
    "training-job",
)


def offering(name="tpo-1", fee="29900.00", spans=((0, 48),), *, count=4, kind=P5, target="training-job", zone="a"):
    parts = [
        {
            "InstanceType": kind,
            "InstanceCount": count,
            "AvailabilityZone": f"us-east-1{zone}",
            "StartTime": START + timedelta(hours=begin),
            "EndTime": START + timedelta(hours=end),
        }
        for begin, end in spans
    ]
    return Offering.of(
        {
            "TrainingPlanOfferingId": name,
            "UpfrontFee": fee,
            "CurrencyCode": "USD",
            "TargetResources": [target],
            "ReservedCapacityOfferings": parts,
        }
    )


def test_the_price_of_an_instance_hour_counts_every_segment_and_minute():
    one = offering(fee="1000.00", spans=((0, 15.85), (24, 48)))
    assert one.hours == Decimal("39.85")
    assert one.price.amount == (Decimal(1000) / (Decimal("39.85") * 4)).quantize(Decimal("0.0001"))
    assert not one.in_one_piece
    assert offering(spans=((0, 24), (24, 48))).in_one_piece


def test_segments_are_put_in_order_and_zones_named_once():
    one = offering(spans=((24, 48), (0, 24)))
    assert (one.start, one.end, one.zones) == (START, START + timedelta(hours=48), ("us-east-1a",))


@pytest.mark.parametrize("fee", ["", "1,000", 1000, None, "1e3"])
def test_a_fee_that_is_no_plain_amount_is_never_compared(fee):
    with pytest.raises(InvalidInputError):
        offering(fee=fee)


@pytest.mark.parametrize(
    ("changes", "misfit"),
    [
        ({}, None),
        ({"kind": "ml.p4d.24xlarge"}, "another instance type"),
        ({"count": 8}, "another number of instances"),
        ({"target": "endpoint"}, "another target"),
        ({"spans": ((0, 24),)}, "shorter"),
        ({"spans": ((0, 39.85),)}, None),  # sold as two days
        ({"spans": ((-24, 24),)}, "outside the window"),
        ({"spans": ((200, 248),)}, "outside the window"),
        ({"spans": ((0, 24), (48, 72))}, "segments with a gap"),
        ({"spans": ((0, 72),)}, "longer"),
    ],
)
def test_what_does_not_fit_is_told_by_its_first_difference(changes, misfit):
    assert Choice().misfit(offering(**changes), WANTED) == misfit


def test_a_gap_is_taken_when_it_is_allowed_and_more_days_when_they_are_wanted():
    gap = Requirement(P5, 4, 48, WANTED.window, "training-job", allow_discontinuous=True)
    assert Choice().misfit(offering(spans=((0, 24), (48, 72))), gap) is None
    assert Choice.parse("longest").misfit(offering(spans=((0, 72),)), WANTED) is None


CHEAP = offering("tpo-cheap", "20000.00", ((24, 72),))
EARLY = offering("tpo-early", "30000.00", ((0, 48),))
LONG = offering("tpo-long", "40000.00", ((24, 96),))


@pytest.mark.parametrize(
    ("choice", "first"), [("cheapest", CHEAP), ("earliest", EARLY), ("longest", LONG), ("earliest,cheapest", EARLY)]
)
def test_the_choice_decides_in_whatever_order_they_come(choice, first):
    for order in itertools.permutations([CHEAP, EARLY, LONG]):
        assert Choice.parse(choice).fitting(order, WANTED)[0] == first


def test_ties_are_broken_by_price_start_length_segments_and_id():
    same = [offering(f"tpo-{name}") for name in "cab"]
    assert [one.id for one in Choice().fitting(same, WANTED)] == ["tpo-a", "tpo-b", "tpo-c"]
    split = offering("tpo-0", spans=((0, 24), (24, 48)))
    assert Choice().fitting([split, same[0]], WANTED)[0] == same[0]
    later = offering("tpo-0", spans=((1, 49),))
    assert Choice().fitting([later, same[0]], WANTED)[0] == same[0]


def test_longer_offerings_are_compared_by_the_instance_hour():
    dear_but_long = offering("tpo-long", "44000.00", ((0, 72),))
    both = Choice.parse("cheapest,longest").fitting([dear_but_long, EARLY], WANTED)
    assert both[0] == dear_but_long


@given(st.lists(st.tuples(st.integers(1, 10**7), st.integers(0, 100)), min_size=1, max_size=6), st.randoms())
def test_the_cheapest_is_the_least_fee_of_equal_sizes(rows, random):
    offers = [offering(f"tpo-{i}", f"{fee}.00", ((at, at + 48),)) for i, (fee, at) in enumerate(rows)]
    random.shuffle(offers)
    best = Choice().fitting(offers, WANTED)[0]
    assert best.fee.amount == min(one.fee.amount for one in offers if one.price.amount == best.price.amount)
    assert best.price.amount == min(one.price.amount for one in offers)


@pytest.mark.parametrize("text", ["", "luckiest", "cheapest,cheapest", "cheapest;earliest", None, "Cheapest"])
def test_what_is_no_choice_is_refused_with_what_is(text):
    with pytest.raises(InvalidInputError, match="cheapest, earliest, longest"):
        Choice.parse(text)


def test_near_misses_say_what_is_different_and_each_comes_once():
    near = Choice().near_misses([offering(spans=((0, 72),)), offering(spans=((0, 72),)), EARLY], WANTED)
    assert len(near) == 1
    assert near[0].startswith("longer: 4 x ml.p5.48xlarge for 72 hours in us-east-1a")


def test_the_sweep_is_bounded_and_stays_inside_what_is_sold():
    found = list(neighbours(WANTED, NOW))
    assert [one.days for one in found] == [1, 3, 4, 2]
    assert found[-1].window.start_after is None  # not before now
    assert found[-1].window.end_before == datetime(2027, 2, 12, 12, tzinfo=UTC)
    assert [one.days for one in neighbours(WANTED.of_days(1), NOW)] == [2, 3, 1]
    assert [one.days for one in neighbours(WANTED.of_days(9), NOW)] == [8, 7, 9]


def test_longer_searches_stay_in_the_window():
    assert [one.days for one in longer(WANTED)] == [3, 4]
    assert list(longer(WANTED.of_days(9))) == []
