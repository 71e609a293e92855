"""What SageMaker's operations take, and what Step Functions and older SDKs know of them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from constructs_lib.facts import load

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "NewMember",
    "model_version",
    "new_members",
    "operations",
    "optimized_actions",
    "snapshot",
]


@dataclass(frozen=True, slots=True)
class NewMember:
    """A member of a request that older clients do not know; ``since`` is ``None`` where the day is not known."""

    operation: str
    member: str
    since: date | None
    source: str


@cache
def operations() -> Mapping[str, Any]:
    """Return the members of each SageMaker operation's request.

    A structure is a mapping, a list a list of one, a map ``{"*": value}``, anything else ``None``. An operation of
    which only the name is kept has ``None``.
    """
    return MappingProxyType({row["operation"]: row.get("members") for row in load("sagemaker_operations")["rows"]})


@cache
def model_version() -> str:
    """Return which service model `operations` was read from, in words."""
    return str(load("sagemaker_operations")["sources"]["botocore"])


@cache
def new_members(operation: str) -> tuple[NewMember, ...]:
    """Return the members of an operation's request that came late: ``since`` without a day is after the snapshot."""
    rows = [row for row in load("new_members")["rows"] if row["operation"] == operation]
    return tuple(NewMember(**r | {"since": date.fromisoformat(r["since"]) if r["since"] else None}) for r in rows)


@cache
def optimized_actions() -> Mapping[str, bool]:
    """Return the actions of Step Functions' optimized SageMaker integration, each with whether it has ``.sync``."""
    return MappingProxyType({row["action"]: row["sync"] for row in load("step_functions")["rows"]})


@cache
def snapshot() -> date:
    """Return the day of the last known refresh of Step Functions' service models."""
    return date.fromisoformat(load("step_functions")["snapshot"]["refreshed"])
