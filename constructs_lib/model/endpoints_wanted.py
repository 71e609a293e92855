"""What an endpoint should be at a moment: on its plan, elsewhere, as it is, or not there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from constructs_lib.model.endpoints_window import UNREADABLE, PlanSight, Position
from constructs_lib.model.window import moment_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from constructs_lib.model.endpoints_declaration import EndpointDeclaration
    from constructs_lib.model.endpoints_view import View

__all__ = ["KEEP", "NEXT_PLAN", "NOTHING", "ON_DEMAND", "PLAN", "STAY", "Wanted", "wanted"]

NOTHING, STAY, KEEP = "nothing", "stay", "keep"
PLAN, NEXT_PLAN, ON_DEMAND = "plan", "next plan", "on-demand"


@dataclass(frozen=True, slots=True)
class Wanted:
    """Where the endpoint should be.

    Parameters
    ----------
    place : str
        ``plan``, ``next plan``, ``on-demand``, ``nothing``, ``stay`` as it is, or ``keep``: stay although the capacity
        goes.
    phase : str
        The phase of the plan's time that says so.
    why : str
        For people.
    plan : PlanSight, optional
        What it is to run on.
    request : Mapping, optional
        The configuration, as declared.
    """

    place: str
    phase: str
    why: str
    plan: PlanSight | None = None
    request: Mapping[str, Any] | None = None

    @property
    def moves_to_plan(self) -> bool:
        """Whether it takes a plan's capacity."""
        return self.plan is not None


def wanted(view: View, declared: EndpointDeclaration, *, every_segment: bool = True) -> Wanted:
    """Return what the endpoint should be now.

    Before the first segment nothing is made, and what serves elsewhere stays; in a segment the endpoint is on the plan;
    from a cut on, and between segments, it is what ``on_expiry`` says.
    """
    return _Judge(view, declared, every_segment).judge()


@dataclass(frozen=True, slots=True)
class _Judge:
    view: View
    declared: EndpointDeclaration
    every_segment: bool

    def judge(self) -> Wanted:
        view, main = self.view, self._plan(self.declared.plan_arn)
        at = self._position(main)
        if view.item.desired == "absent":
            return Wanted(NOTHING, "absent", "it is being deleted")
        if action := view.item.overrides.get("on_expiry_now"):
            return self._leave(action, f"now/{at.phase}", f"{action} was asked for")
        if at.zone == "open" and main.status == "Active":
            return Wanted(PLAN, at.phase, f"the plan is Active until {_text(at.cut)}", main, self.declared.config)
        on_main = view.endpoint.exists and view.endpoint.plan == main.arn
        if on_main and at.zone in ("open", "hold") and not main.dead:
            return Wanted(STAY, at.phase, f"nothing moves onto the plan before it is left at {_text(at.cut)}", main)
        if self._not_begun(main, at):
            return self._before(main, at)
        return self._leave(self.declared.on_expiry.action, at.phase, f"the plan is in its phase {at.zone}")

    def _not_begun(self, main: PlanSight, at: Position) -> bool:
        """Tell whether the plan gave no capacity yet: too early, late, unpaid, or not there at all."""
        first = main.segments[0].start if main.segments else None
        late = first is not None and at.zone == "open" and not main.dead and at.phase == self._first_phase(main, first)
        return at.zone == "before" or late or (main.status == "Failed")

    def _first_phase(self, main: PlanSight, first: datetime) -> str:
        return main.position(first, self.declared.margin, every_segment=self.every_segment).phase

    def _before(self, main: PlanSight, at: Position) -> Wanted:
        view, on = self.view, self.view.on
        if not view.endpoint.exists:
            return Wanted(NOTHING, at.phase, _why_not(main))
        left = on is not None and (on.dead or self._position(on).leaving)
        if on is not None and left and on.status != UNREADABLE:
            return self._leave(
                self.declared.on_expiry.action, f"{self._position(on).phase}/{at.phase}", f"{on.arn} comes to its end"
            )
        return Wanted(STAY, at.phase, f"{_why_not(main)}; what serves stays", on)

    def _leave(self, action: str, phase: str, why: str) -> Wanted:
        choice = self.declared.on_expiry
        match action:
            case "to_on_demand":
                return Wanted(ON_DEMAND, phase, why, None, choice.config)
            case "to_plan":
                return self._onward(phase, why)
            case "keep":
                return self._last(phase, why, "keep")
        return self._last(phase, why, "delete")

    def _onward(self, phase: str, why: str) -> Wanted:
        """Move to the next plan; while that gives no capacity, the last resort."""
        choice = self.declared.on_expiry
        following = self._plan(choice.plan_arn)
        at = self._position(following)
        phase = f"{phase}>{at.phase}"
        if at.zone == "open" and following.status == "Active":
            return Wanted(NEXT_PLAN, phase, f"{why}; the next plan is Active", following, choice.config)
        on_it = self.view.endpoint.exists and self.view.endpoint.plan == following.arn
        if on_it and at.zone in ("open", "hold") and not following.dead:
            return Wanted(STAY, phase, f"nothing moves onto the next plan before {_text(at.cut)}", following)
        return self._last(phase, f"{why}, and the next plan gives no capacity", choice.last_resort)

    def _last(self, phase: str, why: str, resort: str) -> Wanted:
        if resort == "keep" and self.view.endpoint.exists:
            return Wanted(KEEP, phase, f"{why}; it is kept: {self.declared.on_expiry.acknowledge}")
        return Wanted(NOTHING, phase, why)

    def _plan(self, arn: str) -> PlanSight:
        return self.view.plans.get(arn) or PlanSight(arn, UNREADABLE)

    def _position(self, plan: PlanSight) -> Position:
        return plan.position(self.view.now, self.declared.margin, every_segment=self.every_segment)


def _why_not(main: PlanSight) -> str:
    if main.dead:
        return f"the plan is {main.status}"
    return f"the plan is {main.status or 'unknown'}" + (
        f" and starts at {_text(main.segments[0].start)}" if main.segments else ""
    )


def _text(moment: datetime | None) -> str:
    return moment_text(moment) if moment else "an unknown time"
