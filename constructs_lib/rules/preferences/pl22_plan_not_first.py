"""What is paid for goes first."""

from constructs_lib.rules.authoring import App, Findings, Kind, Severity, Subject, rule, unverified, warning
from constructs_lib.rules.preferences._common import UNDECIDED, plan_reference, resources_of


@rule(
    "GPU-PL22",
    title="a plan behind on-demand capacity",
    kinds=(Kind.TRAINING_JOB,),
    finds={Severity.WARNING: "an on-demand entry before an entry on a plan"},
    why="the first type with capacity wins, so on-demand hours are bought while the paid plan idles",
    fix="put the entries on plans first",
    source="botocore: ResourceConfig.InstancePreferences",
)
def plan_not_first(subject: Subject, app: App) -> Findings:
    """Look for an on-demand entry before each plan entry."""
    resources = resources_of(subject)[0]
    if not resources.planned:
        return
    references = [plan_reference(entry, resources, subject, app) for entry in resources.entries]
    if UNDECIDED in references:
        yield unverified("which entry the job's plan is for is not known here", resources.list_at)
        return
    for i, (entry, reference) in enumerate(zip(resources.entries, references, strict=True)):
        if reference is not None and None in references[:i]:
            first = resources.entries[references.index(None)].type
            yield warning(f"{entry.type} is on a plan and stands behind {first} on demand", entry.at)
