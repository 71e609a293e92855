"""What a statement asks of sagemaker:InstanceTypes, and which known actions it names."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from constructs_lib import facts
from constructs_lib.facts import iam
from constructs_lib.model import is_unresolved
from constructs_lib.model.wildcards import matches
from constructs_lib.rules.policies.conditions import NEGATED, split_operator
from constructs_lib.rules.policies.documents import Statement, as_list

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["ALL", "ANY", "Clause", "Guard", "carrying", "covered_types", "expand", "guards", "known_actions"]

ALL, ANY = "forallvalues", "foranyvalue"


@dataclass(frozen=True, slots=True)
class Clause:
    """One operator on sagemaker:InstanceTypes; ``values`` is ``None`` where one of them is not known here."""

    qualifier: str
    base: str
    if_exists: bool
    values: tuple[str, ...] | None
    at: str

    @property
    def negated(self) -> bool:
        """Whether it asks what a type is *not*."""
        return self.base in NEGATED

    @property
    def is_null(self) -> bool:
        """Whether it asks for the key's presence."""
        return self.base == "null"


@dataclass(frozen=True, slots=True)
class Guard:
    """A statement whose condition speaks about instance types; ``actions`` is ``None`` where one is not known here."""

    statement: Statement
    clauses: tuple[Clause, ...]
    actions: frozenset[str] | None

    @property
    def allows(self) -> bool:
        """Whether it is an Allow."""
        return self.statement.effect == "Allow"

    def having(self, qualifier: str, *, negated: bool) -> list[Clause]:
        """Return its clauses with this set operator."""
        return [c for c in self.clauses if c.qualifier == qualifier and c.negated is negated and not c.is_null]

    @property
    def needs_the_key(self) -> bool:
        """Whether it can only apply to a request that names a type."""
        present = any(c.is_null and c.values == ("false",) for c in self.clauses)
        return present or any(not c.if_exists for c in self.having(ANY, negated=False) + self.having(ANY, negated=True))

    @property
    def rest(self) -> str:
        """What the condition asks besides, as text that is equal for equal conditions."""
        others = (
            (operator, key, repr(values))
            for operator, keys in self.statement.condition.items()
            for key, values in (keys.items() if isinstance(keys, dict) else [("", keys)])
        )
        return repr(sorted(one for one in others if not _is_types_key(one[1])))

    @property
    def is_absence_guard(self) -> bool:
        """Whether it applies to every request that names no type, as far as the rest of its condition holds."""
        if "*" not in self.statement.resources:
            return False
        nothing_at_all = any(c.values == ("*",) for c in self.having(ALL, negated=True))
        return nothing_at_all or any(c.is_null and c.values == ("true",) for c in self.clauses)


def guards(statements: Iterable[Statement]) -> tuple[Guard, ...]:
    """Return the statements that speak about instance types."""
    parsed = ((one, tuple(_clauses(one))) for one in statements)
    return tuple(Guard(one, clauses, known_actions(one)) for one, clauses in parsed if clauses)


def _clauses(statement: Statement) -> Iterator[Clause]:
    for operator, keys in statement.condition.items():
        for key, raw in keys.items() if isinstance(keys, dict) else ():
            if _is_types_key(key):
                at = f"{statement.path}.Condition.{operator}.{key}"
                yield Clause(*split_operator(operator), _values(raw, statement), at)


def _is_types_key(key: str) -> bool:
    return key.lower() == iam.INSTANCE_TYPES_KEY.lower()


def _values(raw: Any, statement: Statement) -> tuple[str, ...] | None:
    values = as_list(raw)
    if is_unresolved(raw) or any(is_unresolved(value) for value in values):
        return None
    texts = tuple(str(value).lower() if isinstance(value, bool) else str(value) for value in values)
    return None if statement.variables and any("${" in text for text in texts) else texts


def known_actions(statement: Statement) -> frozenset[str] | None:
    """Return every known action that a statement names; ``None`` if one of its patterns is not known here."""
    patterns = statement.actions or statement.not_actions
    if any(not isinstance(pattern, str) or is_unresolved(pattern) for pattern in patterns):
        return None
    named = frozenset().union(*(expand(pattern) for pattern in patterns))
    return named if statement.actions else frozenset(iam.actions()) - named


@lru_cache(maxsize=1024)
def expand(pattern: str) -> frozenset[str]:
    """Return the known actions that a pattern names."""
    return frozenset(name for name in iam.actions() if matches(pattern.lower(), name.lower()))


@cache
def carrying() -> frozenset[str]:
    """Return the actions whose requests carry their instance types."""
    return frozenset(iam.carrying_actions())


def covered_types(clause: Clause) -> frozenset[str] | None:
    """Return the known types that a clause's values match; ``None`` if they are not known here."""
    if clause.values is None:
        return None
    known = facts.instance_types()
    if not clause.base.endswith("like"):
        return frozenset(clause.values) & known.keys()
    return frozenset(name for name in known if any(matches(value, name) for value in clause.values))
