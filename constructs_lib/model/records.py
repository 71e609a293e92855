"""The one record that every run leaves: which preference won, how long it waited and how it ended."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from constructs_lib import facts
from constructs_lib.model.ends import FailureClass, RunEnd, classify, end_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["RunRecord"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """What happened to one launch.

    Parameters
    ----------
    job_name : str
        The SageMaker job; also the key of the run table.
    end : RunEnd or None
        The named end; ``None`` while the job is not terminal.
    status : str
        The job's own status, ``NotCreated`` when AWS refused the request, ``Pending`` until a type is selected.
    rank : int or None
        The winner's place in the list, from 1; ``None`` before one is selected.
    instance_type, instance_count
        What was selected.
    reserved : bool or None
        Whether the winning entry named a training plan.
    reason : str or None
        Why that entry stands where it does, as declared.
    pending_seconds, runtime_seconds, billable_seconds : float or None
        Wait for capacity, time from start to end, and billed time of one instance.
    failure : FailureClass or None
        The class of the failure.
    cause : str
        AWS's own words, cut to 1,000 characters.
    """

    job_name: str
    status: str
    end: RunEnd | None = None
    rank: int | None = None
    instance_type: str | None = None
    instance_count: int | None = None
    reserved: bool | None = None
    reason: str | None = None
    pending_seconds: float | None = None
    runtime_seconds: float | None = None
    billable_seconds: float | None = None
    failure: FailureClass | None = None
    cause: str = ""

    @classmethod
    def of_training_job(
        cls, described: Mapping[str, Any], *, reasons: Sequence[str | None] = (), stopped_for: RunEnd | None = None
    ) -> RunRecord:
        """Read a DescribeTrainingJob answer.

        With a list ``ResourceConfig`` has neither InstanceType nor, with counts on entries, InstanceCount: the winner
        is in ``SelectedInstanceType`` and ``SelectedInstanceCount``, absent until there is one.

        Parameters
        ----------
        described : Mapping
            The answer; times as `datetime`.
        reasons : sequence, optional
            The declared reason of each entry.
        stopped_for : RunEnd, optional
            Why we stopped the job ourselves, if we did; it replaces ``Stopped`` as the end.
        """
        resources = described["ResourceConfig"]
        entries = resources.get("InstancePreferences") or [resources]
        selected = resources.get("SelectedInstanceType") or resources.get("InstanceType")
        rank = next((i for i, e in enumerate(entries, 1) if e.get("InstanceType") == selected), None)
        status = described.get("TrainingJobStatus", "")
        terminal = facts.job_states("training").get(status, False)  # a status that nobody knows is no end
        winner = entries[rank - 1] if rank else {}
        cause = str(described.get("FailureReason", ""))
        end, failure = _end(described, cause, stopped_for) if terminal else (None, None)
        started, created = described.get("TrainingStartTime"), described.get("CreationTime")
        over = described.get("TrainingEndTime")
        return cls(
            job_name=described["TrainingJobName"],
            status=status if terminal or selected else "Pending",
            end=end,
            rank=rank,
            instance_type=selected,
            instance_count=resources.get("SelectedInstanceCount")
            or winner.get("InstanceCount")
            or (resources.get("InstanceCount") if selected else None),
            reserved=bool(winner.get("TrainingPlanArns") or resources.get("TrainingPlanArn")) if rank else None,
            reason=reasons[rank - 1] if rank and rank <= len(reasons) else None,
            pending_seconds=_between(created, started or (over if terminal else None)),
            runtime_seconds=_between(started, over),
            billable_seconds=described.get("BillableTimeInSeconds"),
            failure=failure,
            cause=cause[:1000],
        )

    @classmethod
    def not_created(
        cls, job_name: str, end: RunEnd, cause: str = "", *, failure: FailureClass | None = None
    ) -> RunRecord:
        """Return the record of a launch that never had a job.

        Examples
        --------
        >>> RunRecord.not_created("a-1", RunEnd.QUOTA_EXCEEDED).to_dict()
        {'job_name': 'a-1', 'status': 'NotCreated', 'end': 'QuotaExceeded', 'cause': ''}
        """
        return cls(job_name=job_name, status="NotCreated", end=end, failure=failure, cause=cause[:1000])

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> RunRecord:
        """Return the record that `to_dict` made ``data`` of."""
        end, failure = data.get("end"), data.get("failure")
        enums = {"end": end and RunEnd(end), "failure": failure and FailureClass(failure)}
        return cls(**{**data, **enums})

    def to_dict(self) -> dict[str, Any]:
        """Return the record as plain JSON data, without what is not known."""
        return {
            k: str(v) if isinstance(v, RunEnd | FailureClass) else v for k, v in asdict(self).items() if v is not None
        }


def _end(described: Mapping[str, Any], cause: str, stopped_for: RunEnd | None) -> tuple[RunEnd, FailureClass | None]:
    status = described["TrainingJobStatus"]
    if status == "Completed":
        return RunEnd.COMPLETED, None
    if described.get("SecondaryStatus") in ("MaxRuntimeExceeded", "MaxWaitTimeExceeded"):
        return RunEnd.MAX_RUNTIME_EXCEEDED, None
    failure = classify(cause)
    if status == "Stopped" and (stopped_for or not _waited_in_vain(described, failure)):
        return stopped_for or RunEnd.STOPPED, None
    failure = FailureClass.CAPACITY if status == "Stopped" else failure
    return end_of(failure), failure


def _waited_in_vain(described: Mapping[str, Any], failure: FailureClass) -> bool:
    # AWS's pages disagree on whether a job that waited for capacity until its limit ends as Failed or as Stopped.
    limit = described.get("StoppingCondition", {}).get("MaxPendingTimeInSeconds")
    over = described.get("TrainingEndTime") or described.get("LastModifiedTime")
    waited = _between(described.get("CreationTime"), over) or 0
    never_ran = not described.get("TrainingStartTime")
    return never_ran and (failure is FailureClass.CAPACITY or bool(limit and waited >= limit))


def _between(start: datetime | None, end: datetime | None) -> float | None:
    if start is None or end is None:
        return None
    return max(0.0, (_utc(end) - _utc(start)).total_seconds())


def _utc(time: datetime) -> datetime:
    return time if time.tzinfo else time.replace(tzinfo=UTC)
