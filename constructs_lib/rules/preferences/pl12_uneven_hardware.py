"""Entries of one list should do the same work."""

from collections.abc import Iterator

from constructs_lib.rules.authoring import App, Findings, Severity, Subject, rule, unverified, warning
from constructs_lib.rules.preferences._common import LISTS, Entry, Resources, names, resources_of
from constructs_lib.rules.values import amount, number

_MEMORY_TOLERANCE = 0.1


@rule(
    "GPU-PL12",
    title="entries that differ in what a job relies on",
    kinds=LISTS,
    finds={
        Severity.WARNING: "EFA on some accelerated entries only, memory per device beyond the declared tolerance (one "
        "tenth), or accelerated and CPU types together unless declared; one finding a list",
    },
    why="a job tuned for the first entry may run out of memory, or crawl, on another; AWS compares capacity only",
    fix="list like with like, or declare what the job allows for (mixed_hardware, gpu_memory_tolerance)",
    source="moto: EFA interfaces and accelerator memory of each type",
)
def uneven_hardware(subject: Subject, app: App) -> Findings:
    """Collect the differences of each list into one finding."""
    declared = amount(app.declared(subject, "gpu_memory_tolerance"))
    tolerance = _MEMORY_TOLERANCE if declared is None else float(declared)
    for resources in resources_of(subject):
        if not (resources.listed or resources.unknown):
            continue
        entries = resources.entries
        accelerated = [entry for entry in entries if entry.accelerated]
        words = [*_memory(accelerated, tolerance)]
        if resources.api == "training":
            words += _network(accelerated, resources)
        cpu = [entry for entry in entries if entry.accelerated is False]
        if accelerated and cpu and not app.declared(subject, "mixed_hardware"):
            words.append(f"{names(cpu)} has no accelerator, {names(accelerated)} has")
        if words:
            yield warning("; ".join(words), resources.list_at)
        elif resources.unknown or (len(entries) > 1 and any(entry.accelerated is None for entry in entries)):
            yield unverified("whether the entries are alike is not known here", resources.list_at)


def _memory(entries: list[Entry], tolerance: float) -> Iterator[str]:
    sizes = [(entry, entry.facts.accelerator.memory_mib) for entry in entries if entry.facts.accelerator]
    for entry, size in sizes[1:]:
        first = sizes[0][1]
        if abs(size - first) > tolerance * first:
            given = f"{size} MiB a device on {entry.type}, {first} on {sizes[0][0].type}"
            yield f"accelerator memory differs by more than {tolerance:.0%}: {given}"


def _network(entries: list[Entry], resources: Resources) -> Iterator[str]:
    """Compare EFA where more than one instance may run; a single instance talks to nobody."""
    without = [entry for entry in entries if entry.facts.efa_interfaces == 0]
    efa = [entry for entry in entries if entry.facts.efa_interfaces]
    if not (efa and without):
        return
    shared = resources.data.get("InstanceCount")
    if any(number(entry.data.get("InstanceCount", shared)) != 1 for entry in entries):
        yield f"{names(efa)} has EFA, {names(without)} has not"
