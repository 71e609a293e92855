"""Ordered lists of instance types in a request, the same for training and processing jobs.

Sources: botocore 1.44.8 (InstancePreference, ProcessingInstancePreference) and the SageMaker guide
(train-instance-preferences). The rules are AWS's, the sentences are ours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from constructs_lib.facts import instance_types
from constructs_lib.sandbox.errors import ServiceError
from constructs_lib.sandbox.switches import reading

from .evaluation import Entry

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from constructs_lib.sandbox.faults import Faults

__all__ = ["check_selection", "check_volume_key", "has_local_storage", "is_accelerated", "list_entries", "refusal"]


def refusal(message: str) -> ServiceError:
    """Return the error with which SageMaker refuses a request."""
    return ServiceError("ValidationException", message)


def has_local_storage(instance_type: str) -> bool:
    """Say whether a type is known to have local NVMe storage."""
    return bool(instance_types()[instance_type].local_storage_gb)


def is_accelerated(entries: Sequence[Entry]) -> bool:
    """Say whether any type has accelerators; only then does a job wait for On-Demand capacity."""
    return any(instance_types()[entry.instance_type].accelerator for entry in entries)


def check_selection(resources: dict[str, Any], operation: str, not_with_a_list: Sequence[str]) -> None:
    """Refuse members that only answers have, and those that go with one type instead of a list."""
    for name in ("SelectedInstanceType", "SelectedInstanceCount"):
        if name in resources:
            raise refusal(f"{name} is read-only and can't be specified in a {operation} request.")
    if "InstancePreferences" in resources:
        for name in not_with_a_list:
            if name in resources:
                raise refusal(f"InstancePreferences and {name} are mutually exclusive.")


def list_entries(resources: dict[str, Any], where: str) -> Iterator[Entry]:
    """Yield the entries of a list; `where` names the structure that holds it."""
    preferences, shared = resources["InstancePreferences"], resources.get("InstanceCount")
    types = [preference["InstanceType"] for preference in preferences]
    for name in types:
        if types.count(name) > 1:
            raise refusal(f"Instance type {name} appears more than once in InstancePreferences.")
    own = [preference for preference in preferences if "InstanceCount" in preference]
    if shared is not None and own:
        raise refusal(f"InstanceCount can't be specified both in {where} and in InstancePreferences.")
    if shared is None and not own:
        raise refusal(f"InstanceCount must be specified in {where} or in every entry of InstancePreferences.")
    if own and len(own) != len(preferences):
        raise refusal("InstanceCount must be specified in every entry of InstancePreferences or in none.")
    for preference in preferences:
        (plan,) = preference.get("TrainingPlanArns", (None,))
        yield Entry(preference["InstanceType"], preference.get("InstanceCount", shared), plan)


def check_volume_key(entries: Sequence[Entry], faults: Faults) -> None:
    """Refuse a key for the volumes of types that have local storage: of all types, or of any, as the switch says."""
    local = [entry.instance_type for entry in entries if has_local_storage(entry.instance_type)]
    if local and (len(local) == len(entries) or reading(faults, "sagemaker.kms-on-nvme") == "any"):
        raise refusal(
            f"VolumeKmsKeyId can't be specified with instance types that have local storage: {', '.join(local)}."
        )
