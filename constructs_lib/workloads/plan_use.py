"""A training plan as an endpoint sees it: its ARN, and what is known of it for the rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from constructs_lib.model import InvalidInputError, is_unresolved
from constructs_lib.model.values import literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constructs_lib.model import HasTrainingPlanArn

__all__ = ["PlanUse", "instance_type_of", "plan_use"]


@dataclass(frozen=True, slots=True)
class PlanUse:
    """A plan that something runs on.

    Parameters
    ----------
    arn : str
        Possibly a token.
    stand_in : str
        An ARN whose name is known, so that rules find the plan's description.
    described : Mapping
        What is known, as DescribeTrainingPlan would tell it of the plan with the stand-in's ARN.
    """

    arn: str
    stand_in: str
    described: Mapping[str, Any]

    @property
    def instance_type(self) -> str | None:
        """The plan's type, if it is known."""
        return self.described.get("InstanceType")

    @property
    def capacity(self) -> dict[str, Any]:
        """The reservation as a variant names it."""
        return {
            "CapacityReservationConfig": {
                "CapacityReservationPreference": "capacity-reservations-only",
                "MlReservationArn": self.arn,
            }
        }

    def judged(self, request: Any) -> Any:
        """Return a request that names the stand-in instead of the plan."""
        if isinstance(request, dict):
            return {key: self.judged(value) for key, value in request.items()}
        if isinstance(request, list):
            return [self.judged(value) for value in request]
        return self.stand_in if request == self.arn else request


def plan_use(prop: str, plan: HasTrainingPlanArn | str) -> PlanUse:
    """Return a plan as an endpoint sees it.

    Parameters
    ----------
    prop : str
        What was given, for words.
    plan : HasTrainingPlanArn or str

    Raises
    ------
    InvalidInputError
        For what is no plan; for several, too: an endpoint runs on one.
    """
    arn = plan if isinstance(plan, str) else getattr(plan, "training_plan_arn", None)
    if not isinstance(arn, str) or not arn:
        several = " (one: an endpoint runs on a single plan)" if isinstance(plan, list | tuple) else ""
        raise InvalidInputError(f"{prop}: a training plan or its ARN is needed{several}, {plan!r} was given")
    name = literal(getattr(plan, "plan_name", None)) or "of-" + prop.replace("_", "-")
    place = "arn:${AWS::Partition}:sagemaker:${AWS::Region}:${AWS::AccountId}:training-plan/"
    stand_in = place + name if is_unresolved(arn) else arn
    said = getattr(plan, "described", None) or {
        "InstanceType": getattr(plan, "instance_type", None),
        "TotalInstanceCount": getattr(plan, "instance_count", None),
        "DurationHours": getattr(plan, "duration_hours", None),
        "TargetResources": [str(plan.target)] if getattr(plan, "target", None) else None,  # type: ignore[union-attr]
    }
    known = {key: value for key, value in said.items() if value is not None}
    return PlanUse(arn, stand_in, {**known, "TrainingPlanArn": stand_in})


def instance_type_of(plan: PlanUse, given: str | None) -> str:
    """Return the type that was given, else the plan's.

    Raises
    ------
    InvalidInputError
        If neither is known.
    """
    found = given or plan.instance_type
    if found is None:
        raise InvalidInputError(
            "instance_type: the plan's type is not known here; give it, or say it to from_training_plan_arn"
        )
    return found
