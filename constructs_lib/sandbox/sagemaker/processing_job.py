"""One processing job: its state, and how DescribeProcessingJob and the state-change events show it."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from constructs_lib.sandbox.modelcheck import operation_model

if TYPE_CHECKING:
    from .agenda import Task
    from .evaluation import Entry
    from .placement import Holding, Ticket
    from .processing_request import ProcessingDemand
    from .seeds import JobTimes

__all__ = ["ProcessingJob"]


@dataclass(eq=False)
class ProcessingJob:
    """A processing job; it has no secondary status and no billable time.

    Parameters
    ----------
    name, arn, request
        As CreateProcessingJob received them.
    demand
        What the request asks for.
    times
        How long the phases take.
    created, modified
        Epoch seconds.
    """

    name: str
    arn: str
    request: dict[str, Any]
    demand: ProcessingDemand
    times: JobTimes
    created: float
    modified: float
    status: str = "InProgress"
    failure_reason: str | None = None
    selected: Entry | None = None
    started: float | None = None
    ended: float | None = None
    ticket: Ticket | None = None
    holding: Holding | None = None
    step: Task | None = None
    limit: Task | None = None

    def cancel_tasks(self) -> None:
        """Cancel what the job has on the agenda."""
        for task in (self.step, self.limit):
            if task is not None:
                task.cancel()

    def describe(self) -> dict[str, Any]:
        """Return the answer of DescribeProcessingJob."""
        members = operation_model("sagemaker", "DescribeProcessingJob").output_shape.members
        shown = {name: copy.deepcopy(value) for name, value in self.request.items() if name in members}
        if self.demand.is_list and self.selected:
            shown["ProcessingResources"]["ClusterConfig"] |= {
                "SelectedInstanceType": self.selected.instance_type,
                "SelectedInstanceCount": self.selected.count,
            }
        optional = {
            "ProcessingStartTime": self.started,
            "ProcessingEndTime": self.ended,
            "FailureReason": self.failure_reason,
        }
        return (
            shown
            | {
                "ProcessingJobArn": self.arn,
                "ProcessingJobStatus": self.status,
                "StoppingCondition": {"MaxRuntimeInSeconds": self.demand.max_runtime},
                "CreationTime": self.created,
                "LastModifiedTime": self.modified,
            }
            | {name: value for name, value in optional.items() if value is not None}
        )

    def event(self, tags: dict[str, str], *, with_selection: bool) -> dict[str, Any]:
        """Return the detail of a state-change event: the description with its times as epoch milliseconds."""
        detail = self.describe()
        if not with_selection:
            for name in ("SelectedInstanceType", "SelectedInstanceCount"):
                detail["ProcessingResources"]["ClusterConfig"].pop(name, None)
        times = {name: round(value * 1000) for name, value in detail.items() if name.endswith("Time")}
        return detail | times | {"Tags": dict(tags)}
