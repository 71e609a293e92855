"""Reads by key and updates of DynamoDB's items, answered without parsing the same expressions again.

moto parses and validates an update's expressions for every call, which takes most of the time of a Lambda function
that works on a table. Here the first call of each form goes to moto; once moto has accepted it, the same expressions
with other values are applied directly, unless the item or the values make the answer unclear.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from moto.dynamodb.models import dynamodb_backends
from moto.dynamodb.models.dynamo_type import DynamoType

from .context import ACCOUNT
from .dynamodb_expressions import Unclear, compile_condition, compile_update
from .errors import ServiceError
from .protocol import error_response

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from .context import Context
    from .protocol import Call, Response

__all__ = ["Items"]

_READ = {"TableName", "Key", "ConsistentRead"}
_UPDATE = {
    "TableName",
    "Key",
    "UpdateExpression",
    "ConditionExpression",
    "ExpressionAttributeNames",
    "ExpressionAttributeValues",
    "ReturnValues",
}
_LARGE = 100_000  # characters from which on moto judges an item's size
_FORMS = 500


class Items:
    """The items of the sandbox's tables; every call is made by one thread at a time.

    Parameters
    ----------
    context
        The region.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._forms: dict[Hashable, tuple[Callable[..., bool], Callable[..., dict[str, Any]]] | None] = {}

    def answer(self, call: Call) -> Response | None:
        """Return the answer of a call that can be given here, else None."""
        try:
            if call.operation == "GetItem" and call.request.keys() <= _READ:
                return self._read(call.request)
            if call.operation == "UpdateItem" and call.request.keys() <= _UPDATE:
                return self._update(call)
        except (Unclear, KeyError, TypeError, ValueError):
            return None
        return None

    def learn(self, call: Call, response: Response) -> None:
        """Remember the form of an update that moto has accepted."""
        if call.operation != "UpdateItem" or response[0] != 200 or len(self._forms) >= _FORMS:
            return
        form, request = _form(call.request), call.request
        if form in self._forms:
            return
        names = request.get("ExpressionAttributeNames", {})
        try:
            condition = compile_condition(request.get("ConditionExpression", ""), names)
            self._forms[form] = condition, compile_update(request["UpdateExpression"], names)
        except (Unclear, KeyError):
            self._forms[form] = None

    def _read(self, request: dict[str, Any]) -> Response:
        _, item = self._find(request)
        found = {} if item is None else {"Item": _attributes(item)}
        return _json(found)

    def _update(self, call: Call) -> Response | None:
        request = call.request
        form = self._forms.get(_form(request))
        returned = request.get("ReturnValues", "NONE")
        if form is None or returned not in ("NONE", "ALL_OLD"):
            return None
        condition, update = form
        values = request.get("ExpressionAttributeValues", {})
        table, item = self._find(request)
        old = {} if item is None else _attributes(item)
        if not condition(old, values):
            return error_response(
                call, ServiceError("ConditionalCheckFailedException", "The conditional request failed")
            )
        new = update(old or request["Key"], values)
        # An empty text is refused as a key, of an index too.
        if len(str(new)) > _LARGE or any(new.get(name) == {"S": ""} for name in table.attribute_keys):
            return None
        table.put_item(new, overwrite=True)
        return _json({"Attributes": old} if returned == "ALL_OLD" and old else {})

    def _find(self, request: dict[str, Any]) -> tuple[Any, Any]:
        """Return a table with a plain key, and the item if there is one."""
        table = dynamodb_backends[ACCOUNT][self._context.region].tables[request["TableName"]]
        ((name, value),) = request["Key"].items()
        ((kind, text),) = value.items()
        if name != table.hash_key_attr or table.range_key_attr is not None or kind != table.hash_key_type or not text:
            raise Unclear
        return table, table.get_item(DynamoType(value))


def _attributes(item: Any) -> dict[str, Any]:
    found: dict[str, Any] = item.to_json()["Attributes"]
    return found


def _form(request: dict[str, Any]) -> Hashable:
    return (
        request["TableName"],
        request.get("UpdateExpression"),
        request.get("ConditionExpression"),
        tuple(sorted(request.get("ExpressionAttributeNames", {}).items())),
        tuple(
            sorted((name, next(iter(value))) for name, value in request.get("ExpressionAttributeValues", {}).items())
        ),
    )


def _json(data: dict[str, Any]) -> Response:
    return 200, {"Content-Type": "application/x-amz-json-1.0"}, json.dumps(data).encode()
