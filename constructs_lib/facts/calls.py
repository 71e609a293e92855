"""Which error codes prove that a create call created nothing. A code that is not here proves nothing."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from constructs_lib.facts import load

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CallError", "call_errors"]


@dataclass(frozen=True, slots=True)
class CallError:
    """What one error code of a create call means.

    ``outcome`` is ``exists`` (the name is taken), ``refused`` or ``throttled`` (either way nothing was created);
    ``failure_class`` is the class of the failure unless the message says better.
    """

    code: str
    outcome: str
    failure_class: str | None
    source: str


@cache
def call_errors() -> Mapping[str, CallError]:
    """Return the known codes; any other code leaves it open whether something was created."""
    rows = load("call_errors")["rows"]
    return MappingProxyType({r["code"]: CallError(r["code"], r["outcome"], r.get("class"), r["source"]) for r in rows})
