"""The state machine of a fleet as plain Amazon States Language: a Distributed Map over a file, and one answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from constructs_lib.model.fleets import JOBS_FAILED, REPORT_INCOMPLETE, REPORT_TRIES, WAITING
from constructs_lib.workloads.definition import Launch, launcher_states

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["LABEL", "FleetDefinition", "fleet_states"]

LABEL = "Jobs"
"""The Map's label; the items' executions are those of ``<machine>/Jobs``."""
_PARALLEL = 10_000  # Step Functions' own limit. Source: service quotas, Map Run
# A waiting job asks again after half of this on average: history events last for about three weeks of it.
_LONGEST_PAUSE = 600
_FOREVER = 99_999_999


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetDefinition:
    """What a fleet's definition is made of.

    Parameters
    ----------
    prefix : str
        Starts the name of every job.
    partition : str
    launcher : str
        The launcher function's name.
    bucket, key, version : str
        The file, and a digest of it.
    jobs : int
        How many there are.
    limits : Mapping
        Jobs at once by instance type.
    values : Mapping
        What only a deploy knows, by placeholder.
    max_concurrency : int
        How many items are under way at once, those that wait for a slot included.
    tolerated_failures : int
        How many jobs may fail in a fleet that completed.
    stop_after_failures : int or None
        How many may fail before the rest is stopped.
    """

    prefix: str
    partition: str
    launcher: str
    bucket: str
    key: str
    version: str
    jobs: int
    limits: Mapping[str, int]
    values: Mapping[str, Any]
    max_concurrency: int
    tolerated_failures: int
    stop_after_failures: int | None


def fleet_states(fleet: FleetDefinition) -> dict[str, Any]:
    """Return a fleet's states.

    The Map tolerates every failure unless the fleet is to be stopped by them: it ends when every job has ended.
    ``Report`` counts what became of the jobs; its answer is the output of a fleet that completed, and the cause of one
    that did not.
    """
    stop = fleet.stop_after_failures
    tolerance = {"ToleratedFailurePercentage": 100} if stop is None else {"ToleratedFailureCount": stop}
    states = {
        "Jobs": {
            "Type": "Map",
            "Label": LABEL,
            "MaxConcurrency": min(fleet.max_concurrency, _PARALLEL),
            **tolerance,
            "ItemReader": {
                "Resource": f"arn:{fleet.partition}:states:::s3:getObject",
                "ReaderConfig": {"InputType": "JSON"},
                "Parameters": {"Bucket": fleet.bucket, "Key": fleet.key},
            },
            "ItemSelector": {"item.$": "$$.Map.Item.Value", "run.$": "$$.Execution.Id"},
            "ItemProcessor": {
                "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"},
                **_item_states(fleet),
            },
            # What goes on to the report is nothing, or the error that ended the Map.
            "ResultSelector": {},
            "Catch": [{"ErrorEquals": ["States.ALL"], "Next": "Report"}],
            "Next": "Report",
        },
        "Report": _report(fleet),
        "Judge": {
            "Type": "Choice",
            "Choices": [{"Variable": "$.status", "StringEquals": "Completed", "Next": "Done"}],
            "Default": JOBS_FAILED,
        },
        "Done": {"Type": "Succeed"},
        JOBS_FAILED: {"Type": "Fail", "Error": JOBS_FAILED, "CausePath": "States.JsonToString($)"},
    }
    return {"StartAt": "Jobs", "States": states}


def _item_states(fleet: FleetDefinition) -> dict[str, Any]:
    """Return the states of one job: those of any launch, with the request in the item."""
    launch = Launch(
        kind="training",
        request={},
        prefix=fleet.prefix,
        seconds=0,
        partition=fleet.partition,
        launcher=fleet.launcher,
    )
    machine = launcher_states(launch)
    own = {"item.$": "$.item", "run.$": "$.run"}
    start, task, stop = (machine["States"][name] for name in ("Start", "Launch", "Stop"))
    start["Parameters"] = {**start["Parameters"], **own, "seconds.$": "$.item.seconds"}
    del start["Parameters"]["seconds"]
    stop["Parameters"] = {**stop["Parameters"], **own}
    payload = task["Parameters"]["Payload"]
    # The request comes with the item, and an item's input is no input of a person.
    del payload["request"], payload["input.$"]
    payload["fleet"] = {**own, "file": fleet.version, "limits": dict(fleet.limits), "values": dict(fleet.values)}
    waiting = {
        "ErrorEquals": [WAITING],
        "IntervalSeconds": 20,
        "BackoffRate": 1.5,
        "MaxDelaySeconds": _LONGEST_PAUSE,
        "JitterStrategy": "FULL",
        "MaxAttempts": _FOREVER,
    }
    task["Retry"] = [waiting, *task["Retry"]]
    # The record stands in the run table; what all items leave together has to fit into the Map's output.
    task["OutputPath"] = None
    return machine


def _report(fleet: FleetDefinition) -> dict[str, Any]:
    payload = {
        "action": "report",
        "job": fleet.prefix,
        "run.$": "$$.Execution.Id",
        "map.$": "$",
        "try.$": "$$.State.RetryCount",
        "file": fleet.version,
        "jobs": fleet.jobs,
        "tolerated": fleet.tolerated_failures,
    }
    return {
        "Type": "Task",
        "Resource": f"arn:{fleet.partition}:states:::lambda:invoke",
        "Parameters": {"FunctionName": fleet.launcher, "Payload": payload},
        "OutputPath": "$.Payload",
        # The index that the report reads may lag behind.
        "Retry": [
            {"ErrorEquals": [REPORT_INCOMPLETE], "IntervalSeconds": 5, "BackoffRate": 1, "MaxAttempts": REPORT_TRIES},
            {"ErrorEquals": ["States.TaskFailed"], "MaxAttempts": 6},
        ],
        "Next": "Judge",
    }
