"""A time-out must leave the job its time."""

from datetime import timedelta

from constructs_lib.rules.asl import Task, task_of
from constructs_lib.rules.authoring import (
    App,
    Findings,
    Kind,
    Phase,
    Severity,
    Subject,
    error,
    is_unresolved,
    rule,
    unverified,
)
from constructs_lib.rules.known_plans import plan_of
from constructs_lib.rules.uses import uses_of
from constructs_lib.rules.values import mapping, number


@rule(
    "GPU-WF07",
    title="a time-out before the job on a plan can end",
    kinds=(Kind.STATE,),
    finds={
        Severity.ERROR: "a TimeoutSeconds of task or machine that ends before the plan's known start plus the runtime",
        Severity.UNVERIFIED: "the plan's start, the time-out or the time of the start is not known here",
    },
    why="a job on a scheduled plan waits for its start; the time-out ends the execution, and with .sync stops the job, "
    "while the plan's hours run",
    fix="raise TimeoutSeconds to the wait plus MaxRuntimeInSeconds, or start the machine when the plan is active",
    source="SageMaker guide, training-plan-utilization-for-training-jobs; Step Functions guide, state-task",
    phase=Phase.RUN,
)
def timeout_before_end(subject: Subject, app: App) -> Findings:
    """Compare each declared time-out with the plan's start and the runtime."""
    task = task_of(subject)
    if task is None or task.action != "createTrainingJob":
        return
    waits = task.integration.pattern in ("sync", "waitForTaskToken")
    machine = mapping(subject.about.get("Definition")).get("TimeoutSeconds")
    for given, at in ((subject.data.get("TimeoutSeconds"), "TimeoutSeconds"), (machine, "")):
        if given is not None and waits:
            yield from _judge(task, given, at, subject, app)


def _judge(task: Task, given: object, at: str, subject: Subject, app: App) -> Findings:
    request = mapping(task.request)
    job = Subject(Kind.TRAINING_JOB, request, file=subject.file, stack=subject.stack, declared=subject.declared)
    runtime = number(mapping(request.get("StoppingCondition")).get("MaxRuntimeInSeconds"))
    timeout, whose = number(given), "the task's" if at else "the machine's"
    for use in uses_of(job)[:1]:
        plan = plan_of(use.reference, job, app)
        if timeout is None or runtime is None or is_unresolved(given):
            yield unverified(f"whether {whose} time-out leaves the job its time is not known here", at)
        elif timeout < runtime:
            yield error(f"{whose} time-out is {timeout} seconds, the job may run {runtime}", at)
        elif plan.starts is None or app.now is None:
            yield unverified(f"whether {whose} time-out outlasts the wait for {plan.label} is not known here", at)
        elif app.now + timedelta(seconds=timeout) < plan.starts + timedelta(seconds=runtime):
            starts = plan.starts.isoformat()
            words = f"{whose} time-out is {timeout} seconds from now; {plan.label} starts at {starts}"
            yield error(f"{words} and the job may run {runtime}", at)
