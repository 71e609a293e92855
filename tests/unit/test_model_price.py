"""Money is exact, and a ceiling is text."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructs_lib.model import InvalidInputError, Money, PriceCeiling

CENTS = st.integers(min_value=1, max_value=10**11)


def text(cents):
    return f"{cents // 100}.{cents % 100:02}"


@pytest.mark.parametrize(
    ("amount", "words"),
    [
        (60000.0, "as text"),
        (60000, "such as '60000'"),
        (None, "as text"),
        (True, "as text"),
        (Decimal(60000), "as text"),
        ("60,000", "60,000"),
        ("6e4", "plain digits"),
        ("NaN", "plain digits"),
        ("Infinity", "plain digits"),
        (" 60000", "plain digits"),
        ("٣", "plain digits"),
        ("", "plain digits"),
        ("-5", "negative"),
        ("0", "above 0"),
        ("0.00", "above 0"),
    ],
)
def test_what_is_no_amount_above_zero_as_text_is_refused(amount, words):
    with pytest.raises(InvalidInputError, match=words):
        PriceCeiling(amount, "USD")


@pytest.mark.parametrize("currency", ["usd", "US", "USDX", "", None, "$"])
def test_what_is_no_currency_is_refused(currency):
    with pytest.raises(InvalidInputError, match="three capital letters"):
        PriceCeiling("60000", currency)


@given(CENTS, CENTS)
def test_a_fee_is_refused_exactly_when_it_is_above_the_ceiling(fee, ceiling):
    refusal = PriceCeiling(text(ceiling), "USD").refusal(Money.of(text(fee), "USD"))
    assert (refusal is not None) == (fee > ceiling)
    if refusal:
        assert text(fee) in refusal
        assert text(ceiling) in refusal


@given(CENTS, CENTS)
def test_a_fee_in_another_currency_is_refused_whatever_it_is(fee, ceiling):
    assert "another currency" in PriceCeiling(text(ceiling), "EUR").refusal(Money.of(text(fee), "USD"))


def test_a_ten_thousandth_of_a_cent_counts():
    assert PriceCeiling("30000", "USD").refusal(Money.of("30000.0000000001", "USD"))


def test_the_price_of_an_instance_hour_is_exact():
    assert Money.of("29900.00", "USD").per(Decimal(4 * 48)).amount == Decimal("155.7292")
