"""The Price List as the sandbox tells it, and the price book that the command line makes of it."""

import json

import pytest

from constructs_lib.cli.main import main
from constructs_lib.model.prices import PriceBook
from constructs_lib.sandbox import Capacity, Sandbox
from constructs_lib.sandbox.clock import Clock
from constructs_lib.sandbox.context import Context
from constructs_lib.sandbox.errors import SandboxError, ServiceError
from constructs_lib.sandbox.faults import Faults
from constructs_lib.sandbox.modelcheck import violations
from constructs_lib.sandbox.price_list import PriceList

PRICES = {"ml.p5.48xlarge": "98.32", "ml.g5.xlarge": "1.408"}
HERE = {"Type": "TERM_MATCH", "Field": "regionCode", "Value": "us-east-1"}


@pytest.fixture
def ask():
    clock = Clock()
    prices = PriceList(Context(clock, Faults(), lambda *_: None, lambda _: None), PRICES)

    def call(**request):
        answer = prices.handle("GetProducts", {"ServiceCode": "AmazonSageMaker"} | request)
        assert violations("pricing", "GetProducts", answer, answer=True) == []
        return answer

    yield call
    clock.close()


def test_a_type_has_a_product_for_each_use(ask):
    wanted = {"Type": "TERM_MATCH", "Field": "instanceName", "Value": "ml.g5.xlarge"}
    products = [json.loads(text)["product"]["attributes"] for text in ask(Filters=[HERE, wanted])["PriceList"]]
    assert {row["component"] for row in products} == {"Training", "Processing", "Hosting"}
    assert ask(Filters=[HERE | {"Value": "eu-west-1"}])["PriceList"] == []


def test_products_come_in_pages(ask):
    first = ask(MaxResults=4)
    assert len(first["PriceList"] + ask(MaxResults=4, NextToken=first["NextToken"])["PriceList"]) == 6
    with pytest.raises(ServiceError, match="NextToken"):
        ask(NextToken="soon")


def test_a_price_that_is_none_is_named():
    with pytest.raises(SandboxError, match=r"prices\.ml\.g5\.xlarge: 'dear' is not allowed; give an amount"):
        Capacity.of({"prices": {"ml.g5.xlarge": "dear"}})


@pytest.fixture(scope="module")
def running():
    with Sandbox(capacity=Capacity.of({"prices": PRICES})) as sandbox:
        yield sandbox


@pytest.fixture
def prices(running, capsys, monkeypatch):
    for name, value in running.environment().items():
        monkeypatch.setenv(name, value)
    running.faults.clear()

    def run(*arguments):
        code = main(["prices", *arguments])
        caught = capsys.readouterr()
        return code, caught.out, caught.err

    return run


@pytest.mark.slow
@pytest.mark.parametrize("attribute", ["instanceName", "instanceType"])
def test_a_price_book_is_written_with_day_and_source_whatever_the_attribute_is_called(
    running, prices, tmp_path, attribute
):
    running.faults.switch("pricing.instance-attribute", attribute)
    file = tmp_path / "prices.json"
    code, said, _ = prices("ml.p5.48xlarge", "ml.g5.xlarge", "--out", str(file))
    assert (code, "2 of 2 prices" in said) == (0, True)
    book = PriceBook.from_file(file)
    assert (dict(book.per_hour), book.currency) == (PRICES, "USD")
    assert book.source == "Price List API, AmazonSageMaker, training in us-east-1"


@pytest.mark.slow
def test_a_type_without_a_price_is_named_and_never_guessed(prices):
    code, said, warned = prices("ml.p5.48xlarge", "ml.p4d.24xlarge")
    assert code == 1
    assert list(json.loads(said)["per_hour"]) == ["ml.p5.48xlarge"]
    assert "ml.p4d.24xlarge: no price for training in us-east-1; left out" in " ".join(warned.split())


@pytest.mark.slow
def test_two_prices_for_one_hour_are_no_price(running, prices, monkeypatch):
    double = [{"ml.g5.xlarge": amount} for amount in ("1.40", "1.50")]
    answers = [row for book in double for row in PriceList(running.context, book)._products()]
    monkeypatch.setattr(PriceList, "_products", lambda _: answers)
    code, said, warned = prices("ml.g5.xlarge")
    assert (code, json.loads(said)["per_hour"]) == (1, {})
    assert "2 prices (1.40, 1.50)" in " ".join(warned.split())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("p5.48xlarge",), "p5.48xlarge: a SageMaker type with its ml. prefix is needed"),
        (("ml.g5.xlarge", "--out", "/nowhere/prices.json"), "cannot be written there"),
        (("ml.g5.xlarge", "--endpoint-url", "http://127.0.0.1:9"), "nobody answers"),
    ],
)
def test_what_the_command_cannot_use_is_refused_in_words(prices, arguments, words):
    code, _, warned = prices(*arguments)
    assert code == 2
    assert words in warned
