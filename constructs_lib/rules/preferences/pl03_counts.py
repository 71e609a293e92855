"""Counts stand on every entry, or once for the whole list."""

from constructs_lib import facts
from constructs_lib.rules.authoring import App, Findings, Severity, Subject, error, is_unresolved, rule, unverified
from constructs_lib.rules.preferences._common import JOBS, Entry, Resources, resources_of
from constructs_lib.rules.values import number, present, show


@rule(
    "GPU-PL03",
    title="instance counts on some entries only, twice, or nowhere",
    kinds=JOBS,
    finds={Severity.ERROR: "mixed, doubled or missing counts; a count below 1, or above 100 in processing"},
    why="the API refuses the request; tools that fill in a default count are the usual cause",
    fix="set InstanceCount on every entry, or once beside the list and on no entry",
    source="botocore: InstancePreference.InstanceCount, ProcessingInstanceCount",
)
def counts(subject: Subject, _app: App) -> Findings:
    """Judge how counts are given, then each count."""
    for resources in resources_of(subject):
        if resources.listed and resources.entries:
            yield from _mode(resources)
        highest = facts.limit("ProcessingInstanceCount").max if resources.api == "processing" else None
        places: list[Entry | Resources] = [*resources.entries, resources]
        for given in places:
            count = given.data.get("InstanceCount")
            if not (isinstance(count, int) and 1 <= count <= (highest or count)):
                yield from _bounds(count, f"{given.at}.InstanceCount", highest)


def _mode(resources: Resources) -> Findings:
    shared = present(resources.data, "InstanceCount")
    given = [present(entry.data, "InstanceCount") for entry in resources.entries]
    at = resources.list_at
    if shared is None or None in given:
        yield unverified("a condition decides where InstanceCount is given", at)
    elif shared and any(given):
        yield error("InstanceCount is given beside the list and on entries; only one of both is allowed", at)
    elif any(given) and not all(given):
        without = ", ".join(str(i) for i, one in enumerate(given, 1) if not one)
        yield error(f"InstanceCount is given on some entries only, entry {without} has none", at)
    elif not shared and not any(given):
        yield error("InstanceCount is given nowhere; every entry or the whole list needs one", at)


def _bounds(given: object, at: str, highest: int | None) -> Findings:
    allowed = f"1 to {highest} is allowed" if highest else "1 or more is allowed"
    count = number(given)
    if is_unresolved(given):
        yield unverified(f"InstanceCount is not known here; {allowed}", at)
    elif given is not None and (not isinstance(count, int) or count < 1 or (highest and count > highest)):
        yield error(f"InstanceCount is {show(given)}; {allowed}", at)
