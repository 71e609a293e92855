"""A request that may be created, and what was found on the way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constructs_lib.model import RunEnd

__all__ = ["Prepared"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What to create.

    Parameters
    ----------
    request : Mapping
        The create request without the name.
    cut_for : RunEnd or None
        The limit that the runtime was shortened for.
    free : frozenset of str
        The types that are paid for by a training plan.
    unverified : tuple of str
        What AWS did not let us check.
    """

    request: Mapping[str, Any]
    cut_for: RunEnd | None = None
    free: frozenset[str] = frozenset()
    unverified: tuple[str, ...] = ()
