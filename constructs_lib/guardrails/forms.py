"""One declaration in three forms: statements that allow, statements that deny, and a boundary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from constructs_lib.facts import iam
from constructs_lib.guardrails.limits import Limit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from constructs_lib.guardrails.limits import Condition

__all__ = ["Declaration", "carries", "document"]

Document = dict[str, Any]
Statement = dict[str, Any]


def document(statements: Sequence[Statement]) -> Document:
    """Return a policy document."""
    return {"Version": "2012-10-17", "Statement": list(statements)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """What a guardrail says, before it takes a form.

    Parameters
    ----------
    types : Limit
        The limit on instance types.
    others : tuple of Limit
        Companion limits; each holds for the actions that carry its key.
    actions : tuple of str
        The actions to restrict; all carry instance types.
    without_types : tuple of str
        Those of them that are also right without a type.
    denied : tuple of str
        Actions that are forbidden altogether.
    exempt : tuple of str
        ARN patterns of principals that the denying form does not bind.
    """

    types: Limit
    others: tuple[Limit, ...] = ()
    actions: tuple[str, ...]
    without_types: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()
    exempt: tuple[str, ...] = ()

    def allow(self) -> list[Statement]:
        """Return statements that allow what is approved; actions that carry the same keys share one."""
        absent = Limit(self.types.key, self.types.name, {"Null": {self.types.key: "true"}}, {}, {})
        typed = [_allow(f"ApprovedTypes{i}", *group) for i, group in enumerate(self._groups(self.actions, self.types))]
        bare = [_allow(f"WithoutTypes{i}", *group) for i, group in enumerate(self._groups(self.without_types, absent))]
        return [*typed, *bare, *self._forbidden()]

    def deny(self) -> list[Statement]:
        """Return statements that refuse what is not approved, whatever else allows it. A Deny is never split."""
        return [*self._refusals(), *self._forbidden()]

    def boundary(self) -> list[Statement]:
        """Return statements for a permissions boundary: all else, and the restricted actions as approved."""
        rest = {"Sid": "NotRestrictedHere", "Effect": "Allow", "NotAction": sorted(self.actions), "Resource": "*"}
        return [rest, *self.allow()]

    def _groups(self, actions: Sequence[str], types: Limit) -> list[tuple[list[str], list[Limit]]]:
        groups: dict[tuple[str, ...], tuple[list[str], list[Limit]]] = {}
        for action in sorted(actions):
            limits = [types, *(limit for limit in self.others if carries(action, limit))]
            groups.setdefault(tuple(limit.key for limit in limits), ([], limits))[0].append(action)
        return list(groups.values())

    def _refusals(self) -> Iterator[Statement]:
        needed = [action for action in self.actions if action not in self.without_types]
        for name, condition in self.types.deny.items():
            yield self._refusal(name, self.actions, condition)
        for name, condition in self.types.absence.items() if needed else ():
            yield self._refusal(name, needed, condition)
        for limit in self.others:
            carrying = [action for action in self.actions if carries(action, limit)]
            for name, condition in {**limit.deny, **limit.absence}.items() if carrying else ():
                yield self._refusal(name, carrying, condition)

    def _refusal(self, name: str, actions: Sequence[str], condition: Condition) -> Statement:
        deny = {"Sid": f"Deny{name}", "Effect": "Deny", "Action": sorted(actions), "Resource": "*"}
        merged = {operator: dict(keys) for operator, keys in condition.items()}
        if self.exempt:
            merged.setdefault("ArnNotLike", {})["aws:PrincipalArn"] = list(self.exempt)
        return deny | ({"Condition": merged} if merged else {})

    def _forbidden(self) -> list[Statement]:
        return [self._refusal("Ungoverned", self.denied, {})] if self.denied else []


def carries(action: str, limit: Limit) -> bool:
    """Tell whether requests of an action carry the key of a limit."""
    return iam.actions()[action].carries(limit.key) is True


def _allow(sid: str, actions: Sequence[str], limits: Sequence[Limit]) -> Statement:
    condition: Condition = {}
    for limit in limits:
        for operator, keys in limit.allow.items():
            condition.setdefault(operator, {}).update(keys)
    return {"Sid": sid, "Effect": "Allow", "Action": list(actions), "Resource": "*", "Condition": condition}
