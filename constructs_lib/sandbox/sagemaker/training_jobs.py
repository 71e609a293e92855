"""The API of training jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from constructs_lib.sandbox.errors import ServiceError
from constructs_lib.sandbox.switches import reading

from .paging import page, sort_rows
from .quotas import check_quotas
from .training_job import ENDED, TrainingJob
from .training_life import TrainingLife, usage
from .training_request import has_local_storage, read_demand

if TYPE_CHECKING:
    from collections.abc import Callable

    from constructs_lib.sandbox.context import Context

    from .capacity import Capacity
    from .evaluation import Entry
    from .placement import Placement
    from .tags import Tags
    from .training_request import Demand

__all__ = ["TrainingJobs"]

Request = dict[str, Any]
_SORT_KEYS = {"Name": "TrainingJobName", "CreationTime": "CreationTime", "Status": "TrainingJobStatus"}
_WINDOWS = {"CreationTime": "CreationTime", "LastModifiedTime": "LastModifiedTime"}


class TrainingJobs:
    """The training jobs of the account; spot jobs run like On-Demand ones, and warm pools are not kept.

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
        self._jobs: dict[str, TrainingJob] = {}

    def operations(self) -> dict[str, Callable[[Request], Request]]:
        """Return the API operations by name."""
        return {
            "CreateTrainingJob": self._create,
            "DescribeTrainingJob": self._describe,
            "ListTrainingJobs": self._list,
            "StopTrainingJob": self._stop,
        }

    def _create(self, request: Request) -> Request:
        name = request["TrainingJobName"]
        arn = f"arn:aws:sagemaker:{self._context.region}:{self._context.account}:training-job/{name}"
        with self._agenda.moment() as now:
            demand = read_demand(request, self._plans, now)
            self._check_volume_key(demand)
        zones = self._zones(request, demand)  # asks EC2, so it stays outside the moment
        with self._agenda.moment() as now:
            self._check_zones(demand, zones)
            if name in self._jobs:
                raise ServiceError(
                    "ResourceInUse",
                    "Job name must be unique within an AWS account and region, and a training job with this name"
                    f" already exists ({arn})",
                )
            job = TrainingJob(name, arn, request, demand, self._capacity.job_times(name), now)
            check_quotas(self._capacity.quotas, demand.entries, usage(job), self._placement.in_use)
            self._jobs[name] = job
            self._tags.create(arn, request.get("Tags", ()))
            self._life.begin(job, zones, now)
        return {"TrainingJobArn": arn}

    def _describe(self, request: Request) -> Request:
        with self._agenda.moment():
            return self._find(request).describe()

    def _stop(self, request: Request) -> Request:
        with self._agenda.moment() as now:
            job = self._find(request)
            stopping = job.status == "Stopping"
            if stopping and reading(self._context.faults, "sagemaker.stop-while-stopping") == "accepted":
                return {}
            if stopping or job.status in ENDED:
                raise ServiceError(
                    "ValidationException",
                    f"The request was rejected because the training job is in status {job.status}.",
                )
            self._life.stop(job, now)
        return {}

    def _list(self, request: Request) -> Request:
        with self._agenda.moment():
            rows = [_summary(job) for job in self._jobs.values() if _is_wanted(job, request)]
        keys = (_SORT_KEYS[request.get("SortBy", "CreationTime")], "TrainingJobName")
        return page(sort_rows(rows, request, _WINDOWS, *keys), request, "TrainingJobSummaries", keys)

    def _find(self, request: Request) -> TrainingJob:
        job = self._jobs.get(request["TrainingJobName"])
        if job is None:
            raise ServiceError("ValidationException", "Requested resource not found.")
        return job

    def _zones(self, request: Request, demand: Demand) -> frozenset[str] | None:
        """Return the zones of a job's subnets; None if it may run anywhere, or nothing depends on it."""
        subnets = request.get("VpcConfig", {}).get("Subnets")
        if not subnets or not any(self._has_zones(entry) for entry in demand.entries):
            return None
        try:
            answer = self._context.client("ec2").describe_subnets(SubnetIds=list(subnets))
        except ClientError as error:
            raise ServiceError("ValidationException", error.response["Error"]["Message"]) from None
        return frozenset(subnet["AvailabilityZone"] for subnet in answer["Subnets"])

    def _has_zones(self, entry: Entry) -> bool:
        plan = self._plans.get(entry.plan) if entry.plan else None
        if plan is None:
            return self._placement.supply.has_zones(entry.instance_type)
        return any(part.zone for part in plan.seed.segments)

    def _check_zones(self, demand: Demand, zones: frozenset[str] | None) -> None:
        if zones is None or reading(self._context.faults, "sagemaker.plan-outside-subnets") == "waits":
            return
        for entry in demand.entries:
            plan = self._plans.get(entry.plan) if entry.plan else None
            for segment in plan.segments if plan else ():
                if segment.zone not in zones:
                    raise ServiceError(
                        "ValidationException",
                        f"The subnets of VpcConfig lie in {', '.join(sorted(zones))}, but training plan {entry.plan}"
                        f" has reserved capacity in {segment.zone}.",
                    )

    def _check_volume_key(self, demand: Demand) -> None:
        local = [entry.instance_type for entry in demand.entries if has_local_storage(entry.instance_type)]
        if not demand.has_volume_key or not local:
            return
        if len(local) == len(demand.entries) or reading(self._context.faults, "sagemaker.kms-on-nvme") == "any":
            raise ServiceError(
                "ValidationException",
                f"VolumeKmsKeyId can't be specified with instance types that have local storage: {', '.join(local)}.",
            )


def _is_wanted(job: TrainingJob, request: Request) -> bool:
    plan = request.get("TrainingPlanArnEquals")
    return (
        request.get("NameContains", "") in job.name
        and request.get("StatusEquals", job.status) == job.status
        and (plan is None or plan in job.plans())
        and "WarmPoolStatusEquals" not in request  # no job has a warm pool here
    )


def _summary(job: TrainingJob) -> Request:
    row = {
        "TrainingJobName": job.name,
        "TrainingJobArn": job.arn,
        "CreationTime": job.created,
        "LastModifiedTime": job.modified,
        "TrainingJobStatus": job.status,
        "SecondaryStatus": job.secondary,
    }
    plans = sorted(job.plans())
    optional = {"TrainingEndTime": job.ended, "TrainingPlanArn": plans[0] if plans else None}
    return row | {name: value for name, value in optional.items() if value is not None}
