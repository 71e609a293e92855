"""One training job: its state, and how DescribeTrainingJob and the state-change events show it."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from constructs_lib.sandbox.modelcheck import operation_model

if TYPE_CHECKING:
    from .agenda import Task
    from .evaluation import Entry
    from .placement import Holding, Ticket
    from .seeds import JobTimes
    from .training_request import Demand

__all__ = ["ENDED", "Changed", "TrainingJob"]

Changed = Callable[["TrainingJob", float], None]

ENDED = ("Completed", "Failed", "Stopped")
# What an event tells of a job, besides FailureReason. Source: SageMaker guide, automating-sagemaker-with-eventbridge.
_EVENT_MEMBERS = (
    "TrainingJobName",
    "TrainingJobArn",
    "TrainingJobStatus",
    "SecondaryStatus",
    "HyperParameters",
    "AlgorithmSpecification",
    "RoleArn",
    "InputDataConfig",
    "OutputDataConfig",
    "ResourceConfig",
    "VpcConfig",
    "StoppingCondition",
    "CreationTime",
    "TrainingStartTime",
    "TrainingEndTime",
    "LastModifiedTime",
    "SecondaryStatusTransitions",
    "FailureReason",
)
_SPOT_SHARE = 0.3  # of the time that a spot job is billed; AWS promises savings of up to 90 %
_FLAGS = ("EnableNetworkIsolation", "EnableInterContainerTrafficEncryption", "EnableManagedSpotTraining")


@dataclass(eq=False)
class TrainingJob:
    """A training job.

    Parameters
    ----------
    name, arn, request
        As CreateTrainingJob received them.
    demand
        What the request asks for.
    times
        How long the phases take.
    created
        Epoch seconds.
    changed
        Called after each change of the job's status.
    """

    name: str
    arn: str
    request: dict[str, Any]
    demand: Demand
    times: JobTimes
    created: float
    changed: Changed | None = None
    status: str = "InProgress"
    secondary: str = ""
    modified: float = 0
    transitions: list[dict[str, Any]] = field(default_factory=list)
    failure_reason: str | None = None
    ends_as: str = "Stopped"  # the secondary status after Stopping
    selected: Entry | None = None
    started: float | None = None
    ended: float | None = None
    ticket: Ticket | None = None
    holding: Holding | None = None
    running_since: float | None = None  # on instances since; None while it has none
    ran: float = 0  # seconds on instances before `running_since`
    training_since: float | None = None
    trained: float = 0  # seconds of the runtime that a checkpoint keeps
    step: Task | None = None
    limit: Task | None = None
    wait_limit: Task | None = None

    def move(self, status: str, secondary: str, message: str, now: float) -> None:
        """Go to another status, and note the transition."""
        if self.transitions:
            self.transitions[-1]["EndTime"] = now
        self.transitions.append({"Status": secondary, "StartTime": now, "StatusMessage": message})
        if status in ENDED:
            self.transitions[-1]["EndTime"] = now
        self.status, self.secondary, self.modified = status, secondary, now

    def cancel_tasks(self) -> None:
        """Cancel what the job has on the agenda while it has instances."""
        _cancel(self.step, self.limit)

    def cancel_limits(self) -> None:
        """Let the job take as long as it takes from here on."""
        _cancel(self.limit, self.wait_limit)

    def keep_checkpoint(self, now: float) -> None:
        """Note what was trained, if the job keeps checkpoints; else it is lost."""
        if self.training_since is not None and "CheckpointConfig" in self.request:
            self.trained = min(self.times.runtime, self.trained + now - self.training_since)
        self.training_since = None

    def pause(self, now: float) -> None:
        """Stop the time on instances."""
        if self.running_since is not None:
            self.ran += now - self.running_since
            self.running_since = None

    def plans(self) -> set[str]:
        """Return the ARNs of the plans that the job runs on, or may run on while nothing is selected."""
        entries = (self.selected,) if self.selected else self.demand.entries
        return {entry.plan for entry in entries if entry.plan}

    def describe(self) -> dict[str, Any]:
        """Return the answer of DescribeTrainingJob."""
        members = operation_model("sagemaker", "DescribeTrainingJob").output_shape.members
        shown = {name: copy.deepcopy(value) for name, value in self.request.items() if name in members}
        if self.demand.is_list and self.selected:
            shown["ResourceConfig"] |= {
                "SelectedInstanceType": self.selected.instance_type,
                "SelectedInstanceCount": self.selected.count,
            }
        folder = self.request["OutputDataConfig"]["S3OutputPath"].rstrip("/")
        shown |= {
            "TrainingJobArn": self.arn,
            "TrainingJobStatus": self.status,
            "SecondaryStatus": self.secondary,
            "SecondaryStatusTransitions": copy.deepcopy(self.transitions),
            "ModelArtifacts": {"S3ModelArtifacts": f"{folder}/{self.name}/output/model.tar.gz"},
            "StoppingCondition": {"MaxRuntimeInSeconds": self.demand.max_runtime}
            | self.request.get("StoppingCondition", {}),
            "CreationTime": self.created,
            "LastModifiedTime": self.modified,
            **{flag: self.request.get(flag, False) for flag in _FLAGS},
        }
        return shown | {name: value for name, value in self._times().items() if value is not None}

    def _times(self) -> dict[str, Any]:
        seconds = max(1, math.ceil(self.ran)) if self.ended is not None and self.started is not None else None
        billable = max(1, math.ceil(self.ran * _SPOT_SHARE)) if seconds and self.demand.is_spot else seconds
        return {
            "TrainingStartTime": self.started,
            "TrainingEndTime": self.ended,
            "TrainingTimeInSeconds": seconds,
            "BillableTimeInSeconds": billable,
            "FailureReason": self.failure_reason,
        }

    def event(self, tags: dict[str, str], *, with_selection: bool) -> dict[str, Any]:
        """Return the detail of a state-change event; its times are epoch milliseconds."""
        shown = self.describe()
        detail = {name: _in_milliseconds(name, shown[name]) for name in _EVENT_MEMBERS if name in shown}
        if not with_selection:
            for name in ("SelectedInstanceType", "SelectedInstanceCount"):
                detail["ResourceConfig"].pop(name, None)
        return detail | {"Tags": dict(tags)}


def _cancel(*tasks: Task | None) -> None:
    for task in tasks:
        if task is not None:
            task.cancel()


def _in_milliseconds(name: str, value: Any) -> Any:
    if name == "SecondaryStatusTransitions":
        return [{key: _in_milliseconds(key, inner) for key, inner in row.items()} for row in value]
    return round(value * 1000) if name.endswith("Time") else value
