"""A local disk keeps its own size."""

from constructs_lib.rules.authoring import (
    App,
    Findings,
    Kind,
    Severity,
    Subject,
    is_unresolved,
    rule,
    unverified,
    warning,
)
from constructs_lib.rules.preferences._common import resources_of
from constructs_lib.rules.values import number


@rule(
    "GPU-PL18",
    title="a local disk smaller than the size asked for",
    kinds=(Kind.TRAINING_JOB,),
    finds={Severity.WARNING: "VolumeSizeInGB above an entry's local storage"},
    why="training takes any size on types with local storage and silently gives what the instance has",
    fix="ask for what the smallest type has, or drop the types with smaller disks",
    source="botocore: ResourceConfig.VolumeSizeInGB; moto: instance storage",
)
def smaller_disk(subject: Subject, _app: App) -> Findings:
    """Compare the size with each local disk."""
    for resources in resources_of(subject):
        given, at = resources.data.get("VolumeSizeInGB"), resources.path("VolumeSizeInGB")
        size = number(given)
        disks = [(entry, entry.facts.local_storage_gb) for entry in resources.entries]
        if given is not None and (is_unresolved(given) or resources.unknown):
            yield unverified("whether every local disk is as large is not known here", at)
        for entry, disk in disks if size is not None else ():
            if disk is None:
                yield unverified(f"whether {entry.type or 'an unknown type'} has {size} GB is not known here", entry.at)
            elif 0 < disk < (size or 0):
                yield warning(
                    f"{entry.type} has {disk} GB of local storage, less than the {size} GB asked for", entry.at
                )
