"""A launch in several steps: each a list of its own, tried when the one before found no capacity."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from constructs_lib.model.errors import InvalidInputError
from constructs_lib.model.fields import check_lists, deep_merge, whole_seconds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from constructs_lib.model.fields import Lasting
    from constructs_lib.model.jobs import TrainingJobSpec
    from constructs_lib.model.preferences import HasTrainingPlanArn, InstancePreference
    from constructs_lib.model.processing import ProcessingJobSpec

__all__ = ["LaunchStep", "processing_request", "training_request"]

_TRAINING_ONLY = ("hyperparameters", "spot", "max_wait", "training_plan")


@dataclass(frozen=True, slots=True)
class LaunchStep:
    """One step of a launch: a list of acceptable types, and what differs from the job when it runs on them.

    The next step follows when this one ends for want of capacity, and only then: after a wrong request, a missing
    permission or a container that fails, the launch ends. One job runs at a time; a step begins when the job of the
    step before has ended.

    Parameters
    ----------
    preferences : sequence of InstancePreference
        1 to 5 acceptable types, best first; exactly one with ``spot``.
    max_pending : Duration, timedelta or seconds, optional
        How long this step waits for capacity. By default the job's.
    instance_count : int, optional
        One count for every entry. By default the job's, unless entries have counts of their own.
    image : str, optional
        Another training image, such as one for Neuron devices.
    environment, hyperparameters : mapping of str to str, optional
        Merged over the job's.
    spot : bool
        True: managed spot training, on one type without a plan.
    max_wait : Duration, timedelta or seconds, optional
        With ``spot``, and needed there: the longest time from creation to end, waiting and running together.
    volume_size_gb : Size or int, optional
        By default the job's.
    training_plan : HasTrainingPlanArn or str, optional
        A plan for the whole step, applied to the entry whose type matches.
    request_overrides : mapping, optional
        Deep-merged into the step's request last, over the job's own.

    Raises
    ------
    InvalidInputError
        For a spot step with a list, a plan, ``max_pending`` or no ``max_wait``.

    Examples
    --------
    >>> from constructs_lib.model import InstancePreference
    >>> plan = "arn:aws:sagemaker:us-east-1:111122223333:training-plan/nightly"
    >>> steps = [
    ...     LaunchStep([InstancePreference("ml.p5.48xlarge", training_plan=plan)], max_pending=1800),
    ...     LaunchStep([InstancePreference("ml.p5.48xlarge")]),
    ... ]
    >>> [step.preferences[0].training_plan_arn is None for step in steps]
    [False, True]

    Notes
    -----
    Source: botocore shapes ``InstancePreference`` (a type once a list) and ``StoppingCondition.MaxWaitTimeInSeconds``.
    """

    preferences: Sequence[InstancePreference]
    _: KW_ONLY
    max_pending: Lasting | None = None
    instance_count: int | None = None
    image: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    hyperparameters: Mapping[str, str] = field(default_factory=dict)
    spot: bool = False
    max_wait: Lasting | None = None
    volume_size_gb: Any = None
    training_plan: HasTrainingPlanArn | str | None = None
    request_overrides: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_lists(preferences=self.preferences)
        if not self.spot:
            if self.max_wait is not None:
                raise InvalidInputError(
                    "max_wait: it is for a spot step; to bound the wait for capacity use max_pending"
                )
            return
        types = ", ".join(entry.instance_type for entry in self.preferences) or "none"
        if len(self.preferences) != 1:
            raise InvalidInputError(
                f"spot: managed spot training takes one type, and a list excludes it; {types} was given: "
                "write a step for each type"
            )
        if self.training_plan is not None or self.preferences[0].training_plan is not None:
            raise InvalidInputError(f"spot: a plan excludes managed spot training; {types} names one: drop either")
        if self.max_wait is None or self.max_pending is not None:
            raise InvalidInputError(
                "max_wait: a spot step needs it, and takes no max_pending: it spans waiting and running together"
            )

    @property
    def reasons(self) -> list[str | None]:
        """Why each entry stands where it does, in order."""
        return [entry.reason for entry in self.preferences]

    def count_beside(self, shared: int | None) -> int | None:
        """Return the count for every entry, given the job's."""
        if self.instance_count is not None:
            return self.instance_count
        return None if any(entry.instance_count is not None for entry in self.preferences) else shared

    def over(self, job: Any) -> dict[str, Any]:
        """Return the fields of a job spec that the step sets, as they stand in it."""
        fields = {
            "preferences": self.preferences,
            "instance_count": self.count_beside(job.instance_count),
            "environment": {**job.environment, **self.environment},
            "max_pending": self.max_pending if self.max_pending is not None else job.max_pending,
            "volume_size_gb": self.volume_size_gb if self.volume_size_gb is not None else job.volume_size_gb,
            "request_overrides": {},
        }
        return fields | ({"image": self.image} if self.image else {})


def training_request(job: TrainingJobSpec, step: LaunchStep) -> dict[str, Any]:
    """Return the CreateTrainingJob request of one step of a job, without the name.

    Raises
    ------
    InvalidInputError
        If the job names a plan for all its steps.
    """
    if job.training_plan is not None:
        raise InvalidInputError(
            f"{job.name}: training_plan is given beside steps; name the plan on the step or on the entry that uses it"
        )
    fields = step.over(job) | {
        "hyperparameters": {**job.hyperparameters, **step.hyperparameters},
        "training_plan": step.training_plan,
        "algorithm_name": None if step.image else job.algorithm_name,
    }
    if step.spot:
        fields["max_pending"] = None
    request = replace(job, **fields).to_request()
    for over in (_spot(request, step) if step.spot else {}, job.request_overrides, step.request_overrides):
        request = deep_merge(request, over)
    return request


def _spot(request: Mapping[str, Any], step: LaunchStep) -> dict[str, Any]:
    """Return what turns a list of one type into managed spot training on it."""
    (entry,) = step.preferences
    count = request["ResourceConfig"].get("InstanceCount", entry.instance_count)
    resources = {"InstancePreferences": None, "InstanceType": entry.instance_type, "InstanceCount": count}
    return {
        "ResourceConfig": resources,
        "EnableManagedSpotTraining": True,
        "StoppingCondition": {"MaxWaitTimeInSeconds": whole_seconds(step.max_wait)},
    }


def processing_request(job: ProcessingJobSpec, step: LaunchStep) -> dict[str, Any]:
    """Return the CreateProcessingJob request of one step of a job, without the name.

    Raises
    ------
    InvalidInputError
        If the step has what only training knows.
    """
    if wrong := [name for name in _TRAINING_ONLY if getattr(step, name)]:
        raise InvalidInputError(f"{job.name}: {', '.join(wrong)} of a step: only training jobs know that")
    request = replace(job, **step.over(job)).to_request()
    for over in (job.request_overrides, step.request_overrides):
        request = deep_merge(request, over)
    return request
