"""The one record that every run leaves: which preference won, how long it waited and how it ended."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from constructs_lib.model.described import Described
from constructs_lib.model.ends import FailureClass, RunEnd

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from constructs_lib.model.prices import PriceBook

__all__ = ["RunRecord"]

_LONGEST_CAUSE = 1000
_SHORT_CAUSE = 200


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
    kind : str
        ``training``, ``processing`` or ``tuning``.
    step : int or None
        The step of the strategy that this is, if it has several.
    earlier : tuple of Mapping
        The records of the steps before it, with the shortest of causes.
    dropped : tuple of str
        The types that were left out because they have no quota.
    unverified : tuple of str
        What AWS did not let us check before the launch, in words.
    cost : str or None
        What this job cost, as a decimal number, at the on-demand prices that the launch was given.
    currency, price_as_of : str or None
        Of these prices.
    cost_unknown : tuple of str
        The types whose price nobody gave, where that leaves the cost open.
    best_training_job, training_jobs
        Of a tuning job: its best training job and how many ended how.
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
    kind: str = "training"
    step: int | None = None
    earlier: tuple[Mapping[str, Any], ...] = ()
    dropped: tuple[str, ...] = ()
    unverified: tuple[str, ...] = ()
    cost: str | None = None
    currency: str | None = None
    price_as_of: str | None = None
    cost_unknown: tuple[str, ...] = ()
    best_training_job: str | None = None
    training_jobs: Mapping[str, int] | None = None

    @classmethod
    def of_training_job(cls, described: Mapping[str, Any], **more: Any) -> RunRecord:
        """Read a DescribeTrainingJob answer, as `of_job` does."""
        return cls.of_job("training", described, **more)

    @classmethod
    def of_processing_job(cls, described: Mapping[str, Any], **more: Any) -> RunRecord:
        """Read a DescribeProcessingJob answer, as `of_job` does; it says no billed time."""
        return cls.of_job("processing", described, **more)

    @classmethod
    def of_tuning_job(cls, described: Mapping[str, Any], **more: Any) -> RunRecord:
        """Read a DescribeHyperParameterTuningJob answer, as `of_job` does.

        Which type each of its training jobs got is not in it: with several types there is no rank.
        """
        return cls.of_job("tuning", described, **more)

    @classmethod
    def of_job(
        cls,
        kind: str,
        described: Mapping[str, Any],
        *,
        reasons: Sequence[str | None] = (),
        stopped_for: RunEnd | None = None,
        cut_for: RunEnd | None = None,
        declared: Sequence[str] = (),
    ) -> RunRecord:
        """Read the answer of a Describe call.

        With a list a job has neither InstanceType nor, with counts on entries, InstanceCount: the winner is in
        ``SelectedInstanceType`` and ``SelectedInstanceCount``, absent until there is one.

        Parameters
        ----------
        kind : str
            The kind of job.
        described : Mapping
            The answer; times as `datetime`.
        reasons : sequence, optional
            The declared reason of each entry.
        stopped_for : RunEnd, optional
            Why we stopped the job ourselves, if we did; it replaces ``Stopped`` as the end.
        cut_for : RunEnd, optional
            The limit that we shortened the runtime for, if we did; it replaces ``MaxRuntimeExceeded``.
        declared : sequence of str, optional
            The types as they were declared, which ranks count from; those the job was created without are ``dropped``.
        """
        seen = Described(kind, described)
        offered = [entry.instance_type for entry in seen.entries]
        order = list(declared or offered)
        winner = seen.winner
        rank = order.index(winner.instance_type) + 1 if winner and winner.instance_type in order else None
        end, failure = seen.end(stopped_for, cut_for) if seen.terminal else (None, None)
        return cls(
            job_name=seen.name,
            kind=kind,
            status=seen.status if seen.terminal or seen.selected else "Pending",
            end=end,
            rank=rank,
            instance_type=seen.selected,
            instance_count=seen.selected_count,
            reserved=seen.reserved,
            reason=reasons[rank - 1] if rank and rank <= len(reasons) else None,
            pending_seconds=seen.pending_seconds,
            runtime_seconds=seen.runtime_seconds,
            billable_seconds=described.get("BillableTimeInSeconds"),
            failure=failure,
            cause=seen.cause[:_LONGEST_CAUSE],
            dropped=tuple(name for name in order if name not in offered),
            best_training_job=described.get("BestTrainingJob", {}).get("TrainingJobName"),
            training_jobs=described.get("TrainingJobStatusCounters"),
        )

    @classmethod
    def not_created(
        cls,
        job_name: str,
        end: RunEnd,
        cause: str = "",
        *,
        failure: FailureClass | None = None,
        kind: str = "training",
        dropped: Sequence[str] = (),
    ) -> RunRecord:
        """Return the record of a launch that never had a job.

        Examples
        --------
        >>> RunRecord.not_created("a-1", RunEnd.QUOTA_EXCEEDED).to_dict()
        {'job_name': 'a-1', 'status': 'NotCreated', 'end': 'QuotaExceeded', 'cause': '', 'kind': 'training'}
        """
        return cls(
            job_name=job_name,
            status="NotCreated",
            end=end,
            failure=failure,
            cause=cause[:_LONGEST_CAUSE],
            kind=kind,
            dropped=tuple(dropped),
        )

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> RunRecord:
        """Return the record that `to_dict` made ``data`` of."""
        end, failure = data.get("end"), data.get("failure")
        lists = {key: tuple(value) for key, value in data.items() if isinstance(value, list)}
        enums = {"end": end and RunEnd(end), "failure": failure and FailureClass(failure)}
        return cls(**{**data, **lists, **enums})

    def to_dict(self) -> dict[str, Any]:
        """Return the record as plain JSON data, without what is not known."""
        return {key: _plain(value) for key, value in asdict(self).items() if value is not None and value != ()}

    def compact(self) -> dict[str, Any]:
        """Return the plain form for the list of earlier steps of a later one."""
        return replace(self, earlier=(), cause=self.cause[:_SHORT_CAUSE]).to_dict()

    def priced(self, prices: PriceBook, *, free: Collection[str] = ()) -> RunRecord:
        """Return the record with what the job cost, or with the types that leave this open.

        Parameters
        ----------
        prices : PriceBook
        free : collection of str
            The types that were paid for before, by a training plan.
        """
        said: dict[str, Any] = {"currency": prices.currency, "price_as_of": prices.as_of}
        if self.runtime_seconds is None and not self.billable_seconds:
            return replace(self, cost="0", **said)
        if self.instance_type is None:
            return replace(self, cost_unknown=("the types of the training jobs",))
        if self.instance_type in free:
            return replace(self, cost="0", **said)
        seconds = self.runtime_seconds if self.billable_seconds is None else self.billable_seconds
        hours = Decimal(seconds or 0) * (self.instance_count or 1) / 3600
        cost = prices.cost(self.instance_type, hours)
        if cost is None:
            return replace(self, cost_unknown=(self.instance_type,), **said)
        return replace(self, cost=f"{cost.amount:f}", **said)


def _plain(value: Any) -> Any:
    if isinstance(value, RunEnd | FailureClass):
        return str(value)
    return list(value) if isinstance(value, tuple) else value
