"""The decision of one run of the reconciler: from what it sees to at most one call."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any

from constructs_lib.model.endpoints_checks import misfit
from constructs_lib.model.endpoints_declaration import content_hash
from constructs_lib.model.endpoints_notes import CREATION, noted
from constructs_lib.model.endpoints_report import Report, moving_state, serving_state
from constructs_lib.model.endpoints_rules import ENDPOINT_TAG, OWNER_TAG, STATES, Action, Decision, Rules
from constructs_lib.model.endpoints_strategy import (
    LOWER,
    NO_HEAD_ROOM,
    STOP_AND_REPLACE,
    Strategy,
    config_name,
    deployment,
    strategy,
)
from constructs_lib.model.endpoints_target import Target, tags_of
from constructs_lib.model.endpoints_view import BROKEN, MOVING
from constructs_lib.model.endpoints_wanted import KEEP, NOTHING, PLAN, STAY, Wanted, wanted
from constructs_lib.model.endpoints_window import UNREADABLE, PlanSight, Position

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constructs_lib.model.endpoints_declaration import EndpointDeclaration
    from constructs_lib.model.endpoints_view import View

__all__ = ["ENDPOINT_TAG", "OWNER_TAG", "STATES", "Action", "Decision", "Rules", "decide"]

_ALL = Rules()
_LONG = timedelta(hours=8)


def decide(view: View, rules: Rules = _ALL) -> Decision:
    """Decide what one run does.

    Parameters
    ----------
    view : View
        Everything that was read.
    rules : Rules
        All of them, except to show that one is needed.
    """
    item = noted(view, confirmed_only=rules.confirmed)
    return _Decider(replace(view, item=item), item.declared, rules).decide()


@dataclass(frozen=True)
class _Decider:
    view: View
    declared: EndpointDeclaration
    rules: Rules

    @cached_property
    def want(self) -> Wanted:
        return wanted(self.view, self.declared, every_segment=self.rules.segments)

    @cached_property
    def target(self) -> Target:
        return Target(self.view, self.want, self.declared, self.rules.within_plan)

    @cached_property
    def report(self) -> Report:
        main = self._position(self._main)
        return Report(self.view, self.declared, main, self._leaving or main)

    def decide(self) -> Decision:  # noqa: PLR0911  one a rule, in the order of their weight
        endpoint, item = self.view.endpoint, self.view.item
        if endpoint.exists and self.rules.ours_only and not self.view.ours:
            if item.desired == "absent":
                return self._collect("Deleted", "the endpoint was never ours", spare=set())
            return self._rest("NotOurs", f"endpoint {item.name} carries the tag of {endpoint.owner or 'nobody'}")
        if endpoint.status in MOVING and self.rules.legal_states:
            return self._rest(moving_state(self.view), f"the endpoint is {endpoint.status}")
        if endpoint.exists and item.desired == "present" and self._foreign_tag:
            return self._do("tag endpoint", endpoint.arn, "Updating", "it is taken over", Tags=tags_of(self.declared))
        if endpoint.status in BROKEN and self.want.place != KEEP and self.rules.repair:
            return self._delete(f"the endpoint is {endpoint.status} ({endpoint.failure or 'no reason'})", "Failed")
        if self.want.place == NOTHING:
            return self._take_down()
        if self.want.place in (STAY, KEEP) or endpoint.status in BROKEN:
            return self._stay()
        return self._reach()

    # --- staying and going
    def _take_down(self) -> Decision:
        if self.view.endpoint.exists:
            return self._delete(self.want.why, "Deleting")
        main = self._main
        if self.view.item.desired == "absent":
            state = "Deleted"
        elif main.status == "Failed" or (main.dead and not main.segments):
            state = "PlanNotUsable"
        else:
            asked = "on_expiry_now" in self.view.item.overrides
            waits = self._position(main).zone in ("before", "open") and not asked
            state = "WaitingForPlan" if waits else "Deleted"
        return self._collect(state, self.want.why, spare=set())

    def _stay(self) -> Decision:
        kept = self.want.place == KEEP and (self._past_end or self.view.endpoint.vanished)
        return self._rest("KeptPastEnd" if kept else serving_state(self.view), self.want.why)

    def _delete(self, why: str, state: str) -> Decision:
        """Delete the endpoint; its autoscaling goes first."""
        if self._scaling_there:
            return self._do("deregister scaling", self._variant, state, why)
        notice = (f"deleted@{self.want.phase}@{self.view.endpoint.config}", f"the endpoint is deleted: {why}")
        action = Action("delete endpoint", self.view.item.name, {}, why)
        return self.report.decision(action, state, why, notices=(notice,))

    def _collect(self, state: str, why: str, *, spare: set[str]) -> Decision:
        """Delete one configuration that nobody needs, or rest; the end is not declared while a call may still come."""
        going = self.view.item.desired == "absent"
        late = sorted({call.name for call in self.view.item.calling}) if self.rules.fenced else []
        asking = late and any(call.call in ("create endpoint", "update endpoint") for call in self.view.item.calling)
        # A call under way may take any of them into use.
        if not asking and (old := sorted(self.view.configs - spare)):
            action = Action("delete config", old[0], {}, "nothing uses it")
            # What is being torn down is Deleted only when nothing is left: then the table's item goes.
            return self.report.decision(action, "Deleting" if going else state, why)
        if going and late:
            return self._rest("Deleting", f"a call for {', '.join(late)} may still arrive")
        return self._rest(state, why)

    # --- reaching what is wanted
    def _reach(self) -> Decision:  # noqa: PLR0911  one a rule
        endpoint, target = self.view.endpoint, self.target
        if target.in_place and self._vanished:
            return self._delete("its instances went with an earlier segment of the plan", "Failed")
        if endpoint.exists and endpoint.config == target.name:
            return self._tidy(serving_state(self.view), self.want.why)
        if self.want.plan and (reason := misfit(self.want.plan, target.request)):
            return self._rest("PlanNotUsable", reason)
        if target.counts is None:
            return self._stuck("NoHeadRoom", "others use what the plan has", failed=False)
        if not endpoint.exists:
            return self._begin()
        if target.failed and self.rules.marker:
            back = self.view.item.rolled_back
            return self._stuck("RolledBack", f"{target.name} was rolled back: {back.reason if back else ''}")
        if self._pressed:
            return self._stuck("Moving", "no time is left to move")
        return self._update()

    def _begin(self) -> Decision:
        target = self.target
        # On its own plan, trying costs nothing, and there is nothing else to serve with.
        if target.failed and self.rules.marker and self.want.place != PLAN:
            return self._collect("RolledBack", f"{target.name} was tried and rolled back", spare={target.name})
        if prepared := self._config("Creating"):
            return prepared
        request = {"EndpointConfigName": target.name, "Tags": tags_of(self.declared)}
        action = Action("create endpoint", self.view.item.name, request, self.want.why)
        return self.report.decision(action, "Creating", self.want.why, target.ask(CREATION))

    def _update(self) -> Decision:
        endpoint, target = self.view.endpoint, self.target
        same = target.in_place
        room = target.room if self.rules.head_room else None
        chosen = strategy(endpoint, target.counts or {}, room, same_capacity=same, downtime=self._downtime_accepted)
        state = "Updating" if same else "Moving"
        if chosen.kind == NO_HEAD_ROOM:
            return self._stuck("NoHeadRoom", f"the update needs free instances, and {target.room}", failed=False)
        if self._scaling_there and (not same or chosen.kind in (LOWER, STOP_AND_REPLACE)):
            return self._do("deregister scaling", self._variant, state, "the endpoint changes")
        if chosen.kind == LOWER:
            return self._scale(chosen.counts or {}, state, "the update needs a free instance")
        if prepared := self._config(state):
            return prepared
        if chosen.kind == STOP_AND_REPLACE:
            return self._delete("the update has no head-room, and the downtime of stopping first was accepted", state)
        return self._call_update(chosen, state)

    def _call_update(self, chosen: Strategy, state: str) -> Decision:
        target = self.target
        exclude = [{"VariantPropertyType": "DesiredInstanceCount"}] if chosen.fresh_counts else []
        request = {
            "EndpointConfigName": target.name,
            "RetainAllVariantProperties": True,
            **({"ExcludeRetainedVariantProperties": exclude} if exclude else {}),
            "DeploymentConfig": deployment(chosen, self._time_left.total_seconds()),
        }
        action = Action("update endpoint", self.view.item.name, request, f"{chosen.kind}: {self.want.why}")
        words = f"the endpoint moves to {target.name}: {self.want.why}"
        notices = ((f"moved@{target.name}@{self.want.phase}", words),) if state == "Moving" else ()
        return self.report.decision(action, state, action.why, target.ask(chosen.kind), notices)

    def _config(self, state: str) -> Decision | None:
        """Make the configuration that is wanted, if there is none; wait if an older deletion may still arrive."""
        name = self.target.name
        late = any(call.call == "delete config" and call.name == name for call in self.view.item.calling)
        if late and self.rules.fenced:
            return self._rest(state, f"an older deletion of {name} may still arrive")
        if name in self.view.configs:
            return None
        return self._do("create config", name, state, self.want.why, **self.target.config_request())

    # --- when it cannot be reached
    def _stuck(self, state: str, why: str, *, failed: bool = True) -> Decision:
        """Leave as it is what cannot become what it should be; take the last resort if the capacity goes."""
        if not self.view.endpoint.exists:
            return self._rest(state, why)
        if not (self._must_leave and (failed or self._pressed) and self.rules.last_resort):
            return self._tidy(state, why)
        if self.declared.on_expiry.last_resort == "keep":
            return self._rest("KeptPastEnd" if self._past_end else state, f"{why}; it is kept")
        notice = (f"last-resort@{self.want.phase}", f"the endpoint could not move ({why}) and is deleted")
        decision = self._delete(why, "Deleting")
        return replace(decision, notices=(notice, *decision.notices))

    @property
    def _pressed(self) -> bool:
        """Whether it is too late to begin a move off the plan: it would not end before the capacity goes."""
        usable = self._leaving.usable_end if self._leaving else None
        if usable is None or not self._must_leave or self.declared.on_expiry.last_resort == "keep":
            return False
        needed = max(self.declared.margin - 2 * self.declared.period, self.declared.period)
        return self.rules.last_resort and self.view.now > usable - needed

    # --- when it is reached
    @property
    def _vanished(self) -> bool:
        """Whether the endpoint says InService, while the capacity under it was taken away."""
        plan, endpoint = self.want.plan, self.view.endpoint
        if plan is None or not self.rules.revive:
            return False
        unknown = any(variant.used is None for variant in endpoint.variants.values())
        return endpoint.vanished or (
            unknown and plan.ended_since(self.view.item.served.get("until", ""), self.view.now)
        )

    def _tidy(self, state: str, why: str) -> Decision:
        """Bring autoscaling and counts to what is wanted, collect what is old, and make what the end will need."""
        endpoint, target = self.view.endpoint, self.target
        if target.in_place:
            if scaling := self._scaling(state):
                return scaling
            aims, current = target.aims(), {name: each.desired for name, each in endpoint.variants.items()}
            if aims and aims != current and aims.keys() == current.keys():
                return self._scale(aims, state, why)
        ahead = self._ahead
        spare = {endpoint.config, target.name} if self.rules.spare_used else {target.name}
        if self.rules.spare_used:
            spare |= {self.view.item.asked.config} if self.view.item.asked else set()
        spare |= {ahead[0]} if ahead else set()
        decision = self._collect(state, why, spare=spare)
        if decision.action is None and ahead and ahead[0] not in self.view.configs:
            return self._do(
                "create config", ahead[0], state, "leaving the plan will need it", **target.tagged(ahead[1])
            )
        return decision

    def _scaling(self, state: str) -> Decision | None:
        """Register the autoscaling that is declared, within the plan; take away what is not."""
        scaling, room = self.declared.scaling, self.target.room
        if scaling is None or room is None:
            if self._scaling_there:
                return self._do("deregister scaling", self._variant, state, "it is not declared here")
            return None
        most = max(1, min(scaling.most, room.limit)) if self.rules.within_plan else scaling.most
        least = min(scaling.least, most)
        key = content_hash([scaling.variant, least, most, scaling.policy_name, scaling.policy])
        if self.view.registered == (least, most) and self.view.item.scaled == key:
            return None
        limits = {"MinCapacity": least, "MaxCapacity": most}
        policy = {"PolicyName": scaling.policy_name, "PolicyConfig": scaling.policy, "Key": key}
        return self._do("register scaling", scaling.variant, state, self.want.why, **limits, **policy)

    def _scale(self, counts: Mapping[str, int], state: str, why: str) -> Decision:
        wishes = [{"VariantName": name, "DesiredInstanceCount": count} for name, count in counts.items()]
        return self._do("scale endpoint", self.view.item.name, state, why, DesiredWeightsAndCapacities=wishes)

    @property
    def _ahead(self) -> tuple[str, Mapping[str, Any]] | None:
        """The configuration on on-demand capacity, which leaving the plan needs at once."""
        choice = self.declared.on_expiry
        if choice.action != "to_on_demand" or not choice.config:
            return None
        return config_name(self.view.item.name, choice.config), choice.config

    # --- what is decided
    def _do(self, call: str, name: str, state: str, why: str, **request: Any) -> Decision:
        return self.report.decision(Action(call, name, request, why), state, why)

    def _rest(self, state: str, reason: str) -> Decision:
        return self.report.decision(None, state, reason)

    # --- what is known
    @property
    def _main(self) -> PlanSight:
        return self.view.plans.get(self.declared.plan_arn) or PlanSight(self.declared.plan_arn, UNREADABLE)

    def _position(self, plan: PlanSight) -> Position:
        return plan.position(self.view.now, self.declared.margin, every_segment=self.rules.segments)

    @cached_property
    def _leaving(self) -> Position | None:
        """Where in the time of the plan it is on the endpoint is."""
        return self._position(self.view.on) if self.view.on else None

    @property
    def _must_leave(self) -> bool:
        return bool(self.view.on and self._leaving and (self.view.on.dead or self._leaving.leaving))

    @property
    def _past_end(self) -> bool:
        usable = self._leaving.usable_end if self._leaving else None
        return self._must_leave and (usable is None or self.view.now >= usable)

    @property
    def _time_left(self) -> timedelta:
        """The time that an update has: until the plan it moves to is left, or the capacity it leaves goes."""
        at = self._position(self.want.plan) if self.want.plan else self._leaving
        end = None if at is None else at.cut if self.want.plan else at.usable_end
        return end - self.view.now if end else _LONG

    @property
    def _foreign_tag(self) -> bool:
        owner, item = self.view.endpoint.owner, self.view.item
        return owner != item.owner and (bool(owner) or bool(item.overrides.get("adopted")))

    @property
    def _scaling_there(self) -> bool:
        return self.view.registered is not None or bool(self.view.item.scaled)

    @property
    def _variant(self) -> str:
        declared = self.declared.scaling
        return declared.variant if declared else next(iter(self.view.endpoint.variants), "AllTraffic")

    @property
    def _downtime_accepted(self) -> bool:
        """Whether stopping first was accepted, and takes no longer than that as far as is known."""
        accepted = self.declared.accept_downtime
        return timedelta(seconds=self.view.item.took) <= accepted and accepted > timedelta()
