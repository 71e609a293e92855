"""A retried create task needs a new name once its job may exist."""

from constructs_lib.rules.asl import retriers, task_of
from constructs_lib.rules.authoring import App, Findings, Kind, Severity, Subject, error, rule, unverified
from constructs_lib.rules.workflows._common import changes_per_try

_AFTER_SYNC = ("States.TaskFailed", "States.Timeout", "States.HeartbeatTimeout", "States.ALL")
_AFTER_CALL = ("States.Timeout", "States.HeartbeatTimeout")


@rule(
    "GPU-WF01",
    title="a create task retried under the name of a job that exists",
    kinds=(Kind.STATE,),
    finds={
        Severity.ERROR: "a name that does not change per try, and a retry on States.Timeout or a capacity error, with "
        ".sync also on States.TaskFailed or States.ALL",
        Severity.UNVERIFIED: "the name holds State.EnteredTime: whether it changes over retries is not documented",
    },
    why="the first try has created the job, so every further try fails on its name and hides the first failure; "
    "retrying throttling, 5xx or a quota answer under the same name is right",
    fix="build the name with $$.State.RetryCount or States.UUID(), or let the launcher adopt the job",
    source="botocore: CreateTrainingJob (ResourceInUse); Step Functions guide, concepts-error-handling",
    suppresses=("GPU-WF06",),
)
def retry_same_name(subject: Subject, _app: App) -> Findings:
    """Look for retried errors that can follow the job's creation."""
    task = task_of(subject)
    if task is None or not task.creates_job:
        return
    follow = _AFTER_SYNC if task.integration.pattern == "sync" else _AFTER_CALL
    changes = changes_per_try(task)
    for i, name in retriers(subject.data):
        if changes or not (name in follow or "Capacity" in name):
            continue
        at = f"Retry[{i}].ErrorEquals"
        if changes is None:
            yield unverified(f"whether the job's name changes when {name} is retried is not known here", at)
        else:
            yield error(f"{name} is retried, and the job's name stays the same", at)
