"""The volume size must fit every type of the list."""

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
from constructs_lib.rules.values import number, present, show


@rule(
    "GPU-PL10",
    title="a volume size that is missing or does not fit",
    kinds=JOBS,
    finds={
        Severity.ERROR: "processing: VolumeSizeInGB missing or above the smallest local disk; training: missing for a "
        "type that has EBS storage only",
    },
    why="one size serves whichever type wins: the API refuses a missing size, and processing one above the local disk",
    fix="give a size that every type of the list can have",
    source="botocore: ProcessingClusterConfig.VolumeSizeInGB, ResourceConfig.VolumeSizeInGB; moto: instance storage",
)
def volume_size(subject: Subject, _app: App) -> Findings:
    """Compare the size with the types' storage."""
    for resources in resources_of(subject):
        given, at = present(resources.data, "VolumeSizeInGB"), resources.path("VolumeSizeInGB")
        if not resources.entries and not resources.unknown:
            continue
        if resources.unknown or given is None:
            yield unverified("the types or the volume size are not known here", at)
        elif subject.kind is Kind.TRAINING_JOB:
            yield from () if given else _training(resources, at)
        elif not given:
            yield error("VolumeSizeInGB is missing; processing needs one", at)
        else:
            yield from _processing(resources, at)


def _training(resources: Resources, at: str) -> Findings:
    sizes = [(entry.type, entry.facts.local_storage_gb) for entry in resources.entries]
    without = [str(name) for name, size in sizes if size == 0]
    if without:
        yield error(f"VolumeSizeInGB is missing; {', '.join(without)} has no local storage and needs one", at)
    elif any(size is None for _, size in sizes):
        yield unverified("whether every type has local storage is not known here; without it a size is needed", at)


def _processing(resources: Resources, at: str) -> Findings:
    given = resources.data["VolumeSizeInGB"]
    size = number(given)
    disks = [(e.facts.local_storage_gb, e.type) for e in resources.entries if e.facts.local_storage_gb]
    smallest, name = min(disks, default=(None, None))
    storages = [entry.facts.local_storage_gb for entry in resources.entries]
    if is_unresolved(given):
        yield unverified("VolumeSizeInGB is not known here; it must fit the smallest local disk", at)
    elif size is None or size < 1:
        yield error(f"VolumeSizeInGB is {show(given)}; a number of GB from 1 is needed", at)
    elif smallest is not None and size > smallest:
        yield error(f"VolumeSizeInGB is {size}, above the {smallest} GB of {name}, the smallest local disk", at)
    elif None in storages:
        yield unverified(f"whether {size} GB fits every type is not known here", at)
