"""The alarms on one training plan: on what the watcher measures of it every five minutes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from aws_cdk import aws_cloudwatch

from constructs_lib.model.purchase_names import METRIC_DIMENSION, METRIC_NAMESPACE

if TYPE_CHECKING:
    from constructs import Construct

__all__ = ["plan_alarms"]

# How often the watcher measures. It does not keep step with CloudWatch's periods: now and then one has no datapoint
# and its neighbour two, so no alarm asks for every period of a row.
_PERIOD = 300


@dataclass(frozen=True, slots=True)
class _Alarm:
    """One alarm: `words` complete "The training plan X ..."."""

    metric: str
    words: str
    threshold: float = 0
    operator: str = "GreaterThanThreshold"
    periods: int = 3
    breaching: int = 1


def _ends(hours: int, words: str) -> _Alarm:
    return _Alarm("HoursToEnd", f"ends in {words} or less", hours, "LessThanOrEqualToThreshold")


_ALARMS = {
    "PendingAlarm": _Alarm(
        "PendingPayment", "was bought an hour ago and is not Scheduled yet", periods=12, breaching=10
    ),
    "DelayAlarm": _Alarm(
        "StartDelayMinutes", "should have started 15 minutes ago", 15, "GreaterThanOrEqualToThreshold"
    ),
    "IdleAlarm": _Alarm(
        "UnusedReservedInstanceHours", "has had unused instances for half an hour", periods=8, breaching=6
    ),
    "WeekAlarm": _ends(168, "7 days"),
    "DayAlarm": _ends(24, "24 hours"),
    "HourAlarm": _ends(1, "1 hour"),
}


def plan_alarms(scope: Construct, name: str, topic: str | None) -> dict[str, aws_cloudwatch.CfnAlarm]:
    """Return the alarms on a plan, by construct id.

    Parameters
    ----------
    scope : Construct
        Where they stand.
    name : str
        The plan's name, generation included.
    topic : str, optional
        The ARN of the topic that they publish to.
    """
    return {
        construct_id: aws_cloudwatch.CfnAlarm(
            scope,
            construct_id,
            alarm_description=f"The training plan {name} {alarm.words}.",
            namespace=METRIC_NAMESPACE,
            metric_name=alarm.metric,
            dimensions=[aws_cloudwatch.CfnAlarm.DimensionProperty(name=METRIC_DIMENSION, value=name)],
            statistic="Maximum",
            period=_PERIOD,
            evaluation_periods=alarm.periods,
            datapoints_to_alarm=alarm.breaching,
            threshold=alarm.threshold,
            comparison_operator=alarm.operator,
            treat_missing_data="notBreaching",  # a plan that is over, or not bought yet, is not measured
            alarm_actions=[topic] if topic else None,
        )
        for construct_id, alarm in _ALARMS.items()
    }
