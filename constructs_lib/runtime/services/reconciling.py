"""The reconciler: reads everything about an endpoint, decides, stores, and makes at most one call."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from constructs_lib.model.endpoints import decide
from constructs_lib.model.endpoints_item import Calling
from constructs_lib.model.endpoints_rules import Rules
from constructs_lib.model.endpoints_settling import settled
from constructs_lib.model.endpoints_view import View
from constructs_lib.model.endpoints_window import PlanSight
from constructs_lib.runtime.adapters.endpoints import DONE
from constructs_lib.runtime.endpoint_lines import action_line, endpoint_line
from constructs_lib.runtime.errors import KeepError

if TYPE_CHECKING:
    from collections.abc import Collection

    from constructs_lib.model.endpoints_item import EndpointItem
    from constructs_lib.model.endpoints_rules import Action, Decision
    from constructs_lib.runtime.services.keeper_means import KeeperMeans

__all__ = ["Reconciling"]

_ALL_RULES = Rules()
_ROUNDS = 4
# A run that would begin later than this leaves the endpoint to the next invocation, which looks at it first.
_BUDGET = 75.0
# These leave nothing in transition: what follows them can be decided at once.
_SETTLED_AT_ONCE = ("create config", "delete config", "tag endpoint", "register scaling", "deregister scaling")


@dataclass(frozen=True, slots=True)
class Reconciling:
    """Brings endpoints to what was declared, one call a run."""

    means: KeeperMeans
    rules: Rules = _ALL_RULES

    def run(self, names: Collection[str] = ()) -> int:
        """Run for endpoints, the longest unseen first; one that fails does not keep the others waiting.

        Parameters
        ----------
        names : collection of str
            Of endpoints; those without an item are left alone. All of the table without any.

        Returns
        -------
        int
            How many calls were made.

        Raises
        ------
        KeepError
            After all were looked at, if some could not be.
        """
        self.means.endpoints.check_model()
        begun, calls, failures = self.means.clock.time(), 0, []
        items = [item for item in self.means.table.all() if not names or item.name in names]
        for item in sorted(items, key=lambda item: item.updated):
            if self.means.clock.time() - begun > _BUDGET:
                break
            try:
                calls += self._keep(item.name)
            except (BotoCoreError, ClientError) as error:
                failures.append(f"{item.name}: {error}")
        if failures:
            raise KeepError(f"{len(failures)} endpoints could not be looked at: {'; '.join(failures)}")
        return calls

    def preview(self, name: str) -> Decision | None:
        """Return what the next run would do, without doing anything; ``None`` for what is not in the table."""
        item = self.means.table.read(name)
        return None if item is None else decide(self.look(item), self.rules)

    def look(self, item: EndpointItem) -> View:
        """Read everything that a decision needs."""
        declared, endpoints = item.declared, self.means.endpoints
        now = datetime.fromtimestamp(self.means.clock.time(), UTC)
        endpoint = endpoints.look(item.name)
        arns = filter(None, dict.fromkeys((declared.plan_arn, declared.on_expiry.plan_arn, endpoint.plan)))
        variant = declared.scaling.variant if declared.scaling else next(iter(endpoint.variants), "")
        scaled = bool(declared.scaling or item.scaled) and bool(variant)
        return View(
            now,
            item,
            endpoint,
            {arn: endpoints.plan(arn, _remembered(item, arn)) for arn in arns},
            endpoints.configs(item.made, item.owners),
            endpoints.registered(item.name, variant) if scaled else None,
        )

    def _keep(self, name: str) -> int:
        """Run until something is in transition, or nothing is to do."""
        for calls in range(_ROUNDS):
            item = self.means.table.read(name)
            made = self._once(item) if item else None
            if made is None:
                return calls
            if made not in _SETTLED_AT_ONCE:
                return calls + 1
        return _ROUNDS

    def _once(self, item: EndpointItem) -> str | None:
        """Run once; return the call that was made, or how it failed, if any was."""
        view = self.look(item)
        decision = decide(view, self.rules)
        now, action = view.now.timestamp(), decision.action
        plan, more = _plans(view)
        stored = replace(decision.item, updated=now, plan=plan, more_plans=more)
        call = Calling(action.call, action.name, now) if action else None
        if action and call:
            made = {*stored.made, action.name} if action.call == "create config" else set(stored.made)
            stored = replace(stored, calling=(*stored.calling, call), made=tuple(sorted(made)))
        # Whoever wrote the item since it was read has seen more: nothing is called on an overtaken reading.
        if self.means.table.store(item, stored) is None:
            return None
        self.means.write(endpoint_line(decision, view))
        self._tell(item.name, decision, now)
        return self._make(item.name, action, call) if action and call else None

    def _tell(self, name: str, decision: Decision, now: float) -> None:
        before = decision.item.noticed
        noticed = self.means.noticing.tell(name, decision.notices, before, now)
        if noticed != before:
            self.means.table.change(name, lambda item: replace(item, noticed=noticed))

    def _make(self, name: str, action: Action, call: Calling) -> str:
        result = self.means.endpoints.make(name, action)
        self.means.write(action_line(name, action, result.kind, result.words))
        self.means.table.change(name, lambda item: settled(item, action, call, result.kind, result.words))
        return action.call if result.kind == DONE else result.kind


def _remembered(item: EndpointItem, arn: str) -> PlanSight | None:
    data = item.plan if item.plan.get("arn") == arn else item.more_plans.get(arn)
    return PlanSight.remembered(arn, data) if data else None


def _plans(view: View) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what is remembered of the declared plan, and of the others that were seen."""
    declared = view.item.declared
    seen = {arn: {"arn": arn, **plan.to_dict(declared.margin)} for arn, plan in view.plans.items()}
    plan = seen.pop(declared.plan_arn)
    return plan, seen
