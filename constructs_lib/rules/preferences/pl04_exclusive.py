"""A preference list excludes the other ways to ask for instances."""

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
from constructs_lib.rules.preferences._common import JOBS, Resources, resources_of
from constructs_lib.rules.values import flag, mapping, number, present

_EXCLUDED = {
    "training": ("InstanceType", "InstanceGroups", "InstancePlacementConfig"),
    "processing": ("InstanceType",),
}


@rule(
    "GPU-PL04",
    title="members that exclude each other",
    kinds=JOBS,
    finds={
        Severity.ERROR: "a list with InstanceType, InstanceGroups, InstancePlacementConfig or managed spot; "
        "MaxWaitTimeInSeconds without spot or below MaxRuntimeInSeconds; spot with a plan",
    },
    why="the API refuses the request; CDK's SageMakerCreateTrainingJob adds ml.m4.xlarge beside a list by itself",
    fix="keep the list and drop the other member, or the other way round",
    source="botocore: ResourceConfig.InstancePreferences, StoppingCondition.MaxWaitTimeInSeconds",
)
def exclusive(subject: Subject, _app: App) -> Findings:
    """Look for each excluded pair."""
    for resources in resources_of(subject):
        if resources.unknown:
            yield unverified("the instances are not known here, nor is what they exclude", resources.at)
        elif resources.listed:
            yield from _beside_a_list(resources)
    if subject.kind is Kind.TRAINING_JOB:
        yield from _spot(subject, resources_of(subject)[0])


def _beside_a_list(resources: Resources) -> Findings:
    for key in _EXCLUDED[resources.api]:
        given = present(resources.data, key)
        if given is None:
            yield unverified(f"a condition decides whether {key} is given beside a list", resources.path(key))
        elif given:
            yield error(f"{resources.list_name} and {key} exclude each other", resources.path(key))


def _spot(subject: Subject, resources: Resources) -> Findings:
    spot, at = flag(subject.data.get("EnableManagedSpotTraining")), "EnableManagedSpotTraining"
    if spot is None:
        yield unverified("EnableManagedSpotTraining is not known here; a list and a plan exclude it", at)
        return
    if spot and resources.listed:
        yield error("InstancePreferences and managed spot training exclude each other", at)
    if spot and present(resources.data, "TrainingPlanArn"):
        yield error("TrainingPlanArn and managed spot training exclude each other", at)
    stopping = mapping(subject.data.get("StoppingCondition"))
    wait, runtime = stopping.get("MaxWaitTimeInSeconds"), stopping.get("MaxRuntimeInSeconds")
    at = "StoppingCondition.MaxWaitTimeInSeconds"
    if wait is not None and not spot:
        yield error("MaxWaitTimeInSeconds is given without managed spot training", at, fix=_FIX_WAIT)
    elif is_unresolved(wait) or (wait is not None and is_unresolved(runtime)):
        yield unverified("MaxWaitTimeInSeconds or MaxRuntimeInSeconds is not known here", at)
    elif (number(wait) or 0) < (number(runtime) or 0) and wait is not None:
        yield error(f"MaxWaitTimeInSeconds is {wait}, below MaxRuntimeInSeconds {runtime}", at, fix=_FIX_WAIT)


_FIX_WAIT = (
    "MaxWaitTimeInSeconds is for managed spot training and spans the runtime; to bound the wait for capacity "
    "use MaxPendingTimeInSeconds"
)
