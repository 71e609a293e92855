"""What starts a job's machine by itself: a schedule, an object in a bucket, a training plan that has become active."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from zoneinfo import available_timezones

from aws_cdk import aws_cloudwatch, aws_events, aws_scheduler

from constructs_lib.model import InvalidInputError, is_unresolved
from constructs_lib.model.purchase_names import METRIC_DIMENSION, METRIC_NAMESPACE
from constructs_lib.model.window import zoned

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aws_cdk.aws_stepfunctions import CfnStateMachine

    from constructs_lib.workloads.kit import CapacityKit

__all__ = ["PlanStart", "Started", "on_object_created", "on_plan", "on_schedule"]

_EXPRESSION = re.compile(
    r"rate\([1-9]\d* (minutes?|hours?|days?)\)"
    r"|cron\([^\s()]+( [^\s()]+){5}\)"
    r"|at\(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\)"
)
_POLL, _POLL_ALONE = "rate(5 minutes)", "rate(1 minute)"
_LATE_SECONDS = 900
_DELAY = "PlanStartDelaySeconds"


@dataclass(frozen=True, slots=True)
class Started:
    """The machine that is started: its construct path, its name, and the kit whose roles start it."""

    machine: CfnStateMachine
    path: str
    name: str
    kit: CapacityKit


@dataclass(frozen=True, slots=True)
class PlanStart:
    """What starts a job when a plan is active.

    Parameters
    ----------
    poll : CfnSchedule
        Asks every few minutes, so that a late plan starts the job too.
    at_start : CfnSchedule or None
        Asks at the plan's start; ``None`` where that is known only at deploy, and the poll asks every minute.
    alarm : CfnAlarm
        On a plan that is 15 minutes late.
    """

    poll: aws_scheduler.CfnSchedule
    at_start: aws_scheduler.CfnSchedule | None
    alarm: aws_cloudwatch.CfnAlarm


def on_schedule(
    started: Started, schedule_id: str, expression: str, *, time_zone: str, overrides: Mapping[str, Any] | None
) -> aws_scheduler.CfnSchedule:
    """Return a schedule that starts a machine.

    Raises
    ------
    InvalidInputError
        For an expression or a zone that Scheduler would refuse.
    """
    if not is_unresolved(expression) and not _EXPRESSION.fullmatch(expression):
        raise InvalidInputError(
            f"{started.path}: schedule {expression!r}: write rate(1 day), cron(0 6 ? * MON-FRI *) with six fields, or "
            "at(2027-01-27T06:00:00)"
        )
    if not is_unresolved(time_zone) and time_zone not in (available_timezones() or {time_zone}):
        raise InvalidInputError(f"{started.path}: time_zone {time_zone!r}: a name such as 'Europe/Berlin' is needed")
    return _schedule(
        started,
        schedule_id,
        expression,
        target=started.machine.attr_arn,
        role=started.kit.let_start(started.name, by="schedule"),
        given={"overrides": dict(overrides)} if overrides else {},
        time_zone=time_zone,
    )


def on_object_created(started: Started, rule_id: str, *, bucket: str, prefix: str, channel: str) -> aws_events.CfnRule:
    """Return a rule that starts a machine for each object that is created, with the object as one of its inputs."""
    keys = {"object": {"key": [{"prefix": prefix}]}} if prefix else {}
    # A template is no JSON before its placeholders are filled, but these stand inside a text.
    template = json.dumps({"overrides": {"inputs": {channel: "s3://<bucket>/<key>"}}})
    transformer = aws_events.CfnRule.InputTransformerProperty(
        input_paths_map={"bucket": "$.detail.bucket.name", "key": "$.detail.object.key"}, input_template=template
    )
    target = aws_events.CfnRule.TargetProperty(
        arn=started.machine.attr_arn,
        id="Machine",
        role_arn=started.kit.let_start(started.name, by="event"),
        input_transformer=transformer,
    )
    return aws_events.CfnRule(
        started.machine,
        rule_id,
        description=f"gpu capacity: starts {started.name}",
        event_pattern={
            "source": ["aws.s3"],
            "detail-type": ["Object Created"],
            "detail": {"bucket": {"name": [bucket]}, **keys},
        },
        targets=[target],
    )


def on_plan(started: Started, start_id: str, *, plan: str, plan_name: str, starts: str, topic: str | None) -> PlanStart:
    """Return what starts a machine once when a plan is active, through the launcher, which looks at the plan.

    The poll has no first and no last day: Scheduler refuses those that have passed, and asking a plan that is not
    active yet, or over, starts nothing.
    """
    known = bool(starts) and not is_unresolved(starts)
    role = started.kit.let_start(started.name, by="plan", plan=plan)
    common: dict[str, Any] = {
        "target": started.kit.launcher_arn,
        "role": role,
        "given": {"action": "start", "plan": plan, "machine": started.machine.attr_arn, "starts": starts},
    }
    at_start = None
    if known:
        moment = zoned(starts, "starts").strftime("%Y-%m-%dT%H:%M:%S")
        at_start = _schedule(started, f"{start_id}AtStart", f"at({moment})", **common)
    poll = _schedule(started, f"{start_id}Poll", _POLL if known else _POLL_ALONE, **common)
    alarm = aws_cloudwatch.CfnAlarm(
        started.machine,
        f"{start_id}Late",
        alarm_description=f"The training plan {plan_name} should have started 15 minutes ago, and a job waits for it.",
        namespace=METRIC_NAMESPACE,
        metric_name=_DELAY,
        dimensions=[aws_cloudwatch.CfnAlarm.DimensionProperty(name=METRIC_DIMENSION, value=plan_name)],
        statistic="Maximum",
        period=300,
        evaluation_periods=1,
        threshold=_LATE_SECONDS,
        comparison_operator="GreaterThanOrEqualToThreshold",
        treat_missing_data="notBreaching",  # a plan that has started is not late
        alarm_actions=[topic] if topic else None,
    )
    return PlanStart(poll, at_start, alarm)


def _schedule(
    started: Started,
    schedule_id: str,
    expression: str,
    *,
    target: str,
    role: str,
    given: dict[str, Any],
    time_zone: str = "UTC",
) -> aws_scheduler.CfnSchedule:
    goal = aws_scheduler.CfnSchedule.TargetProperty(arn=target, role_arn=role, input=json.dumps(given))
    return aws_scheduler.CfnSchedule(
        started.machine,
        schedule_id,
        description=f"gpu capacity: starts {started.name}",
        schedule_expression=expression,
        schedule_expression_timezone=time_zone,
        flexible_time_window=aws_scheduler.CfnSchedule.FlexibleTimeWindowProperty(mode="OFF"),
        target=goal,
    )
