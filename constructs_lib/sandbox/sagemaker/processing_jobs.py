"""The API of processing jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .instance_lists import check_volume_key, refusal
from .processing_job import ProcessingJob
from .processing_life import USAGE, ProcessingLife
from .processing_request import read_processing_demand
from .quotas import check_quotas
from .register import Register
from .subnets import Subnets

if TYPE_CHECKING:
    from collections.abc import Callable

    from constructs_lib.sandbox.context import Context

    from .capacity import Capacity
    from .placement import Placement
    from .tags import Tags

__all__ = ["ProcessingJobs"]

Request = dict[str, Any]


class ProcessingJobs:
    """The processing jobs of the account.

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
        self._agenda = placement.agenda
        self._life = ProcessingLife(context, placement, tags)
        self._subnets = Subnets(context, placement)
        self._jobs: Register[ProcessingJob] = Register(
            context,
            "ProcessingJob",
            "processing",
            lambda name: refusal(f"Could not find requested job with name: {name}"),
        )

    def operations(self) -> dict[str, Callable[[Request], Request]]:
        """Return the API operations by name."""
        return {
            "CreateProcessingJob": self._create,
            "DescribeProcessingJob": self._describe,
            "ListProcessingJobs": self._list,
            "StopProcessingJob": self._stop,
        }

    def _create(self, request: Request) -> Request:
        name, demand = request["ProcessingJobName"], read_processing_demand(request)
        if demand.has_volume_key:
            check_volume_key(demand.entries, self._context.faults)
        zones = self._subnets.zones(request.get("NetworkConfig", {}).get("VpcConfig", {}), demand.entries)
        with self._agenda.moment() as now:
            self._jobs.check_name(name)
            check_quotas(self._capacity.quotas, demand.entries, USAGE, self._placement.in_use)
            job = ProcessingJob(name, self._jobs.arn(name), request, demand, self._capacity.job_times(name), now, now)
            self._jobs.add(job)
            self._tags.create(job.arn, request.get("Tags", ()))
            self._life.begin(job, zones, now)
        return {"ProcessingJobArn": job.arn}

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
            return self._jobs.list(request, "ProcessingJobSummaries", _summary)


def _summary(job: ProcessingJob) -> Request:
    return {
        "ProcessingJobName": job.name,
        "ProcessingJobArn": job.arn,
        "CreationTime": job.created,
        "LastModifiedTime": job.modified,
        "ProcessingEndTime": job.ended,
        "ProcessingJobStatus": job.status,
        "FailureReason": job.failure_reason,
    }
