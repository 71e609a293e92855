"""A job on CPU types never waits for capacity."""

from constructs_lib.rules.authoring import App, Findings, Kind, Severity, Subject, rule, unverified, warning
from constructs_lib.rules.preferences._common import names, resources_of
from constructs_lib.rules.values import mapping


@rule(
    "GPU-PL08",
    title="a wait for capacity on CPU types",
    kinds=(Kind.TRAINING_JOB,),
    finds={Severity.WARNING: "MaxPendingTimeInSeconds where no type is accelerated"},
    why="it has no effect: a list of CPU types is evaluated once and fails at once when nothing is free",
    fix="leave MaxPendingTimeInSeconds out and launch again later, or add an accelerated type",
    source="botocore: StoppingCondition.MaxPendingTimeInSeconds; SageMaker guide, train-instance-preferences",
)
def pending_on_cpu(subject: Subject, _app: App) -> Findings:
    """Look for an accelerated entry."""
    at = "StoppingCondition.MaxPendingTimeInSeconds"
    if mapping(subject.data.get("StoppingCondition")).get("MaxPendingTimeInSeconds") is None:
        return
    resources = resources_of(subject)[0]
    accelerated = [entry.accelerated for entry in resources.entries]
    if True in accelerated or not (accelerated or resources.unknown):
        return
    if resources.unknown or None in accelerated:
        yield unverified("whether a type is accelerated is not known here; on CPU types the wait has no effect", at)
    else:
        yield warning(f"MaxPendingTimeInSeconds has no effect on CPU types ({names(resources.entries)})", at)
