"""What the job specs share: lists that must be lists, members that are left out, numbers of seconds, merging."""

from __future__ import annotations

import copy
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from constructs_lib.model.errors import InvalidInputError, UnresolvedListError
from constructs_lib.model.preferences import InstancePreference
from constructs_lib.model.values import is_unresolved

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Lasting", "check_lists", "deep_merge", "given", "whole_seconds"]


class _Duration(Protocol):
    def to_seconds(self, *, integral: bool | None = None) -> int | float: ...


Lasting: TypeAlias = timedelta | float | _Duration
"""A length of time: a `timedelta`, seconds, or what says its seconds as CDK's ``Duration`` does."""


def check_lists(**fields: Any) -> None:
    """Refuse a list token, a text in the place of a list, and entries of ``preferences`` that are none.

    Raises
    ------
    UnresolvedListError, InvalidInputError
        Naming the field.
    """
    for name, value in fields.items():
        if is_unresolved(value):
            raise UnresolvedListError(name)
        if isinstance(value, str):
            raise InvalidInputError(f"{name}: a list is needed, the string {value!r} was given")
    for entry in fields.get("preferences", ()):
        if not isinstance(entry, InstancePreference):
            raise InvalidInputError(
                f"preferences: each entry is an InstancePreference, {entry!r} was given; "
                "write InstancePreference('ml.p5.48xlarge', instance_count=4)"
            )


def given(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members that were given: neither ``None`` nor empty."""
    return {k: v for k, v in fields.items() if v is not None and v not in ({}, [], ())}


def whole_seconds(value: Lasting | None) -> int | float | None:
    """Return a time as seconds.

    Examples
    --------
    >>> whole_seconds(timedelta(hours=1)), whole_seconds(60), whole_seconds(None)
    (3600, 60, None)
    """
    if isinstance(value, timedelta):
        return int(value.total_seconds())
    # A number may be a token, which must reach the template untouched.
    return value if value is None or isinstance(value, int | float) else value.to_seconds()


def deep_merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``base`` with ``over`` merged in: mappings merge, everything else replaces, ``None`` removes.

    Neither argument is changed; what ``over`` does not touch is shared with ``base``, not copied.

    Examples
    --------
    >>> deep_merge({"A": {"x": 1, "y": 2}, "B": 1}, {"A": {"y": 3}, "B": None})
    {'A': {'x': 1, 'y': 3}}
    """
    merged = dict(base)
    for key, value in over.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, dict) and isinstance(merged.get(key), dict):
            merged[key] = deep_merge(merged[key], value)
        else:
            merged[key] = copy.deepcopy(value)
    return merged
