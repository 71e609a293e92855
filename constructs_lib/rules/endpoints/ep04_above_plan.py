"""An endpoint cannot have more instances than its plan."""

from typing import Any

from constructs_lib.rules.authoring import App, Findings, Kind, Severity, Subject, error, rule, unverified, warning
from constructs_lib.rules.endpoints._common import Variant, variants_of
from constructs_lib.rules.known_plans import plan_of
from constructs_lib.rules.uses import configs_of, demands_of, endpoints_of, referred
from constructs_lib.rules.values import mapping, number, text


@rule(
    "GPU-EP04",
    title="more instances than the endpoint's plan has",
    kinds=(Kind.ENDPOINT_CONFIG, Kind.SCALABLE_TARGET),
    finds={
        Severity.ERROR: "initial counts above the plan's, summed over its endpoints",
        Severity.WARNING: "an autoscaling maximum above it: only the scale-out fails",
    },
    why="the configuration is refused, or the scale-out fails when the load is highest",
    fix="lower the counts to what the plan has over all its endpoints",
    source="SageMaker guide, training-plan-utilization-for-inference-endpoints",
)
def above_plan(subject: Subject, app: App) -> Findings:
    """Sum the variants on each plan; compare maxima one by one."""
    if subject.kind is Kind.SCALABLE_TARGET:
        yield from _target(subject, app)
        return
    for demand in demands_of(subject, app):
        uses = demand.of("endpoint")
        if len(uses) == len(demand.of("endpoint", "hyperpod-cluster")) and uses and uses[0].subject is subject:
            counts = [None if u.count is None else u.count * max(1, len(endpoints_of(u.subject, app))) for u in uses]
            yield from _sum(counts, demand.plan.instance_count, demand.plan.label, [u.place for u in uses], uses[0].at)
    for variant in variants_of(subject):
        scaling = mapping(variant.data.get("ManagedInstanceScaling"))
        yield from _maximum(variant, scaling, f"{variant.at}.ManagedInstanceScaling.MaxInstanceCount", subject, app)


def _sum(counts: list[Any], total: int | None, label: str, places: list[str], at: str) -> Findings:
    asked = sum(count for count in counts if count is not None)
    if total is not None and asked > total:
        users = ", ".join(f"{count} by {place}" for count, place in zip(counts, places, strict=True))
        yield error(f"{asked} instances are asked for, {label} has {total}: {users}", at)
    elif total is None or None in counts:
        yield unverified(f"whether {label} has enough instances is not known here", at)


def _maximum(variant: Variant, scaling: Any, at: str, config: Subject, app: App) -> Findings:
    given, reference = (
        scaling.get("MaxInstanceCount", scaling.get("MaxCapacity")),
        variant.reserved.get("MlReservationArn"),
    )
    if given is None or reference is None:
        return
    plan = plan_of(reference, config, app)
    highest = number(given)
    if plan.instance_count is None or highest is None:
        yield unverified(f"whether {plan.label} has enough instances for the maximum is not known here", at)
    elif highest > plan.instance_count:
        yield warning(f"the maximum is {highest}, {plan.label} has {plan.instance_count}", at)


def _target(target: Subject, app: App) -> Findings:
    """Follow a scalable target to its endpoint, its configuration and the variant of its name."""
    named = target.data.get("ResourceId")
    parts = (text(named) or "").split("/")
    for endpoint in app.of(Kind.ENDPOINT):
        by_name = len(parts) == 4 and endpoint.data.get("EndpointName") == parts[1]
        if not by_name and endpoint.resource not in referred(named):
            continue
        for config in configs_of(endpoint, app):
            for variant in variants_of(config):
                if variant.data.get("VariantName") in (parts[-1], None):
                    yield from _maximum(variant, target.data, "MaxCapacity", config, app)
