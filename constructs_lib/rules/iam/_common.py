"""What the rules on policies share: the statements of a document, parsed once, and words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from constructs_lib.model import is_unresolved
from constructs_lib.rules.findings import Found, unverified
from constructs_lib.rules.policies.documents import Statement, statements
from constructs_lib.rules.policies.guards import Guard, carrying, guards, known_actions
from constructs_lib.rules.subjects import Subject

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["absent_denied", "actions_of", "guards_of", "names", "statements_of", "unknown_conditions"]


_NOTHING = "[]"


def statements_of(subject: Subject) -> tuple[Statement, ...]:
    """Return the readable statements of a document."""
    return subject.view(_statements)


def _statements(subject: Subject) -> tuple[Statement, ...]:
    readable = isinstance(subject.data, dict) and "Statement" in subject.data
    return statements(subject.data, readable_only=True) if readable else ()


def actions_of(subject: Subject) -> tuple[tuple[Statement, frozenset[str] | None], ...]:
    """Return each statement with the known actions that it names; ``None`` where one is not known here."""
    return subject.view(_actions)


def _actions(subject: Subject) -> tuple[tuple[Statement, frozenset[str] | None], ...]:
    return tuple((one, known_actions(one)) for one in statements_of(subject))


def guards_of(subject: Subject) -> tuple[Guard, ...]:
    """Return the statements that speak about instance types."""
    return subject.view(_guards)


def _guards(subject: Subject) -> tuple[Guard, ...]:
    return guards(statements_of(subject))


def absent_denied(subject: Subject, beside: Guard) -> frozenset[str]:
    """Return the actions that the document denies without a type whenever a guard of it applies."""
    denies = (one for one in guards_of(subject) if not one.allows and one.is_absence_guard)
    return frozenset().union(*(one.actions or () for one in denies if one.rest in (beside.rest, _NOTHING)))


def names(values: frozenset[str], most: int = 3) -> str:
    """Return a few of many in words."""
    shown = sorted(values)[:most]
    rest = len(values) - len(shown)
    return ", ".join(shown) + (f" and {rest} more" if rest else "")


def unknown_conditions(subject: Subject, effect: str) -> Iterator[Found]:
    """Yield "cannot be judged" for each statement about types whose condition only a deploy will know."""
    for one in statements_of(subject):
        if one.effect != effect or not is_unresolved(one.condition):
            continue
        if (known_actions(one) or carrying()) & carrying():
            yield unverified("the condition is not known here", f"{one.path}.Condition")
