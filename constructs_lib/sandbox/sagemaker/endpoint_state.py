"""One endpoint: the instances it has, what they serve, and what DescribeEndpoint shows of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .endpoint_request import Config, Variant
    from .endpoint_rollout import Rollout
    from .placement import Holding
    from .plans import Plans

__all__ = ["IN_PROGRESS", "Endpoint", "Fleet", "Unit"]

IN_PROGRESS = ("Creating", "Updating", "SystemUpdating", "RollingBack", "Deleting")
_KEPT = ("ManagedInstanceScaling", "RoutingConfig")
_PHASES = {"Creating": "Creating", "Updating": "Updating", "RollingBack": "Updating", "Deleting": "Deleting"}


@dataclass(eq=False)
class Fleet:
    """What serves a configuration: how many instances and which share of the traffic each variant is to have."""

    config: Config
    counts: dict[str, int]
    weights: dict[str, float]


@dataclass(eq=False)
class Unit:
    """One instance of a fleet."""

    fleet: Fleet
    variant: Variant
    holding: Holding
    serves: bool = False


@dataclass(eq=False)
class Endpoint:
    """An endpoint.

    Parameters
    ----------
    name, arn
        Who it is.
    live
        The fleet of the configuration in service; while the endpoint is created, that to be.
    coming
        The fleet of an update under way.
    expired
        Whether the live fleet lost instances to the end of its reservation.
    """

    name: str
    arn: str
    live: Fleet
    created: float
    status: str = ""
    modified: float = 0
    coming: Fleet | None = None
    rollout: Rollout | None = None
    units: list[Unit] = field(default_factory=list)
    expired: bool = False
    failure_reason: str | None = None
    deployment: dict[str, Any] | None = None
    changed: float = 0  # when the update under way began

    def of(self, fleet: Fleet, variant: Variant | None = None) -> list[Unit]:
        """Return the instances of a fleet, or of one variant of it, the most preferred types first."""
        units = [unit for unit in self.units if unit.fleet is fleet and variant in (None, unit.variant)]
        return sorted(units, key=_rank)

    def serving(self) -> list[Variant]:
        """Return the production variants that can answer, each once."""
        if self.status in ("Creating", "Deleting", "Failed", "OutOfService"):
            return []
        found = {unit.variant.name: unit.variant for unit in self.units if unit.serves}
        serverless = {variant.name: variant for variant in self.live.config.variants if not variant.entries}
        return [variant for variant in (serverless | found).values() if not variant.is_shadow]

    def used_of(self, plan: str) -> int:
        """Return how many instances of a plan the endpoint holds."""
        return sum(unit.holding.entry.plan == plan for unit in self.units)

    def shown(self, plans: Plans, now: float) -> dict[str, Any]:
        """Return what DescribeEndpoint and ListEndpoints show."""
        config = self.live.config.request
        shown = {
            "EndpointConfigName": self.live.config.name,
            "EndpointStatus": self.status,
            "LastModifiedTime": self.modified,
            "FailureReason": self.failure_reason,
            "LastDeploymentConfig": self.deployment,
            "DataCaptureConfig": _capture(config.get("DataCaptureConfig")),
            "PendingDeploymentSummary": self._pending(),
            **{name: config.get(name) for name in ("AsyncInferenceConfig", "ExplainerConfig", "MetricsConfig")},
        }
        return shown | _by_kind((v, self._variant(self.live, v, plans, now)) for v in self.live.config.variants)

    def _variant(self, fleet: Fleet, variant: Variant, plans: Plans, now: float) -> dict[str, Any]:
        row = self._numbers(fleet, variant) | {k: variant.request[k] for k in _KEPT if k in variant.request}
        if self.status in _PHASES:
            row["VariantStatus"] = [{"Status": _PHASES[self.status], "StartTime": self.changed}]
        plan = plans.get(variant.plan) if variant.plan else None
        if plan is not None:
            segment = plan.segment(now)
            row["CapacityReservationConfig"] = {
                **variant.request["CapacityReservationConfig"],
                "TotalInstanceCount": segment.count,
                "AvailableInstanceCount": segment.count - segment.in_use,
                "UsedByCurrentEndpoint": self.used_of(plan.arn),
                "Ec2CapacityReservations": [],
            }
        return row

    def _numbers(self, fleet: Fleet, variant: Variant) -> dict[str, Any]:
        units = self.of(fleet, variant)
        row: dict[str, Any] = {"VariantName": variant.name}
        row |= dict.fromkeys(("CurrentWeight", "DesiredWeight"), fleet.weights[variant.name])
        if not variant.entries:
            sizes = variant.request["ServerlessConfig"]
            return row | dict.fromkeys(("CurrentServerlessConfig", "DesiredServerlessConfig"), sizes)
        serving = sum(unit.serves for unit in units)
        row |= {"CurrentInstanceCount": serving, "DesiredInstanceCount": fleet.counts[variant.name]}
        if "InstancePools" in variant.request:
            types = Counter(unit.holding.entry.instance_type for unit in units if unit.serves)
            row["InstancePools"] = [
                {"InstanceType": e.instance_type, "CurrentInstanceCount": types[e.instance_type]}
                for e in variant.entries
            ]
        return row

    def _pending(self) -> dict[str, Any] | None:
        if self.coming is None:
            return None
        rows = ((v, self._numbers(self.coming, v) | _type(v)) for v in self.coming.config.variants)
        return {"EndpointConfigName": self.coming.config.name, "StartTime": self.changed, **_by_kind(rows)}


def _rank(unit: Unit) -> int:
    types = [entry.instance_type for entry in unit.variant.entries]
    return types.index(unit.holding.entry.instance_type)


def _type(variant: Variant) -> dict[str, Any]:
    return {name: variant.request[name] for name in ("InstanceType",) if name in variant.request}


def _by_kind(rows: Iterable[tuple[Variant, dict[str, Any]]]) -> dict[str, Any]:
    members: dict[str, Any] = {"ProductionVariants": []}
    for variant, row in rows:
        members.setdefault("ShadowProductionVariants" if variant.is_shadow else "ProductionVariants", []).append(row)
    return members


def _capture(config: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return how DescribeEndpoint tells a configuration's DataCaptureConfig."""
    if config is None:
        return None
    enabled = config.get("EnableCapture", False)
    return {
        "EnableCapture": enabled,
        "CaptureStatus": "Started" if enabled else "Stopped",
        "CurrentSamplingPercentage": config["InitialSamplingPercentage"],
        "DestinationS3Uri": config["DestinationS3Uri"],
        "KmsKeyId": config.get("KmsKeyId", ""),
    }
