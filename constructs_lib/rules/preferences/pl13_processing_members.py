"""Processing knows neither plans nor a bound on the wait."""

from constructs_lib.rules.authoring import App, Findings, Kind, Severity, Subject, error, rule, unverified
from constructs_lib.rules.preferences._common import resources_of
from constructs_lib.rules.values import mapping


@rule(
    "GPU-PL13",
    title="a plan or a pending limit on a processing job",
    kinds=(Kind.PROCESSING_JOB,),
    finds={Severity.ERROR: "TrainingPlanArn, TrainingPlanArns or MaxPendingTimeInSeconds"},
    why="the processing API has no such member; how long an accelerated processing list waits is not documented",
    fix="drop the member; to bound the wait stop the job from outside, and for reserved capacity use a training job",
    source="botocore: ProcessingInstancePreference, ProcessingClusterConfig, ProcessingStoppingCondition",
    suppresses=("GPU-WF05",),
)
def processing_members(subject: Subject, _app: App) -> Findings:
    """Look for the members of training."""
    resources = resources_of(subject)[0]
    if resources.unknown:
        yield unverified("the instances are not known here; processing takes no plan", resources.at)
    for at, data in [(resources.at, resources.data)] + [(entry.at, entry.data) for entry in resources.entries]:
        for key in ("TrainingPlanArn", "TrainingPlanArns"):
            if data.get(key) is not None and (key == "TrainingPlanArns" or data is resources.data):
                yield error(f"{key} is given, and processing jobs cannot use a training plan", f"{at}.{key}")
    if mapping(subject.data.get("StoppingCondition")).get("MaxPendingTimeInSeconds") is not None:
        at = "StoppingCondition.MaxPendingTimeInSeconds"
        yield error("MaxPendingTimeInSeconds is given, and processing jobs have no such limit", at)
