"""Which instance types the guardrails of an app approve where: asked by path, so that it costs a job nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from constructs_lib.model.errors import InvalidInputError
from constructs_lib.model.wildcards import unmatched

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Approvals", "approvals"]


@dataclass(slots=True)
class Approvals:
    """The guardrails and the users of instance types of one app, whichever is declared first.

    Examples
    --------
    >>> app = Approvals()
    >>> app.use("Stack/Job", ["ml.p5.48xlarge"])
    >>> app.approve("Stack", "Stack/Approved", ["ml.g5.*"])
    Traceback (most recent call last):
    constructs_lib.model.errors.InvalidInputError: Stack/Job asks for ml.p5.48xlarge, which the guardrail \
Stack/Approved does not approve; it approves ml.g5.*
    """

    _guardrails: dict[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)
    _users: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)

    def approve(self, scope: str, guardrail: str, patterns: Sequence[str]) -> None:
        """Let a guardrail bind everything under a scope.

        Parameters
        ----------
        scope : str
            The path of the scope; an empty one is the whole app.
        guardrail : str
            The guardrail's path, for words.
        patterns : sequence of str
            What it approves.

        Raises
        ------
        InvalidInputError
            If something under the scope was declared before with a type that is not approved.
        """
        self._guardrails[guardrail] = scope, tuple(patterns)
        for path, types in self._users:
            if _inside(path, scope):
                _check(path, types, {guardrail: patterns})

    def use(self, path: str, types: Sequence[str]) -> None:
        """Say that a construct asks for instance types (only those that are known as text).

        Raises
        ------
        InvalidInputError
            If a guardrail over the path does not approve one of them.
        """
        self._users.append((path, tuple(types)))
        _check(path, types, self.over(path))

    def over(self, path: str) -> Mapping[str, tuple[str, ...]]:
        """Return what each guardrail over a path approves, by the guardrail's path; all of them bind."""
        return {name: patterns for name, (scope, patterns) in self._guardrails.items() if _inside(path, scope)}


_apps: WeakKeyDictionary[object, Approvals] = WeakKeyDictionary()


def approvals(root: object) -> Approvals:
    """Return the approvals of the app with this root."""
    return _apps.setdefault(root, Approvals())


def _inside(path: str, scope: str) -> bool:
    return not scope or path == scope or path.startswith(f"{scope}/")


def _check(path: str, types: Sequence[str], guardrails: Mapping[str, Sequence[str]]) -> None:
    for guardrail, patterns in guardrails.items():
        if unapproved := unmatched(types, patterns):
            raise InvalidInputError(
                f"{path} asks for {', '.join(unapproved)}, which the guardrail {guardrail} does not approve; "
                f"it approves {', '.join(patterns)}"
            )
