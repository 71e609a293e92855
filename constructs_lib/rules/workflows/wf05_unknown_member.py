"""A task names what SageMaker and the integration have, in their spelling."""

from difflib import get_close_matches

from constructs_lib.facts.integrations import model_version, operations, optimized_actions
from constructs_lib.rules.asl import Task, integration, task_of
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
from constructs_lib.rules.workflows._members import operation_of, unknown_members


@rule(
    "GPU-WF05",
    title="an action or a member that does not exist",
    kinds=(Kind.STATE,),
    finds={
        Severity.ERROR: "an action, a pattern such as .sync, or a member that the model or the integration lacks, or "
        "another case"
    },
    why="Step Functions refuses the definition, or fails with States.Runtime when the state is reached",
    fix="write it as SageMaker's API does",
    source="botocore: every operation of sagemaker; Step Functions guide, connect-sagemaker",
)
def unknown_member(subject: Subject, _app: App) -> Findings:
    """Judge the action, then the members."""
    task = task_of(subject)
    if task is None:
        resource = subject.data.get("Resource")
        if subject.data.get("Type") == "Task" and is_unresolved(resource) and integration(resource) is None:
            yield unverified("what the task calls is not known here", "Resource")
        return
    operation = operation_of(task.action)
    if not task.launcher:
        yield from _action(task, operation)
    known = operations().get(operation)
    for place, request in task.requests:
        if known is not None and is_unresolved(request):
            yield unverified(f"the members of the {operation} request are not known here", place)
        for at, name, spelt in unknown_members(request, known, place):
            hint = f"it is spelt {spelt!r}" if spelt else f"known is the model of {model_version()}"
            yield error(f"{operation} has no member {name!r} there; {hint}", at)


def _action(task: Task, operation: str) -> Findings:
    called, actions = task.integration, optimized_actions()
    if called.sdk:
        if operation not in operations() or task.action[0].isupper():
            close = get_close_matches(operation, operations(), 1) or ["none that is alike"]
            yield error(f"the SDK integration has no action {task.action!r}; SageMaker has {close[0]}", "Resource")
        if called.pattern == "sync":
            yield error("the SDK integration has no .sync; use the optimized one, or wait for an event", "Resource")
    elif task.action not in actions:
        yield error(f"the optimized integration has no action {task.action!r}; it has {', '.join(actions)}", "Resource")
    elif called.pattern not in ("", "sync") or (called.pattern and not actions[task.action]):
        yield error(f"the optimized integration has no .{called.pattern} for {task.action}", "Resource")
