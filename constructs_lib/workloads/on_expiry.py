"""What becomes of a reserved endpoint before its plan's capacity is taken away."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from constructs_lib.model import InvalidInputError
from constructs_lib.workloads.endpoint_settings import instance_pools, whole_seconds
from constructs_lib.workloads.plan_use import plan_use

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constructs_lib.model import HasTrainingPlanArn
    from constructs_lib.shared.cdk_values import Time
    from constructs_lib.workloads.plan_use import PlanUse

__all__ = ["OnExpiry"]


@dataclass(frozen=True, slots=True)
class OnExpiry:
    """How an endpoint leaves its plan, by the cut: the usable end of each segment of the plan, less the margin.

    Made by `delete`, `to_on_demand`, `to_plan` or `keep`.

    Examples
    --------
    >>> OnExpiry.to_on_demand("ml.g6e.48xlarge", "ml.g5.48xlarge", last_resort=OnExpiry.delete()).action
    'to_on_demand'
    """

    action: str
    capacity: Mapping[str, Any] = field(default_factory=dict)
    instance_count: int | None = None
    next_plan: PlanUse | None = None
    last_resort: OnExpiry | None = None
    acknowledged: str = ""
    request_overrides: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def delete(cls) -> OnExpiry:
        """Delete the endpoint; it comes back when the plan has a further segment."""
        return cls("delete")

    @classmethod
    def keep(cls, *, acknowledge: str = "") -> OnExpiry:
        """Leave the endpoint where it is: it stops to serve when the capacity goes.

        Parameters
        ----------
        acknowledge : str
            Why that is meant. It has to be given.

        Raises
        ------
        InvalidInputError
            If no reason is given.
        """
        if not isinstance(acknowledge, str) or not acknowledge.strip():
            raise InvalidInputError("OnExpiry.keep: acknowledge: say why an endpoint that stops to serve is meant")
        return cls("keep", acknowledged=acknowledge)

    @classmethod
    def to_on_demand(
        cls,
        *types: str,
        last_resort: OnExpiry | None = None,
        instance_count: int | None = None,
        provision_timeout: Time | None = None,
        models: Mapping[str, str] | None = None,
        request_overrides: Mapping[str, Any] | None = None,
    ) -> OnExpiry:
        """Move to on-demand capacity without a break, if there is some.

        Parameters
        ----------
        *types : str
            Acceptable types, best first, one to five.
        last_resort : OnExpiry
            What to do when none of them has capacity in time: `delete` or `keep`. It has to be given.
        instance_count : int, optional
            The endpoint's own when left out.
        provision_timeout : Duration, timedelta or seconds, optional
            How long to look for capacity, over all types together, 5 min to 1 h. The margin must be longer.
        models : Mapping, optional
            The model for a type, where it is another than the endpoint's.
        request_overrides : Mapping, optional
            Deep-merged into this CreateEndpointConfig request last.

        Raises
        ------
        InvalidInputError
            For no types, or a last resort that is none.
        """
        pools = instance_pools("OnExpiry.to_on_demand", types, models)
        alone = len(pools) == 1 and "ModelNameOverride" not in pools[0]
        capacity: dict[str, Any] = {"InstanceType": types[0]} if alone else {"InstancePools": pools}
        if provision_timeout is not None:
            timeout = whole_seconds("provision_timeout", provision_timeout)
            capacity["VariantInstanceProvisionTimeoutInSeconds"] = timeout
        return cls(
            "to_on_demand",
            capacity=capacity,
            instance_count=instance_count,
            last_resort=_final("OnExpiry.to_on_demand", last_resort),
            request_overrides=request_overrides or {},
        )

    @classmethod
    def to_plan(
        cls,
        next_plan: HasTrainingPlanArn | str,
        *,
        last_resort: OnExpiry | None = None,
        instance_count: int | None = None,
    ) -> OnExpiry:
        """Move to another plan of the same type, as soon as it is active.

        Parameters
        ----------
        next_plan : HasTrainingPlanArn or str
        last_resort : OnExpiry, optional
            What to do when it is not active in time: `delete` (the default) or `keep`.
        instance_count : int, optional
            The endpoint's own when left out.

        Raises
        ------
        InvalidInputError
            For what is no plan, or a last resort that is none.
        """
        return cls(
            "to_plan",
            next_plan=plan_use("next_plan", next_plan),
            instance_count=instance_count,
            last_resort=_final("OnExpiry.to_plan", cls.delete() if last_resort is None else last_resort),
        )

    def properties(self) -> dict[str, Any]:
        """Return the declaration's property ``OnExpiry``, without a configuration."""
        said: dict[str, Any] = {"Action": self.action}
        if self.next_plan is not None:
            said["TrainingPlanArn"] = self.next_plan.arn
        if self.last_resort is not None:
            said["LastResort"] = self.last_resort.action
        why = self.acknowledged or (self.last_resort.acknowledged if self.last_resort else "")
        return said | ({"Acknowledge": why} if why else {})


def _final(prop: str, given: Any) -> OnExpiry:
    if not isinstance(given, OnExpiry) or given.action not in ("delete", "keep"):
        raise InvalidInputError(
            f"{prop}: last_resort is OnExpiry.delete() or OnExpiry.keep(acknowledge=...); {given!r} was given"
        )
    return given
