"""Plain data as DynamoDB's low-level client wants it, and back."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Update", "from_item", "to_item", "to_value"]

_NAME = re.compile(r"#(\w+)")

Value = dict[str, Any]


def to_value(value: Any) -> Value:
    """Return one attribute value.

    Examples
    --------
    >>> to_value({"a": [1, "x", None, True]})
    {'M': {'a': {'L': [{'N': '1'}, {'S': 'x'}, {'NULL': True}, {'BOOL': True}]}}}
    """
    match value:
        case None:
            return {"NULL": True}
        case bool():
            return {"BOOL": value}
        case int() | float():
            return {"N": repr(value)}
        case str():
            return {"S": str(value)}
        case list() | tuple():
            return {"L": [to_value(member) for member in value]}
        case dict():
            return {"M": to_item(value)}
    raise TypeError(f"a row cannot hold {value!r}")


def to_item(data: Mapping[str, Any]) -> dict[str, Value]:
    """Return a whole item."""
    return {str(key): to_value(value) for key, value in data.items()}


def from_item(item: Mapping[str, Value]) -> dict[str, Any]:
    """Return an item as plain data; whole numbers come back as `int`."""
    return {key: _from_value(value) for key, value in item.items()}


def _from_value(value: Value) -> Any:
    ((kind, data),) = value.items()
    if kind == "N":
        return int(data) if data.lstrip("-").isdigit() else float(data)
    if kind == "L":
        return [_from_value(member) for member in data]
    if kind == "M":
        return from_item(data)
    return None if kind == "NULL" else data


class Update:
    """The expressions of one UpdateItem; every name is an alias, since many of ours are reserved words.

    Examples
    --------
    >>> Update().set(token="t").remove("open").arguments("name = :n", n="x")["UpdateExpression"]
    'SET #token = :set_token REMOVE #open'
    """

    def __init__(self) -> None:
        self._sets: list[str] = []
        self._removes: list[str] = []
        self._values: dict[str, Any] = {}

    def set(self, **values: Any) -> Update:
        """Overwrite attributes."""
        return self._set("#{0} = :set_{0}", values)

    def keep(self, **values: Any) -> Update:
        """Write attributes that are not there yet."""
        return self._set("#{0} = if_not_exists(#{0}, :set_{0})", values)

    def remove(self, *names: str) -> Update:
        """Remove attributes."""
        self._removes.extend(names)
        return self

    def arguments(self, condition: str, **values: Any) -> dict[str, Any]:
        """Return UpdateItem's arguments, under a condition that writes names as ``#name`` and values as ``:value``."""
        expression = f"SET {', '.join(self._sets)}" if self._sets else ""
        if self._removes:
            expression += " REMOVE " + ", ".join(f"#{name}" for name in self._removes)
        return {
            "UpdateExpression": expression.strip(),
            "ConditionExpression": condition,
            "ExpressionAttributeNames": {f"#{name}": name for name in _NAME.findall(f"{expression} {condition}")},
            "ExpressionAttributeValues": {f":{k}": to_value(v) for k, v in {**self._values, **values}.items()},
        }

    def _set(self, form: str, values: Mapping[str, Any]) -> Update:
        self._sets.extend(form.format(name) for name in values)
        self._values |= {f"set_{name}": value for name, value in values.items()}
        return self
