"""What AWS really offers, as dated data: every row of every file says where it comes from. No logic lives here."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "Accelerator",
    "FailurePattern",
    "InstanceType",
    "Limit",
    "Unknown",
    "api_instance_types",
    "documented_limit",
    "failure_patterns",
    "instance_types",
    "job_states",
    "limit",
    "load",
    "regional_types",
    "unknowns",
]


@dataclass(frozen=True, slots=True)
class Accelerator:
    """The accelerators of an instance type: ``kind`` is ``gpu``, ``neuron`` or ``habana``; memory is per device."""

    kind: str
    name: str
    count: int
    memory_mib: int


@dataclass(frozen=True, slots=True)
class InstanceType:
    """One ``ml.`` type: the APIs whose enum lists it and its hardware; ``None`` means that no source says."""

    name: str
    apis: frozenset[str]
    source: str
    architecture: str | None = None
    vcpus: int | None = None
    memory_mib: int | None = None
    local_storage_gb: int | None = None
    efa_interfaces: int | None = None
    accelerator: Accelerator | None = None
    capacity_block: bool = False


@dataclass(frozen=True, slots=True)
class Limit:
    """The bounds that the service model puts on one of its shapes."""

    shape: str
    min: int | None = None
    max: int | None = None
    pattern: str | None = None


@dataclass(frozen=True, slots=True)
class FailurePattern:
    """A regular expression over a failure's text (lower case, single spaces) and the class it stands for."""

    failure_class: str
    pattern: str
    source: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """A question that no document answers: its readings, and the one the sandbox takes unless it is switched."""

    id: str
    question: str
    readings: tuple[str, ...]
    default: str
    source: str


@cache
def load(name: str) -> dict[str, Any]:
    """Return the JSON document ``name`` (without suffix) of this package."""
    document: dict[str, Any] = json.loads((files(__package__) / f"{name}.json").read_text(encoding="utf-8"))
    return document


@cache
def instance_types() -> Mapping[str, InstanceType]:
    """Return every known ``ml.`` instance type by name."""
    return MappingProxyType({row["type"]: _instance_type(row) for row in load("instance_types")["rows"]})


def _instance_type(row: dict[str, Any]) -> InstanceType:
    fields = {k: v for k, v in row.items() if k not in ("type", "apis", "accelerator")}
    device = row.get("accelerator")
    accelerator = Accelerator(**device) if device else None
    return InstanceType(name=row["type"], apis=frozenset(row["apis"]), accelerator=accelerator, **fields)


@cache
def api_instance_types(api: str) -> frozenset[str]:
    """Return the types that the enum of ``api`` lists (``training``, ``processing``, ``endpoint``, ``cluster`` ...)."""
    return frozenset(name for name, facts in instance_types().items() if api in facts.apis)


@cache
def limit(shape: str) -> Limit:
    """Return the bounds of one shape of the SageMaker model, such as ``MaxPendingTimeInSeconds``."""
    row = next(row for row in load("api_limits")["rows"] if row["shape"] == shape)
    return Limit(**{k: v for k, v in row.items() if k != "source"})


@cache
def documented_limit(name: str) -> int:
    """Return a limit that only documents state, such as ``training_runtime_seconds``."""
    return next(int(row["value"]) for row in load("documented_limits")["rows"] if row["name"] == name)


@cache
def regional_types(api: str) -> Mapping[str, frozenset[str]]:
    """Return the regions in which AWS's price lists name each accelerated type for ``api``; none for training."""
    rows = load("regional_types")["rows"]
    return MappingProxyType({row["type"]: frozenset(row["regions"]) for row in rows if row["api"] == api})


@cache
def job_states(job: str) -> Mapping[str, bool]:
    """Return the statuses of ``training``, ``processing``, ``tuning``, ``transform`` jobs or of an ``endpoint``.

    Each comes with whether it is terminal: it does not change again by itself.
    """
    rows = load("job_states")["rows"]
    return MappingProxyType({row["status"]: row["terminal"] for row in rows if row["job"] == job})


@cache
def failure_patterns() -> tuple[FailurePattern, ...]:
    """Return the failure patterns in the order in which they are tried."""
    rows = load("failure_patterns")["rows"]
    return tuple(FailurePattern(row["class"], row["pattern"], row["source"]) for row in rows)


@cache
def unknowns() -> Mapping[str, Unknown]:
    """Return what nobody knows about AWS's behaviour, by id."""
    rows = load("unknowns")["rows"]
    return MappingProxyType({row["id"]: Unknown(**(row | {"readings": tuple(row["readings"])})) for row in rows})
