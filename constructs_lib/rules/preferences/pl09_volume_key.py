"""A type with local storage takes no volume key."""

from constructs_lib.rules.authoring import App, Findings, Severity, Subject, error, rule, unverified, warning
from constructs_lib.rules.preferences._common import JOBS, names, resources_of
from constructs_lib.rules.values import present


@rule(
    "GPU-PL09",
    title="a volume key on types with local storage",
    kinds=JOBS,
    finds={
        Severity.ERROR: "VolumeKmsKeyId where every type has local NVMe storage",
        Severity.WARNING: "VolumeKmsKeyId where some have it: whether all or only the winner is checked is unknown",
    },
    why="local storage is encrypted by its own hardware, and the API refuses a key for it",
    fix="leave VolumeKmsKeyId out; where a policy demands a key, split the list by storage kind into two launches",
    source="botocore: ResourceConfig.VolumeKmsKeyId, ProcessingClusterConfig.VolumeKmsKeyId; moto: instance storage",
)
def volume_key(subject: Subject, _app: App) -> Findings:
    """Sort the entries by storage."""
    for resources in resources_of(subject):
        given, at = present(resources.data, "VolumeKmsKeyId"), resources.path("VolumeKmsKeyId")
        if given is False:
            continue
        sizes = {e: e.facts.local_storage_gb for e in resources.entries}
        local = [entry for entry, size in sizes.items() if size]
        if given is None or (not local and None in sizes.values()) or resources.unknown:
            yield unverified("whether a volume key meets a type with local storage is not known here", at)
        elif local and len(local) == len(sizes):
            yield error(f"VolumeKmsKeyId is given, but {names(local)} has local storage, which takes no key", at)
        elif local:
            others = names(entry for entry in sizes if entry not in local)
            yield warning(f"VolumeKmsKeyId is given for {others}, but {names(local)} takes no key", at)
