"""A constant job name works once."""

from constructs_lib.rules.asl import task_of
from constructs_lib.rules.authoring import App, Findings, Kind, Severity, Subject, rule, unverified, warning
from constructs_lib.rules.values import show
from constructs_lib.rules.workflows._common import is_constant


@rule(
    "GPU-WF10",
    title="a constant job name in a machine",
    kinds=(Kind.STATE,),
    finds={Severity.WARNING: "a job name that is the same in every execution"},
    why="job names stay taken for good, so the second execution, or the second item of a Map, is refused",
    fix="build the name from the execution, such as States.Format('train-{}', States.UUID())",
    source="botocore: CreateTrainingJob (names are unique in an account and region)",
)
def constant_name(subject: Subject, _app: App) -> Findings:
    """Look whether an expression makes the name."""
    task = task_of(subject)
    if task is None or not task.creates_job:
        return
    constant = is_constant(task)
    if constant is None:
        yield unverified("the job's name is not known here", task.name_at)
    elif constant:
        yield warning(f"every execution names its job {show(task.name)}", task.name_at)
