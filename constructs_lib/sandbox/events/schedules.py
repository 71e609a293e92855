"""Rules with a schedule and EventBridge Scheduler's schedules, fired on virtual time."""

from __future__ import annotations

import threading
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from moto.events.models import events_backends
from moto.scheduler.models import scheduler_backends

from constructs_lib.sandbox.switches import reading

from .inputs import fill, rule_input
from .rates import At, Expression, Rate, parse

if TYPE_CHECKING:
    from constructs_lib.sandbox.clock import Timer
    from constructs_lib.sandbox.context import Context
    from constructs_lib.sandbox.tasks import Tasks

    from .targets import Targets

__all__ = ["Schedules"]


@dataclass(frozen=True)
class _Plan:
    """What moto's stores say about one schedule; equal as long as nothing about its times changed."""

    arn: str
    text: str
    zone: str = "UTC"
    start: float | None = None
    end: float | None = None
    rule: bool = False


@dataclass
class _Armed:
    """A schedule with its next call."""

    plan: _Plan
    expression: Expression
    born: float
    timer: Timer | None = None


class Schedules:
    """Arms one timer a schedule from what moto's stores hold.

    A schedule whose last firing still runs is passed over: a tick that comes too early is skipped, not queued.
    """

    def __init__(self, context: Context, tasks: Tasks, targets: Targets) -> None:
        self._context = context
        self._clock = context.clock
        self._tasks = tasks
        self._targets = targets
        self._armed: dict[str, _Armed] = {}
        self._firing: set[str] = set()
        self._lock = threading.RLock()

    def refresh(self) -> None:
        """Follow what was created, changed, disabled or deleted since the last call."""
        with self._lock:
            plans = {plan.arn: plan for plan in self._read()}
            for arn, armed in list(self._armed.items()):
                if plans.get(arn) != armed.plan:
                    if armed.timer:
                        armed.timer.cancel()
                    del self._armed[arn]
            for arn, plan in plans.items():
                if arn not in self._armed:
                    self._armed[arn] = armed = self._begin(plan)
                    self._arm(armed, armed.born - 1)

    def _read(self) -> list[_Plan]:
        account, region = self._context.account, self._context.region
        rules = list(events_backends[account][region].event_buses["default"].rules.values())
        plans = [
            _Plan(rule.arn, rule.scheduled_expression, rule=True)
            for rule in rules
            if rule.scheduled_expression and rule.state == "ENABLED" and rule.targets
        ]
        for group in list(scheduler_backends[account][region].schedule_groups.values()):
            for schedule in list(group.schedules.values()):
                if schedule.state == "ENABLED":
                    dates = _seconds(schedule.start_date), _seconds(schedule.end_date)
                    expression, zone = schedule.schedule_expression, schedule.schedule_expression_timezone
                    plans.append(_Plan(schedule.arn, expression, zone, *dates))
        return plans

    def _begin(self, plan: _Plan) -> _Armed:
        expression, born = parse(plan.text, plan.zone), self._clock.now()
        if plan.start is not None:
            born = max(born, plan.start)
        faults = self._context.faults
        # A schedule without a StartDate is documented to begin at once; a rule is not.
        if isinstance(expression, Rate) and plan.rule and reading(faults, "events.first-tick") == "after one interval":
            born += expression.seconds
        if isinstance(expression, At) and expression.moment < born:
            at_once = reading(faults, "scheduler.past-moment") == "at once"
            expression = At(born if at_once else float("-inf"))
        return _Armed(plan, expression, born)

    def _arm(self, armed: _Armed, after: float) -> None:
        moment = armed.expression.next_after(after, armed.born)
        if moment is not None and (armed.plan.end is None or moment <= armed.plan.end):
            armed.timer = self._clock.call_at(moment, lambda: self._tick(armed, moment))

    def _tick(self, armed: _Armed, moment: float) -> None:
        arn = armed.plan.arn
        with self._lock:
            if self._armed.get(arn) is not armed:
                return
            self._arm(armed, max(moment, self._clock.now()))
            if arn in self._firing:
                return
            self._firing.add(arn)
        self._tasks.spawn(f"schedule-{arn.rpartition('/')[2]}", self._fire, armed, moment)

    def _fire(self, armed: _Armed, moment: float) -> None:
        try:
            if armed.plan.rule:
                self._fire_rule(armed.plan.arn, moment)
            else:
                self._fire_schedule(armed, moment)
        finally:
            with self._lock:
                self._firing.discard(armed.plan.arn)

    def _fire_rule(self, arn: str, moment: float) -> None:
        context = self._context
        rules = events_backends[context.account][context.region].event_buses["default"].rules
        rule = rules.get(arn.rpartition("/")[2])
        when = self._clock.iso(moment)[:19] + "Z"
        event = {
            "version": "0",
            "id": str(uuid.uuid4()),
            "detail-type": "Scheduled Event",
            "source": "aws.events",
            "account": context.account,
            "time": when,
            "region": context.region,
            "resources": [arn],
            "detail": {},
        }
        for target in list(rule.targets) if rule else []:
            self._targets.deliver(target, rule_input(target, event, arn, when))

    def _fire_schedule(self, armed: _Armed, moment: float) -> None:
        context = self._context
        group, _, name = armed.plan.arn.partition(":schedule/")[2].partition("/")
        schedules = scheduler_backends[context.account][context.region].schedule_groups[group].schedules
        if (schedule := schedules.get(name)) is None:
            return
        values = {
            "aws.scheduler.schedule-arn": armed.plan.arn,
            "aws.scheduler.scheduled-time": self._clock.iso(moment)[:19] + "Z",
            "aws.scheduler.execution-id": str(uuid.uuid4()),
            "aws.scheduler.attempt-number": "1",
        }
        self._targets.deliver(schedule.target, fill(schedule.target.get("Input") or "{}", values))
        done = isinstance(armed.expression, At) or armed.expression.next_after(self._clock.now(), armed.born) is None
        if done and schedule.action_after_completion == "DELETE" and schedules.get(name) is schedule:
            context.client("scheduler").delete_schedule(Name=name, GroupName=group)


def _seconds(value: Any) -> float | None:
    return None if value is None else float(value)
