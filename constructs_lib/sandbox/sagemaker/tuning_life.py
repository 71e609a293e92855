"""The life of tuning jobs: they launch training jobs, so many at a time, until they have had their number."""

from __future__ import annotations

import copy
import hashlib
import math
from typing import TYPE_CHECKING

from .training_job import ENDED

if TYPE_CHECKING:
    from constructs_lib.sandbox.context import Context

    from .agenda import Agenda
    from .tags import Tags
    from .training_job import TrainingJob
    from .training_jobs import TrainingJobs
    from .tuning_job import TuningJob

__all__ = ["TuningLife"]

_ALL_FAILED = "All training jobs failed. Please take a look at the training jobs failures to get more details."


class TuningLife:
    """Moves tuning jobs through their statuses and tells of each change.

    Parameters
    ----------
    context
        Where events go.
    agenda
        The order of time; every method is called within a moment of it.
    training
        Where training jobs are launched and stopped.
    tags
        What events show of a job's tags.
    """

    def __init__(self, context: Context, agenda: Agenda, training: TrainingJobs, tags: Tags) -> None:
        self._context, self._agenda, self._training, self._tags = context, agenda, training, tags

    def begin(self, job: TuningJob, now: float) -> None:
        """Launch a new job's first training jobs."""
        self._move(job, "InProgress", now)
        if job.demand.max_runtime != math.inf:
            job.limit = self._agenda.at(now + job.demand.max_runtime, lambda t: self.stop(job, t))
        self._go_on(job, now)

    def stop(self, job: TuningJob, now: float) -> None:
        """Stop a job and all its training jobs."""
        if job.status != "InProgress":
            return
        self._move(job, "Stopping", now)
        for child in job.running():
            if child.status != "Stopping":
                self._training.end(child, now)
        self._go_on(job, now)

    def _go_on(self, job: TuningJob, now: float) -> None:
        """Launch what may be launched, or end if nothing runs any more."""
        if job.status == "InProgress":
            while len(job.children) < job.demand.most and len(job.running()) < job.demand.parallel:
                self._launch(job, now)
        if job.running() or job.ended is not None:
            return
        if job.status == "Stopping":
            self._end(job, "Stopped", now)
        elif any(child.status == "Completed" for child in job.children):
            self._end(job, "Completed", now)
        else:
            job.failure_reason = _ALL_FAILED
            self._end(job, "Failed", now)

    def _launch(self, job: TuningJob, now: float) -> None:
        number = len(job.children)
        digest = hashlib.sha256(f"{job.arn} {number}".encode()).hexdigest()[:8]
        static = job.request["TrainingJobDefinition"].get("StaticHyperParameters", {})
        request = copy.deepcopy(job.demand.training) | {
            "TrainingJobName": f"{job.name}-{number + 1:03d}-{digest}",
            "HyperParameters": static | job.tuned(number),
            "ResourceConfig": dict(job.demand.configs[0]),
            "TuningJobArn": job.arn,
        }
        job.modified = now
        child = self._training.launch(
            request, job.demand.demand, job.zones, now, changed=lambda training, t: self._follow(job, training, t)
        )
        job.children.append(child)

    def _follow(self, job: TuningJob, child: TrainingJob, now: float) -> None:
        """Show what a training job got, and go on when it ended."""
        if child.selected is not None:
            rank = job.demand.demand.entries.index(child.selected)
            child.request["ResourceConfig"] = dict(job.demand.configs[rank])
        if child.status in ENDED:
            job.modified = now
            self._agenda.at(now, lambda t: self._go_on(job, t))

    def _end(self, job: TuningJob, status: str, now: float) -> None:
        if job.limit is not None:
            job.limit.cancel()
        job.ended = now
        self._move(job, status, now)

    def _move(self, job: TuningJob, status: str, now: float) -> None:
        job.status, job.modified = status, now
        detail = job.event(self._tags.of(job.arn))
        self._context.emit("aws.sagemaker", "SageMaker HyperParameter Tuning Job State Change", detail, [job.arn])
