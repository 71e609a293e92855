"""The table of endpoints, on moto's DynamoDB and on the fake that the worlds use."""

from __future__ import annotations

from dataclasses import replace

import pytest

from constructs_lib.model.endpoints_item import Asked, EndpointItem
from constructs_lib.runtime.endpoint_table import EndpointTable


@pytest.fixture(params=["moto", "fake"])
def table(request, dynamodb, small_dynamodb):
    if request.param == "fake":
        yield EndpointTable(small_dynamodb, "endpoints")
        return
    dynamodb.create_table(
        TableName="endpoints",
        KeySchema=[{"AttributeName": "name", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "name", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    yield EndpointTable(dynamodb, "endpoints")
    dynamodb.delete_table(TableName="endpoints")


def test_an_item_is_read_as_it_was_written(table):
    asked = Asked("b", "a", "open", "i", "c", "rolling", 1.25)
    made = table.change("chat", lambda item: replace(item, owner="lab/Chat", asked=asked, overrides={"adopted": True}))
    assert table.read("chat") == made
    assert [item.name for item in table.all()] == ["chat"]
    assert table.read("other") is None


def test_nobody_writes_on_what_somebody_else_has_changed_since(table):
    old = table.change("chat", lambda item: replace(item, owner="lab/Chat"))
    new = table.change("chat", lambda item: replace(item, desired="absent"))
    assert table.store(old, replace(old, state="InService")) is None
    assert table.read("chat") == new
    assert table.store(EndpointItem("chat"), EndpointItem("chat", "lab/Other")) is None


def test_a_change_that_changes_nothing_writes_nothing(table):
    made = table.change("chat", lambda item: replace(item, owner="lab/Chat"))
    assert table.change("chat", lambda item: item).version == made.version


def test_an_item_is_removed_only_as_it_was_read(table):
    old = table.change("chat", lambda item: replace(item, owner="lab/Chat"))
    new = table.change("chat", lambda item: replace(item, desired="absent"))
    assert not table.remove(old)
    assert table.remove(new)
    assert table.all() == []
