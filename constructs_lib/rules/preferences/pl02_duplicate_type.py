"""A type stands in a preference list once."""

from constructs_lib.rules.authoring import App, Findings, Severity, Subject, error, is_unresolved, rule, unverified
from constructs_lib.rules.preferences._common import JOBS, resources_of
from constructs_lib.rules.values import show


@rule(
    "GPU-PL02",
    title="the same instance type twice in one list",
    kinds=JOBS,
    finds={Severity.ERROR: "a type that an earlier entry has"},
    why='the API takes each type once, so "the plan\'s ml.p5.48xlarge first, then ml.p5.48xlarge on demand" is refused',
    fix="name each type once; for reserved first and then on demand on the same type use a launch of two steps: "
    "step 1 with the plan only, step 2 without it",
    source="botocore: InstancePreference.InstanceType; API_InstancePreference",
)
def duplicate_type(subject: Subject, _app: App) -> Findings:
    """Compare each entry with those before it; two equal references are one type, whatever it is."""
    for resources in resources_of(subject):
        seen: list[object] = []
        for entry in resources.entries if resources.listed else ():
            given, at = entry.data.get("InstanceType"), f"{entry.at}.InstanceType"
            if given is not None and given in seen:
                yield error(f"{show(given)} stands in {resources.list_name} twice; each type may stand in it once", at)
            elif is_unresolved(given) and len(resources.entries) > 1:
                yield unverified("the type is not known here; each type may stand in the list once", at)
            seen.append(given)
