"""What the custom resource of a training plan asks for, read from CloudFormation's event."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from constructs_lib.model import (
    CapacityWindow,
    Choice,
    InvalidInputError,
    PriceCeiling,
    Requirement,
    plan_arn,
    plan_name,
    purchase_label,
)
from constructs_lib.model.purchase_keys import allows
from constructs_lib.model.purchase_tags import GENERATION_TAG, IDENTITY_TAG
from constructs_lib.model.window import zoned

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date, datetime

__all__ = ["ExtensionRequest", "PlanIdentity", "PlanRequest"]


@dataclass(frozen=True, slots=True)
class PlanIdentity:
    """Which plan: the declared ``training_plan_name`` and the generation. Nothing that a move changes."""

    identity: str
    generation: int

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> PlanIdentity:
        """Read properties; raises `InvalidInputError` for what is no name or no generation."""
        plan = cls(_text(given, "TrainingPlanName"), _whole(given, "Generation", "1"))
        plan_name(plan.identity, plan.generation)
        return plan

    def arn(self, stack: str) -> str:
        """Return the plan's ARN, which follows from its name and lies where the stack does."""
        _, partition, _, region, account, *_ = stack.split(":")
        return plan_arn(self.name, partition=partition, region=region, account=account)

    @property
    def name(self) -> str:
        """The plan's name."""
        return plan_name(self.identity, self.generation)

    @property
    def label(self) -> str:
        """What the purchase of the plan is called in the record and in a key."""
        return purchase_label(self.generation)

    @property
    def tags(self) -> dict[str, str]:
        """The tags that say whose purchase the plan is."""
        return {IDENTITY_TAG: self.identity, GENERATION_TAG: str(self.generation)}


@dataclass(frozen=True, slots=True)
class ExtensionRequest:
    """That the plan is to end no earlier than a moment, for at most a fee."""

    until: datetime
    ceiling: PriceCeiling


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """One Create or Update event, read.

    Parameters
    ----------
    kind : str
        ``Create`` or ``Update``.
    stack, request : str
        The stack's ARN and the request's id.
    plan : PlanIdentity
    wanted : Requirement
    choice : Choice
    ceiling : PriceCeiling
    keys : str
        The value of the purchase context, "" when there is none.
    topic : str or None
        Where an approval is asked for; ``None`` when none is required.
    adopt : bool
        Whether a plan of that name that bears no tag of ours is taken for this one.
    tags : Mapping
        The user's tags.
    extension : ExtensionRequest or None
    properties : Mapping
        Everything as it was given, for the rules.
    old : PlanRequest or None
        What an Update changes; ``None`` as well when the old properties cannot be read.
    """

    kind: str
    stack: str
    request: str
    plan: PlanIdentity
    wanted: Requirement
    choice: Choice
    ceiling: PriceCeiling
    keys: str = ""
    topic: str | None = None
    adopt: bool = False
    tags: Mapping[str, str] = field(default_factory=dict)
    extension: ExtensionRequest | None = None
    properties: Mapping[str, Any] = field(default_factory=dict)
    old: PlanRequest | None = None

    @classmethod
    def of(cls, event: Mapping[str, Any]) -> PlanRequest:
        """Read an event.

        Raises
        ------
        InvalidInputError
            Naming the property that cannot be used.
        """
        old = None
        if event.get("OldResourceProperties"):
            try:
                old = cls._of(event, event["OldResourceProperties"], None)
            except InvalidInputError:
                # Only what changed is read from it, and a request that could not be read bought nothing.
                old = None
        return cls._of(event, event["ResourceProperties"], old)

    @classmethod
    def _of(cls, event: Mapping[str, Any], given: Mapping[str, Any], old: PlanRequest | None) -> PlanRequest:
        currency = _text(given, "CurrencyCode")
        ceiling = PriceCeiling(_text(given, "MaxUpfrontFee"), currency)
        approval = given.get("Approval") or {}
        return cls(
            kind=event["RequestType"],
            stack=event["StackId"],
            request=event["RequestId"],
            plan=PlanIdentity.of(given),
            wanted=_requirement(given),
            choice=Choice.parse(given.get("Choice") or "cheapest"),
            ceiling=ceiling,
            keys=given.get("Purchase") or "",
            topic=_topic(approval) if _flag(approval, "Required") else None,
            adopt=_flag(given, "Adopt"),
            tags={tag["Key"]: tag["Value"] for tag in given.get("Tags") or ()},
            extension=_extension(given, currency),
            properties=given,
            old=old,
        )

    @property
    def place(self) -> dict[str, str]:
        """The account and the region, which are the stack's."""
        _, _, _, region, account, *_ = self.stack.split(":")
        return {"account": account, "region": region}

    @property
    def arn(self) -> str:
        """The plan's ARN, which follows from its name."""
        return self.plan.arn(self.stack)

    def reason_without_key(self, label: str, today: date) -> str | None:
        """Return why the keys do not allow a purchase today, or ``None`` if one does."""
        return allows(self.keys, self.plan.identity, label, **self.place, today=today)


def _requirement(given: Mapping[str, Any]) -> Requirement:
    times = {"start_after": given.get("StartTimeAfter"), "end_before": given.get("EndTimeBefore")}
    window = CapacityWindow(**{name: time for name, time in times.items() if time})
    targets = given.get("TargetResources")
    if not isinstance(targets, list) or len(targets) != 1:
        raise InvalidInputError(f"TargetResources is {targets!r}: a list of one target is needed")
    return Requirement(
        _text(given, "InstanceType"),
        _whole(given, "InstanceCount"),
        _whole(given, "DurationHours"),
        window,
        targets[0],
        _flag(given, "AllowDiscontinuous"),
    )


def _extension(given: Mapping[str, Any], currency: str) -> ExtensionRequest | None:
    if not (until := given.get("ExtendUntil")):
        return None
    return ExtensionRequest(zoned(until, "ExtendUntil"), PriceCeiling(_text(given, "MaxExtensionFee"), currency))


def _text(given: Mapping[str, Any], name: str) -> str:
    value = given.get(name)
    if not isinstance(value, str) or not value:
        raise InvalidInputError(f"{name} is {value!r}: text is needed")
    return value


def _topic(approval: Mapping[str, Any]) -> str:
    # Without a topic nobody can be asked, and so nobody approves: the purchase waits.
    return str(approval.get("TopicArn") or "")


def _whole(given: Mapping[str, Any], name: str, default: str = "") -> int:
    value = str(given.get(name, default))
    if not (value.isascii() and value.isdecimal()) or int(value) < 1:
        raise InvalidInputError(f"{name} is {value!r}: a whole number from 1 on is needed")
    return int(value)


def _flag(given: Mapping[str, Any], name: str) -> bool:
    value = str(given.get(name, "false")).lower()
    if value not in ("true", "false"):
        raise InvalidInputError(f"{name} is {value!r}: true or false is needed")
    return value == "true"
