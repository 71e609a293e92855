"""Starting a machine when its plan has become usable: asked on the plan's start, and every few minutes from then on."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from constructs_lib.facts.capacity import plan_targets
from constructs_lib.model import InvalidInputError
from constructs_lib.model.window import as_moment, zoned
from constructs_lib.runtime.run_window import RunWindow
from constructs_lib.runtime.telemetry import plan_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constructs_lib.runtime.adapters.executions import Executions
    from constructs_lib.runtime.adapters.look_ups import LookUps
    from constructs_lib.runtime.ports import Clock, Writer

__all__ = ["DELAY", "Starting"]

DELAY = "PlanStartDelaySeconds"
_TARGET = "training-job"


@dataclass(frozen=True, slots=True)
class Starting:
    """Starts one execution a plan and machine: the name of the execution says which, and is used only once."""

    executions: Executions
    look_ups: LookUps
    clock: Clock
    write: Writer

    def start(self, event: Mapping[str, Any]) -> str:
        """Start the machine if the plan is active.

        Parameters
        ----------
        event : Mapping
            ``plan`` and ``machine``, two ARNs, and ``starts``, the moment for which the plan was announced, if known.

        Returns
        -------
        str
            What was done, for the log.

        Raises
        ------
        InvalidInputError
            If an ARN is missing, or there is no such plan.
        """
        if missing := [key for key in ("plan", "machine") if not event.get(key)]:
            raise InvalidInputError(f"a start lacks {', '.join(missing)}: declare it with plan.start_on_active(job)")
        arn = event["plan"]
        plan = self.look_ups.plan(arn)
        if not plan:
            raise InvalidInputError(f"{arn} does not exist in this account and region, so nothing can start on it")
        if plan.get("Status") != "Active":
            self._say(plan, event.get("starts", ""))
            return f"{plan.get('Status', 'unknown')}: not started"
        window = RunWindow(arn, _usable_until(plan))
        name = "plan-" + hashlib.sha256(arn.encode()).hexdigest()[:32]
        return "started" if self.executions.start(event["machine"], name, window.to_input()) else "started before"

    def _say(self, plan: Mapping[str, Any], announced: str) -> None:
        """Say how late a plan is that has not begun; one that is over is not late."""
        now = self.clock.time()
        start = zoned(announced, "starts") if announced else as_moment(plan.get("StartTime", now))
        late = max(0.0, now - start.timestamp())
        over = plan.get("Status") in ("Expired", "Failed")
        values = {DELAY: late} if late and not over else {}
        self.write(plan_line(plan.get("TrainingPlanName", ""), str(plan.get("Status", "")), values, now))


def _usable_until(plan: Mapping[str, Any]) -> datetime:
    """Return when the instances of the last segment go."""
    ends = [as_moment(part["EndTime"]) for part in plan.get("ReservedCapacitySummaries", ()) if "EndTime" in part]
    last = max(ends) if ends else as_moment(plan["EndTime"])
    return last.astimezone(UTC) - timedelta(minutes=plan_targets()[_TARGET].early_end_minutes)
