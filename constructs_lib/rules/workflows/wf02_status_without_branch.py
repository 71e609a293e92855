"""Every end of a job needs a branch."""

from collections.abc import Callable
from typing import Any

from constructs_lib import facts
from constructs_lib.rules.asl import integration, states
from constructs_lib.rules.authoring import (
    App,
    Findings,
    Found,
    Kind,
    Severity,
    Subject,
    error,
    rule,
    unverified,
    warning,
)
from constructs_lib.rules.values import items
from constructs_lib.rules.workflows._choices import compared, covers, looks_like, status_job

# A job can be stopped or deleted while a machine looks at it, but a deletion is not an end of the job.
_PASSING = ("Deleting",)


@rule(
    "GPU-WF02",
    title="a job status without a branch",
    kinds=(Kind.STATE,),
    finds={
        Severity.ERROR: "a Choice on the status of a SageMaker Describe that leaves a terminal status without a branch "
        "and has no Default",
        Severity.WARNING: "the same, recognised by the values only; a passing status without a branch",
        Severity.UNVERIFIED: "a branch whose condition is more than a comparison of the status",
    },
    why="the execution fails with States.NoChoiceMatched, typically when somebody stops the job",
    fix="add a Default, or a branch for each status",
    source="botocore: TrainingJobStatus, ProcessingJobStatus, EndpointStatus; Step Functions guide, state-choice",
)
def status_without_branch(subject: Subject, _app: App) -> Findings:
    """Find the variable that holds a status, then the statuses that no branch takes."""
    if subject.data.get("Type") != "Choice" or subject.data.get("Default") is not None:
        return
    choices = items(subject.data.get("Choices"))
    values: dict[str, set[str]] = {}
    for choice in choices:
        for variable, found in compared(choice).items():
            values.setdefault(variable, set()).update(found)
    for job, reads, judge in _readings(values, subject.about.get("Definition")):
        yield from _uncovered(choices, job, reads, judge)
        return


def _readings(
    values: dict[str, set[str]], definition: Any
) -> list[tuple[str, Callable[[str], bool], Callable[[str, str], Found]]]:
    """Return what the Choice seems to read: by the API's member name first, else by the values."""
    for variable in values:
        if job := status_job(variable):
            judge = error if _describes(definition) else warning
            return [(job, lambda read: status_job(read) is not None, judge)]
    for variable, found in values.items():
        if job := looks_like(found):
            return [(job, variable.__eq__, warning)]
    if job := looks_like(set().union(*values.values())):
        return [(job, lambda read: bool(values.get(read)), warning)]
    return []


def _describes(definition: Any) -> bool:
    """Tell whether a state of the machine asks SageMaker itself."""
    called = (integration(state.get("Resource")) for _, state in states(definition))
    return any(one and one.service == "sagemaker" and one.action.startswith("describe") for one in called)


def _uncovered(choices: Any, job: str, reads: Callable[[str], bool], judge: Callable[[str, str], Found]) -> Findings:
    open_ends: list[str] = []
    passing: list[str] = []
    unsure: list[str] = []
    for status, terminal in facts.job_states(job).items():
        truths = [covers(choice, status, reads) for choice in choices]
        if True in truths or status in _PASSING:
            continue
        (unsure if None in truths else open_ends if terminal else passing).append(status)
    if open_ends:
        yield judge(f"no branch takes {', '.join(open_ends)}, and there is no Default", "Choices")
    if passing:
        yield warning(f"no branch takes {', '.join(passing)}, and there is no Default", "Choices")
    if unsure and not open_ends:
        yield unverified(f"whether {', '.join(unsure)} has a branch is not known here; there is no Default", "Choices")
