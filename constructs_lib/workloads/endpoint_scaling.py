"""Target tracking of an endpoint's variant, within its plan."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from constructs_lib.model import InvalidInputError
from constructs_lib.model.fields import deep_merge
from constructs_lib.workloads.endpoint_settings import whole_seconds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constructs_lib.shared.cdk_values import Time

__all__ = ["EndpointScaling"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointScaling:
    """How many instances serve, by the requests that each gets; never more than the plan has.

    Parameters
    ----------
    min_capacity, max_capacity : int
        Instances of the production variant.
    invocations_per_instance : float
        Requests a minute that each instance should get.
    scale_out_cooldown, scale_in_cooldown : Duration, timedelta or seconds, optional
        Application Auto Scaling's own, 5 min, when left out.
    policy_overrides : mapping, optional
        Deep-merged into TargetTrackingScalingPolicyConfiguration last, such as another metric.

    Examples
    --------
    >>> scaling = EndpointScaling(min_capacity=1, max_capacity=4, invocations_per_instance=120)
    >>> scaling.property("AllTraffic")["PolicyConfig"]["TargetValue"]
    120
    """

    min_capacity: int
    max_capacity: int
    invocations_per_instance: float
    scale_out_cooldown: Time | None = None
    scale_in_cooldown: Time | None = None
    policy_overrides: Mapping[str, Any] = field(default_factory=dict)

    def property(self, variant_name: str) -> dict[str, Any]:
        """Return the declaration's property ``Scaling``."""
        waits = {"ScaleOutCooldown": self.scale_out_cooldown, "ScaleInCooldown": self.scale_in_cooldown}
        policy = {
            "TargetValue": self.invocations_per_instance,
            "PredefinedMetricSpecification": {"PredefinedMetricType": "SageMakerVariantInvocationsPerInstance"},
            **{name: whole_seconds(name, wait) for name, wait in waits.items() if wait is not None},
        }
        return {
            "VariantName": variant_name,
            "MinCapacity": self.min_capacity,
            "MaxCapacity": self.max_capacity,
            "PolicyName": "InvocationsPerInstance",
            "PolicyConfig": deep_merge(policy, self.policy_overrides),
        }

    @staticmethod
    def check(given: object) -> None:
        """Refuse what is no scaling.

        Raises
        ------
        InvalidInputError
            Naming it.
        """
        if not isinstance(given, EndpointScaling):
            raise InvalidInputError(f"scaling: EndpointScaling(min_capacity=...) is needed, {given!r} was given")
