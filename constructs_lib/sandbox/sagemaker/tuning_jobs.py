"""The API of hyperparameter tuning jobs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from constructs_lib.sandbox.errors import ServiceError

from .paging import page, sort_rows
from .quotas import check_quotas
from .register import Register
from .subnets import Subnets
from .training_life import usage
from .tuning_job import TuningJob
from .tuning_life import TuningLife
from .tuning_request import read_tuning_demand

if TYPE_CHECKING:
    from collections.abc import Callable

    from constructs_lib.sandbox.context import Context

    from .capacity import Capacity
    from .placement import Placement
    from .tags import Tags
    from .training_jobs import TrainingJobs

__all__ = ["TuningJobs"]

Request = dict[str, Any]
_VALUE = "-value"
_SORT_KEYS = {"CreationTime": "CreationTime", "Status": "TrainingJobStatus", "FinalObjectiveMetricValue": _VALUE}


class TuningJobs:
    """The tuning jobs of the account, which launch training jobs like anybody else's.

    The metric of a training job, and so the best one, follows from its name.

    Parameters
    ----------
    context
        Account, region, switches, events and clients.
    capacity
        Quotas.
    placement, tags
        Where instances come from, and where tags are kept.
    training
        Where the training jobs are launched.
    """

    def __init__(
        self, context: Context, capacity: Capacity, placement: Placement, tags: Tags, training: TrainingJobs
    ) -> None:
        self._context, self._capacity, self._placement, self._tags = context, capacity, placement, tags
        self._agenda = placement.agenda
        self._life = TuningLife(context, placement.agenda, training, tags)
        self._subnets = Subnets(context, placement)
        self._jobs: Register[TuningJob] = Register(
            context,
            "HyperParameterTuningJob",
            "tuning",
            lambda name: ServiceError("ResourceNotFound", f"There is no tuning job with name {name}."),
        )

    def operations(self) -> dict[str, Callable[[Request], Request]]:
        """Return the API operations by name."""
        return {
            "CreateHyperParameterTuningJob": self._create,
            "DescribeHyperParameterTuningJob": self._describe,
            "ListHyperParameterTuningJobs": self._list,
            "StopHyperParameterTuningJob": self._stop,
            "ListTrainingJobsForHyperParameterTuningJob": self._list_training,
        }

    def _create(self, request: Request) -> Request:
        name = request["HyperParameterTuningJobName"]
        with self._agenda.moment() as now:
            demand = read_tuning_demand(request, self._placement.plans, now, self._context.faults)
        zones = self._subnets.zones(demand.training.get("VpcConfig", {}), demand.demand.entries)
        with self._agenda.moment() as now:
            self._jobs.check_name(name)
            at_once = min(demand.parallel, demand.most)
            wanted = [replace(entry, count=entry.count * at_once) for entry in demand.demand.entries]
            check_quotas(self._capacity.quotas, wanted, usage(demand.demand), self._placement.in_use)
            job = TuningJob(name, self._jobs.arn(name), request, demand, zones, now, now)
            self._jobs.add(job)
            self._tags.create(job.arn, request.get("Tags", ()))
            self._life.begin(job, now)
        return {"HyperParameterTuningJobArn": job.arn}

    def _describe(self, request: Request) -> Request:
        with self._agenda.moment():
            return self._jobs.find(request).describe()

    def _stop(self, request: Request) -> Request:
        with self._agenda.moment() as now:
            job = self._jobs.to_stop(request)
            if job is not None:
                self._life.stop(job, now)
        return {}

    def _list(self, request: Request) -> Request:
        with self._agenda.moment():
            return self._jobs.list(request, "HyperParameterTuningJobSummaries", _summary)

    def _list_training(self, request: Request) -> Request:
        with self._agenda.moment():
            job = self._jobs.find(request)
            wanted = request.get("StatusEquals")
            rows = [job.child(child) for child in job.children if wanted in (None, child.status)]
        for row in rows:
            row[_VALUE] = row.get("FinalHyperParameterTuningJobObjectiveMetric", {}).get("Value", -1.0)
        keys = (_SORT_KEYS.get(request.get("SortBy", ""), "TrainingJobName"), "TrainingJobName")
        answer = page(sort_rows(rows, request, {}, *keys), request, "TrainingJobSummaries", keys)
        for row in answer["TrainingJobSummaries"]:
            del row[_VALUE]
        return answer


def _summary(job: TuningJob) -> Request:
    config = job.request["HyperParameterTuningJobConfig"]
    return job.summary() | {
        "Strategy": config["Strategy"],
        "ResourceLimits": config["ResourceLimits"],
        "HyperParameterTuningEndTime": job.ended,
    }
