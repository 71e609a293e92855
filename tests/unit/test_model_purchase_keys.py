"""A key opens one purchase, until a day, in one place; names follow from identity and generation."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructs_lib.model import InvalidInputError, PurchaseKey, plan_arn, plan_name, purchase_label
from constructs_lib.model.purchase_keys import allows

HERE = {"account": "111122223333", "region": "us-west-2"}
TODAY = date(2026, 12, 10)
KEY = "nightly#1@2026-12-10@111122223333/us-west-2"
NAMES = st.from_regex(r"[a-z0-9](-?[a-z0-9]){0,40}", fullmatch=True)
DAYS = st.dates(date(2026, 1, 1), date(2099, 12, 31))
REGIONS = st.sampled_from(["us-west-2", "eu-central-1", "us-gov-west-1", "ap-southeast-3"])
KEYS = st.builds(PurchaseKey, NAMES, st.integers(1, 999), DAYS, st.just("111122223333"), REGIONS, st.none() | DAYS)


@given(KEYS)
def test_a_key_that_is_written_is_read_as_the_same(key):
    assert PurchaseKey.parse(str(key)) == key


@given(KEYS, KEYS)
def test_a_key_opens_exactly_its_own_purchase(key, other):
    label = purchase_label(other.generation, other.extend_until)
    place = {"account": other.account, "region": other.region}
    opens = allows(str(key), other.identity, label, **place, today=key.last_day) is None
    same = (key.identity, key.generation, key.extend_until, key.region) == (
        other.identity,
        other.generation,
        other.extend_until,
        other.region,
    )
    assert opens == same


def test_a_key_ends_after_its_last_day():
    assert allows(KEY, "nightly", "1", **HERE, today=TODAY) is None
    assert "ended on 2026-12-10" in allows(KEY, "nightly", "1", **HERE, today=TODAY + timedelta(days=1))


def test_one_of_several_keys_is_enough_and_a_malformed_one_closes_nothing_else():
    assert allows(f"nonsense, {KEY} ,", "nightly", "1", **HERE, today=TODAY) is None
    assert "buys nothing" in allows("nonsense", "nightly", "1", **HERE, today=TODAY)


@pytest.mark.parametrize(
    "text",
    [
        "nightly",
        "nightly#1",
        "nightly#0@2026-12-10@111122223333/us-west-2",
        "nightly#1@2026-13-10@111122223333/us-west-2",
        "nightly#1@2026-12-10@1111/us-west-2",
        "nightly#1@2026-12-10@111122223333",
        "*#1@2026-12-10@111122223333/us-west-2",
        "nightly#1+soon@2026-12-10@111122223333/us-west-2",
        "true",
    ],
)
def test_a_malformed_key_buys_nothing(text):
    with pytest.raises(InvalidInputError, match="name#generation@last-day@account/region"):
        PurchaseKey.parse(text)
    assert allows(text, "nightly", "1", **HERE, today=TODAY) is not None


def test_names_follow_from_identity_and_generation():
    assert plan_name("nightly") == "nightly"
    assert plan_name("nightly", 12) == "nightly-12"
    assert plan_arn("nightly", partition="aws-cn", account="1", region="cn-north-1").startswith("arn:aws-cn:sagemaker:")


@pytest.mark.parametrize("name", ["", "-a", "a-", "a_b", "a b", "ü", None, "a" * 65])
def test_what_is_no_name_is_refused(name):
    with pytest.raises(InvalidInputError, match="training_plan_name"):
        plan_name(name)


def test_a_name_that_is_only_too_long_with_its_suffix_is_refused_with_the_length():
    assert plan_name("a" * 64) == "a" * 64
    with pytest.raises(InvalidInputError, match="generation 2 it has 66 characters, at most 64"):
        plan_name("a" * 64, 2)


@pytest.mark.parametrize("generation", [0, -1, 1.0, "1", True, None])
def test_what_is_no_generation_is_refused(generation):
    with pytest.raises(InvalidInputError, match="whole number from 1 on"):
        plan_name("nightly", generation)
