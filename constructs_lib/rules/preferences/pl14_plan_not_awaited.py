"""A plan that has not started is skipped, not awaited."""

from constructs_lib.rules.authoring import App, Findings, Kind, Phase, Severity, Subject, rule, unverified, warning
from constructs_lib.rules.known_plans import plan_of
from constructs_lib.rules.preferences._common import UNDECIDED, plan_reference, resources_of


@rule(
    "GPU-PL14",
    title="on demand behind a plan that has not started",
    kinds=(Kind.TRAINING_JOB,),
    finds={
        Severity.WARNING: "a plan entry before an on-demand one, and the plan starts later than the submission",
        Severity.UNVERIFIED: "the same, and the plan's start or the time of submission is not known here",
    },
    why="SageMaker passes over a plan without capacity, so the job runs on demand and the plan stays unused",
    fix="to wait for the plan list plan entries only, or start the job when the plan is active",
    source="SageMaker guide, train-instance-preferences",
    phase=Phase.RUN,
)
def plan_not_awaited(subject: Subject, app: App) -> Findings:
    """Look for an on-demand entry behind each plan entry."""
    resources = resources_of(subject)[0]
    if not resources.planned:
        return
    references = [plan_reference(entry, resources, subject, app) for entry in resources.entries]
    for i, (entry, reference) in enumerate(zip(resources.entries, references, strict=True)):
        if reference is None or not any(later is None or later is UNDECIDED for later in references[i + 1 :]):
            continue
        plan = plan_of(None if reference is UNDECIDED else reference, subject, app)
        if plan.starts is None or app.now is None or reference is UNDECIDED:
            yield unverified(f"whether {plan.label} has started at submission is not known here", entry.at)
        elif plan.starts > app.now:
            yield warning(f"{plan.label} starts at {plan.starts.isoformat()} and is passed over until then", entry.at)
