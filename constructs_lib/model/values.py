"""Telling values that are known now from values that only a deploy will know."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["is_unresolved", "literal"]

_STRING_TOKEN = re.compile(r"\$\{Token\[[^\]]+\]\}")
_LIST_TOKEN = re.compile(r"^#\{Token\[[^\]]+\]\}$")
# CDK encodes a number token as a huge negative double, about -1.9e289.
_NUMBER_TOKEN_BELOW = -1e200
_INTRINSICS = frozenset({"Ref", "Condition"})


def is_unresolved(value: Any) -> bool:
    """Tell whether ``value`` is, or holds at its own level, something that only a deploy will resolve.

    Knows CDK's string, list and number tokens by their text and size (asking CDK would cost a kernel request each)
    and CloudFormation's intrinsic functions by their shape.

    Parameters
    ----------
    value : Any
        A plain value as found in a construct's property or in a template.

    Returns
    -------
    bool
        True for a token, for a list that is one list token, and for an intrinsic function.

    Examples
    --------
    >>> is_unresolved("arn:${Token[AWS.Partition.4]}:iam::1:role/x"), is_unresolved(-1.8881545897087626e289)
    (True, True)
    >>> is_unresolved({"Ref": "Type"}), is_unresolved({"Fn::If": ["A", 1, 2]}), is_unresolved({"Name": "x"})
    (True, True, False)
    """
    # Rules ask this of every value they read, so the usual answer comes first.
    if value is None:
        return False
    if isinstance(value, str):
        return "${T" in value and bool(_STRING_TOKEN.search(value))
    if isinstance(value, dict):
        if len(value) != 1:
            return False
        key = next(iter(value))
        return isinstance(key, str) and (key in _INTRINSICS or key.startswith("Fn::"))
    if isinstance(value, list | tuple):
        return len(value) == 1 and isinstance(value[0], str) and bool(_LIST_TOKEN.match(value[0]))
    return isinstance(value, int | float) and value < _NUMBER_TOKEN_BELOW


def literal(value: Any) -> Any:
    """Return ``value`` if it is known now, else ``None``.

    Examples
    --------
    >>> literal("ml.g5.xlarge"), literal({"Ref": "Type"})
    ('ml.g5.xlarge', None)
    """
    return None if is_unresolved(value) else value
