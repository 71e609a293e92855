"""An endpoint runs on one plan, on the plan's type."""

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
from constructs_lib.rules.endpoints._common import variants_of
from constructs_lib.rules.known_plans import plan_of


@rule(
    "GPU-EP03",
    title="a variant of another type than its plan, or two plans in one endpoint",
    kinds=(Kind.ENDPOINT_CONFIG,),
    finds={Severity.ERROR: "InstanceType unlike the plan's known type; more than one plan in an endpoint"},
    why="the configuration is refused when it is created",
    fix="use the plan's type, and one plan for all variants of an endpoint",
    source="SageMaker guide, training-plan-utilization-for-inference-endpoints",
)
def plan_type(subject: Subject, app: App) -> Findings:
    """Compare each variant with its plan, and the plans with each other."""
    seen: list[object] = []
    for variant in variants_of(subject):
        reference, at = (
            variant.reserved.get("MlReservationArn"),
            f"{variant.at}.CapacityReservationConfig.MlReservationArn",
        )
        if variant.unknown:
            yield unverified("the plan is not known here", at)
        if reference is None:
            continue
        plan = plan_of(reference, subject, app)
        if seen and reference not in seen:
            unknown = is_unresolved(reference) or any(map(is_unresolved, seen))
            judge = unverified if unknown else error
            yield judge("the endpoint names more than one plan; one is allowed", at)
        seen.append(reference)
        for name in variant.types:
            if plan.instance_type is None or name is None:
                yield unverified(f"whether {plan.label} is for {name or 'the type'} is not known here", at)
            elif name != plan.instance_type:
                yield error(f"{plan.label} is for {plan.instance_type}, the variant asks for {name}", at)
