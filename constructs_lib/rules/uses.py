"""Who uses a training plan, and with how many instances: jobs, endpoints and clusters alike."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from constructs_lib.model import is_unresolved
from constructs_lib.rules.known_plans import Plan, plan_of
from constructs_lib.rules.subjects import Kind, Subject
from constructs_lib.rules.values import items, known_text, mapping, number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constructs_lib.rules.subjects import App

__all__ = ["CONSUMERS", "Demand", "Use", "configs_of", "demands_of", "endpoints_of", "referred", "uses_of"]

_PLACEHOLDER = re.compile(r"\$\{([^!}][^}]*)\}")
CONSUMERS = (Kind.TRAINING_JOB, Kind.ENDPOINT_CONFIG, Kind.CLUSTER)
_TARGETS = {
    Kind.TRAINING_JOB: "training-job",
    Kind.ENDPOINT_CONFIG: "endpoint",
    Kind.CLUSTER: "hyperpod-cluster",
}


@dataclass(slots=True, eq=False)
class Use:
    """One reference to a plan: where it stands, and what would run on it; ``None`` is "not known here"."""

    subject: Subject
    reference: Any
    at: str
    target: str
    type: str | None
    count: int | float | None

    @property
    def place(self) -> str:
        """The use in words: its resource and path."""
        where = self.subject.place(self.at)
        return f"{self.subject.resource} ({where})" if self.subject.resource else where


@dataclass(slots=True, eq=False)
class Demand:
    """All uses of one plan; those of a standing kind hold their instances, jobs queue for them."""

    plan: Plan
    uses: list[Use] = field(default_factory=list)

    def of(self, *targets: str) -> list[Use]:
        """Return the uses by these targets."""
        return [use for use in self.uses if use.target in targets]


def uses_of(subject: Subject) -> tuple[Use, ...]:
    """Return every reference to a plan in a job, endpoint configuration or cluster."""
    return subject.view(_uses)


def _uses(subject: Subject) -> tuple[Use, ...]:
    rows = _READERS[subject.kind](subject.data)
    target = _TARGETS[subject.kind]
    return tuple(
        Use(subject, reference, at, target, known_text(kind), number(count))
        for reference, at, kind, count in rows
        if reference
    )


def _of_job(job: Any) -> Iterator[tuple[Any, str, Any, Any]]:
    at, resources = "ResourceConfig", mapping(job.get("ResourceConfig"))
    shared, count = resources.get("TrainingPlanArn"), resources.get("InstanceCount")
    entries = items(resources.get("InstancePreferences"))
    for i, entry in enumerate(entries):
        if isinstance(entry, dict) and "TrainingPlanArns" in entry:
            here = f"{at}.InstancePreferences[{i}].TrainingPlanArns"
            for reference in items(entry["TrainingPlanArns"]):
                yield reference, here, entry.get("InstanceType"), entry.get("InstanceCount", count)
    if shared is not None and not entries:
        yield shared, f"{at}.TrainingPlanArn", resources.get("InstanceType"), count
    elif shared is not None:
        # Which entry it applies to follows from the plan's type; GPU-PL05 looks whether there is one.
        yield shared, f"{at}.TrainingPlanArn", None, count


def _of_endpoint_config(config: Any) -> Iterator[tuple[Any, str, Any, Any]]:
    for group in ("ProductionVariants", "ShadowProductionVariants"):
        for i, raw in enumerate(items(config.get(group))):
            variant = mapping(raw)
            reserved = mapping(variant.get("CapacityReservationConfig"))
            at = f"{group}[{i}].CapacityReservationConfig.MlReservationArn"
            yield reserved.get("MlReservationArn"), at, variant.get("InstanceType"), variant.get("InitialInstanceCount")


def _of_cluster(cluster: Any) -> Iterator[tuple[Any, str, Any, Any]]:
    for group in ("InstanceGroups", "RestrictedInstanceGroups"):
        for i, raw in enumerate(items(cluster.get(group))):
            one = mapping(raw)
            yield (
                one.get("TrainingPlanArn"),
                f"{group}[{i}].TrainingPlanArn",
                one.get("InstanceType"),
                one.get("InstanceCount"),
            )


_READERS = {Kind.TRAINING_JOB: _of_job, Kind.ENDPOINT_CONFIG: _of_endpoint_config, Kind.CLUSTER: _of_cluster}


def demands_of(subject: Subject, app: App) -> list[Demand]:
    """Return the demand on each plan that a subject uses, with all other uses of these plans."""
    return app.once("demand", _demands).get(subject, [])


def _demands(app: App) -> dict[Subject, list[Demand]]:
    found: dict[Any, Demand] = {}
    by_subject: dict[Subject, list[Demand]] = {}
    for subject in app.of(*CONSUMERS):
        for use in uses_of(subject):
            plan = plan_of(use.reference, subject, app)
            demand = found.setdefault(_identity(plan, use), Demand(plan))
            demand.uses.append(use)
            mine = by_subject.setdefault(subject, [])
            if demand not in mine:
                mine.append(demand)
    return by_subject


def _identity(plan: Plan, use: Use) -> Any:
    if plan.bought_by is not None:
        return id(plan.bought_by)
    if plan.name is not None:
        return plan.key
    return (use.subject.file, use.subject.stack, repr(use.reference))


def endpoints_of(config: Subject, app: App) -> list[Subject]:
    """Return the endpoints that use a configuration, as far as the same app says."""
    return app.once("endpoints", _endpoints).get(config, [])


def _endpoints(app: App) -> dict[Subject, list[Subject]]:
    found: dict[Subject, list[Subject]] = {}
    for endpoint in app.of(Kind.ENDPOINT):
        for config in configs_of(endpoint, app):
            found.setdefault(config, []).append(endpoint)
    return found


def configs_of(endpoint: Subject, app: App) -> list[Subject]:
    """Return the configuration that an endpoint names: by reference in its stack, or by its literal name."""
    given, known = endpoint.data.get("EndpointConfigName"), app.once("configurations", _configurations)
    if is_unresolved(given):
        keys: list[Any] = [(endpoint.file, endpoint.stack, name) for name in sorted(referred(given))]
    else:
        keys = [given] if isinstance(given, str) else []
    return [config for key in keys for config in known.get(key, [])]


def _configurations(app: App) -> dict[Any, list[Subject]]:
    found: dict[Any, list[Subject]] = {}
    for config in app.of(Kind.ENDPOINT_CONFIG):
        name = known_text(config.data.get("EndpointConfigName"))
        for key in (name, (config.file, config.stack, config.resource) if config.resource else None):
            if key is not None:
                found.setdefault(key, []).append(config)
    return found


def referred(value: Any) -> set[str]:
    """Return the logical ids that an intrinsic function refers to at any depth.

    Examples
    --------
    >>> sorted(referred({"Fn::Join": ["/", [{"Ref": "A"}, {"Fn::Sub": "${B.Name}-${AWS::Region}"}]]}))
    ['A', 'B']
    """
    return set(_referred(value))


def _referred(value: Any) -> Iterator[str]:
    if isinstance(value, list | tuple):
        for member in value:
            yield from _referred(member)
    elif isinstance(value, dict):
        for key, member in value.items():
            if key == "Ref" and isinstance(member, str):
                yield member
            elif key == "Fn::GetAtt":
                first = next(iter(items(member)), None) if not isinstance(member, str) else member
                yield from [first.split(".")[0]] if isinstance(first, str) else []
            elif key == "Fn::Sub":
                template = member if isinstance(member, str) else next(iter(items(member)), "")
                yield from (name.split(".")[0] for name in _PLACEHOLDER.findall(str(template)) if "::" not in name)
                yield from _referred(member if not isinstance(member, str) else None)
            else:
                yield from _referred(member)
