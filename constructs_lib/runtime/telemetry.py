"""One structured log line a run, or a look at a plan, in CloudWatch's embedded metric format."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from constructs_lib.model.purchase_names import METRIC_DIMENSION, METRIC_NAMESPACE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constructs_lib.model import RunRecord
    from constructs_lib.runtime.run_table import Row

__all__ = ["METRICS", "NAMESPACE", "plan_line", "run_line"]

NAMESPACE = METRIC_NAMESPACE
# Metric and unit; the dimensions are Machine and, once a type was selected, InstanceType.
METRICS = {
    "PendingSeconds": "Seconds",
    "RuntimeSeconds": "Seconds",
    "BillableInstanceSeconds": "Seconds",
    "Rank": "None",
    # In the currency that the record names.
    "Cost": "None",
}

_COUNTS = ("AvailableInstances", "InUseInstances")


def run_line(row: Row, record: RunRecord, at: float, *, goes_on: bool = False) -> str:
    """Return the log line of a run that ended.

    ``Ended`` counts 1 by Machine and End, or ``StepEnded`` when another step follows; the metrics of `METRICS` are
    there as far as they are known.
    ``BillableInstanceSeconds`` is the billed time of one instance times the number of instances.

    Parameters
    ----------
    row : Row
        The run's row; its machine is the name prefix of the jobs of one state machine.
    record : RunRecord
        How the run ended.
    at : float
        Epoch seconds.
    goes_on : bool
        Whether the launch goes on with another step.
    """
    billable = record.billable_seconds
    values: dict[str, Any] = {
        "PendingSeconds": record.pending_seconds,
        "RuntimeSeconds": record.runtime_seconds,
        "BillableInstanceSeconds": None if billable is None else billable * (record.instance_count or 1),
        "Rank": record.rank,
        "Cost": None if record.cost is None else float(record.cost),
    }
    ended = "StepEnded" if goes_on else "Ended"
    known = {name: value for name, value in values.items() if value is not None}
    dimensions = [["Machine"], ["Machine", "InstanceType"]] if record.instance_type else [["Machine"]]
    metrics = [{"Name": name, "Unit": METRICS[name]} for name in known]
    directives = [_directive([["Machine", "End"], ["Machine"]], [{"Name": ended, "Unit": "Count"}])]
    if metrics:
        directives.append(_directive(dimensions, metrics))
    line = {
        "_aws": {"Timestamp": int(at * 1000), "CloudWatchMetrics": directives},
        "Machine": row.identity.machine,
        "InstanceType": record.instance_type,
        "End": str(record.end),
        ended: 1,
        **known,
        "execution": row.identity.execution,
        "state": row.identity.state,
        "run": record.to_dict(),
    }
    return json.dumps({key: value for key, value in line.items() if value is not None}, separators=(",", ":"))


def plan_line(name: str, status: str, values: Mapping[str, float], at: float) -> str:
    """Return the log line of one look at a training plan, with its metrics by the plan's name.

    Parameters
    ----------
    name, status : str
        The plan's.
    values : Mapping
        By metric, of `constructs_lib.model.purchase_names.PLAN_METRICS`.
    at : float
        Epoch seconds.
    """
    metrics = [{"Name": metric, "Unit": _unit(metric)} for metric in values]
    directives = [_directive([[METRIC_DIMENSION]], metrics)] if metrics else []
    line = {
        "_aws": {"Timestamp": int(at * 1000), "CloudWatchMetrics": directives},
        METRIC_DIMENSION: name,
        "status": status,
        **values,
    }
    return json.dumps(line, separators=(",", ":"))


def _unit(metric: str) -> str:
    if metric in _COUNTS:
        return "Count"
    return "Seconds" if metric.endswith("Seconds") else "None"


def _directive(dimensions: list[list[str]], metrics: list[dict[str, str]]) -> dict[str, Any]:
    return {"Namespace": NAMESPACE, "Dimensions": dimensions, "Metrics": metrics}
