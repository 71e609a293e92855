"""One entry of an ordered list of acceptable instance types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from constructs_lib.model.errors import InvalidInputError

__all__ = ["HasTrainingPlanArn", "InstancePreference", "plan_arn_of"]


@runtime_checkable
class HasTrainingPlanArn(Protocol):
    """Whatever has the ARN of a training plan: a construct that buys one, an imported plan, or a plain object."""

    @property
    def training_plan_arn(self) -> str:
        """The plan's ARN, possibly a token."""
        ...


@dataclass(frozen=True, slots=True)
class InstancePreference:
    """One acceptable instance type; SageMaker takes the first entry of the list for which it has capacity.

    Parameters
    ----------
    instance_type : str
        A SageMaker type with its ``ml.`` prefix, such as ``ml.p5.48xlarge``. A type may stand in a list once.
    instance_count : int, optional
        Instances of this type. Set it on every entry, or on none and give the job one shared count.
    training_plan : HasTrainingPlanArn or str, optional
        The training plan whose reserved capacity this entry uses. Without it the entry is on demand.
        A plan that has nothing free when the list is evaluated is skipped, not waited for.
    reason : str, optional
        Why this entry stands here; kept in the run's record, never sent to AWS.

    Examples
    --------
    >>> InstancePreference("ml.p4d.24xlarge", instance_count=8).to_request()
    {'InstanceType': 'ml.p4d.24xlarge', 'InstanceCount': 8}

    Notes
    -----
    Source: API_InstancePreference, botocore shape ``InstancePreference``.
    """

    instance_type: str
    instance_count: int | None = None
    training_plan: HasTrainingPlanArn | str | None = None
    reason: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.instance_type, str) or not self.instance_type:
            raise InvalidInputError(
                f"instance_type: a SageMaker type such as 'ml.g5.xlarge' is needed, {self.instance_type!r} was given"
            )

    @property
    def training_plan_arn(self) -> str | None:
        """The ARN of the entry's plan, or ``None`` for on demand."""
        return plan_arn_of(self.training_plan)

    def to_request(self) -> dict[str, Any]:
        """Return the entry as ``ResourceConfig.InstancePreferences`` takes it."""
        entry: dict[str, Any] = {"InstanceType": self.instance_type}
        if self.instance_count is not None:
            entry["InstanceCount"] = self.instance_count
        if (arn := self.training_plan_arn) is not None:
            entry["TrainingPlanArns"] = [arn]
        return entry


def plan_arn_of(plan: HasTrainingPlanArn | str | None) -> str | None:
    """Return the ARN of a plan given as text or as what has one."""
    return plan if isinstance(plan, str) or plan is None else plan.training_plan_arn
