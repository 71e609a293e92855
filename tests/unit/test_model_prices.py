"""Price books: dated, exact, and silent about what nobody said."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest

from constructs_lib.model import InvalidInputError, PriceBook

DATA = {"per_hour": {"ml.g5.xlarge": "1.408"}, "currency": "USD", "as_of": "2026-11-29", "source": "the list"}


def test_a_book_is_read_from_a_file_and_comes_back_from_the_payload(tmp_path):
    path = tmp_path / "prices.json"
    path.write_text(json.dumps(DATA))
    book = PriceBook.from_file(path)
    assert book.cost("ml.g5.xlarge", Decimal("2.5")).amount == Decimal("3.5200")
    assert PriceBook.from_payload(book.to_payload(["ml.g5.xlarge"])) == book


def test_a_price_that_nobody_said_is_not_guessed():
    book = PriceBook(**DATA)
    assert book.rate("ml.p5.48xlarge") is None
    assert book.cost("ml.p5.48xlarge", Decimal(1)) is None
    assert book.to_payload(["ml.p5.48xlarge"])["per_hour"] == {}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"per_hour": {"ml.g5.xlarge": 1.4}}, "price book, ml.g5.xlarge: 1.4 is no amount"),
        ({"per_hour": {"ml.g5.xlarge": "-1"}}, "is no amount"),
        ({"per_hour": ["ml.g5.xlarge"]}, "per_hour is"),
        ({"currency": "dollar"}, "currency 'dollar'"),
        ({"as_of": ""}, "as_of is ''"),
        ({"source": None}, "source is None"),
    ],
    ids=str,
)
def test_a_book_that_is_none_is_refused_in_words(change, words):
    with pytest.raises(InvalidInputError, match=words):
        PriceBook(**DATA | change)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"per_hour": {}}'])
def test_a_file_that_is_none_is_named_with_what_to_write(tmp_path, text):
    path = tmp_path / "prices.json"
    path.write_text(text)
    with pytest.raises(InvalidInputError, match=r"prices\.json: .*per_hour"):
        PriceBook.from_file(path)
    with pytest.raises(InvalidInputError, match="cannot be read"):
        PriceBook.from_file(tmp_path / "none.json")
