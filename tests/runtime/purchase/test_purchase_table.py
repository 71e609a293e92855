"""The table that remembers purchases, on moto's DynamoDB: made on first use, changed by conditional writes only."""

from __future__ import annotations

from dataclasses import replace

import pytest
from botocore.exceptions import ClientError

from constructs_lib.model import InvalidInputError, Money, PriceCeiling
from constructs_lib.runtime.buyer import resolving
from constructs_lib.runtime.errors import RecordBusyError
from constructs_lib.runtime.purchase_record import Approval, Purchase, Record, State
from constructs_lib.runtime.purchase_table import PurchaseTable

TERMS = {"fee": "28800.00", "currency": "USD", "hours": 72.0, "count": 4, "zones": "us-east-1a"}
NAMES = iter(f"purchases-{number}" for number in range(1000))


class Waiting:
    def __init__(self):
        self.slept = 0

    def time(self):
        return 1000.0

    def sleep(self, seconds):
        self.slept += seconds


def purchase(attempt="a", request="r"):
    return Purchase(State.BUYING, attempt, 1000.5, request, "stack")


@pytest.fixture(params=["moto", "the worlds' own"])
def client(request, dynamodb, fakes):
    return dynamodb if request.param == "moto" else fakes.DynamoDB()


@pytest.fixture
def table(client):
    table = PurchaseTable(client, next(NAMES), Waiting())
    table.ensure()
    return table


def test_the_table_is_made_on_first_use_protected_and_restorable(dynamodb):
    name = next(NAMES)
    table = PurchaseTable(dynamodb, name, Waiting())
    assert table.read("nightly") == Record("nightly")
    assert table.all() == []
    table.ensure()
    table.ensure()
    made = dynamodb.describe_table(TableName=name)["Table"]
    assert made["DeletionProtectionEnabled"]
    assert made["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    backups = dynamodb.describe_continuous_backups(TableName=name)["ContinuousBackupsDescription"]
    assert backups["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"] == "ENABLED"


@pytest.mark.parametrize("code", ["ContinuousBackupsUnavailableException", "ResourceInUseException"])
def test_a_table_that_is_not_ready_yet_is_waited_for(refused, code):
    class NotReady:
        tries = 0

        def update_continuous_backups(self, **_):
            self.tries += 1
            if self.tries < 3:
                raise refused(code)

    clock = Waiting()
    PurchaseTable(NotReady(), "t", clock).ensure()
    assert clock.slept == 6


def test_a_table_that_may_not_be_made_is_an_error_and_one_that_never_comes_is_unclear(refused):
    class Denied:
        def update_continuous_backups(self, **_):
            raise refused("AccessDeniedException", "no")

    with pytest.raises(ClientError, match="AccessDenied"):
        PurchaseTable(Denied(), "t", Waiting()).ensure()

    class Never:
        def update_continuous_backups(self, **_):
            raise refused("TableNotFoundException")

        def create_table(self, **_):
            raise refused("ResourceInUseException")

    with pytest.raises(RecordBusyError, match="did not become ready"):
        PurchaseTable(Never(), "t", Waiting()).ensure()


def test_everything_in_a_record_survives_the_table(table):
    def fill(record):
        record = record.claimed("1", purchase()).with_terms("1", "a", TERMS)
        record = record.refused("2", "", "other", "too dear", 1000.0)
        record = replace(record, approvals={"1": Approval("30000", "USD", 2000.0, 1000.0, "ana")})
        return replace(record, watched={"1": {"status": "Pending", "at": 1000.25, "sent": ["7d@x"]}})

    table.change("nightly", fill)
    (read,) = table.all()
    assert read == table.read("nightly")
    assert read.version == 1
    assert read.purchases["1"] == replace(purchase(), terms=TERMS)
    assert read.closed == {"other": {"at": 1000, "reason": "too dear"}}
    assert read.approvals["1"].refusal(Money.of("30000.01", "USD")) == (
        "the fee of 30000.01 USD is above the approved fee of 30000 USD"
    )
    assert read.watched["1"]["sent"] == ["7d@x"]


def test_of_two_claims_one_wins(table):
    def claim(attempt):
        return lambda record: record.claimed("1", purchase(attempt))

    def overtaken(record):
        if not record.version:
            table.change("nightly", claim("other"))
        return claim("mine")(record)

    record = table.change("nightly", overtaken)
    assert record.holds("1", "other")
    assert not record.holds("1", "mine")


def test_a_write_whose_answer_was_lost_and_that_the_sdk_repeats_is_our_own(table, monkeypatch):
    write = PurchaseTable._write

    def twice(self, old, new):
        write(self, old, new)
        return write(self, old, new)

    monkeypatch.setattr(PurchaseTable, "_write", twice)
    assert table.change("nightly", lambda record: record.claimed("1", purchase("mine"))).holds("1", "mine")


def test_a_record_that_others_write_all_the_time_is_unclear(table):
    def pressed(record):
        table.change("nightly", lambda r: replace(r, watched={"1": {"at": float(r.version)}}))
        return record.claimed("1", purchase())

    with pytest.raises(RecordBusyError, match="deploy again"):
        table.change("nightly", pressed)


def test_a_change_that_changes_nothing_writes_nothing(table):
    table.change("nightly", lambda record: record.claimed("1", purchase()))
    assert table.change("nightly", lambda record: record.released("1", "another")).version == 1


# --- what people write


class Counting:
    """A client whose calls are counted."""

    def __init__(self, client):
        self._client, self.calls = client, []

    def __getattr__(self, name):
        self.calls.append(name)
        return getattr(self._client, name)


def test_an_approval_makes_the_table_only_when_there_is_none_and_needs_no_more_than_reading_and_writing(dynamodb):
    client, name = Counting(dynamodb), next(NAMES)
    approve = resolving(client, name, Waiting()).approve
    approve("nightly", "1", PriceCeiling("30000", "USD"), seconds=600, by="ana")
    assert "create_table" in client.calls
    client.calls.clear()
    approve("nightly", "2", PriceCeiling("40000", "USD"), seconds=600, by="ana")
    assert client.calls == ["get_item", "update_item"]
    record = PurchaseTable(dynamodb, name, Waiting()).read("nightly")
    assert record.approvals["1"] == Approval("30000", "USD", 1600, 1000, "ana")
    assert sorted(record.approvals) == ["1", "2"]


def test_what_is_bought_is_not_approved_and_what_is_not_open_is_not_resolved(client):
    name = next(NAMES)
    table = PurchaseTable(client, name, Waiting())
    table.ensure()
    table.change("nightly", lambda r: r.claimed("1", purchase()).with_bought("1", "arn", {}, 1.0))
    people = resolving(client, name, Waiting())
    with pytest.raises(InvalidInputError, match="bought already"):
        people.approve("nightly", "1", PriceCeiling("1", "USD"), seconds=1)
    with pytest.raises(InvalidInputError, match=r"nightly#1 is bought.*open are: none"):
        people.nothing_was_bought("nightly", "1")
    with pytest.raises(InvalidInputError, match="was never begun"):
        people.nothing_was_bought("nightly", "2")


# --- the record's own rules


def test_a_claim_needs_a_free_generation_none_above_and_an_open_request():
    record = Record("nightly").claimed("2", purchase())
    assert record.claimed("2", purchase("b")) is record
    assert record.claimed("1", purchase("b")) is record
    assert "generation 2" in record.reason_against("1", "r")
    assert record.claimed("3", purchase("b")).holds("3", "b")
    closed = record.refused("3", "b", "request", "too dear", 1.0)
    assert closed.claimed("3", purchase("b", "request")) is closed
    assert closed.reason_against("3", "request") == "too dear"


def test_what_is_bought_is_never_released_and_an_extension_blocks_no_generation():
    record = Record("nightly").claimed("1", purchase()).with_bought("1", "arn", {"fee": "1"}, 1.0)
    assert record.released("1", "a") is record
    assert record.purchases["1"].bought
    extended = record.claimed("1+2026-12-14", purchase("e"))
    assert extended.holds("1+2026-12-14", "e")
    assert extended.higher(1) is None


def test_closed_requests_are_forgotten_after_a_week():
    record = Record("nightly").refused("1", "", "old", "x", 0.0).refused("1", "", "new", "y", 8 * 86400.0)
    assert list(record.closed) == ["new"]


def test_an_approval_in_another_currency_approves_nothing():
    assert "another currency" in Approval("30000", "EUR", 2.0, 1.0).refusal(Money.of("1", "USD"))
    assert PriceCeiling("1", "USD").refusal(Money.of("1.00", "USD")) is None
