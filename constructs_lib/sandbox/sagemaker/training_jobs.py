"""The API of training jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .instance_lists import check_volume_key, refusal
from .quotas import check_quotas
from .register import Register
from .subnets import Subnets
from .training_job import TrainingJob
from .training_life import TrainingLife, usage
from .training_request import read_demand

if TYPE_CHECKING:
    from collections.abc import Callable

    from constructs_lib.sandbox.context import Context

    from .capacity import Capacity
    from .placement import Placement
    from .tags import Tags
    from .training_job import Changed
    from .training_request import Demand

__all__ = ["TrainingJobs"]

Request = dict[str, Any]


class TrainingJobs:
    """The training jobs of the account; warm pools are not kept.

    Parameters
    ----------
    context
        Account, region, switches, events and clients.
    capacity
        Quotas, and how long jobs take.
    placement, tags
        Where instances come from, and where tags are kept.
    """

    def __init__(self, context: Context, capacity: Capacity, placement: Placement, tags: Tags) -> None:
        self._context, self._capacity, self._placement, self._tags = context, capacity, placement, tags
        self._agenda, self._plans = placement.agenda, placement.plans
        self._life = TrainingLife(context, placement, tags)
        self._subnets = Subnets(context, placement)
        self._jobs: Register[TrainingJob] = Register(
            context, "TrainingJob", "training", lambda _: refusal("Requested resource not found.")
        )

    def operations(self) -> dict[str, Callable[[Request], Request]]:
        """Return the API operations by name."""
        return {
            "CreateTrainingJob": self._create,
            "DescribeTrainingJob": self._describe,
            "ListTrainingJobs": self._list,
            "StopTrainingJob": self._stop,
        }

    def launch(
        self, request: Request, demand: Demand, zones: frozenset[str] | None, now: float, changed: Changed | None = None
    ) -> TrainingJob:
        """Begin a job whose request was checked; `changed` is told of each change of its status."""
        name = request["TrainingJobName"]
        job = TrainingJob(name, self._jobs.arn(name), request, demand, self._capacity.job_times(name), now, changed)
        self._jobs.add(job)
        self._tags.create(job.arn, request.get("Tags", ()))
        self._life.begin(job, zones, now)
        return job

    def end(self, job: TrainingJob, now: float) -> None:
        """Stop a job that is neither stopping nor over."""
        self._life.stop(job, now)

    def _create(self, request: Request) -> Request:
        name = request["TrainingJobName"]
        with self._agenda.moment() as now:
            demand = read_demand(request, self._plans, now)
            if demand.has_volume_key:
                check_volume_key(demand.entries, self._context.faults)
        zones = self._subnets.zones(request.get("VpcConfig", {}), demand.entries)
        with self._agenda.moment() as now:
            self._subnets.check(demand.entries, zones)
            self._jobs.check_name(name)
            check_quotas(self._capacity.quotas, demand.entries, usage(demand), self._placement.in_use)
            job = self.launch(request, demand, zones, now)
        return {"TrainingJobArn": job.arn}

    def _describe(self, request: Request) -> Request:
        with self._agenda.moment():
            return self._jobs.find(request).describe()

    def _stop(self, request: Request) -> Request:
        with self._agenda.moment() as now:
            job = self._jobs.to_stop(request)
            if job is not None:
                self.end(job, now)
        return {}

    def _list(self, request: Request) -> Request:
        plan = request.get("TrainingPlanArnEquals")

        def is_wanted(job: TrainingJob) -> bool:
            in_a_warm_pool = "WarmPoolStatusEquals" in request  # no job has one here
            return not in_a_warm_pool and (plan is None or plan in job.plans())

        with self._agenda.moment():
            return self._jobs.list(request, "TrainingJobSummaries", _summary, is_wanted)


def _summary(job: TrainingJob) -> Request:
    plans = sorted(job.plans())
    return {
        "TrainingJobName": job.name,
        "TrainingJobArn": job.arn,
        "CreationTime": job.created,
        "LastModifiedTime": job.modified,
        "TrainingJobStatus": job.status,
        "SecondaryStatus": job.secondary,
        "TrainingEndTime": job.ended,
        "TrainingPlanArn": plans[0] if plans else None,
    }
