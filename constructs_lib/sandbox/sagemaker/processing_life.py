"""The life of processing jobs on the virtual clock: from waiting for capacity to the status they end in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from constructs_lib.sandbox.switches import reading

from .instance_lists import has_local_storage
from .placement import Ticket
from .waits import KEY_REFUSED, no_capacity, patience

if TYPE_CHECKING:
    from collections.abc import Set

    from constructs_lib.sandbox.context import Context

    from .placement import Holding, Placement
    from .processing_job import ProcessingJob
    from .tags import Tags

__all__ = ["USAGE", "ProcessingLife"]

# The words of the quota that a job's instances count against.
USAGE: Final = "processing job usage"


class ProcessingLife:
    """Moves processing jobs through their statuses and tells of each change.

    A job is InProgress while it waits, starts and runs; only ProcessingStartTime tells that it runs.

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

    def begin(self, job: ProcessingJob, zones: Set[str] | None, now: float) -> None:
        """Look for capacity for a new job."""
        self._tell(job)
        waits = job.demand.is_accelerated  # what is CPU only is evaluated once
        job.ticket = Ticket(
            owner=job.name,
            usage=USAGE,
            entries=job.demand.entries,
            zones=zones,
            patience=patience(self._context.faults, "sagemaker.processing-pending") if waits else None,
            placed=lambda holding, t: self._start(job, holding, t),
            gave_up=lambda _, t: self._end(job, "Failed", t, no_capacity(self._context.faults)),
            evicted=lambda _holding, _t: None,  # only a plan's segment evicts
        )
        self._placement.submit(job.ticket, now)

    def stop(self, job: ProcessingJob, now: float) -> None:
        """Stop a job that has not ended, and take the declared time for it."""
        job.cancel_tasks()
        if job.ticket is not None:
            self._placement.withdraw(job.ticket, now)
        job.status, job.modified = "Stopping", now
        self._tell(job)
        job.step = self._agenda.at(now + job.times.stop_takes, lambda t: self._end(job, "Stopped", t))

    def _start(self, job: ProcessingJob, holding: Holding, now: float) -> None:
        job.holding, job.selected, job.modified = holding, holding.entry, now
        refused = job.demand.has_volume_key and has_local_storage(holding.entry.instance_type)
        then = (lambda t: self._end(job, "Failed", t, KEY_REFUSED)) if refused else (lambda t: self._run(job, t))
        job.step = self._agenda.at(now + job.times.start, then)

    def _run(self, job: ProcessingJob, now: float) -> None:
        job.started = job.modified = now
        status, times = "Failed" if job.times.fail else "Completed", job.times
        seconds = times.download + times.runtime + (0 if times.fail else times.upload)
        job.step = self._agenda.at(now + seconds, lambda t: self._end(job, status, t, times.fail))
        job.limit = self._agenda.at(now + job.demand.max_runtime, lambda t: self.stop(job, t))

    def _end(self, job: ProcessingJob, status: str, now: float, reason: str | None = None) -> None:
        job.cancel_tasks()
        job.status, job.failure_reason, job.modified = status, reason, now
        if job.started is not None or status == "Failed":
            job.ended = now
        self._tell(job)
        holding, job.holding = job.holding, None
        if holding is not None:
            self._placement.release(holding, now)

    def _tell(self, job: ProcessingJob) -> None:
        shown = reading(self._context.faults, "sagemaker.events-selected") == "present"
        detail = job.event(self._tags.of(job.arn), with_selection=shown)
        self._context.emit("aws.sagemaker", "SageMaker Processing Job State Change", detail, [job.arn])
