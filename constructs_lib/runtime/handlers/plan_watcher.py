"""The watcher function, on a schedule: follows plans, puts events and notices. It never buys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from constructs_lib.runtime.buyer import services

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["handler"]


def handler(event: Mapping[str, Any], context: object) -> dict[str, int]:  # noqa: ARG001  Lambda's signature
    """Look at the purchases of the ``identities`` in the event; without any, at every purchase on record."""
    return {"purchases": services().watching().watch(event.get("identities", ()))}
