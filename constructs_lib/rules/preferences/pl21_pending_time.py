"""Say how long a job may wait."""

from constructs_lib import facts
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
from constructs_lib.rules.preferences._common import UNDECIDED, plan_reference, resources_of
from constructs_lib.rules.values import mapping, number, present

_AT = "StoppingCondition.MaxPendingTimeInSeconds"


@rule(
    "GPU-PL21",
    title="an accelerated list whose wait is left to chance",
    kinds=(Kind.TRAINING_JOB,),
    finds={
        Severity.WARNING: "an accelerated list with an on-demand entry and no MaxPendingTimeInSeconds; more than 48 "
        "hours where every entry is on a plan",
    },
    why="the default wait of on-demand lists is not documented; jobs on a plan fail after two days",
    fix="set MaxPendingTimeInSeconds to what the job can wait, 30 minutes to 28 days",
    source="SageMaker guide, training-plan-utilization-for-training-jobs; botocore: MaxPendingTimeInSeconds",
)
def pending_time(subject: Subject, app: App) -> Findings:
    """Judge the limit by how the entries get their capacity."""
    resources = resources_of(subject)[0]
    if not resources.listed or not (resources.entries or resources.unknown):
        return
    stopping = subject.data.get("StoppingCondition")
    given = None if is_unresolved(stopping) else present(mapping(stopping), "MaxPendingTimeInSeconds")
    references = [plan_reference(entry, resources, subject, app) for entry in resources.entries]
    accelerated = [entry.accelerated for entry in resources.entries]
    if given and not resources.unknown:
        yield from _long(mapping(stopping)["MaxPendingTimeInSeconds"], references)
    elif given is None or resources.unknown:
        yield unverified("whether the list waits, and how long, is not known here", _AT)
    elif None in references and True in accelerated:
        yield warning("MaxPendingTimeInSeconds is missing; the default wait of an on-demand list is unknown", _AT)
    elif UNDECIDED in references or None in accelerated:
        yield unverified("whether the list waits for on-demand capacity is not known here", _AT)


def _long(given: object, references: list[object]) -> Findings:
    longest = facts.documented_limit("plan_job_pending_seconds")
    if None in references:
        return
    if is_unresolved(given) or UNDECIDED in references:
        yield unverified(f"whether a job on a plan waits longer than {longest} seconds is not known here", _AT)
    elif (number(given) or 0) > longest:
        yield warning(f"MaxPendingTimeInSeconds is {given}; jobs on a plan fail after {longest} seconds pending", _AT)
