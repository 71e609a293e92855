"""Step Functions knows the fields of its last refresh only."""

from constructs_lib.facts.integrations import new_members, snapshot
from constructs_lib.rules.asl import task_of
from constructs_lib.rules.authoring import App, Findings, Kind, Severity, Subject, rule, unverified, warning
from constructs_lib.rules.values import mapping
from constructs_lib.rules.workflows._members import given_at, operation_of


@rule(
    "GPU-WF04",
    title="a field newer than Step Functions' last known refresh",
    kinds=(Kind.STATE,),
    finds={Severity.WARNING: "such a field in a task of the optimized or the SDK integration"},
    why="an unknown field fails at run time with States.Runtime, which can be neither caught nor retried, though the "
    "definition passed validation. Whether a later refresh took the field is not documented",
    fix="start the job from a function that carries its own service model: integration='launcher'",
    source="Step Functions guide, supported-services-awssdk and awssdk-release-history",
)
def newer_than_snapshot(subject: Subject, _app: App) -> Findings:
    """Look for each new member in the request."""
    task = task_of(subject)
    if task is None or task.launcher:
        return
    newer = [one for one in new_members(operation_of(task.action)) if one.since is None or one.since > snapshot()]
    if newer and not mapping(task.request):
        yield unverified("which fields the request has is not known here", task.at)
    for member in newer:
        for at in given_at(task.request, member.member):
            yield warning(f"{member.member} is newer than the refresh of {snapshot().isoformat()}", f"{task.at}.{at}")
