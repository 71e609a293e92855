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
}

_COUNTS = ("AvailableInstances", "InUseInstances")


def run_line(row: Row, record: RunRecord, at: float) -> str:
    """Return the log line of a run that ended.

    ``Ended`` counts 1 by Machine and End; the metrics of `METRICS` are there as far as they are known.
    ``BillableInstanceSeconds`` is the billed time of one instance times the number of instances.

    Parameters
    ----------
    row : Row
        The run's row; its machine is the name prefix of the jobs of one state machine.
    record : RunRecord
        How the run ended.
    at : float
        Epoch seconds.
    """
    billable = record.billable_seconds
    values: dict[str, Any] = {
        "PendingSeconds": record.pending_seconds,
        "RuntimeSeconds": record.runtime_seconds,
        "BillableInstanceSeconds": None if billable is None else billable * (record.instance_count or 1),
        "Rank": record.rank,
    }
    known = {name: value for name, value in values.items() if value is not None}
    dimensions = [["Machine"], ["Machine", "InstanceType"]] if record.instance_type else [["Machine"]]
    metrics = [{"Name": name, "Unit": METRICS[name]} for name in known]
    directives = [_directive([["Machine", "End"], ["Machine"]], [{"Name": "Ended", "Unit": "Count"}])]
    if metrics:
        directives.append(_directive(dimensions, metrics))
    line = {
        "_aws": {"Timestamp": int(at * 1000), "CloudWatchMetrics": directives},
        "Machine": row.identity.machine,
        "InstanceType": record.instance_type,
        "End": str(record.end),
        "Ended": 1,
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
    metrics = [{"Name": metric, "Unit": "Count" if metric in _COUNTS else "None"} for metric in values]
    line = {
        "_aws": {"Timestamp": int(at * 1000), "CloudWatchMetrics": [_directive([[METRIC_DIMENSION]], metrics)]},
        METRIC_DIMENSION: name,
        "status": status,
        **values,
    }
    return json.dumps(line, separators=(",", ":"))


def _directive(dimensions: list[list[str]], metrics: list[dict[str, str]]) -> dict[str, Any]:
    return {"Namespace": NAMESPACE, "Dimensions": dimensions, "Metrics": metrics}
