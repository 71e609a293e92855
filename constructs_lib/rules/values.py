"""Reading AWS-shaped plain data of which parts may be unknown: text, numbers, times, ARNs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from constructs_lib.model import is_unresolved

__all__ = [
    "UNKNOWN",
    "Arn",
    "arn",
    "flag",
    "items",
    "known_text",
    "mapping",
    "moment",
    "number",
    "present",
    "show",
    "text",
]

UNKNOWN = "${?}"
"""Stands in text for a part that only a deploy or an execution will know; holds no colon, so ARNs still split."""

_BEYOND = 10**12
_PLACEHOLDER = re.compile(r"\$\{(?!!)[^}]*\}")


@dataclass(frozen=True, slots=True)
class Arn:
    """The parts of an ARN; a part that is not known is, or holds, `UNKNOWN`."""

    partition: str
    service: str
    region: str
    account: str
    resource: str

    @property
    def kind(self) -> str:
        """The resource's kind, such as ``training-plan``."""
        return self.resource.replace(":", "/").split("/", 1)[0]

    @property
    def name(self) -> str:
        """What follows the kind."""
        return self.resource[len(self.kind) + 1 :]


def text(value: Any) -> str | None:
    """Return a string with `UNKNOWN` for each part that is not known, or ``None`` for what is no string.

    Examples
    --------
    >>> text({"Fn::Join": ["/", ["a", {"Ref": "B"}]]}), text({"Fn::Sub": "arn:${AWS::Partition}:x"}), text(3)
    ('a/${?}', 'arn:${?}:x', None)
    """
    if isinstance(value, str):
        return _PLACEHOLDER.sub(UNKNOWN, value) if "${" in value else value
    if not is_unresolved(value) or not isinstance(value, dict):
        return None
    function, argument = next(iter(value.items()))
    if function == "Fn::Join" and isinstance(argument, list) and len(argument) == 2 and isinstance(argument[1], list):
        return str(argument[0]).join(text(part) or UNKNOWN for part in argument[1])
    if function == "Fn::Sub":
        template = argument[0] if isinstance(argument, list) and argument else argument
        return text(template) if isinstance(template, str) else UNKNOWN
    return UNKNOWN


def known_text(value: Any) -> str | None:
    """Return a string that is wholly known, else ``None``."""
    return value if isinstance(value, str) and ("$" not in value or not is_unresolved(value)) else None


def number(value: Any) -> int | float | None:
    """Return a known number, also one that a template wrote as text; else ``None``.

    What no count and no time can be (a number token, infinity) is none.

    Examples
    --------
    >>> number("1800"), number(4), number(True), number(-1.8881545897087626e289), number("many")
    (1800, 4, None, None, None)
    """
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return value if -_BEYOND < value < _BEYOND else None
    return int(value) if isinstance(value, str) and re.fullmatch(r"-?\d{1,12}", value) else None


def amount(value: Any) -> Decimal | None:
    """Return a known decimal amount from a number or from text, such as a price; else ``None``.

    Examples
    --------
    >>> amount("60000.50"), amount(3), amount({"Ref": "Fee"}), amount("NaN")
    (Decimal('60000.50'), Decimal('3'), None, None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal) or is_unresolved(value):
        return None
    try:
        found = Decimal(str(value).strip())
    except InvalidOperation:
        return None
    return found if found.is_finite() else None


def moment(value: Any) -> datetime | None:
    """Return a known point in time from a `datetime`, ISO text or epoch seconds; without a zone it is UTC.

    Examples
    --------
    >>> moment("2027-01-27T00:00Z").isoformat(), moment({"Ref": "Start"}), moment("soon")
    ('2027-01-27T00:00:00+00:00', None, None)
    """
    try:
        if isinstance(value, str):
            value = datetime.fromisoformat(value)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            value = datetime.fromtimestamp(value, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    if not isinstance(value, datetime):
        return None
    return value if value.tzinfo else value.replace(tzinfo=UTC)


def arn(value: Any) -> Arn | None:
    """Return the parts of a string that is an ARN as far as it is known, else ``None``.

    Examples
    --------
    >>> arn("arn:${Token[AWS.Partition.4]}:sagemaker:us-east-1:1:training-plan/nightly").name
    'nightly'
    """
    parts = (text(value) or "").split(":", 5)
    return Arn(*parts[1:]) if len(parts) == 6 and parts[0] == "arn" else None


def present(data: Mapping[str, Any], key: str) -> bool | None:
    """Tell whether a member is given; ``None`` if a condition decides it.

    Examples
    --------
    >>> present({"A": 1, "B": None}, "A"), present({"B": None}, "B")
    (True, False)
    >>> present({"A": {"Fn::If": ["C", 1, {"Ref": "AWS::NoValue"}]}}, "A") is None
    True
    """
    value = data.get(key)
    if isinstance(value, dict) and len(value) == 1:
        if value == {"Ref": "AWS::NoValue"}:
            return False
        branches = value.get("Fn::If")
        if isinstance(branches, list) and {"Ref": "AWS::NoValue"} in branches:
            return None
    return value is not None


def mapping(value: Any) -> Mapping[str, Any]:
    """Return a plain mapping as it is, and anything else, an intrinsic function too, as an empty one."""
    return value if isinstance(value, dict) and (len(value) != 1 or not is_unresolved(value)) else {}


def items(value: Any) -> Sequence[Any]:
    """Return a plain list as it is, and anything else as an empty one."""
    return value if isinstance(value, list | tuple) and (len(value) != 1 or not is_unresolved(value)) else ()


def show(value: Any) -> str:
    """Return a value in the words of a message: short, quoted if text."""
    words = repr(value)
    return words if len(words) <= 60 else words[:57] + "..."


def flag(value: Any) -> bool | None:
    """Return a boolean, also one that a template wrote as text; ``None`` if it is not known, False if not given.

    Examples
    --------
    >>> flag("true"), flag(None), flag({"Ref": "Spot"})
    (True, False, None)
    """
    return False if value is None else None if is_unresolved(value) else value in (True, "true", "True")
