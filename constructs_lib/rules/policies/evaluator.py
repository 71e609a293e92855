"""What identity policies, a permissions boundary and service control policies together decide about one request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from constructs_lib.model import is_unresolved
from constructs_lib.model.wildcards import matches
from constructs_lib.rules.policies.conditions import (
    ContextValue,
    Truth,
    all_of,
    any_of,
    arn_matches,
    condition_holds,
    negated,
)
from constructs_lib.rules.policies.documents import Statement, statements

__all__ = ["Decision", "Policies", "Request", "Verdict", "evaluate"]

Document = Mapping[str, Any]


class Verdict(StrEnum):
    """What IAM would answer; ``unverified`` where this evaluator does not model what decides."""

    ALLOWED = "allowed"
    DENIED = "denied"
    """By a Deny statement."""
    NOT_ALLOWED = "not allowed"
    """By default: no statement of some layer allows it."""
    UNVERIFIED = "unverified"

    @property
    def is_refusal(self) -> bool:
        """Whether the request fails."""
        return self in (Verdict.DENIED, Verdict.NOT_ALLOWED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request: an action on one resource, with its context.

    Parameters
    ----------
    action : str
        Such as ``sagemaker:CreateTrainingJob``.
    resource : str
        The resource's ARN, ``*`` for an action without resources.
    context : Mapping
        Condition keys; an absent key is not in it, a list is a multivalued key.
    """

    action: str
    resource: str = "*"
    context: Mapping[str, ContextValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Policies:
    """Everything that decides about a request in one account.

    Parameters
    ----------
    identity : tuple of Mapping
        The documents attached to the caller.
    boundary : tuple of Mapping, optional
        The permissions boundary; ``None`` for a caller without one.
    scps : tuple of tuple of Mapping
        The service control policies, one tuple a level of the organization; each level must allow.
    """

    identity: tuple[Document, ...]
    boundary: tuple[Document, ...] | None = None
    scps: tuple[tuple[Document, ...], ...] = ()

    def layers(self) -> list[tuple[str, tuple[Document, ...]]]:
        """Return the layers that must all allow, each with its name."""
        boundary = [("permissions boundary", self.boundary)] if self.boundary is not None else []
        levels = [("service control policy", level) for level in self.scps]
        return [("identity policy", self.identity), *boundary, *levels]


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict and what decided: statements by Sid or place, or the layer in which none allows."""

    verdict: Verdict
    by: tuple[str, ...]


def evaluate(request: Request, policies: Policies) -> Decision:
    """Decide one request.

    Models explicit deny over allow, the boundary and every level of service control policies; ``Action``,
    ``NotAction``, ``Resource``, ``NotResource`` with wildcards; String, Numeric, Arn, Bool and Null operators with
    ``IfExists``, ``ForAllValues`` and ``ForAnyValue``. Does not model policy variables, dates, addresses, principals,
    resource and session policies: where one of these decides, the verdict is ``unverified``.

    Parameters
    ----------
    request : Request
    policies : Policies

    Raises
    ------
    InvalidInputError
        If a document is not a policy document.

    Examples
    --------
    >>> guard = {"ForAllValues:StringLike": {"sagemaker:InstanceTypes": ["ml.g5.*"]}}
    >>> allow = {"Effect": "Allow", "Action": "sagemaker:*", "Resource": "*", "Condition": guard}
    >>> policies = Policies(identity=({"Version": "2012-10-17", "Statement": [allow]},))
    >>> str(evaluate(Request(action="sagemaker:CreateTrainingJob"), policies).verdict)
    'allowed'
    """
    layers = [(name, _asked(documents, request)) for name, documents in policies.layers()]
    denies = [pair for _, asked in layers for pair in asked if pair[0].effect == "Deny"]
    if by := _names(denies, wanted=True):
        return Decision(Verdict.DENIED, by)
    allows = [(name, [pair for pair in asked if pair[0].effect == "Allow"]) for name, asked in layers]
    if silent := tuple(name for name, asked in allows if any_of(truth for _, truth in asked) is False):
        return Decision(Verdict.NOT_ALLOWED, silent)
    unsure = denies + [pair for _, asked in allows if not _names(asked, wanted=True) for pair in asked]
    if by := _names(unsure, wanted=None):
        return Decision(Verdict.UNVERIFIED, by)
    return Decision(Verdict.ALLOWED, _names(allows[0][1], wanted=True))


def _asked(documents: tuple[Document, ...], request: Request) -> list[tuple[Statement, Truth]]:
    return [(one, _applies(one, request)) for document in documents for one in statements(document)]


def _names(asked: list[tuple[Statement, Truth]], *, wanted: Truth) -> tuple[str, ...]:
    return tuple(dict.fromkeys(statement.name for statement, truth in asked if truth is wanted))


def _applies(statement: Statement, request: Request) -> Truth:
    """Tell whether a statement speaks about a request."""
    if statement.for_principals:
        return None
    return all_of(
        (
            _action_covered(statement, request.action),
            _resource_covered(statement, request.resource),
            condition_holds(statement.condition, request.context, variables=statement.variables),
        )
    )


def _action_covered(statement: Statement, action: str) -> Truth:
    def covers(pattern: Any) -> Truth:
        if not isinstance(pattern, str) or is_unresolved(pattern) or (pattern != "*" and ":" not in pattern):
            return None
        return matches(pattern.lower(), action.lower())

    named = any_of(covers(pattern) for pattern in statement.actions or statement.not_actions)
    return named if statement.actions else negated(named)


def _resource_covered(statement: Statement, resource: str) -> Truth:
    def covers(pattern: Any) -> Truth:
        if not isinstance(pattern, str) or is_unresolved(pattern) or (statement.variables and "${" in pattern):
            return None
        return pattern == "*" or arn_matches(pattern, resource)

    named = any_of(covers(pattern) for pattern in statement.resources or statement.not_resources)
    return named if statement.resources else negated(named) if statement.not_resources else None
