"""Lists of approved instance types: checking what people wrote, and writing the same types in fewer characters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from constructs_lib import facts
from constructs_lib.model import InvalidInputError, UnresolvedListError, is_unresolved
from constructs_lib.model.wildcards import has_wildcard, matches

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["SYSTEM_TYPE", "approved_types", "checked_patterns", "compressed", "known_types"]

SYSTEM_TYPE = "system"
"""CreateApp names it for apps on SageMaker's own instance, such as JupyterServer."""

# Tried in this order within a family; never shorter than a family, which would approve families of the future.
_SIZES = ("*", "*xlarge", "??xlarge", "?xlarge")


def known_types() -> frozenset[str]:
    """Return every instance type that a request of a known API can name."""
    return frozenset(facts.instance_types()) | {SYSTEM_TYPE}


def checked_patterns(allowed: Sequence[str]) -> tuple[str, ...]:
    """Return an allow-list as it was given, each pattern once.

    Raises
    ------
    InvalidInputError
        If it is empty, holds something else than known text, or a pattern that matches no known type. A full type name
        that is new to this version is taken as it is.
    """
    if isinstance(allowed, str):
        raise InvalidInputError(f"allowed: a list of types is needed, {allowed!r} was given; write [{allowed!r}]")
    if is_unresolved(list(allowed)):
        raise UnresolvedListError("allowed")
    if not allowed:
        raise InvalidInputError(
            "allowed: an empty list was given, which forbids everything; name types or patterns such as 'ml.g5.*'"
        )
    for pattern in allowed:
        _check(pattern)
    return tuple(dict.fromkeys(allowed))


def _check(pattern: object) -> None:
    if not isinstance(pattern, str) or is_unresolved(pattern):
        raise InvalidInputError(f"allowed: {pattern!r} is known only at deploy; a policy's types must be plain text")
    if any(matches(pattern, name) for name in known_types()):
        return
    if not has_wildcard(pattern) and pattern.startswith("ml.") and pattern.count(".") >= 2:
        return  # a type that is new to this version: the literal name can approve nothing else
    hint = f"write 'ml.{pattern}'" if any(matches(f"ml.{pattern}", name) for name in known_types()) else "see the enums"
    raise InvalidInputError(f"allowed: {pattern!r} matches none of {len(known_types())} known types; {hint}")


def approved_types(patterns: Iterable[str]) -> frozenset[str]:
    """Return the known types that a list approves."""
    wanted = tuple(patterns)
    return frozenset(name for name in known_types() if any(matches(pattern, name) for pattern in wanted))


def compressed(patterns: Iterable[str]) -> tuple[str, ...]:
    """Return fewer, shorter patterns that approve the same known types.

    A family of which every known size is approved becomes ``ml.<family>.*``, and so approves its sizes of the future.
    Names that are new to this version stay as they are.

    Examples
    --------
    >>> compressed(["ml.p4d.24xlarge", "ml.g4dn.xlarge", "ml.trn1.2xlarge", "ml.trn1.32xlarge", "ml.q9.48xlarge"])
    ('ml.g4dn.xlarge', 'ml.p4d.24xlarge', 'ml.q9.48xlarge', 'ml.trn1.*')
    """
    wanted = tuple(patterns)
    approved = approved_types(wanted)
    families: dict[str, set[str]] = {}
    for name in approved:
        families.setdefault(name.rpartition(".")[0], set()).add(name)
    short = {pattern for family, names in families.items() for pattern in _of_family(family, names)}
    new = {pattern for pattern in wanted if not has_wildcard(pattern) and pattern not in approved}
    return tuple(sorted(short | new))


def _of_family(family: str, approved: set[str]) -> list[str]:
    known = {name for name in known_types() if name.rpartition(".")[0] == family}
    left, short = set(approved), []
    for size in _SIZES:
        covered = {name for name in known if matches(f"{family}.{size}", name)}
        if covered <= approved and len(covered & left) > 1:
            short.append(f"{family}.{size}")
            left -= covered
    return short + sorted(left)
