"""The metrics and alarms of a reserved endpoint: what its keeper measures in every run."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Any

from aws_cdk import aws_cloudwatch

from constructs_lib.model import InvalidInputError
from constructs_lib.model.endpoint_names import ENDPOINT_DIMENSION, ENDPOINT_METRICS, METRIC_NAMESPACE

if TYPE_CHECKING:
    from aws_cdk.aws_cloudwatch import Metric
    from constructs import Construct

__all__ = ["EndpointMetrics", "endpoint_alarms"]

_MINUTES_AMISS = 15
_DAY = 86_400
_SHORTEST = 300


@dataclass(frozen=True, slots=True)
class _Alarm:
    """One alarm: `words` complete "The endpoint X ..."; `minutes` is how long it has to be so."""

    metric: str
    words: str
    threshold: float = 1
    operator: str = "GreaterThanOrEqualToThreshold"
    statistic: str = "Maximum"
    minutes: int = 0


_ALARMS = {
    "RolledBackAlarm": _Alarm("RolledBack", "was rolled back by SageMaker and serves its old configuration"),
    "NoHeadRoomAlarm": _Alarm("NoHeadRoom", "cannot be updated: its plan has no free instance for it"),
    "NotAsDeclaredAlarm": _Alarm(
        "EndpointState",
        f"has not been as declared for {_MINUTES_AMISS} minutes",
        1,
        "LessThanThreshold",
        minutes=_MINUTES_AMISS,
    ),
    "CutAlarm": _Alarm(
        "SecondsToCut", "leaves its plan within 24 hours", _DAY, "LessThanOrEqualToThreshold", "Minimum"
    ),
}


def endpoint_alarms(
    scope: Construct, name: str, *, every: int, actions: list[str]
) -> dict[str, aws_cloudwatch.CfnAlarm]:
    """Return the alarms on an endpoint, by construct id.

    Parameters
    ----------
    scope : Construct
        Where they stand.
    name : str
        The endpoint's.
    every : int
        Seconds between two measurements.
    actions : list of str
        What they call.
    """
    period = max(_SHORTEST, every)
    made = {}
    for construct_id, alarm in _ALARMS.items():
        breaching = max(1, ceil(alarm.minutes * 60 / period))
        made[construct_id] = aws_cloudwatch.CfnAlarm(
            scope,
            construct_id,
            alarm_description=f"The endpoint {name} {alarm.words}.",
            namespace=METRIC_NAMESPACE,
            metric_name=alarm.metric,
            dimensions=[aws_cloudwatch.CfnAlarm.DimensionProperty(name=ENDPOINT_DIMENSION, value=name)],
            statistic=alarm.statistic,
            period=period,
            # The keeper keeps no step with CloudWatch's periods: now and then one of a row has no datapoint.
            evaluation_periods=breaching + (breaching > 1),
            datapoints_to_alarm=breaching,
            threshold=alarm.threshold,
            comparison_operator=alarm.operator,
            treat_missing_data="notBreaching",
            alarm_actions=actions,
        )
    return made


class EndpointMetrics:
    """The metrics of a reserved endpoint; whoever has them has an ``endpoint_name``."""

    endpoint_name: str

    def metric(self, name: str, **options: Any) -> Metric:
        """Return one of the metrics that the keeper measures in every run.

        Parameters
        ----------
        name : str
            One of `constructs_lib.model.endpoint_names.ENDPOINT_METRICS`.
        **options
            As `aws_cdk.aws_cloudwatch.Metric` takes them.

        Raises
        ------
        InvalidInputError
            If there is no such metric.
        """
        if name not in ENDPOINT_METRICS:
            raise InvalidInputError(f"metric {name!r}: there are {', '.join(ENDPOINT_METRICS)}")
        here = {
            "namespace": METRIC_NAMESPACE,
            "metric_name": name,
            "dimensions_map": {ENDPOINT_DIMENSION: self.endpoint_name},
        }
        return aws_cloudwatch.Metric(**{"statistic": "Maximum", **here, **options})

    def metric_endpoint_state(self, **options: Any) -> Metric:
        """Return 1 while the endpoint is as declared, else 0."""
        return self.metric("EndpointState", **options)

    def metric_rolled_back(self, **options: Any) -> Metric:
        """Return 1 while SageMaker has rolled the last update back."""
        return self.metric("RolledBack", **options)

    def metric_no_head_room(self, **options: Any) -> Metric:
        """Return 1 while an update waits because the plan has no free instance for it."""
        return self.metric("NoHeadRoom", **options)

    def metric_seconds_to_cut(self, **options: Any) -> Metric:
        """Return the seconds until the endpoint leaves the plan; by default the least in five minutes."""
        return self.metric("SecondsToCut", **{"statistic": "Minimum", **options})

    def metric_plan_instances_used(self, **options: Any) -> Metric:
        """Return how many instances of the plan the endpoint uses."""
        return self.metric("PlanInstancesUsed", **options)
