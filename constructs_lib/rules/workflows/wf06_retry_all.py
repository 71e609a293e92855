"""A create task should not be retried on everything."""

from constructs_lib.rules.asl import retriers, task_of
from constructs_lib.rules.authoring import (
    App,
    Findings,
    Kind,
    Severity,
    Subject,
    is_unresolved,
    rule,
    unverified,
    warning,
)


@rule(
    "GPU-WF06",
    title="everything retried over a create task",
    kinds=(Kind.STATE,),
    finds={Severity.WARNING: "States.ALL in the Retry of a task that creates a job"},
    why="a wrong request, a missing permission and a failed training run are tried again like a throttled call, each "
    "at the price of a job",
    fix="retry throttling and 5xx by name, and catch the rest",
    source="Step Functions guide, concepts-error-handling",
)
def retry_all(subject: Subject, _app: App) -> Findings:
    """Look for the name in the retriers."""
    task = task_of(subject)
    if task is None or not task.creates_job:
        return
    if is_unresolved(subject.data.get("Retry")):
        yield unverified("which errors are retried is not known here", "Retry")
    for i, name in retriers(subject.data):
        if name == "States.ALL":
            yield warning("States.ALL is retried over a task that creates a job", f"Retry[{i}].ErrorEquals")
