"""Policy documents as data: their statements in one shape, and their size."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from constructs_lib.model import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Statement", "as_list", "measure", "statements"]

OLD_VERSION = "2008-10-17"


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One statement: lists where IAM takes a string or a list; ``name`` is its Sid, else its place.

    ``variables`` tells whether ``${...}`` in its values is a policy variable (it is text in the older version).
    """

    name: str
    path: str
    effect: str
    actions: tuple[Any, ...] = ()
    not_actions: tuple[Any, ...] = ()
    resources: tuple[Any, ...] = ()
    not_resources: tuple[Any, ...] = ()
    condition: Mapping[str, Any] = field(default_factory=dict)
    variables: bool = True
    for_principals: bool = False


def as_list(value: Any) -> list[Any]:
    """Return IAM's "one or many" as a list."""
    return list(value) if isinstance(value, list | tuple) else [value]


def statements(document: Mapping[str, Any], *, readable_only: bool = False) -> tuple[Statement, ...]:
    """Take a policy document apart.

    Parameters
    ----------
    document : Mapping
        A policy document as JSON data.
    readable_only : bool
        Leave out what is no statement instead of raising: for a linter that is not about a document's grammar.

    Raises
    ------
    InvalidInputError
        If it has no statements, or a statement without Effect, without Action or NotAction, or of another shape.

    Examples
    --------
    >>> [s.name for s in statements({"Statement": {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}})]
    ['Statement']
    """
    if not isinstance(document, dict) or "Statement" not in document:
        raise InvalidInputError("a policy document is an object with a Statement; pass the document itself")
    variables = document.get("Version", OLD_VERSION) != OLD_VERSION
    raw = document["Statement"]
    places = {f"Statement[{i}]": one for i, one in enumerate(raw)} if isinstance(raw, list) else {"Statement": raw}
    if readable_only:
        places = {path: one for path, one in places.items() if _complaint(path, one) is None}
    return tuple(_statement(path, one, variables=variables) for path, one in places.items())


def _complaint(path: str, raw: Any) -> str | None:
    """Say why something is no statement."""
    if not isinstance(raw, dict):
        return f"{path}: a statement is an object, {raw!r} was given"
    if raw.get("Effect") not in ("Allow", "Deny"):
        return f"{path}.Effect: 'Allow' or 'Deny' is needed, {raw.get('Effect')!r} was given"
    if ("Action" in raw) == ("NotAction" in raw):
        return f"{path}: one of Action and NotAction is needed"
    if not isinstance(condition := raw.get("Condition", {}), dict):
        return f"{path}.Condition: an object of operators is needed, {condition!r} was given"
    return None


def _statement(path: str, raw: Any, *, variables: bool) -> Statement:
    if complaint := _complaint(path, raw):
        raise InvalidInputError(complaint)
    return Statement(
        name=str(raw.get("Sid") or path),
        path=path,
        effect=raw["Effect"],
        actions=tuple(as_list(raw.get("Action", []))),
        not_actions=tuple(as_list(raw.get("NotAction", []))),
        resources=tuple(as_list(raw.get("Resource", []))),
        not_resources=tuple(as_list(raw.get("NotResource", []))),
        condition=raw.get("Condition", {}),
        variables=variables,
        for_principals="Principal" in raw or "NotPrincipal" in raw,
    )


def measure(document: Any, *, spaces: bool = False) -> int:
    """Count the characters of a document as AWS counts them.

    Parameters
    ----------
    document : Any
        JSON data.
    spaces : bool
        Whether white space counts: it does for service control policies saved through the API, and a JSON writer may
        put one space after each comma and colon. False counts none.

    Examples
    --------
    >>> measure({"Version": "2012-10-17"}), measure({"Version": "2012-10-17"}, spaces=True)
    (24, 25)
    """
    separators = (", ", ": ") if spaces else (",", ":")
    return len(json.dumps(document, separators=separators, ensure_ascii=False))
