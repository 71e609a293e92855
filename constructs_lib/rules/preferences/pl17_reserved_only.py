"""Who asks for reserved capacity only must name a plan everywhere."""

from constructs_lib.rules.authoring import App, Findings, Severity, Subject, error, rule, unverified
from constructs_lib.rules.preferences._common import JOBS, UNDECIDED, plan_reference, resources_of


@rule(
    "GPU-PL17",
    title="on demand although reserved_only was declared",
    kinds=JOBS,
    finds={Severity.ERROR: "an entry, or a job, without a plan"},
    why="the job may run on demand and be billed, while the plan that was paid for stays unused",
    fix="name the plan on every entry, or drop reserved_only",
    source="botocore: InstancePreference.TrainingPlanArns, ResourceConfig.TrainingPlanArn",
)
def reserved_only(subject: Subject, app: App) -> Findings:
    """Look for entries on demand."""
    if app.declared(subject, "reserved_only") is not True:
        return
    for resources in resources_of(subject):
        if resources.unknown:
            yield unverified("whether every entry names a plan is not known here", resources.list_at)
        elif not resources.entries:
            yield error("reserved_only is declared, and no instance type names a plan", resources.at)
        for entry in resources.entries:
            reference = plan_reference(entry, resources, subject, app)
            if reference is UNDECIDED:
                yield unverified(f"whether the job's plan is for {entry.type} is not known here", entry.at)
            elif reference is None:
                yield error(f"reserved_only is declared, and {entry.type or 'an entry'} names no plan", entry.at)
