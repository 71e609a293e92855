"""An execution's id is no job name."""

import re

from constructs_lib import facts
from constructs_lib.rules.asl import task_of
from constructs_lib.rules.authoring import App, Findings, Kind, Severity, Subject, error, rule, unverified, warning
from constructs_lib.rules.values import mapping
from constructs_lib.rules.workflows._common import expression

_CLEANED = re.compile(r"States\.(StringSplit|Hash)|\$(replace|split|substring\w*|hash)\(")


@rule(
    "GPU-WF03",
    title="an execution's id or raw name in a job name",
    kinds=(Kind.STATE,),
    finds={
        Severity.ERROR: "Execution.Id: an ARN with colons",
        Severity.WARNING: "Execution.Name as it is: up to 80 characters, with underscores and more",
        Severity.UNVERIFIED: "a name from the input",
    },
    why="a job name has at most 63 letters, digits and hyphens: the call is refused, for names that people choose too",
    fix="hash or split the id (States.Hash, States.StringSplit), or let the launcher name the job",
    source="botocore: TrainingJobName; Step Functions guide, API_StartExecution",
)
def execution_in_name(subject: Subject, _app: App) -> Findings:
    """Read the expression that makes the name."""
    task = task_of(subject)
    if task is None or not task.creates_job:
        return
    words, limit = expression(task.name), facts.limit("TrainingJobName").max
    if words is None:
        if not mapping(task.request):
            yield unverified("the job's name is not known here", task.name_at)
        return
    if _CLEANED.search(words):
        return
    if "Execution.Id" in words:
        yield error("Execution.Id is an ARN, and a job name holds no colon", task.name_at)
    elif "Execution.Name" in words:
        longest = facts.documented_limit("execution_name_characters")
        yield warning(
            f"Execution.Name has up to {longest} characters and underscores; a job name {limit}", task.name_at
        )
    elif "Context" not in words and "$$" not in words and "States." not in words:
        yield unverified(f"what {words} holds is not known here; a job name has up to {limit} characters", task.name_at)
