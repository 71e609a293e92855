"""What the outcome of a call leaves in the item."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from constructs_lib.model.endpoints_item import Calling, EndpointItem
    from constructs_lib.model.endpoints_rules import Action

__all__ = ["settled"]

_ASKING = ("create endpoint", "update endpoint")


def settled(item: EndpointItem, action: Action, call: Calling, kind: str, words: str) -> EndpointItem:
    """Return the item after a call; true also if it was settled before.

    Parameters
    ----------
    item : EndpointItem
        As it is now: its declaration may be a newer one.
    action : Action
    call : Calling
        As it was stored before the call.
    kind : str
        ``done``, ``refused``, ``throttled`` or ``unclear``.
    words : str
        AWS's.
    """
    if kind == "unclear":
        return replace(item, reason=f"{action.call} {action.name}: {words}")
    item = replace(item, calling=tuple(each for each in item.calling if each != call))
    asked = item.asked if action.call in _ASKING and item.asked and item.asked.at == call.at else None
    gone = {"delete config": "done", "create config": "refused"}.get(action.call) == kind
    # An older creation that may still arrive would leave a configuration that nobody knows of.
    gone = gone and not any(each.call == "create config" and each.name == action.name for each in item.calling)
    item = replace(item, made=tuple(name for name in item.made if name != action.name)) if gone else item
    if kind == "done":
        if asked:
            return replace(item, asked=replace(asked, seen=True))
        if action.call.endswith("scaling"):
            return replace(item, scaled=action.request.get("Key", ""))
        return item
    item = replace(item, asked=None) if asked else item
    state = "Failed" if kind == "refused" else item.state
    return replace(item, state=state, reason=f"{action.call} {action.name} was {kind}: {words}")
