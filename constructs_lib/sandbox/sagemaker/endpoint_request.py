"""What an endpoint configuration asks for, and what of it SageMaker refuses."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from constructs_lib.sandbox.errors import ServiceError
from constructs_lib.sandbox.switches import reading

from .evaluation import Entry

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constructs_lib.sandbox.faults import Faults

    from .plans import Plan, Plans

__all__ = ["Config", "Variant", "check_config", "check_count", "check_plan", "invalid", "read_config"]

Request = dict[str, Any]
_WAYS = ("InstanceType", "InstancePools", "ServerlessConfig")


@dataclass(frozen=True, slots=True)
class Variant:
    """One variant of a configuration.

    Parameters
    ----------
    name, count, weight
        Its name, and what it begins with.
    entries
        One instance of each acceptable type, the most preferred first; none if it is serverless.
    request
        The variant as the configuration has it.
    is_shadow
        Whether it only gets copies of requests.
    """

    name: str
    count: int
    weight: float
    entries: tuple[Entry, ...]
    request: Request
    is_shadow: bool

    @property
    def plan(self) -> str | None:
        """The ARN of the plan that gives its instances."""
        return self.entries[0].plan if self.entries else None


@dataclass(frozen=True, slots=True)
class Config:
    """A configuration as it was when an endpoint took it; the endpoint keeps it even if it is deleted."""

    name: str
    variants: tuple[Variant, ...]
    request: Request

    @property
    def plan(self) -> str | None:
        """The ARN of the one plan that it uses."""
        return next((variant.plan for variant in self.variants if variant.plan), None)


def invalid(words: str) -> ServiceError:
    """Return a refusal."""
    return ServiceError("ValidationException", words)


def read_config(request: Request) -> Config:
    """Return what a CreateEndpointConfig request asks for."""
    shadows = request.get("ShadowProductionVariants", ())
    rows = [*((row, False) for row in request["ProductionVariants"]), *((row, True) for row in shadows)]
    return Config(request["EndpointConfigName"], tuple(_variant(row, is_shadow) for row, is_shadow in rows), request)


def _variant(row: Request, is_shadow: bool) -> Variant:
    plan = row.get("CapacityReservationConfig", {}).get("MlReservationArn")
    pools = sorted(row.get("InstancePools", ()), key=lambda pool: pool["Priority"])
    ways = pools or ([row] if "InstanceType" in row else [])
    entries = tuple(Entry(way["InstanceType"], 1, plan) for way in ways)
    count = row.get("InitialInstanceCount", 1) if entries else 0
    return Variant(row["VariantName"], count, row.get("InitialVariantWeight", 1.0), entries, row, is_shadow)


def check_config(request: Request, plans: Plans, faults: Faults, now: float) -> None:
    """Refuse a CreateEndpointConfig request that contradicts itself or its plan.

    Raises
    ------
    ServiceError
        ``ValidationException``.

    Source: SageMaker guide, realtime-endpoints-heterogeneous and training-plan-utilization-for-inference-endpoints.
    """
    production, shadows = request["ProductionVariants"], request.get("ShadowProductionVariants", [])
    names = Counter(row["VariantName"] for row in production + shadows)
    if twice := [name for name, times in names.items() if times > 1]:
        raise invalid(f"Variant names must be unique: {', '.join(twice)}.")
    if shadows and (len(shadows), len(production)) != (1, 1):
        raise invalid("An endpoint with a shadow variant has exactly one production variant and one shadow variant.")
    for row in production + shadows:
        _check_variant(row, faults)
    config = read_config(request)
    early = reading(faults, "sagemaker.endpoint-plan-active") == "CreateEndpointConfig"
    check_plan(config, {variant.name: variant.count for variant in config.variants}, plans, now, active=early)


def _check_variant(row: Request, faults: Faults) -> None:
    name, given = row["VariantName"], [way for way in _WAYS if way in row]
    if len(given) != 1:
        raise invalid(
            f"Variant {name} must have exactly one of {', '.join(_WAYS)}; it has {' and '.join(given) or 'none'}."
        )
    if "CapacityReservationConfig" in row and given != ["InstanceType"]:
        raise invalid(
            f"Variant {name}: CapacityReservationConfig needs InstanceType; it can't be used with {given[0]}."
        )
    pools = row.get("InstancePools", ())
    for key in ("InstanceType", "Priority"):
        twice = [str(value) for value, times in Counter(pool[key] for pool in pools).items() if times > 1]
        if twice and reading(faults, "sagemaker.endpoint-duplicate-pools") == "refused":
            raise invalid(f"Variant {name}: {key} of InstancePools must be unique: {', '.join(twice)}.")
    if "InstancePools" in row and "InitialInstanceCount" not in row:
        raise invalid(f"Variant {name}: InstancePools need InitialInstanceCount.")


def check_plan(config: Config, counts: Mapping[str, int], plans: Plans, now: float, *, active: bool) -> None:
    """Refuse a configuration whose plan can not carry it.

    Parameters
    ----------
    config
        What is asked for.
    counts
        Instances by variant name.
    plans
        What was bought.
    now
        Epoch seconds.
    active
        Whether the plan must be Active.
    """
    arns = sorted({variant.plan for variant in config.variants if variant.plan})
    if len(arns) > 1:
        raise invalid(f"An endpoint can use one training plan; the variants name {' and '.join(arns)}.")
    if not arns:
        return
    plan = plans.shown(arns[0], now)
    if plan is None:
        raise invalid(f"Training plan {arns[0]} does not exist.")
    if plan.seed.target != "endpoint":
        raise invalid(f"Training plan {plan.arn} has the target resource {plan.seed.target}; endpoint is needed.")
    if active and plan.status(now) != "Active":
        raise invalid(f"Training plan {plan.arn} is not in the Active status; it is {plan.status(now)}.")
    for entry in itertools.chain.from_iterable(variant.entries for variant in config.variants if variant.plan):
        if entry.instance_type != plan.seed.instance_type:
            raise invalid(
                f"Instance type {entry.instance_type} does not match training plan {plan.arn}, which has"
                f" {plan.seed.instance_type}."
            )
    check_count(plan, sum(counts[variant.name] for variant in config.variants if variant.plan), now)


def check_count(plan: Plan, count: int, now: float) -> None:
    """Refuse more instances than a plan has.

    Source: SageMaker guide, training-plan-utilization-for-inference-endpoints.
    """
    reserved = plan.segment(now).count
    if count > reserved:
        raise invalid(f"Requested instance count ({count}) exceeds reserved capacity ({reserved})")
