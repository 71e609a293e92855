"""What a CreateProcessingJob request asks for, and everything SageMaker refuses beyond the form of its model.

Source: botocore 1.44.8 (ProcessingClusterConfig, ProcessingInstancePreference, ProcessingStoppingCondition). The rules
are AWS's, the sentences are ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from constructs_lib.facts import instance_types

from .evaluation import Entry
from .instance_lists import check_selection, is_accelerated, list_entries, refusal
from .waits import DAY

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["ProcessingDemand", "read_processing_demand"]


@dataclass(frozen=True)
class ProcessingDemand:
    """What a processing job needs: entries in order, a limit in seconds, and whether its volumes have a key."""

    entries: tuple[Entry, ...]
    is_list: bool
    max_runtime: float
    has_volume_key: bool

    @property
    def is_accelerated(self) -> bool:
        """Whether any type has accelerators."""
        return is_accelerated(self.entries)


def read_processing_demand(request: dict[str, Any]) -> ProcessingDemand:
    """Return what a request asks for.

    Raises
    ------
    ServiceError
        If SageMaker refuses the combination.
    """
    resources = request["ProcessingResources"]["ClusterConfig"]
    check_selection(resources, "CreateProcessingJob", ("InstanceType",))
    is_list = "InstancePreferences" in resources
    entries = tuple(list_entries(resources, "ClusterConfig")) if is_list else (_single_entry(resources),)
    _check_volume(resources["VolumeSizeInGB"], entries)
    max_runtime = request.get("StoppingCondition", {}).get("MaxRuntimeInSeconds", DAY)
    return ProcessingDemand(entries, is_list, max_runtime, "VolumeKmsKeyId" in resources)


def _single_entry(resources: dict[str, Any]) -> Entry:
    if "InstanceType" not in resources:
        raise refusal("InstanceType must be specified, or InstancePreferences instead.")
    return Entry(resources["InstanceType"], resources.get("InstanceCount", 1))


def _check_volume(size: int, entries: Sequence[Entry]) -> None:
    """Refuse a volume larger than the local storage of a type that has some."""
    for entry in entries:
        local = instance_types()[entry.instance_type].local_storage_gb
        if local and size > local:
            raise refusal(
                f"VolumeSizeInGB {size} exceeds the local storage of {entry.instance_type}, which is {local} GB."
            )
