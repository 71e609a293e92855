"""A plan that is over, or not there yet, serves nobody."""

from constructs_lib.facts.capacity import plan_targets
from constructs_lib.rules.authoring import App, Findings, Phase, Severity, Subject, error, rule, unverified, warning
from constructs_lib.rules.known_plans import plan_of
from constructs_lib.rules.uses import CONSUMERS, Use, uses_of


@rule(
    "GPU-TP16",
    title="a plan that has ended, failed, or is not active yet",
    kinds=CONSUMERS,
    finds={
        Severity.ERROR: "status Expired or Failed; an endpoint on a plan that is not Active",
        Severity.WARNING: "an end before now",
    },
    why="the call is refused, or the work never starts; a plan's name stays behind in code after it ended",
    fix="name a plan that is running, extend it before it ends, or drop the reference",
    source="botocore: TrainingPlanStatus; SageMaker guide, training-plan-utilization-for-inference-endpoints",
    phase=Phase.RUN,
)
def plan_over(subject: Subject, app: App) -> Findings:
    """Look at the status, else at the clock."""
    for use in uses_of(subject):
        plan = plan_of(use.reference, subject, app)
        if plan.status in ("Expired", "Failed"):
            yield error(f"{plan.label} is {plan.status}", use.at)
        elif plan.ends and app.now and plan.ends <= app.now:
            yield warning(f"{plan.label} ended at {plan.ends.isoformat()}", use.at)
        elif plan.status and plan.status != "Active" and _needs_active(use):
            yield error(f"{plan.label} is {plan.status}, and an endpoint needs it Active", use.at)
        elif plan.status is None and not (plan.ends and app.now):
            yield unverified(f"whether {plan.label} is running is not known here", use.at)


def _needs_active(use: Use) -> bool:
    """Tell whether the use is refused on a plan that is not active yet; a reserved endpoint waits for it."""
    return plan_targets()[use.target].needs_active and not use.subject.about.get("Reconciled")
