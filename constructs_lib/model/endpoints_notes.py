"""What a reading proves about what was asked before."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from constructs_lib.model.endpoints_view import BROKEN, MOVING
from constructs_lib.model.window import moment_text

if TYPE_CHECKING:
    from constructs_lib.model.endpoints_item import Asked, EndpointItem
    from constructs_lib.model.endpoints_view import View

__all__ = ["CREATION", "LATE", "noted"]

LATE = timedelta(seconds=360)
"""How long a call may still arrive after the run began that made it: the keeper's life, the call's, and the lag until
everybody sees it."""
CREATION = "create"
_TAKEN = ("Creating", "Updating", "RollingBack")


def noted(view: View, *, confirmed_only: bool = True) -> EndpointItem:  # noqa: PLR0911  one a kind of proof
    """Return the item with what this reading proves.

    An update that SageMaker took, and after which the old configuration is in service again, was rolled back: it took
    it if it answered so, or if somebody saw the endpoint in transition since. What nobody saw is asked for again.

    Parameters
    ----------
    view : View
    confirmed_only : bool
        False takes every update that did not come into service for a rolled-back one.
    """
    item, endpoint = view.item, view.endpoint
    open_calls = tuple(call for call in item.calling if view.now.timestamp() - call.at < LATE.total_seconds())
    item = replace(item, calling=open_calls) if open_calls != item.calling else item
    asked = item.asked
    if not endpoint.exists:
        gone = asked is not None and (asked.seen or asked.strategy != CREATION)
        return replace(item, served={}, asked=None if gone else asked)
    if asked is None:
        return item
    if endpoint.status in MOVING:
        return item if asked.seen or endpoint.status not in _TAKEN else replace(item, asked=replace(asked, seen=True))
    if endpoint.status in BROKEN:
        return replace(item, asked=None)
    if endpoint.config == asked.config:
        return _came_into_service(item, asked, view)
    if endpoint.config != asked.source:
        return replace(item, asked=None)  # somebody else changed it since
    if asked.seen or not confirmed_only:
        return _rolled_back(item, asked, view)
    return item


def _came_into_service(item: EndpointItem, asked: Asked, view: View) -> EndpointItem:
    took = view.now.timestamp() - asked.at if asked.strategy == CREATION else item.took
    served = {"config": asked.config, "content": asked.content, "until": asked.until}
    return replace(item, asked=None, served=served, took=took, rolled_back=None)


def _rolled_back(item: EndpointItem, asked: Asked, view: View) -> EndpointItem:
    reason = view.endpoint.failure or "SageMaker gives no reason"
    return replace(item, asked=None, rolled_back=asked.failed(reason, moment_text(view.now)))
