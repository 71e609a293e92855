"""What an endpoint is declared to be, as the custom resource passes it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from constructs_lib.model.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ACTIONS", "EndpointDeclaration", "OnExpiry", "Scaling", "content_hash"]

ACTIONS = ("delete", "to_on_demand", "to_plan", "keep")
_LAST_RESORTS = ("delete", "keep")
_NO_CONTENT = frozenset({"ServiceToken", "Tags", "TableName"})
_MOVES = ("to_on_demand", "to_plan")

Request = dict[str, Any]


def content_hash(content: Any, digits: int = 10) -> str:
    """Return a hash that is equal for equal content, whatever the order of its keys.

    Examples
    --------
    >>> content_hash({"a": 1, "b": [2]}) == content_hash({"b": [2], "a": 1})
    True
    """
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:digits]


@dataclass(frozen=True, slots=True)
class OnExpiry:
    """What becomes of the endpoint when a segment of its plan ends.

    Parameters
    ----------
    action : str
        One of `ACTIONS`.
    config : Mapping or None
        A CreateEndpointConfig request without a name, for ``to_on_demand`` and ``to_plan``.
    plan_arn : str
        The next plan, for ``to_plan``.
    last_resort : str
        ``delete`` or ``keep``: what is done when the move fails and time runs out.
    acknowledge : str
        Why it is fine that a kept endpoint stops answering when the capacity goes.
    """

    action: str
    config: Mapping[str, Any] | None = None
    plan_arn: str = ""
    last_resort: str = "delete"
    acknowledge: str = ""

    @classmethod
    def of(cls, given: Any) -> OnExpiry:
        """Read ``OnExpiry`` of the custom resource; raises `InvalidInputError` in words."""
        if not isinstance(given, dict) or given.get("Action") not in ACTIONS:
            raise InvalidInputError(
                f"OnExpiry is {given!r}: say what becomes of the endpoint when its plan ends, with an Action of "
                f"{', '.join(ACTIONS)}"
            )
        found = cls(
            given["Action"],
            given.get("EndpointConfig"),
            given.get("TrainingPlanArn", ""),
            given.get("LastResort", "delete"),
            given.get("Acknowledge", ""),
        )
        found._check()
        return found

    def _check(self) -> None:
        if self.action in _MOVES and not self.config:
            raise InvalidInputError(f"OnExpiry.EndpointConfig is missing: {self.action} needs what to move to")
        if self.action == "to_plan" and not self.plan_arn:
            raise InvalidInputError("OnExpiry.TrainingPlanArn is missing: to_plan needs the next plan")
        if self.last_resort not in _LAST_RESORTS:
            raise InvalidInputError(f"OnExpiry.LastResort is {self.last_resort!r}: use {' or '.join(_LAST_RESORTS)}")
        keeps = self.action == "keep" or (self.action in _MOVES and self.last_resort == "keep")
        if keeps and not self.acknowledge.strip():
            raise InvalidInputError(
                "OnExpiry.Acknowledge is missing: an endpoint that is kept stops answering when the plan's capacity is "
                "taken away; say why that is fine"
            )


@dataclass(frozen=True, slots=True)
class Scaling:
    """Target tracking of one variant.

    Parameters
    ----------
    variant : str
    least, most : int
        Instances.
    policy_name : str
    policy : Mapping
        TargetTrackingScalingPolicyConfiguration.
    """

    variant: str
    least: int
    most: int
    policy_name: str
    policy: Mapping[str, Any]

    @classmethod
    def of(cls, given: Mapping[str, Any], variant: str) -> Scaling:
        """Read ``Scaling`` of the custom resource; raises `InvalidInputError` in words."""
        name = given.get("VariantName") or variant
        found = cls(
            name,
            _whole(given, "MinCapacity", "Scaling."),
            _whole(given, "MaxCapacity", "Scaling."),
            given.get("PolicyName") or f"{name}-target-tracking",
            given.get("PolicyConfig") or {},
        )
        if not 1 <= found.least <= found.most:
            raise InvalidInputError(
                f"Scaling goes from {found.least} to {found.most} instances: MinCapacity is at least 1 and not above "
                "MaxCapacity"
            )
        return found


@dataclass(frozen=True, slots=True)
class EndpointDeclaration:
    """One endpoint: what it is on its plan, and what becomes of it afterwards.

    Parameters
    ----------
    name, owner, plan_arn : str
    config : Mapping
        The CreateEndpointConfig request on the plan, without a name.
    on_expiry : OnExpiry
    margin : timedelta
        How long before a segment's usable end leaving begins.
    period : timedelta
        How long it is between two runs of the reconciler.
    accept_downtime : timedelta
        The longest interruption that an update may cost; none without it.
    scaling : Scaling, optional
    tags : Mapping
        Tags of the endpoint and its configurations, besides ours.
    digest : str
        Equal for equal declarations.
    """

    name: str
    owner: str
    plan_arn: str
    config: Mapping[str, Any]
    on_expiry: OnExpiry
    margin: timedelta = timedelta(minutes=15)
    period: timedelta = timedelta(minutes=5)
    accept_downtime: timedelta = timedelta()
    scaling: Scaling | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    digest: str = ""

    @classmethod
    def of(cls, properties: Mapping[str, Any]) -> EndpointDeclaration:
        """Read the custom resource's properties.

        Parameters
        ----------
        properties : Mapping
            With the values inside of ``EndpointConfig`` as the API takes them; numbers beside it may be texts.

        Raises
        ------
        InvalidInputError
            Naming what is wrong, and the fix.
        """
        for name in ("EndpointName", "TrainingPlanArn", "EndpointConfig", "Owner"):
            if not properties.get(name):
                raise InvalidInputError(f"{name} is missing: declare the endpoint with ReservedEndpoint, which sets it")
        config = properties["EndpointConfig"]
        variants = config.get("ProductionVariants") or ()
        if not variants:
            raise InvalidInputError("EndpointConfig has no ProductionVariants: at least one is needed")
        scaling = properties.get("Scaling")
        found = cls(
            properties["EndpointName"],
            properties["Owner"],
            properties["TrainingPlanArn"],
            config,
            OnExpiry.of(properties.get("OnExpiry")),
            timedelta(seconds=_whole(properties, "MarginSeconds", least=0, default=900)),
            timedelta(seconds=_whole(properties, "PeriodSeconds", least=1, default=300)),
            timedelta(seconds=_whole(properties, "AcceptDowntimeSeconds", least=0, default=0)),
            Scaling.of(scaling, variants[0]["VariantName"]) if scaling else None,
            {tag["Key"]: tag["Value"] for tag in properties.get("Tags") or ()},
            content_hash({key: value for key, value in properties.items() if key not in _NO_CONTENT}, 16),
        )
        found._check()
        return found

    def _check(self) -> None:
        if "EndpointConfigName" in self.config:
            raise InvalidInputError(
                f"EndpointConfig has the fixed name {self.config['EndpointConfigName']!r}: leave the name out, "
                "configurations are named by their content"
            )
        if self.margin < 2 * self.period:
            raise InvalidInputError(
                f"MarginSeconds is {self.margin.total_seconds():g}: at least two periods of "
                f"{self.period.total_seconds():g} seconds are needed to leave the plan in time"
            )
        if self.on_expiry.action == "to_plan" and self.on_expiry.plan_arn == self.plan_arn:
            raise InvalidInputError(f"OnExpiry moves to {self.plan_arn}, the plan it leaves: name the next plan")
        for where, config, arn in (
            ("EndpointConfig", self.config, self.plan_arn),
            ("OnExpiry.EndpointConfig", self.on_expiry.config, self.on_expiry.plan_arn),
        ):
            _check_plans(where, config or {}, arn)


def _check_plans(where: str, config: Mapping[str, Any], arn: str) -> None:
    """Refuse variants that run elsewhere than on the plan, or on one although none was named."""
    for variant in (*config.get("ProductionVariants", ()), *config.get("ShadowProductionVariants", ())):
        found = variant.get("CapacityReservationConfig", {}).get("MlReservationArn", "")
        if found != arn:
            raise InvalidInputError(
                f"{where}: variant {variant.get('VariantName')!r} runs on {found or 'no plan'}, not on "
                f"{arn or 'on-demand capacity'}: an endpoint runs on exactly one plan at a time"
            )
        if arn and "InstancePools" in variant:
            raise InvalidInputError(
                f"{where}: variant {variant.get('VariantName')!r} has InstancePools: a plan holds one type, so "
                "pools are for on-demand capacity only"
            )


def _whole(given: Mapping[str, Any], name: str, prefix: str = "", *, least: int = 0, default: int | None = None) -> int:
    """Read a whole number, which CloudFormation passes as text."""
    value = given.get(name, default)
    try:
        number = int(str(value))
    except ValueError:
        raise InvalidInputError(f"{prefix}{name} is {value!r}: a whole number is needed") from None
    if number < least:
        raise InvalidInputError(f"{prefix}{name} is {number}: at least {least} is needed")
    return number
