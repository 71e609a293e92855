"""What the rules on preference lists share: a job's or a variant's resources, parsed once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from constructs_lib import facts
from constructs_lib.model import is_unresolved
from constructs_lib.rules.known_plans import plan_of
from constructs_lib.rules.subjects import Kind, Subject
from constructs_lib.rules.values import items, known_text, mapping

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from constructs_lib.rules.subjects import App

__all__ = [
    "ENDPOINTS",
    "JOBS",
    "LISTS",
    "UNDECIDED",
    "Entry",
    "Resources",
    "names",
    "plan_reference",
    "resources_of",
    "vpc_subnets",
]

JOBS = (Kind.TRAINING_JOB, Kind.PROCESSING_JOB)
ENDPOINTS = (Kind.ENDPOINT_CONFIG,)
LISTS = (*JOBS, *ENDPOINTS)

UNDECIDED = object()
"""Whether an entry is reserved depends on the type of a plan that is not known here."""

_LOCATION = {Kind.TRAINING_JOB: ("ResourceConfig",), Kind.PROCESSING_JOB: ("ProcessingResources", "ClusterConfig")}
_NO_TRAITS = facts.InstanceType(name="", apis=frozenset(), source="")
_VARIANTS = ("ProductionVariants", "ShadowProductionVariants")


@dataclass(slots=True, eq=False)
class Entry:
    """One acceptable type: ``type`` is ``None`` when it is not known here.

    ``facts`` has no trait when nobody knows the type (``known`` is False); ``accelerated`` is then ``None``.
    """

    data: Mapping[str, Any]
    at: str
    type: str | None
    known: bool
    facts: facts.InstanceType
    accelerated: bool | None


@dataclass(slots=True, eq=False)
class Resources:
    """Where a job or a variant says what it runs on.

    ``entries`` are those of the list if there is one, else the single type's, else the instance groups'.
    ``unknown`` means that the resources or the list as a whole are not known here, ``planned`` that a plan is named.
    """

    api: str
    data: Mapping[str, Any]
    at: str
    list_name: str
    listed: bool
    unknown: bool
    planned: bool
    entries: tuple[Entry, ...]

    @property
    def list_at(self) -> str:
        """The path of the list."""
        return f"{self.at}.{self.list_name}" if self.at else self.list_name

    def path(self, key: str) -> str:
        """Return the path of a member of the resources."""
        return f"{self.at}.{key}" if self.at else key


def resources_of(subject: Subject) -> tuple[Resources, ...]:
    """Return the resources of a job (one) or of each variant of an endpoint configuration."""
    return subject.view(_parse)


def plan_reference(entry: Entry, resources: Resources, subject: Subject, app: App) -> Any:
    """Return the reference to the plan that an entry runs on, ``None`` for on demand, or `UNDECIDED`."""
    if not resources.planned:
        return None
    own = entry.data.get("TrainingPlanArns")
    if own is not None:
        return next(iter(items(own)), own)
    shared = resources.data.get("TrainingPlanArn")
    if shared is None or len(resources.entries) == 1:
        return shared
    planned = plan_of(shared, subject, app).instance_type
    if planned is None or entry.type is None:
        return UNDECIDED
    return shared if planned == entry.type else None


def vpc_subnets(subject: Subject) -> tuple[Any, str]:
    """Return the subnets of a job, unparsed, and their path."""
    if subject.kind is Kind.PROCESSING_JOB:
        network = mapping(subject.data.get("NetworkConfig"))
        return mapping(network.get("VpcConfig")).get("Subnets"), "NetworkConfig.VpcConfig.Subnets"
    return mapping(subject.data.get("VpcConfig")).get("Subnets"), "VpcConfig.Subnets"


def names(entries: Iterable[Entry]) -> str:
    """Return the types of the entries in words."""
    return ", ".join(str(entry.type) for entry in entries)


def _parse(subject: Subject) -> tuple[Resources, ...]:
    if subject.kind is Kind.ENDPOINT_CONFIG:
        return tuple(_variants(subject.data))
    api = "training" if subject.kind is Kind.TRAINING_JOB else "processing"
    raw: Any = subject.data
    for key in _LOCATION[subject.kind]:
        raw = raw.get(key) if isinstance(raw, dict) else raw
        if is_unresolved(raw):
            break
    return (_resources(api, raw, ".".join(_LOCATION[subject.kind]), "InstancePreferences"),)


def _variants(config: Mapping[str, Any]) -> Iterator[Resources]:
    for group in _VARIANTS:
        if is_unresolved(config.get(group)):
            yield _resources("endpoint", config[group], group, "InstancePools")
        for i, variant in enumerate(items(config.get(group))):
            yield _resources("endpoint", variant, f"{group}[{i}]", "InstancePools")


def _resources(api: str, raw: Any, at: str, list_name: str) -> Resources:
    data = mapping(raw)
    entries = data.get(list_name)
    unknown = is_unresolved(raw) or is_unresolved(entries)
    found = Resources(api, data, at, list_name, entries is not None, unknown, "TrainingPlanArn" in data, ())
    if entries is not None:
        found.entries = tuple(_entries(entries, found.list_at))
        found.planned = found.planned or any("TrainingPlanArns" in entry.data for entry in found.entries)
    elif data.get("InstanceType") is not None:
        found.entries = (_entry(data, at),)
    else:
        found.entries = tuple(_entries(data.get("InstanceGroups"), found.path("InstanceGroups")))
    return found


def _entries(raw: Any, at: str) -> Iterator[Entry]:
    for i, entry in enumerate(items(raw)):
        yield _entry(mapping(entry), f"{at}[{i}]")


def _entry(data: Mapping[str, Any], at: str) -> Entry:
    name = known_text(data.get("InstanceType"))
    known = facts.instance_types().get(name) if name else None
    traits = known or _NO_TRAITS
    accelerated = None if traits.architecture is None else traits.accelerator is not None
    return Entry(data, at, name, known is not None, traits, accelerated)
