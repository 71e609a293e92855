"""The life of training jobs on the virtual clock: from waiting for capacity to the status they end in."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from constructs_lib.sandbox.switches import reading

from .instance_lists import has_local_storage
from .placement import Ticket
from .waits import KEY_REFUSED, PLAN_WAIT, no_capacity, patience

if TYPE_CHECKING:
    from collections.abc import Callable, Set

    from constructs_lib.sandbox.context import Context

    from .placement import Holding, Placement
    from .tags import Tags
    from .training_job import TrainingJob
    from .training_request import Demand

__all__ = ["TrainingLife", "usage"]

_MESSAGES = {
    "Starting": "Preparing the instances for training",
    "Downloading": "Downloading input data",
    "Training": "Training image download completed. Training in progress.",
    "Uploading": "Uploading generated training model",
}


def usage(demand: Demand) -> str:
    """Return the words of the quota that a job's instances count against."""
    return "spot training job usage" if demand.is_spot else "training job usage"


class TrainingLife:
    """Moves training jobs through their statuses and tells of each change.

    Parameters
    ----------
    context
        Where events go, and the switches.
    placement
        Where capacity comes from; every method is called within a moment of its agenda.
    tags
        What events show of a job's tags.
    """

    def __init__(self, context: Context, placement: Placement, tags: Tags) -> None:
        self._context, self._placement, self._tags = context, placement, tags
        self._agenda = placement.agenda

    def begin(self, job: TrainingJob, zones: Set[str] | None, now: float) -> None:
        """Look for capacity for a new job."""
        job.ticket = Ticket(
            owner=job.name,
            usage=usage(job.demand),
            entries=job.demand.entries,
            zones=zones,
            patience=self._patience(job),
            placed=lambda holding, t: self._start(job, holding, t),
            gave_up=lambda over, t: self._give_up(job, over, t),
            evicted=lambda holding, t: self._lose_instances(job, holding, t),
        )
        self._bound_wait(job)
        self._placement.submit(job.ticket, now)
        if job.status == "InProgress" and job.selected is None:
            self._wait(job, now)

    def stop(self, job: TrainingJob, now: float) -> None:
        """Stop a job that has not ended."""
        self._wind_down(job, "Stopped", now)

    def _patience(self, job: TrainingJob) -> float | None:
        entries = job.demand.entries
        if job.demand.is_spot:
            return math.inf  # MaxWaitTimeInSeconds bounds it
        if not job.demand.is_accelerated:
            return None  # evaluated once, never queued
        if job.demand.max_pending is not None:
            return job.demand.max_pending
        if all(entry.plan for entry in entries):
            return PLAN_WAIT
        return patience(self._context.faults, "sagemaker.default-pending")

    def _start(self, job: TrainingJob, holding: Holding, now: float) -> None:
        job.holding, job.selected = holding, holding.entry
        refused = job.demand.has_volume_key and has_local_storage(holding.entry.instance_type)
        then = self._refuse_key if refused else self._download
        if job.secondary == "Starting":  # a spot job that waited for its first instances
            job.step = self._agenda.at(now + job.times.start, lambda t: then(job, t))
        else:
            self._phase(job, "Starting", job.times.start, then, now)

    def _wait(self, job: TrainingJob, now: float) -> None:
        """Say that a job waits for its first instances; a spot job is Starting meanwhile."""
        secondary = "Starting" if job.demand.is_spot else "Pending"
        self._move(job, "InProgress", secondary, "Waiting for compute capacity", now)

    def _refuse_key(self, job: TrainingJob, now: float) -> None:
        self._end(job, "Failed", "Failed", now, KEY_REFUSED)

    def _download(self, job: TrainingJob, now: float) -> None:
        job.started = now if job.started is None else job.started
        job.running_since = now
        job.limit = self._agenda.at(now + job.demand.max_runtime - job.ran, lambda t: self._overrun(job, t))
        self._phase(job, "Downloading", job.times.download, self._train, now)

    def _train(self, job: TrainingJob, now: float) -> None:
        job.training_since = now
        left = job.times.runtime - job.trained
        self._phase(job, "Training", left, self._finish, now)

    def _finish(self, job: TrainingJob, now: float) -> None:
        if job.times.fail is not None:
            self._end(job, "Failed", "Failed", now, job.times.fail)
            return
        job.cancel_limits()
        self._phase(job, "Uploading", job.times.upload, self._complete, now)

    def _complete(self, job: TrainingJob, now: float) -> None:
        self._end(job, "Completed", "Completed", now)

    def _overrun(self, job: TrainingJob, now: float) -> None:
        self._wind_down(job, "MaxRuntimeExceeded", now)

    def _bound_wait(self, job: TrainingJob) -> None:
        job.cancel_limits()
        if job.demand.max_wait is not None:
            until = job.created + job.demand.max_wait
            job.wait_limit = self._agenda.at(until, lambda t: self._wait_no_longer(job, t))

    def _wait_no_longer(self, job: TrainingJob, now: float) -> None:
        self._wind_down(job, "MaxWaitTimeExceeded", now)

    def _wind_down(self, job: TrainingJob, secondary: str, now: float) -> None:
        """Stop, and take the declared time for it."""
        job.cancel_tasks()
        job.cancel_limits()
        job.ends_as = secondary
        if job.ticket is not None:
            self._placement.withdraw(job.ticket, now)
        self._move(job, "Stopping", "Stopping", "Stopping the training job", now)
        job.step = self._agenda.at(now + job.times.stop_takes, lambda t: self._end(job, "Stopped", secondary, t))

    def _give_up(self, job: TrainingJob, plan_is_over: bool, now: float) -> None:
        """End a job that found no capacity."""
        open_question = "sagemaker.plan-ends-under-job" if plan_is_over else "sagemaker.pending-expired"
        waits = job.ticket is not None and job.ticket.patience is not None
        if waits and reading(self._context.faults, open_question) == "stopped":
            self._end(job, "Stopped", "Stopped", now)
            return
        self._end(job, "Failed", "Failed", now, no_capacity(self._context.faults, plan_is_over=plan_is_over))

    def _lose_instances(self, job: TrainingJob, lost: Holding, now: float) -> None:
        """Go back to waiting: the plan's segment ends, or spot instances are interrupted."""
        job.cancel_tasks()
        job.pause(now)
        job.holding = None
        if job.status == "Stopping":
            self._end(job, "Stopped", job.ends_as, now)
            return
        job.keep_checkpoint(now)
        if lost.entry.is_spot:
            self._move(job, "InProgress", "Interrupted", "The spot instances of the job were interrupted", now)
            self._bound_wait(job)  # uploading, it was bound by nothing
        lost.ticket.entries = (lost.entry,)
        self._placement.submit(lost.ticket, now)
        if job.holding is None and job.status == "InProgress" and not lost.entry.is_spot:
            self._move(job, "InProgress", "Pending", "Waiting for the next reserved capacity of the plan", now)

    def _phase(
        self, job: TrainingJob, secondary: str, seconds: float, then: Callable[[TrainingJob, float], None], now: float
    ) -> None:
        self._move(job, "InProgress", secondary, _MESSAGES[secondary], now)
        job.step = self._agenda.at(now + seconds, lambda t: then(job, t))

    def _end(self, job: TrainingJob, status: str, secondary: str, now: float, reason: str | None = None) -> None:
        job.cancel_tasks()
        job.cancel_limits()
        job.pause(now)
        job.failure_reason = reason
        if job.started is not None or status == "Failed":
            job.ended = now
        self._move(job, status, secondary, reason or f"The training job is {status}", now)
        holding, job.holding = job.holding, None
        if holding is not None:
            self._placement.release(holding, now)

    def _move(self, job: TrainingJob, status: str, secondary: str, message: str, now: float) -> None:
        job.move(status, secondary, message, now)
        if job.changed is not None:
            job.changed(job, now)
        faults = self._context.faults
        if secondary == "Pending" and reading(faults, "sagemaker.events-pending") == "unsent":
            return
        detail = job.event(
            self._tags.of(job.arn), with_selection=reading(faults, "sagemaker.events-selected") == "present"
        )
        self._context.emit("aws.sagemaker", "SageMaker Training Job State Change", detail, [job.arn])
