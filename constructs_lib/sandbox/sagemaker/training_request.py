"""What a CreateTrainingJob request asks for, and everything SageMaker refuses beyond the form of its model.

Sources: botocore 1.44.8 (ResourceConfig, InstancePreference, StoppingCondition) and the SageMaker guide
(train-instance-preferences, reserve-capacity-with-training-plans). The rules are AWS's, the sentences are ours.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from constructs_lib.facts import instance_types
from constructs_lib.sandbox.errors import ServiceError

from .evaluation import Entry
from .instance_lists import check_selection, is_accelerated, list_entries, refusal
from .waits import DAY

if TYPE_CHECKING:
    from .plans import Plan, Plans

__all__ = ["Demand", "read_demand"]

_LONGEST_RUN = 28 * DAY
_NOT_BUILT = ("InstanceGroups", "InstancePlacementConfig")
_NOT_WITH_A_LIST = ("InstanceType", *_NOT_BUILT)


@dataclass(frozen=True)
class Demand:
    """What a training job needs.

    Parameters
    ----------
    entries
        The acceptable ways to run, in order.
    is_list
        Whether they came as InstancePreferences.
    max_runtime, max_pending, max_wait
        Limits in seconds; None if the request sets no limit. Only a spot job has a `max_wait`.
    has_volume_key
        Whether it asks for a key for its volumes.
    """

    entries: tuple[Entry, ...]
    is_list: bool
    max_runtime: float
    max_pending: float | None
    max_wait: float | None
    has_volume_key: bool

    @property
    def is_spot(self) -> bool:
        """Whether the job asks for managed spot training."""
        return self.max_wait is not None

    @property
    def is_accelerated(self) -> bool:
        """Whether any type has accelerators; only then does a job wait for On-Demand capacity."""
        return is_accelerated(self.entries)


def read_demand(request: dict[str, Any], plans: Plans, now: float) -> Demand:
    """Return what a request asks for.

    Raises
    ------
    ServiceError
        If SageMaker refuses the combination.
    """
    resources = request.get("ResourceConfig")
    if resources is None:
        raise refusal(
            "The sandbox has no serverless training jobs."
            if "ServerlessJobConfig" in request
            else "ResourceConfig must be specified."
        )
    check_selection(resources, "CreateTrainingJob", _NOT_WITH_A_LIST)
    for name in _NOT_BUILT:
        if name in resources:
            raise refusal(f"The sandbox does not place jobs with {name}.")
    is_list = "InstancePreferences" in resources
    entries = _list_entries(resources) if is_list else (_single_entry(resources),)
    for entry in entries:
        if entry.count < 1:
            raise refusal(f"InstanceCount for {entry.instance_type} must be at least 1.")
    if is_list and "TrainingPlanArn" in resources:
        entries = _with_job_plan(entries, _plan(resources["TrainingPlanArn"], plans, now))
    spot = bool(request.get("EnableManagedSpotTraining"))
    entries = tuple(replace(entry, is_spot=spot) for entry in entries)
    _check_spot(request, is_list, spot, has_plan=any(entry.plan for entry in entries))
    for entry in entries:
        if entry.plan:
            _check_type(entry, _plan(entry.plan, plans, now))
    _check_volume(resources, entries)
    limits = request.get("StoppingCondition", {})
    max_runtime = limits.get("MaxRuntimeInSeconds", DAY)
    if max_runtime > _LONGEST_RUN:
        raise refusal(f"MaxRuntimeInSeconds must not exceed {_LONGEST_RUN} seconds (28 days).")
    max_pending = limits.get("MaxPendingTimeInSeconds")
    max_wait = limits.get("MaxWaitTimeInSeconds")
    return Demand(entries, is_list, max_runtime, max_pending, max_wait, "VolumeKmsKeyId" in resources)


def _single_entry(resources: dict[str, Any]) -> Entry:
    for name in ("InstanceType", "InstanceCount"):
        if name not in resources:
            raise refusal(f"{name} must be specified, or InstancePreferences instead.")
    return Entry(resources["InstanceType"], resources["InstanceCount"], resources.get("TrainingPlanArn"))


def _list_entries(resources: dict[str, Any]) -> tuple[Entry, ...]:
    entries = tuple(list_entries(resources, "ResourceConfig"))
    if "TrainingPlanArn" in resources and any(entry.plan for entry in entries):
        raise refusal("TrainingPlanArn and the TrainingPlanArns of InstancePreferences are mutually exclusive.")
    return entries


def _check_spot(request: dict[str, Any], is_list: bool, spot: bool, *, has_plan: bool) -> None:
    limits = request.get("StoppingCondition", {})
    max_wait = limits.get("MaxWaitTimeInSeconds")
    if spot and is_list:
        raise refusal("InstancePreferences and EnableManagedSpotTraining are mutually exclusive.")
    if spot and has_plan:
        raise refusal("EnableManagedSpotTraining can't be used with a training plan.")
    if max_wait is not None and not spot:
        raise refusal("MaxWaitTimeInSeconds can be specified only with EnableManagedSpotTraining.")
    if spot and (max_wait is None or max_wait < limits.get("MaxRuntimeInSeconds", DAY)):
        raise refusal("MaxWaitTimeInSeconds must be specified and at least MaxRuntimeInSeconds for a spot job.")


def _plan(arn: str, plans: Plans, now: float) -> Plan:
    plan = plans.get(arn)
    if plan is None:
        raise ServiceError("ResourceNotFound", f"Training plan {arn} does not exist.")
    if plan.seed.target != "training-job":
        raise refusal(f"Training plan {arn} targets {plan.seed.target}, not training-job.")
    if plan.status(now) not in ("Scheduled", "Active"):
        raise refusal(f"Training plan {arn} is {plan.status(now)}; it must be Scheduled or Active.")
    return plan


def _check_type(entry: Entry, plan: Plan) -> None:
    if entry.instance_type != plan.seed.instance_type:
        raise refusal(
            f"Instance type {entry.instance_type} does not match {plan.seed.instance_type}, the type of training plan"
            f" {plan.arn}."
        )


def _with_job_plan(entries: tuple[Entry, ...], plan: Plan) -> tuple[Entry, ...]:
    """Give the job's plan to the entry of its type."""
    if all(entry.instance_type != plan.seed.instance_type for entry in entries):
        raise refusal(
            f"No entry of InstancePreferences has {plan.seed.instance_type}, the type of training plan {plan.arn}."
        )
    return tuple(
        replace(entry, plan=plan.arn) if entry.instance_type == plan.seed.instance_type else entry for entry in entries
    )


def _check_volume(resources: dict[str, Any], entries: tuple[Entry, ...]) -> None:
    """Refuse a type without local storage that gets no volume."""
    for entry in entries:
        if instance_types()[entry.instance_type].local_storage_gb == 0 and not resources.get("VolumeSizeInGB"):
            raise refusal(f"VolumeSizeInGB must be specified for {entry.instance_type}, which has no local storage.")
