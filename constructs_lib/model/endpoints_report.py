"""What a decision tells people: state, reason, what comes next and when, and what they should hear of."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from constructs_lib.model.endpoints_rules import Decision
from constructs_lib.model.endpoints_view import IN_SERVICE
from constructs_lib.model.window import moment_text

if TYPE_CHECKING:
    from constructs_lib.model.endpoints_declaration import EndpointDeclaration
    from constructs_lib.model.endpoints_item import Asked
    from constructs_lib.model.endpoints_rules import Action
    from constructs_lib.model.endpoints_view import View
    from constructs_lib.model.endpoints_window import Position

__all__ = ["Report", "moving_state", "serving_state"]

Notice = tuple[str, str]

_BEFORE_CUT = timedelta(hours=24)


def serving_state(view: View) -> str:
    """Return the state of an endpoint of which nothing is to say."""
    if view.endpoint.status != IN_SERVICE:
        return "Failed"
    return "InService" if view.endpoint.plan else "OnDemand"


def moving_state(view: View) -> str:
    """Return the state of an endpoint in transition."""
    if view.endpoint.status in ("Creating", "Deleting"):
        return view.endpoint.status
    asked, served = view.item.asked, view.item.served
    return "Moving" if asked and asked.until != served.get("until", "") else "Updating"


@dataclass(frozen=True)
class Report:
    """Puts decisions into words.

    Parameters
    ----------
    view : View
    declared : EndpointDeclaration
    main, leaving : Position
        In the time of the declared plan, and of the one that the endpoint is on (or else of the declared one).
    """

    view: View
    declared: EndpointDeclaration
    main: Position
    leaving: Position

    def decision(
        self,
        action: Action | None,
        state: str,
        reason: str,
        asked: Asked | None = None,
        notices: tuple[Notice, ...] = (),
    ) -> Decision:
        """Return the decision, with the item as it has to be stored before the call."""
        item = self.view.item
        what, at = self._next(action)
        item = replace(item, asked=asked or item.asked, state=state, reason=reason, next_action=what, next_at=at)
        on = self.view.endpoint.plan
        used = self.view.endpoint.used(on) if on else 0
        return Decision(action, item, (*notices, *self._due()), self.leaving.cut, used)

    def _due(self) -> list[Notice]:
        """Return what people should have heard of by now."""
        item, cut, found = self.view.item, self.leaving.cut, []
        if (back := item.rolled_back) is not None:
            found.append((f"rolled-back@{back.config}@{back.phase}", f"{back.config} was rolled back: {back.reason}"))
        if self.view.on and cut is not None and timedelta() < cut - self.view.now <= _BEFORE_CUT:
            words = f"the endpoint leaves its plan at {moment_text(cut)}: {self.declared.on_expiry.action}"
            found.append((f"T-24h@{moment_text(cut)}", words))
        return found

    def _next(self, action: Action | None) -> tuple[str, str]:
        """Return what happens next, and when."""
        if action is not None:
            return f"{action.call} {action.name}", moment_text(self.view.now)
        if self.view.item.desired == "absent" or "on_expiry_now" in self.view.item.overrides:
            return "", ""
        match self.main.zone:
            case "before" if self.main.start:
                return "create the endpoint on the plan", moment_text(self.main.start)
            case "open" | "hold" if self.main.cut:
                return self.declared.on_expiry.action.replace("_", " "), moment_text(self.main.cut)
            case "leave" | "gap" if self.main.start:
                return "come back onto the plan", moment_text(self.main.start)
        return "", ""
