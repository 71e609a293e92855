"""A reserved endpoint scales within its plan."""

from collections.abc import Mapping
from typing import Any

from constructs_lib.rules.authoring import (
    App,
    Findings,
    Kind,
    Severity,
    Subject,
    error,
    is_unresolved,
    rule,
    unverified,
)
from constructs_lib.rules.known_plans import plan_of
from constructs_lib.rules.values import items, mapping, number, show


@rule(
    "GPU-EP11",
    title="a reserved endpoint that scales beyond its plan",
    kinds=(Kind.RESERVED_ENDPOINT,),
    finds={Severity.ERROR: "a maximum above the plan's instances, bounds that contradict each other or the count"},
    why="the scale-out fails when the load is highest",
    fix="give a minimum from 1, the declared count between the bounds, and at most the plan's instances",
    source="SageMaker guide, training-plan-utilization-for-inference-endpoints; botocore: "
    "UpdateEndpointWeightsAndCapacities",
)
def scaling(subject: Subject, app: App) -> Findings:
    """Compare the bounds with the plan, with each other and with the count."""
    raw = subject.data.get("Scaling")
    if is_unresolved(raw):
        yield unverified("how the endpoint scales is not known here", "Scaling")
    elif raw is not None:
        bounds = mapping(raw)
        yield from _bounds(bounds)
        yield from _count(bounds, subject)
        yield from _plan(bounds, subject, app)


def _bounds(bounds: Mapping[str, Any]) -> Findings:
    least, most = number(bounds.get("MinCapacity")), number(bounds.get("MaxCapacity"))
    for name, value in (("MinCapacity", least), ("MaxCapacity", most)):
        given, at = bounds.get(name), f"Scaling.{name}"
        if is_unresolved(given):
            yield unverified(f"{name} is not known here", at)
        elif value is None or value < 1:
            yield error(f"{name} is {show(given)}; an endpoint on a plan has at least one instance", at)
    if least is not None and most is not None and least > most:
        yield error(f"MinCapacity is {least}, above MaxCapacity {most}", "Scaling.MinCapacity")


def _count(bounds: Mapping[str, Any], subject: Subject) -> Findings:
    config = mapping(subject.data.get("EndpointConfig"))
    for i, variant in enumerate(map(mapping, items(config.get("ProductionVariants")))):
        if variant.get("VariantName") == bounds.get("VariantName"):
            count = number(variant.get("InitialInstanceCount"))
            least, most = number(bounds.get("MinCapacity")), number(bounds.get("MaxCapacity"))
            if None not in (count, least, most) and least <= most and not least <= count <= most:  # type: ignore[operator]
                at = f"EndpointConfig.ProductionVariants[{i}].InitialInstanceCount"
                yield error(f"the count is {count}; scaling keeps it between {least} and {most}", at)


def _plan(bounds: Mapping[str, Any], subject: Subject, app: App) -> Findings:
    plan, most = plan_of(subject.data.get("TrainingPlanArn"), subject, app), number(bounds.get("MaxCapacity"))
    if plan.instance_count is None or most is None:
        yield unverified(
            f"whether {plan.label} has enough instances for the maximum is not known here", "Scaling.MaxCapacity"
        )
    elif most > plan.instance_count:
        yield error(f"the maximum is {most}, {plan.label} has {plan.instance_count}", "Scaling.MaxCapacity")
