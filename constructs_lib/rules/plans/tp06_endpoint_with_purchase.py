"""An endpoint needs a plan that is already active."""

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
    warning,
)
from constructs_lib.rules.known_plans import plan_of
from constructs_lib.rules.uses import uses_of


@rule(
    "GPU-TP06",
    title="an endpoint on a plan that the same deployment buys",
    kinds=(Kind.ENDPOINT_CONFIG,),
    finds={
        Severity.ERROR: "the plan is bought in the same stack",
        Severity.WARNING: "the plan is bought in another stack of the app",
    },
    why="the endpoint configuration is refused until the plan is active, and the stack rolls back around a plan that "
    "cannot be given back; training jobs may wait on a scheduled plan, endpoints may not",
    fix="use ReservedEndpoint, which makes the endpoint when the plan is active, or deploy the endpoint after that",
    source="SageMaker guide, training-plan-utilization-for-inference-endpoints",
)
def endpoint_with_purchase(subject: Subject, app: App) -> Findings:
    """Look for the purchase behind each reservation; one that waits for its plan may stand beside the purchase."""
    if subject.about.get("Reconciled"):
        return
    for use in uses_of(subject):
        plan = plan_of(use.reference, subject, app)
        if plan.bought_by is not None and plan.bought_by.stack == subject.stack:
            yield error(f"{plan.label} is bought in this stack and is not active when the endpoint is made", use.at)
        elif plan.bought_by is not None:
            yield warning(f"{plan.label} is bought in another stack; the endpoint needs it active", use.at)
        elif is_unresolved(use.reference) and plan.name is None and app.of(Kind.TRAINING_PLAN):
            yield unverified("whether the plan is bought in this deployment is not known here", use.at)
