"""One tuning job: its state, and how the API and the state-change events show it and its training jobs."""

from __future__ import annotations

import copy
import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from constructs_lib.sandbox.modelcheck import operation_model

from .training_job import ENDED

if TYPE_CHECKING:
    from .agenda import Task
    from .training_job import TrainingJob
    from .tuning_request import TuningDemand

__all__ = ["TuningJob"]

Request = dict[str, Any]
# What an event tells of a tuning job, besides its tags.
# Source: the event schema of SageMakerHyperParameterTuningJobStateChange in aws-cdk's mixins-preview.
_EVENT_MEMBERS = (
    "HyperParameterTuningJobName",
    "HyperParameterTuningJobArn",
    "HyperParameterTuningJobStatus",
    "CreationTime",
    "LastModifiedTime",
    "ObjectiveStatusCounters",
    "TrainingJobDefinition",
    "TrainingJobStatusCounters",
)
_OBJECTIVE = {"Completed": "Succeeded", "Failed": "Failed", "Stopped": "Failed"}


@dataclass(eq=False)
class TuningJob:
    """A tuning job.

    Parameters
    ----------
    name, arn, request
        As CreateHyperParameterTuningJob received them.
    demand
        What the request asks for.
    zones
        Where its training jobs may run; None: anywhere.
    created, modified
        Epoch seconds.
    """

    name: str
    arn: str
    request: Request
    demand: TuningDemand
    zones: frozenset[str] | None
    created: float
    modified: float
    status: str = "InProgress"
    failure_reason: str | None = None
    ended: float | None = None
    children: list[TrainingJob] = field(default_factory=list)
    limit: Task | None = None

    def running(self) -> list[TrainingJob]:
        """Return the training jobs that have not ended."""
        return [child for child in self.children if child.status not in ENDED]

    def tuned(self, number: int) -> dict[str, str]:
        """Return the hyperparameters that the job tries in its training job of a number, from 0 on."""
        ranges = self.request["HyperParameterTuningJobConfig"].get("ParameterRanges", {})
        found = {row["Name"]: row["ValueHint"] for row in ranges.get("AutoParameters", ())}
        combination = number
        for row in ranges.get("CategoricalParameterRanges", ()):
            combination, chosen = divmod(combination, len(row["Values"]))
            found[row["Name"]] = row["Values"][chosen]
        share = _share(f"{self.name}-{number}")
        for row in ranges.get("IntegerParameterRanges", ()):
            low, high = int(row["MinValue"]), int(row["MaxValue"])
            found[row["Name"]] = str(low + int(share * (high - low + 1)))
        for row in ranges.get("ContinuousParameterRanges", ()):
            low_, high_ = float(row["MinValue"]), float(row["MaxValue"])
            found[row["Name"]] = repr(low_ + share * (high_ - low_))
        return found

    def describe(self) -> Request:
        """Return the answer of DescribeHyperParameterTuningJob."""
        members = operation_model("sagemaker", "DescribeHyperParameterTuningJob").output_shape.members
        shown = {name: copy.deepcopy(value) for name, value in self.request.items() if name in members}
        optional = {
            "HyperParameterTuningEndTime": self.ended,
            "FailureReason": self.failure_reason,
            "BestTrainingJob": self._best(),
        }
        return (
            shown
            | self.summary()
            | {"ConsumedResources": {"RuntimeInSeconds": int((self.ended or self.modified) - self.created)}}
            | {name: value for name, value in optional.items() if value is not None}
        )

    def summary(self) -> Request:
        """Return what the job's description and its summary in a list have in common."""
        return {
            "HyperParameterTuningJobName": self.name,
            "HyperParameterTuningJobArn": self.arn,
            "HyperParameterTuningJobStatus": self.status,
            "CreationTime": self.created,
            "LastModifiedTime": self.modified,
            "TrainingJobStatusCounters": self._statuses(),
            "ObjectiveStatusCounters": self._objectives(),
        }

    def event(self, tags: dict[str, str]) -> Request:
        """Return the detail of a state-change event; its times are epoch milliseconds."""
        shown = self.describe()
        detail = {name: shown[name] for name in _EVENT_MEMBERS if name in shown}
        times = {name: round(value * 1000) for name, value in detail.items() if name.endswith("Time")}
        return detail | times | {"Tags": dict(tags)}

    def child(self, job: TrainingJob) -> Request:
        """Return the summary of one of its training jobs."""
        objective = self._objective()
        optional = {
            "TrainingStartTime": job.started,
            "TrainingEndTime": job.ended,
            "FailureReason": job.failure_reason,
            "TrainingJobDefinitionName": self.request["TrainingJobDefinition"].get("DefinitionName"),
            "FinalHyperParameterTuningJobObjectiveMetric": objective
            and job.status == "Completed"
            and objective | {"Value": _share(job.name)},
        }
        return {
            "TrainingJobName": job.name,
            "TrainingJobArn": job.arn,
            "TuningJobName": self.name,
            "CreationTime": job.created,
            "TrainingJobStatus": job.status,
            "TunedHyperParameters": self.tuned(self.children.index(job)),
            "ObjectiveStatus": _OBJECTIVE.get(job.status, "Pending"),
        } | {name: value for name, value in optional.items() if value}

    def _objective(self) -> Request | None:
        config: Request = self.request["HyperParameterTuningJobConfig"]
        return config.get("HyperParameterTuningJobObjective")

    def _best(self) -> Request | None:
        objective = self._objective()
        done = [child for child in self.children if child.status == "Completed"]
        if not objective or not done:
            return None
        choose = max if objective["Type"] == "Maximize" else min
        return self.child(choose(done, key=lambda child: _share(child.name)))

    def _statuses(self) -> dict[str, int]:
        reasons = [child.failure_reason or "" for child in self.children if child.status == "Failed"]
        retryable = sum("CapacityError" in reason or "InternalServerError" in reason for reason in reasons)
        return {
            "Completed": self._count("Completed"),
            "InProgress": len(self.running()),
            "RetryableError": retryable,
            "NonRetryableError": len(reasons) - retryable,
            "Stopped": self._count("Stopped"),
        }

    def _objectives(self) -> dict[str, int]:
        return {
            "Succeeded": self._count("Completed"),
            "Pending": len(self.running()),
            "Failed": self._count("Failed") + self._count("Stopped"),
        }

    def _count(self, status: str) -> int:
        return sum(child.status == status for child in self.children)


def _share(text: str) -> float:
    """Return a number of 0 or more below 1 that follows from a text: a metric, or a place in a range."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4]) / 2**32
