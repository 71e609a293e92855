"""DynamoDB's items read and updated without moto's parser: the same as with it, whatever item and expression."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from constructs_lib.sandbox import Sandbox
from constructs_lib.sandbox.dynamodb_expressions import Unclear, compile_condition, compile_update

pytestmark = pytest.mark.slow

NAMES = {"#a": "a", "#b": "b", "#s": "s"}
TEXT = st.sampled_from(["x", "y", "zz"]).map(lambda value: {"S": value})
NUMBER = st.sampled_from(["1", "2", "10", "2.0"]).map(lambda value: {"N": value})
MEMBERS = st.sets(st.sampled_from(["p", "q", "r"]), min_size=1).map(lambda members: {"SS": sorted(members)})
SCALAR = TEXT | NUMBER
ITEM = st.fixed_dictionaries(
    {}, optional={"a": SCALAR, "b": SCALAR, "s": MEMBERS, "m": st.just({"M": {"k": {"L": [{"BOOL": True}]}}})}
)
OPERAND = st.sampled_from(["#a", "#b", ":a", ":b"])
COMPARED = st.tuples(OPERAND, st.sampled_from(["=", "<>"]), OPERAND).map(" ".join)
SIMPLE = COMPARED | st.sampled_from(
    [
        "attribute_exists(#a)",
        "attribute_not_exists(#b)",
        "attribute_not_exists(#s) OR size(#s) < :n",
        "contains(#s, :m)",
        "#a < :a",
    ]
)
CONDITION = st.lists(SIMPLE, min_size=1, max_size=3).flatmap(
    lambda parts: st.sampled_from([" AND ".join(f"({part})" for part in parts), " OR ".join(f"({p})" for p in parts)])
)
UPDATE = st.lists(
    st.sampled_from(["SET #a = :a", "SET #b = if_not_exists(#b, :b)", "ADD #s :s", "DELETE #s :s", "REMOVE #a"]),
    min_size=1,
    max_size=3,
    unique_by=lambda text: text.split()[1],
).map(" ".join)


@pytest.fixture(scope="module")
def dynamodb(running: Sandbox) -> Any:
    client = running.client("dynamodb")
    for name in ("quick", "plain"):
        client.create_table(
            TableName=name,
            KeySchema=[{"AttributeName": "name", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "name", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
    return client


def _sorted(item: dict[str, Any]) -> dict[str, Any]:
    return {name: {"SS": sorted(value["SS"])} if "SS" in value else value for name, value in item.items()}


def _outcome(client: Any, table: str, item: dict[str, Any], asked: dict[str, Any], **more: Any) -> Any:
    key = {"name": {"S": "i"}}
    client.put_item(TableName=table, Item={**item, **key}) if item else client.delete_item(TableName=table, Key=key)
    try:
        answer = client.update_item(TableName=table, Key=key, ReturnValues="ALL_OLD", **asked, **more)
        said: Any = _sorted(answer.get("Attributes", {}))
    except ClientError as error:
        said = error.response["Error"]["Code"]
    # What is asked for beside the key goes to moto.
    found = client.get_item(TableName=table, Key=key, **({} if not more else {"ReturnConsumedCapacity": "NONE"}))
    return said, _sorted(found.get("Item", {}))


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    items=st.lists(ITEM, min_size=2, max_size=4),
    condition=CONDITION,
    update=UPDATE,
    values=st.fixed_dictionaries({":a": SCALAR, ":b": SCALAR, ":s": MEMBERS}),
)
def test_an_update_and_a_read_say_what_moto_says(
    dynamodb: Any, items: list[Any], condition: str, update: str, values: dict[str, Any]
) -> None:
    text = f"{condition} {update}"
    values = {**values, ":n": {"N": "2"}, ":m": {"S": "p"}}
    asked = {
        "UpdateExpression": update,
        "ConditionExpression": condition,
        "ExpressionAttributeNames": {name: real for name, real in NAMES.items() if name in text},
        "ExpressionAttributeValues": {name: value for name, value in values.items() if name in text},
    }
    asked = {name: value for name, value in asked.items() if value}
    for item in items:  # the first form that moto accepts is learned
        plain = _outcome(dynamodb, "plain", item, asked, ReturnConsumedCapacity="NONE")
        assert _outcome(dynamodb, "quick", item, asked) == plain


def test_a_form_that_was_accepted_once_is_applied_without_moto(running: Sandbox, dynamodb: Any) -> None:
    asked = {
        "UpdateExpression": "SET #a = :a",
        "ExpressionAttributeNames": {"#a": "counted"},
        "ExpressionAttributeValues": {":a": {"S": "x"}},
    }
    to_moto: list[str] = []
    front = running._front
    plain = front._ask_moto
    front._ask_moto = lambda environ: to_moto.append("asked") or plain(environ)  # type: ignore[func-returns-value]
    try:
        for _ in range(5):
            dynamodb.update_item(TableName="quick", Key={"name": {"S": "z"}}, **asked)
    finally:
        front._ask_moto = plain
    assert len(to_moto) == 1


@pytest.mark.parametrize(
    "text", ["a.b = :x", "#l[0] = :x", "begins_with(#a, :x)", "#a BETWEEN :x AND :y", "NOT #a = :x", "#a = :x :y", "("]
)
def test_a_condition_that_is_not_understood_is_not_compiled(text: str) -> None:
    with pytest.raises((Unclear, KeyError)):
        compile_condition(text, NAMES)


@pytest.mark.parametrize("text", ["SET #a = #b + :x", "SET #a = list_append(#a, :x)", "SET #a.c = :x", "PUT #a :x"])
def test_an_update_that_is_not_understood_is_not_compiled(text: str) -> None:
    with pytest.raises((Unclear, KeyError)):
        compile_update(text, NAMES)
