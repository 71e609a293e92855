"""The metrics that the launcher writes for every run, as CloudWatch metrics of a dashboard or an alarm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from constructs_lib.model.purchase_names import METRIC_NAMESPACE

if TYPE_CHECKING:
    from aws_cdk.aws_cloudwatch import Metric

__all__ = ["NAMESPACE", "run_metric"]

NAMESPACE = METRIC_NAMESPACE


def run_metric(machine: str, name: str, options: dict[str, Any], **dimensions: str | None) -> Metric:
    """Return a metric of the runs of one machine.

    Parameters
    ----------
    machine : str
        The start of its jobs' names.
    name : str
        ``Ended``, ``StepEnded``, ``PendingSeconds``, ``RuntimeSeconds``, ``BillableInstanceSeconds``, ``Cost`` or
        ``Rank``.
    options : dict
        As `aws_cdk.aws_cloudwatch.Metric` takes them.
    **dimensions
        More dimensions; those that are ``None`` are left out.
    """
    from aws_cdk.aws_cloudwatch import Metric  # noqa: PLC0415 - most jobs are asked for no metric

    given = {key: value for key, value in dimensions.items() if value is not None}
    return Metric(
        **{"namespace": NAMESPACE, "metric_name": name, "dimensions_map": {"Machine": machine, **given}, **options}
    )
