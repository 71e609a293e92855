"""What moto's Application Auto Scaling knows of SageMaker's variants."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from moto.applicationautoscaling.models import applicationautoscaling_backends

from .sagemaker.endpoint_scaling import METRIC, ScalingPolicy, ScalingTarget

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .context import Context

__all__ = ["variant_targets"]

_DIMENSION = "sagemaker:variant:DesiredInstanceCount"
_RESOURCE = re.compile(r"endpoint/(?P<endpoint>[^/]+)/variant/(?P<variant>[^/]+)")


def variant_targets(context: Context) -> Iterator[ScalingTarget]:
    """Yield every registered variant with its target tracking policies.

    A policy on another metric than ``SageMakerVariantInvocationsPerInstance`` is kept and not played.
    """
    backend = applicationautoscaling_backends[context.account][context.region]
    for resource, target in list(backend.targets.get(_DIMENSION, {}).items()):
        if found := _RESOURCE.fullmatch(resource):
            suspended = target.suspended_state or {}
            bodies = [
                policy.target_tracking_scaling_policy_configuration or {}
                for policy in list(backend.policies.values())
                if (policy.resource_id, policy.scalable_dimension) == (resource, _DIMENSION)
            ]
            yield ScalingTarget(
                **found.groupdict(),
                least=target.min_capacity or 0,
                most=target.max_capacity or 0,
                policies=tuple(_policy(body) for body in bodies if _metric(body) == METRIC),
                may_grow=not suspended.get("DynamicScalingOutSuspended", False),
                may_shrink=not suspended.get("DynamicScalingInSuspended", False),
            )


def _metric(body: dict[str, Any]) -> str | None:
    metric: str | None = body.get("PredefinedMetricSpecification", {}).get("PredefinedMetricType")
    return metric


def _policy(body: dict[str, Any]) -> ScalingPolicy:
    return ScalingPolicy(
        float(body["TargetValue"]),
        float(body.get("ScaleOutCooldown", 300)),
        float(body.get("ScaleInCooldown", 300)),
        not body.get("DisableScaleIn", False),
    )
