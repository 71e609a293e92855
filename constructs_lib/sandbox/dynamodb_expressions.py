"""DynamoDB's condition and update expressions over top-level attributes, compiled once and applied often.

Whatever is not understood here is not compiled, and whatever an item makes unclear is not decided: moto answers then.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Unclear", "compile_condition", "compile_update"]

Value = dict[str, Any]
Attributes = dict[str, Value]
_TOKEN = re.compile(r"\s*(?:(<>|<=|>=|[=<>(),+-])|([#:]?[A-Za-z_][\w.]*|[#:]\w+))")
_CLAUSES = ("SET", "REMOVE", "ADD", "DELETE")
_ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    "<": lambda a, b: bool(a < b),
    "<=": lambda a, b: bool(a <= b),
    ">": lambda a, b: bool(a > b),
    ">=": lambda a, b: bool(a >= b),
}
_SETS = ("SS", "NS", "BS")


class Unclear(Exception):  # noqa: N818 - it is no error: moto decides
    """Neither the expression nor the item is one of those that are decided here."""


class _Reader:
    """The tokens of an expression, read from left to right."""

    def __init__(self, text: str, names: dict[str, str]) -> None:
        self.names, self.tokens, at = names, [], 0
        while text[at:].strip():
            found = _TOKEN.match(text, at)
            if found is None:
                raise Unclear
            self.tokens.append(found[1] or found[2])
            at = found.end()

    @property
    def ahead(self) -> str:
        return self.tokens[0] if self.tokens else ""

    def take(self, wanted: str = "") -> str:
        if not self.tokens or (wanted and self.tokens[0].upper() != wanted):
            raise Unclear
        return self.tokens.pop(0)

    def takes(self, wanted: str) -> bool:
        if self.ahead.upper() != wanted:
            return False
        self.tokens.pop(0)
        return True

    def name(self) -> str:
        token = self.take()
        if token.startswith("#"):
            return self.names[token]
        if token.startswith(":") or not token.replace("_", "").isalnum():
            raise Unclear
        return token

    def value(self) -> str:
        token = self.take()
        if not token.startswith(":"):
            raise Unclear
        return token


def compile_condition(text: str, names: dict[str, str]) -> Callable[[Attributes, Attributes], bool]:
    """Return a function of an item's attributes and the expression's values."""
    if not text:
        return lambda _item, _values: True
    reader = _Reader(text, names)
    condition = _any(reader)
    if reader.tokens:
        raise Unclear
    return condition


def _any(reader: _Reader) -> Callable[[Attributes, Attributes], bool]:
    parts = [_all(reader)]
    while reader.takes("OR"):
        parts.append(_all(reader))
    return parts[0] if len(parts) == 1 else lambda item, values: any(part(item, values) for part in parts)


def _all(reader: _Reader) -> Callable[[Attributes, Attributes], bool]:
    parts = [_one(reader)]
    while reader.takes("AND"):
        parts.append(_one(reader))
    return parts[0] if len(parts) == 1 else lambda item, values: all(part(item, values) for part in parts)


def _one(reader: _Reader) -> Callable[[Attributes, Attributes], bool]:
    if reader.takes("("):
        inner = _any(reader)
        reader.take(")")
        return inner
    if reader.ahead in ("attribute_exists", "attribute_not_exists", "contains"):
        return _function(reader)
    left = _operand(reader)
    sign = reader.take()
    right = _operand(reader)
    if sign == "=":
        return lambda item, values: _equal(left(item, values), right(item, values))
    if sign == "<>":
        return lambda item, values: not _equal(left(item, values), right(item, values))
    if sign not in _ORDERS:
        raise Unclear
    compare = _ORDERS[sign]
    return lambda item, values: compare(*_comparable(left(item, values), right(item, values)))


def _function(reader: _Reader) -> Callable[[Attributes, Attributes], bool]:
    function = reader.take()
    reader.take("(")
    name = reader.name()
    if function == "contains":
        reader.take(",")
        member = reader.value()
        reader.take(")")
        return lambda item, values: _contains(item.get(name), values[member])
    reader.take(")")
    there = function == "attribute_exists"
    return lambda item, _values: (name in item) is there


def _operand(reader: _Reader) -> Callable[[Attributes, Attributes], Value | None]:
    if reader.ahead == "size":
        reader.take()
        reader.take("(")
        measured = reader.name()
        reader.take(")")
        return lambda item, _values: {"N": str(_size(item.get(measured)))}
    if reader.ahead.startswith(":"):
        value = reader.value()
        return lambda _item, values: values[value]
    name = reader.name()
    return lambda item, _values: item.get(name)


def _equal(left: Value | None, right: Value | None) -> bool:
    if left is not None and right is not None and "N" in left and "N" in right:
        return Decimal(left["N"]) == Decimal(right["N"])
    return left == right


def _comparable(left: Value | None, right: Value | None) -> tuple[Any, Any]:
    if left is None or right is None or left.keys() != right.keys():
        raise Unclear
    ((kind, one),), ((_, other),) = left.items(), right.items()
    if kind == "N":
        return Decimal(one), Decimal(other)
    if kind == "S":
        return one, other
    raise Unclear


def _contains(value: Value | None, member: Value) -> bool:
    if value is None:
        return False
    ((kind, data),) = value.items()
    if kind == "SS" and "S" in member:
        return member["S"] in data
    raise Unclear


def _size(value: Value | None) -> int:
    if value is None or next(iter(value)) not in (*_SETS, "L", "M"):
        raise Unclear
    return len(next(iter(value.values())))


def compile_update(text: str, names: dict[str, str]) -> Callable[[Attributes, Attributes], Attributes]:
    """Return a function that makes new attributes of an item's attributes and the expression's values."""
    reader = _Reader(text, names)
    actions: list[Callable[[Attributes, Attributes, Attributes], Any]] = []
    while reader.tokens:
        clause = reader.take().upper()
        if clause not in _CLAUSES:
            raise Unclear
        actions.append(_action(clause, reader))
        while reader.takes(","):
            actions.append(_action(clause, reader))

    def apply(item: Attributes, values: Attributes) -> Attributes:
        new = dict(item)
        for action in actions:
            action(item, new, values)
        return new

    return apply


def _action(clause: str, reader: _Reader) -> Callable[[Attributes, Attributes, Attributes], Any]:
    name = reader.name()
    if clause == "REMOVE":
        return lambda _old, new, _values: new.pop(name, None)
    if clause == "SET":
        reader.take("=")
        made = _assigned(reader)
        return lambda old, new, values: new.__setitem__(name, made(old, values))
    value = reader.value()
    change = _added if clause == "ADD" else _taken
    return lambda old, new, values: change(new, name, old.get(name), values[value])


def _assigned(reader: _Reader) -> Callable[[Attributes, Attributes], Value]:
    if not reader.takes("IF_NOT_EXISTS"):
        value = reader.value()
        made: Callable[[Attributes, Attributes], Value] = lambda _old, values: values[value]  # noqa: E731
    else:
        reader.take("(")
        name = reader.name()
        reader.take(",")
        default = reader.value()
        reader.take(")")
        made = lambda old, values: old.get(name, values[default])  # noqa: E731
    if reader.ahead in ("+", "-"):
        raise Unclear
    return made


def _added(new: Attributes, name: str, there: Value | None, value: Value) -> None:
    if "SS" not in value or (there is not None and "SS" not in there):
        raise Unclear
    had = there["SS"] if there is not None else []
    new[name] = {"SS": [*had, *(member for member in value["SS"] if member not in had)]}


def _taken(new: Attributes, name: str, there: Value | None, value: Value) -> None:
    if "SS" not in value or (there is not None and "SS" not in there):
        raise Unclear
    if there is None:
        return
    left = [member for member in there["SS"] if member not in value["SS"]]
    if left:
        new[name] = {"SS": left}
    else:
        del new[name]
