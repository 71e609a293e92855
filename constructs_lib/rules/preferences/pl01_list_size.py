"""A preference list has 1 to 5 entries, and one entry is no preference."""

from constructs_lib import facts
from constructs_lib.rules.authoring import App, Findings, Severity, Subject, error, rule, unverified, warning
from constructs_lib.rules.preferences._common import LISTS, resources_of


@rule(
    "GPU-PL01",
    title="a preference list that is empty, too long, or a list of one",
    kinds=LISTS,
    finds={
        Severity.ERROR: "no entry, more than five, or no list at all",
        Severity.WARNING: "one entry: legal, but nothing to fall back to",
    },
    why="the API refuses other lengths; a list of one behaves like InstanceType and hides that there is no fallback",
    fix="give 1 to 5 types, best first; for a single type use InstanceType",
    source="botocore: InstancePreferenceList, ProcessingInstancePreferenceList, InstancePoolList",
)
def list_size(subject: Subject, _app: App) -> Findings:
    """Judge the length of each list."""
    longest = facts.limit("InstancePreferenceList").max or 0
    for resources in resources_of(subject):
        at, name = resources.list_at, resources.list_name
        if resources.unknown:
            yield unverified(f"{name} is not known here; 1 to {longest} entries are allowed", at)
        elif resources.listed:
            raw = resources.data[name]
            if not isinstance(raw, list | tuple):
                yield error(f"{name} is no list; a list of 1 to {longest} entries is needed", at)
            elif not 1 <= len(raw) <= longest:
                yield error(f"{name} has {len(raw)} entries; 1 to {longest} are allowed", at)
            elif len(raw) == 1 and "Steps" not in subject.about:
                yield warning(f"{name} has one entry, so there is nothing to fall back to", at)
