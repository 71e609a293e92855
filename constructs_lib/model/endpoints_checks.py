"""Whether a plan can carry a configuration, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from constructs_lib.model.endpoints_strategy import counts_of
from constructs_lib.model.window import moment_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import timedelta

    from constructs_lib.model.endpoints_declaration import EndpointDeclaration
    from constructs_lib.model.endpoints_window import PlanSight

__all__ = ["misfit", "refusal"]


def misfit(plan: PlanSight, request: Mapping[str, Any]) -> str | None:
    """Return why a configuration can never run on a plan, as far as the plan is known; ``None`` if it can."""
    if not plan.fits_endpoints():
        return f"the plan is for {plan.target}: endpoints need a plan that was bought with target endpoint"
    variants = (*request.get("ProductionVariants", ()), *request.get("ShadowProductionVariants", ()))
    for variant in variants:
        given = variant.get("InstanceType", plan.instance_type)
        if plan.instance_type and given != plan.instance_type:
            return f"variant {variant['VariantName']!r} has type {given}, the plan has {plan.instance_type}"
    return None


def refusal(
    declared: EndpointDeclaration, plan: PlanSight, request: Mapping[str, Any], *, starting: bool
) -> str | None:
    """Return why an endpoint cannot be declared on a plan, in words; ``None`` if nothing is known against it.

    Parameters
    ----------
    declared : EndpointDeclaration
    plan : PlanSight
    request : Mapping
        The configuration on that plan.
    starting : bool
        Whether the endpoint is new: then a plan that is over is refused too.
    """
    if reason := misfit(plan, request):
        return reason
    count = sum(counts_of(request).values())
    if plan.total is not None and count > plan.total:
        return f"{count} instances are declared, and the plan has {plan.total}"
    if declared.scaling and plan.total is not None and declared.scaling.least > plan.total:
        return f"autoscaling starts at {declared.scaling.least} instances, and the plan has {plan.total}"
    if starting and plan.status in ("Expired", "Failed"):
        return f"the plan is {plan.status}: name one that is Active, or will be"
    return _too_short(plan, declared.margin)


def _too_short(plan: PlanSight, margin: timedelta) -> str | None:
    for segment in plan.segments:
        needed = plan.early + 2 * margin
        if segment.end - segment.start <= needed:
            return (
                f"the plan's segment from {moment_text(segment.start)} to {moment_text(segment.end)} is shorter than "
                f"its last {plan.early}, in which instances may be taken away, and twice the margin of {margin}: "
                "choose a shorter margin"
            )
    return None
