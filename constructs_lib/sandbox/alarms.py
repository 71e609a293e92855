"""CloudWatch alarms on virtual time, metrics embedded in log lines, and every notice that a topic was given."""

from __future__ import annotations

import functools
import json
import logging
import math
import threading
from collections import defaultdict, deque
from dataclasses import dataclass
from datetime import UTC
from typing import TYPE_CHECKING, Any

from moto.cloudwatch.models import CloudWatchBackend, cloudwatch_backends
from moto.logs.models import LogStream
from moto.sns.models import Topic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from moto.cloudwatch.models import Alarm

    from .clock import Line
    from .context import Context
    from .patches import Patches
    from .tasks import Tasks

__all__ = ["Alarms", "Notice"]

LOG = logging.getLogger(__name__)
_KEPT = 10_000  # datapoints a metric
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "GreaterThanOrEqualToThreshold": lambda value, limit: value >= limit,
    "GreaterThanThreshold": lambda value, limit: value > limit,
    "LessThanThreshold": lambda value, limit: value < limit,
    "LessThanOrEqualToThreshold": lambda value, limit: value <= limit,
}
_STATISTICS: dict[str, Callable[[list[float]], float]] = {
    "Average": lambda values: math.fsum(values) / len(values),
    "Sum": math.fsum,
    "Minimum": min,
    "Maximum": max,
    "SampleCount": len,
}
_ACTIONS = {"ALARM": "alarm_actions", "OK": "ok_actions", "INSUFFICIENT_DATA": "insufficient_data_actions"}

Key = tuple[str, str, frozenset[tuple[str, str]]]


@dataclass(frozen=True, slots=True)
class Notice:
    """What was published to a topic, and when on the virtual clock."""

    time: float
    topic: str
    subject: str
    message: str


class Alarms:
    """Keeps datapoints and evaluates each alarm over its last whole periods, at the end of every period.

    Evaluated are alarms on one metric with one of CloudWatch's five simple statistics; others stay INSUFFICIENT_DATA,
    as do alarms on metrics that only AWS's own services put. A change of state publishes to topics and puts a
    ``CloudWatch Alarm State Change`` event. A period that the clock skipped as a whole is not one without data: it
    never was, and alarms keep their state over it.

    Attributes
    ----------
    notices
        What topics were given, the oldest first.
    """

    def __init__(self, context: Context, tasks: Tasks) -> None:
        self.notices: deque[Notice] = deque(maxlen=_KEPT)
        self._context, self._tasks = context, tasks
        self._data: dict[Key, deque[tuple[float, float]]] = defaultdict(lambda: deque(maxlen=_KEPT))
        self._lock = threading.Lock()
        self._skipped: list[tuple[float, float]] = []
        self._skips = 0.0
        context.clock.watch(self._notice_skip)

    def install(self, patches: Patches) -> None:
        """Hear of everything that moto's stores take."""
        hooks: list[tuple[type, str, Callable[..., None]]] = [
            (CloudWatchBackend, "put_metric_data", self._put_data),
            (CloudWatchBackend, "put_metric_alarm", self._follow),
            (LogStream, "put_log_events", self._read_lines),
            (Topic, "publish", self._record),
        ]
        for owner, name, hear in hooks:
            patches.wrap(owner, name, functools.partial(_also, hear))

    def _notice_skip(self, line: Line) -> None:
        if line.skipped > self._skips:
            self._skipped.append((line.virtual - (line.skipped - self._skips), line.virtual))
            self._skips = line.skipped

    def _record(self, _: Any, topic: Topic, message: str, subject: str | None = None, **__: Any) -> None:
        self.notices.append(Notice(self._context.clock.now(), topic.arn, subject or "", message))

    def _put_data(self, _: Any, __: Any, namespace: str, metric_data: list[dict[str, Any]]) -> None:
        for row in metric_data:
            at = row.get("Timestamp")
            values = [float(value) for value in row.get("Values") or [row.get("Value", 0)]]
            dimensions = {pair["Name"]: pair["Value"] for pair in row.get("Dimensions") or ()}
            self._add(namespace, row["MetricName"], dimensions, values, _seconds(at) or self._context.clock.now())

    def _read_lines(self, _: Any, __: Any, log_events: list[dict[str, Any]]) -> None:
        for event in log_events:
            for namespace, name, dimensions, values, at in _embedded(event["message"]):
                self._add(namespace, name, dimensions, values, at)

    def _add(self, namespace: str, name: str, dimensions: dict[str, str], values: list[float], at: float) -> None:
        with self._lock:
            self._data[namespace, name, frozenset(dimensions.items())].extend((at, value) for value in values)

    def _follow(self, alarm: Alarm, *_: Any, **__: Any) -> None:
        """Begin to evaluate an alarm; one that replaces another of its name begins anew."""
        alarm.state_value, alarm.state_reason = "INSUFFICIENT_DATA", "Unchecked: Initial alarm creation"
        if alarm.metric_name and alarm.statistic in _STATISTICS and alarm.comparison_operator in _COMPARE:
            self._arm(alarm)
        else:
            LOG.warning("the sandbox does not evaluate the alarm %s: it is not on one metric's statistic", alarm.name)

    def _arm(self, alarm: Alarm) -> None:
        clock, period = self._context.clock, int(alarm.period)
        due = (clock.now() // period + 1) * period
        clock.call_at(due, lambda: self._evaluate(alarm))

    def _evaluate(self, alarm: Alarm) -> None:
        alarms = cloudwatch_backends[self._context.account][self._context.region].alarms
        if alarms.get(alarm.name) is not alarm:
            return  # deleted, or replaced
        state = self._state(alarm, self._context.clock.now())
        if state not in (None, alarm.state_value):
            before = alarm.state_value
            alarm.update_state(f"Threshold Crossed: {alarm.metric_name} is {state}.", "{}", state)
            self._tasks.spawn(f"alarm-{alarm.name}", self._tell, alarm, before)
        self._arm(alarm)

    def _state(self, alarm: Alarm, now: float) -> str | None:
        """Return the state that the last periods give; None keeps the one there is."""
        period, count = int(alarm.period), int(alarm.evaluation_periods)
        starts = [now // period * period - period * back for back in range(count, 0, -1)]
        if any(begin <= start and start + period <= end for begin, end in self._skipped for start in starts):
            return None
        points = [self._statistic(alarm, start, period) for start in starts]
        missing = alarm.treat_missing_data or "missing"
        present = [point for point in points if point is not None]
        if not present and missing in ("missing", "ignore"):
            return "INSUFFICIENT_DATA" if missing == "missing" else None
        breaching = sum(_COMPARE[alarm.comparison_operator](point, float(alarm.threshold)) for point in present)
        breaching += len(points) - len(present) if missing == "breaching" else 0
        return "ALARM" if breaching >= int(alarm.datapoints_to_alarm or count) else "OK"

    def _statistic(self, alarm: Alarm, start: float, period: int) -> float | None:
        key = alarm.namespace, alarm.metric_name, frozenset((d.name, d.value) for d in alarm.dimensions)
        with self._lock:
            values = [value for at, value in self._data.get(key, ()) if start <= at < start + period]
        return _STATISTICS[alarm.statistic](values) if values else None

    def _tell(self, alarm: Alarm, before: str) -> None:
        context, after = self._context, alarm.state_value
        moment = context.clock.iso()
        detail = {
            "alarmName": alarm.name,
            "state": {"value": after, "reason": alarm.state_reason, "timestamp": moment},
            "previousState": {"value": before},
        }
        context.emit("aws.cloudwatch", "CloudWatch Alarm State Change", detail, [alarm.alarm_arn])
        message = {
            "AlarmName": alarm.name,
            "AlarmDescription": alarm.description,
            "NewStateValue": after,
            "OldStateValue": before,
            "NewStateReason": alarm.state_reason,
            "StateChangeTime": moment,
        }
        for arn in getattr(alarm, _ACTIONS[after]) if alarm.actions_enabled else ():
            if ":sns:" in arn:
                subject = f'{after}: "{alarm.name}"'[:100]
                context.client("sns").publish(TopicArn=arn, Subject=subject, Message=json.dumps(message))
            else:
                LOG.warning("the sandbox's alarms only publish to topics: %s does nothing for %s", alarm.name, arn)


def _also(hear: Callable[..., None], original: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that lets someone hear of each call that succeeded: of its result, then of its arguments."""

    def method(*arguments: Any, **given: Any) -> Any:
        result = original(*arguments, **given)
        hear(result, *arguments, **given)
        return result

    return method


def _seconds(moment: Any) -> float | None:
    """Return a datapoint's time, which moto keeps as a naive UTC datetime."""
    if moment is None or isinstance(moment, int | float):
        return moment
    return float(moment.replace(tzinfo=UTC).timestamp()) if moment.tzinfo is None else float(moment.timestamp())


def _embedded(line: str) -> Iterator[tuple[str, str, dict[str, str], list[float], float]]:
    """Yield the datapoints of a log line in the embedded metric format; any other line has none."""
    if '"_aws"' not in line:
        return
    try:
        row = json.loads(line)
        about = row["_aws"]
        directives, at = about["CloudWatchMetrics"], about["Timestamp"] / 1000
    except (ValueError, TypeError, KeyError):
        return
    for directive in directives:
        for names in directive["Dimensions"]:
            dimensions = {name: str(row[name]) for name in names}
            for metric in directive["Metrics"]:
                value = row.get(metric["Name"])
                values = value if isinstance(value, list) else [value]
                if value is not None:
                    yield directive["Namespace"], metric["Name"], dimensions, [float(v) for v in values], at
