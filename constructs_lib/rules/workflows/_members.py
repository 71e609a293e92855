"""The members of a request, held against the members of an operation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from constructs_lib.model import is_unresolved
from constructs_lib.rules.values import items, mapping

__all__ = ["given_at", "operation_of", "unknown_members"]


def operation_of(action: str) -> str:
    """Return the operation that an integration's action names.

    Examples
    --------
    >>> operation_of("createTrainingJob"), operation_of("CreateTrainingJobCommand")
    ('CreateTrainingJob', 'CreateTrainingJob')
    """
    return (action[:1].upper() + action[1:]).removesuffix("Command")


def given_at(request: Any, member: str) -> Iterator[str]:
    """Yield the path of each place where a member such as ``A[].B`` is given."""
    head, _, rest = member.partition(".")
    name = head.removesuffix("[]")
    value = mapping(request).get(name)
    if value is None:
        return
    if not rest:
        yield name
    elif head.endswith("[]"):
        for i, one in enumerate(items(value)):
            yield from (f"{name}[{i}].{at}" for at in given_at(one, rest))
    else:
        yield from (f"{name}.{at}" for at in given_at(value, rest))


def unknown_members(request: Any, known: Any, at: str) -> Iterator[tuple[str, str, str | None]]:
    """Yield path and name of each member that is not known, with the right spelling if only the case is wrong."""
    if is_unresolved(request) or known is None:
        return
    if isinstance(known, list):
        for i, one in enumerate(items(request)):
            yield from unknown_members(one, known[0], f"{at}[{i}]")
    elif "*" in known:
        for key, one in mapping(request).items():
            yield from unknown_members(one, known["*"], f"{at}.{key}")
    else:
        spelt = {name.lower(): name for name in known}
        for key, one in mapping(request).items():
            if key in known:
                yield from unknown_members(one, known[key], f"{at}.{key}")
            else:
                yield f"{at}.{key}", key, spelt.get(key.lower())
