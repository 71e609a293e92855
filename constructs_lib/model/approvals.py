"""Which instance types the guardrails of an app approve where: asked by path, so that it costs a job nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from constructs_lib.model.errors import InvalidInputError
from constructs_lib.model.values import is_unresolved
from constructs_lib.model.wildcards import unmatched

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["ALLOWED_TYPES_VARIABLE", "Approvals", "approvals", "types_in", "unapproved"]

ALLOWED_TYPES_VARIABLE = "GPUCAP_ALLOWED_INSTANCE_TYPES"
"""What the launcher knows of the guardrails over its stack: JSON, the approved patterns by the guardrail's path."""

# Maps of the user's own keys, one of which may be called InstanceType.
_USERS_OWN = frozenset({"Environment", "HyperParameters", "StaticHyperParameters", "Tags"})


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


def types_in(request: Any) -> list[str]:
    """Return the instance types that a create request names, wherever it does, once each; tokens are left out.

    Examples
    --------
    >>> resources = {"InstancePreferences": [{"InstanceType": "ml.g5.xlarge"}, {"InstanceType": "ml.p5.48xlarge"}]}
    >>> types_in({"ResourceConfig": resources, "Environment": {"InstanceType": "mine"}})
    ['ml.g5.xlarge', 'ml.p5.48xlarge']
    """
    if isinstance(request, list | tuple):
        found = [name for member in request for name in types_in(member)]
    elif isinstance(request, dict):
        inside = [member for key, member in request.items() if key not in _USERS_OWN]
        own = request.get("InstanceType")
        named = [own] if isinstance(own, str) and not is_unresolved(own) else []
        found = named + [name for member in inside for name in types_in(member)]
    else:
        return []
    return list(dict.fromkeys(found))


def unapproved(what: str, types: Sequence[str], guardrails: Mapping[str, Sequence[str]]) -> str | None:
    """Say which types a guardrail does not approve, or return ``None`` if all guardrails approve all of them.

    Parameters
    ----------
    what : str
        Who asks for the types.
    types : sequence of str
    guardrails : Mapping
        The approved patterns by the guardrail's path.
    """
    for guardrail, patterns in guardrails.items():
        if refused := unmatched(types, patterns):
            return (
                f"{what} asks for {', '.join(refused)}, which the guardrail {guardrail} does not approve; "
                f"it approves {', '.join(patterns)}"
            )
    return None


def _inside(path: str, scope: str) -> bool:
    return not scope or path == scope or path.startswith(f"{scope}/")


def _check(path: str, types: Sequence[str], guardrails: Mapping[str, Sequence[str]]) -> None:
    if words := unapproved(path, types, guardrails):
        raise InvalidInputError(words)
