"""What the answer of a Describe call says of a job, whatever kind it is."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from constructs_lib import facts
from constructs_lib.model.ends import FailureClass, RunEnd, classify, end_of
from constructs_lib.model.job_kinds import JobKind, ResourceEntry, job_kind

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Described"]


@dataclass(frozen=True, slots=True)
class Described:
    """A job as AWS describes it.

    Parameters
    ----------
    kind_name : str
        ``training``, ``processing`` or ``tuning``.
    answer : Mapping
        The answer; times as `datetime`.
    """

    kind_name: str
    answer: Mapping[str, Any]

    @property
    def kind(self) -> JobKind:
        """The kind of job."""
        return job_kind(self.kind_name)

    @property
    def name(self) -> str:
        """The job's name."""
        return str(self.answer[self.kind.name_key])

    @property
    def arn(self) -> str:
        """The job's ARN."""
        return str(self.answer[f"{self.kind.noun}Arn"])

    @property
    def status(self) -> str:
        """The job's own status."""
        return str(self.answer.get(f"{self.kind.noun}Status", ""))

    @property
    def terminal(self) -> bool:
        """Whether the job will never run again; a status that nobody knows yet is not taken for an end."""
        return facts.job_states(self.kind_name).get(self.status, False)

    @property
    def cause(self) -> str:
        """Why it failed, in AWS's words."""
        return str(self.answer.get("FailureReason", ""))

    @property
    def entries(self) -> list[ResourceEntry]:
        """The instance types that it may get."""
        return self.kind.entries(self.answer)

    @property
    def created(self) -> datetime | None:
        """When the job was created."""
        return _utc(self.answer.get("CreationTime"))

    @property
    def started(self) -> datetime | None:
        """When its instances began to be billed; a tuning job's answer does not say it."""
        return _utc(self.answer.get("TrainingStartTime") or self.answer.get("ProcessingStartTime"))

    @property
    def over(self) -> datetime | None:
        """When it ended."""
        keys = ("TrainingEndTime", "ProcessingEndTime", "HyperParameterTuningEndTime")
        return _utc(next((self.answer[key] for key in keys if self.answer.get(key)), None))

    @property
    def selected(self) -> str | None:
        """The type that it got, or the only one it asked for."""
        if self.kind_name == "tuning":
            types = {entry.instance_type for entry in self.entries}
            return types.pop() if len(types) == 1 else None
        return self._resources.get("SelectedInstanceType") or self._resources.get("InstanceType")

    @property
    def has_instances(self) -> bool:
        """Whether AWS says that it got instances; of a job with one type it says so by starting it only."""
        return "SelectedInstanceType" in self._resources

    @property
    def winner(self) -> ResourceEntry | None:
        """The entry that it got."""
        return next((entry for entry in self.entries if entry.instance_type == self.selected), None)

    @property
    def selected_count(self) -> int | None:
        """How many instances it got."""
        won = self.winner
        count: int | None = self._resources.get("SelectedInstanceCount") or (won.instance_count if won else None)
        return count or (self._resources.get("InstanceCount") if self.selected else None)

    @property
    def reserved(self) -> bool | None:
        """Whether the entry it got names a training plan; ``None`` where AWS does not say which entry the plan is of.

        A plan of the whole job serves the entry whose type is the plan's, which no description of a job names.
        """
        if (won := self.winner) is None:
            return None
        return bool(won.plan) or (None if won.job_plan and len(self.entries) > 1 else bool(won.job_plan))

    @property
    def pending_seconds(self) -> float | None:
        """How long it waited for capacity."""
        if self.kind_name == "tuning":
            return None
        return _between(self.created, self.started or (self.over if self.terminal else None))

    @property
    def runtime_seconds(self) -> float | None:
        """How long it ran; of a tuning job the time its training jobs took, if AWS says it."""
        consumed: float | None = self.answer.get("ConsumedResources", {}).get("RuntimeInSeconds")
        return _between(self.started, self.over) if consumed is None else float(consumed)

    def end(self, stopped_for: RunEnd | None, cut_for: RunEnd | None) -> tuple[RunEnd, FailureClass | None]:
        """Return the named end and the class of the failure of a job that is terminal."""
        if self.status == "Completed":
            return RunEnd.COMPLETED, None
        secondary, failure = self.answer.get("SecondaryStatus"), classify(self.cause)
        if secondary == "MaxWaitTimeExceeded":
            # Only spot jobs have this limit, and only waiting makes them reach it before that of their runtime.
            return end_of(FailureClass.CAPACITY), FailureClass.CAPACITY
        if self.status == "Stopped" and stopped_for:
            return stopped_for, FailureClass.CAPACITY if stopped_for is RunEnd.INSUFFICIENT_CAPACITY else None
        if secondary == "MaxRuntimeExceeded" or self._ran_to_its_limit(failure):
            return cut_for or RunEnd.MAX_RUNTIME_EXCEEDED, None
        if self.status == "Stopped":
            if not self._waited_in_vain(failure):
                return RunEnd.STOPPED, None
            failure = FailureClass.CAPACITY
        return end_of(failure), failure

    @property
    def _resources(self) -> Mapping[str, Any]:
        return next(iter(self.kind.resources(self.answer)), {})

    def _ran_to_its_limit(self, failure: FailureClass) -> bool:
        # Processing has no second status, and no page says whether the limit makes it Failed or Stopped.
        limit, ran = self.kind.max_runtime(self.answer), self.runtime_seconds
        unexplained = self.status == "Stopped" or failure is FailureClass.UNKNOWN
        return self.kind_name == "processing" and unexplained and bool(limit and ran and ran >= limit)

    def _waited_in_vain(self, failure: FailureClass) -> bool:
        # AWS's pages disagree on whether a job that waited for capacity until its limit ends as Failed or as Stopped.
        limit = self.answer.get("StoppingCondition", {}).get("MaxPendingTimeInSeconds")
        waited = _between(self.created, self.over or _utc(self.answer.get("LastModifiedTime"))) or 0
        return self.started is None and (failure is FailureClass.CAPACITY or bool(limit and waited >= limit))


def _between(start: datetime | None, end: datetime | None) -> float | None:
    return None if start is None or end is None else max(0.0, (end - start).total_seconds())


def _utc(time: datetime | None) -> datetime | None:
    return time.replace(tzinfo=UTC) if time and not time.tzinfo else time
