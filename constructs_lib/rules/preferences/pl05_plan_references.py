"""A plan is named per entry or once for the job, and it must fit an entry."""

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
from constructs_lib.rules.known_plans import plan_of
from constructs_lib.rules.preferences._common import Entry, Resources, names, resources_of
from constructs_lib.rules.values import present


@rule(
    "GPU-PL05",
    title="a training plan named twice, or for no entry",
    kinds=(Kind.TRAINING_JOB,),
    finds={
        Severity.ERROR: "a plan per entry and one for the job; a job's plan that fits no entry; an entry with a number "
        "of plans other than one",
    },
    why="the API refuses the request; a plan that no entry uses is paid for and idle",
    fix="name the plan on the entry that has its type, or once as ResourceConfig.TrainingPlanArn",
    source="botocore: TrainingPlanArnList; SageMaker guide, train-instance-preferences",
)
def plan_references(subject: Subject, app: App) -> Findings:
    """Judge the job's plan and the entries' plans together."""
    resources = resources_of(subject)[0]
    given, at = present(resources.data, "TrainingPlanArn"), resources.path("TrainingPlanArn")
    planned = [entry for entry in resources.entries if entry.data.get("TrainingPlanArns") is not None]
    for entry in planned:
        yield from _one_plan(entry)
    if resources.unknown or (resources.listed and given is None):
        yield unverified("whether a plan is named for the job and on entries is not known here", at)
    elif resources.listed and given and planned:
        yield error(f"TrainingPlanArn is given beside TrainingPlanArns on {names(planned)}", at)
    elif resources.listed and given:
        yield from _fits(resources, at, subject, app)


def _one_plan(entry: Entry) -> Findings:
    plans, at = entry.data["TrainingPlanArns"], f"{entry.at}.TrainingPlanArns"
    if is_unresolved(plans):
        yield unverified("TrainingPlanArns is not known here; a list of one plan is allowed", at)
    elif not isinstance(plans, list | tuple) or len(plans) != 1:
        given = f"{len(plans)} plans" if isinstance(plans, list | tuple) else "no list"
        yield error(f"TrainingPlanArns on {entry.type} is {given}; a list of exactly one plan is allowed", at)


def _fits(resources: Resources, at: str, subject: Subject, app: App) -> Findings:
    plan = plan_of(resources.data["TrainingPlanArn"], subject, app)
    types = [entry.type for entry in resources.entries]
    if plan.instance_type in types:
        return
    if plan.instance_type is None or None in types:
        yield unverified(f"whether {plan.label} fits an entry is not known here", at)
    else:
        yield error(f"{plan.label} is for {plan.instance_type}; the list has {names(resources.entries)}", at)
