"""Reserved capacity as a declared resource: quoted, then bought exactly once, and handed to jobs by its ARN."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import jsii
from aws_cdk import CfnOutput, CustomResource, Duration, Fn, ITaggableV2, TagManager

from constructs_lib.capacity.approval import Approval
from constructs_lib.capacity.buyer import CapacityBuyer
from constructs_lib.capacity.identities import declare
from constructs_lib.capacity.plan_alarms import plan_alarms
from constructs_lib.capacity.plan_base import PlanBase
from constructs_lib.capacity.plan_tags import check_tags, tag_manager, tag_rows
from constructs_lib.capacity.target import TrainingPlanTarget
from constructs_lib.model import InvalidInputError, is_unresolved
from constructs_lib.model.choice import Choice
from constructs_lib.model.plan_names import plan_name
from constructs_lib.model.price import PriceCeiling
from constructs_lib.model.purchase_keys import PURCHASE_CONTEXT
from constructs_lib.model.purchase_names import ASK_AGAIN_CONTEXT
from constructs_lib.model.purchase_timing import SERVICE_TIMEOUT
from constructs_lib.model.window import CapacityWindow, moment_text, zoned
from constructs_lib.rules import check_request, raise_for_errors
from constructs_lib.shared.cdk_values import seconds
from constructs_lib.shared.role_maker import late
from constructs_lib.shared.scopes import path_of, stack_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from constructs import Construct

    from constructs_lib.shared.cdk_values import Time

__all__ = ["ImportedTrainingPlan", "TrainingPlan"]

_ARN = re.compile(
    r"arn:aws[a-z-]*:sagemaker:(?P<region>[a-z0-9-]+):(?P<account>\d{12}):training-plan/(?P<name>[A-Za-z0-9-]+)"
)


@jsii.implements(ITaggableV2)
class TrainingPlan(PlanBase):
    """A SageMaker training plan that a deploy quotes, and buys once it may: exactly once, at or below a ceiling.

    Without the context key ``@gpu-capacity/purchase`` a deploy is a quote: the best offering and its fee stand in the
    outputs, nothing is bought. The key names the plan, its generation, a last day, the account and the region, such as
    ``nightly#1@2026-12-10@111122223333/us-west-2``, so that one left behind buys nothing else. No retry, rollback,
    renamed construct or second deploy buys again: the plan is known by its name, in this account and region, for ever.

    A plan is paid upfront and cannot be cancelled or changed. Deleting the stack keeps it; the construct declared again
    finds it. Buying again is on purpose only: raise ``generation``.

    Parameters
    ----------
    scope : Construct
    construct_id : str
    training_plan_name : str
        The plan's identity in its account and region. From generation 2 on the plan's own name ends in ``-N``.
    instance_type : str
        Such as ``ml.p5.48xlarge``.
    instance_count : int
    duration : Duration, timedelta or seconds
        Sold in whole days, 1 to 182.
    window : CapacityWindow
        Within which the whole time has to lie.
    target : TrainingPlanTarget
        The one use that it is bought for.
    max_upfront_fee : PriceCeiling
        What costs more, or is priced in another currency, is never bought.
    generation : int
        From 1; one more buys once more.
    choice : str
        By what offerings are compared: ``cheapest`` (an instance-hour; the default), ``earliest``, ``longest``, or
        several of them separated by commas. Ties are broken as `constructs_lib.model.choice.Choice` says.
    allow_discontinuous : bool
        Whether segments with gaps between them will do. By default not.
    approval : Approval, optional
        Lets a person decide as well.
    adopt : bool
        Takes a plan of this name that somebody else bought for this one. By default that is refused.
    extend_until : datetime or str, optional
        The plan is extended to end then or later, with a purchase key of its own, such as
        ``nightly#1+2027-02-12@2026-12-10@111122223333/us-west-2``.
    max_extension_fee : PriceCeiling, optional
        Needed with ``extend_until``.
    tags : mapping of str to str, optional
        The plan's; those of ``Tags.of()`` reach it too.

    Attributes
    ----------
    buyer : CapacityBuyer
        What the stack's purchases share.
    duration_hours : int
    resource : CustomResource
    alarms : dict of str to CfnAlarm
        By construct id; they publish to the notice topic of the stack's `CapacityBuyer`.

    Raises
    ------
    InvalidInputError
        For what is known to be no plan: in the words of the rules GPU-TP01 to TP08.

    Examples
    --------
    >>> import aws_cdk as cdk
    >>> stack = cdk.Stack(cdk.App(), "Research")
    >>> plan = TrainingPlan(stack, "Nightly", training_plan_name="nightly", instance_type="ml.p5.48xlarge",
    ...     instance_count=4, duration=cdk.Duration.days(3),
    ...     window=CapacityWindow(start_after="2027-01-27T00:00Z", end_before="2027-02-05T12:00Z"),
    ...     target=TrainingPlanTarget.TRAINING_JOB, max_upfront_fee=PriceCeiling("60000", "USD"))
    >>> plan.plan_name, plan.preference().instance_count
    ('nightly', 4)
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        training_plan_name: str,
        instance_type: str,
        instance_count: int,
        duration: Time,
        window: CapacityWindow,
        target: TrainingPlanTarget,
        max_upfront_fee: PriceCeiling,
        generation: int = 1,
        choice: str = "cheapest",
        allow_discontinuous: bool = False,
        approval: Approval | None = None,
        adopt: bool = False,
        extend_until: datetime | str | None = None,
        max_extension_fee: PriceCeiling | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> None:
        stack, path = stack_of(scope), path_of(scope, construct_id)
        name = plan_name(training_plan_name, generation)
        _of_type(path, window=(window, CapacityWindow), max_upfront_fee=(max_upfront_fee, PriceCeiling))
        check_tags(tags or {})
        properties: dict[str, Any] = {
            "TrainingPlanName": training_plan_name,
            "Generation": str(generation),
            "InstanceType": instance_type,
            "InstanceCount": instance_count,
            "DurationHours": _hours(path, duration),
            **window.to_request(),
            "TargetResources": [str(TrainingPlanTarget(target))],
            "MaxUpfrontFee": max_upfront_fee.amount,
            "CurrencyCode": max_upfront_fee.currency,
            "Choice": str(Choice.parse(choice)),
            "AllowDiscontinuous": _flag(allow_discontinuous),
            "Adopt": _flag(adopt),
            **_extension(path, extend_until, max_extension_fee, max_upfront_fee.currency),
            **({"Approval": approval.properties()} if approval else {}),
            **_context(scope, path),
            "AccountId": stack.place.account,
            "Region": stack.place.region,
        }
        raise_for_errors(check_request("training-plan", properties, path=path))
        declare(stack, training_plan_name, path)
        super().__init__(scope, construct_id)
        self.plan_name, self.target = name, TrainingPlanTarget(target)
        self.instance_type, self.instance_count = instance_type, instance_count
        self.duration_hours: int = properties["DurationHours"]
        self._tags = tag_manager(tags or {})
        self.buyer = CapacityBuyer.of(scope)
        self.buyer.serve(
            training_plan_name,
            approval_topic=approval.topic if approval else None,
            extends=extend_until is not None,
        )
        self.resource = self._buy(properties)
        self.training_plan_arn = self.resource.get_att_string("TrainingPlanArn")
        self.alarms = plan_alarms(self, name, self.buyer.notice_topic)
        self._tell()

    @staticmethod
    def from_training_plan_arn(
        scope: Construct,
        construct_id: str,
        training_plan_arn: str,
        *,
        instance_type: str | None = None,
        instance_count: int | None = None,
        target: TrainingPlanTarget | None = None,
        starts_at: datetime | str | None = None,
        ends_at: datetime | str | None = None,
        availability_zones: Sequence[str] | None = None,
    ) -> ImportedTrainingPlan:
        """Return a plan that was bought elsewhere; what is told of it here is believed.

        Parameters
        ----------
        scope : Construct
        construct_id : str
        training_plan_arn : str
            Its ARN, possibly a token.
        instance_type, instance_count, target, starts_at, ends_at, availability_zones : optional
            What is known of it.

        Raises
        ------
        InvalidInputError
            For an ARN of something else, or of another account or region: plans cannot be shared.
        """
        return ImportedTrainingPlan(
            scope,
            construct_id,
            training_plan_arn,
            instance_type=instance_type,
            instance_count=instance_count,
            target=target,
            starts_at=starts_at,
            ends_at=ends_at,
            availability_zones=availability_zones,
        )

    @property
    def cdk_tag_manager(self) -> TagManager:
        """The plan's tags, for `Tags.of()`."""
        return self._tags

    @property
    def status(self) -> str:
        """What the deploy found: ``Quote``, ``AwaitingApproval``, ``Unconfirmed``, or the plan's own status."""
        return self.resource.get_att_string("Status")

    @property
    def quote(self) -> str:
        """The best offering at the deploy that quoted, in words."""
        return self.resource.get_att_string("Quote")

    @property
    def start_time(self) -> str:
        """When the bought plan starts; empty before."""
        return self.resource.get_att_string("StartTime")

    @property
    def end_time(self) -> str:
        """When the bought plan ends; empty before."""
        return self.resource.get_att_string("EndTime")

    @property
    def availability_zones(self) -> str:
        """The zones of the bought plan, separated by commas; empty before."""
        return self.resource.get_att_string("AvailabilityZones")

    @property
    def upfront_fee(self) -> str:
        """What was paid; empty before."""
        return self.resource.get_att_string("UpfrontFee")

    def _buy(self, properties: dict[str, Any]) -> CustomResource:
        resource = CustomResource(
            self,
            "Resource",
            resource_type="Custom::SageMakerTrainingPlan",
            service_token=self.buyer.service_token,
            service_timeout=Duration.seconds(SERVICE_TIMEOUT),
            properties={**properties, "Tags": late(lambda: tag_rows(self._tags))},
        )
        # The function must be able to hear of, and to do, all that a purchase takes before it is asked.
        resource.node.add_dependency(self.buyer)
        for policy in ("DeletionPolicy", "UpdateReplacePolicy"):
            # A removal policy would lose to RemovalPolicies.of(app).destroy(), and forget what was paid for.
            resource.node.default_child.add_override(policy, "Retain")  # type: ignore[union-attr]
        return resource

    def _announced_start(self) -> str:
        return self.start_time

    def _notice_topic(self) -> str | None:
        return self.buyer.notice_topic

    def _tell(self) -> None:
        """Say in the outputs what there is, and what deleting the stack does not do."""
        words = f"training plan {self.plan_name}: "
        CfnOutput(self, "Status", value=f"{words}{self.status}. {self.quote}")
        kept = "it is paid upfront and cannot be cancelled, so deleting this stack keeps it"
        CfnOutput(self, "Kept", value=f"{words}once bought, {kept}; declared again, it is found and not bought again")


class ImportedTrainingPlan(PlanBase):
    """A plan that was bought elsewhere; made by `TrainingPlan.from_training_plan_arn`."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        training_plan_arn: str,
        *,
        instance_type: str | None,
        instance_count: int | None,
        target: TrainingPlanTarget | None,
        starts_at: datetime | str | None,
        ends_at: datetime | str | None,
        availability_zones: Sequence[str] | None,
    ) -> None:
        path = path_of(scope, construct_id)
        name = _read_arn(path, training_plan_arn, scope)
        super().__init__(scope, construct_id)
        self.training_plan_arn, self.plan_name = training_plan_arn, name
        self.instance_type, self.instance_count = instance_type, instance_count
        self.target = None if target is None else TrainingPlanTarget(target)
        self.starts_at = None if starts_at is None else zoned(starts_at, "starts_at")
        self.ends_at = None if ends_at is None else zoned(ends_at, "ends_at")
        self.availability_zones = tuple(availability_zones or ())

    def _announced_start(self) -> str:
        return moment_text(self.starts_at) if self.starts_at else ""

    @property
    def described(self) -> dict[str, Any]:
        """What is known of the plan, as DescribeTrainingPlan would tell it; rules hold its users against it."""
        known = {
            "TrainingPlanArn": self.training_plan_arn,
            "InstanceType": self.instance_type,
            "TotalInstanceCount": self.instance_count,
            "TargetResources": [str(self.target)] if self.target else None,
            "StartTime": self.starts_at,
            "EndTime": self.ends_at,
            "ReservedCapacitySummaries": [{"AvailabilityZone": zone} for zone in self.availability_zones],
        }
        return {name: value for name, value in known.items() if value}


def _read_arn(path: str, arn: str, scope: Construct) -> str:
    """Return the plan's name."""
    if is_unresolved(arn):
        return Fn.select(1, Fn.split("/", arn))
    found = _ARN.fullmatch(arn) if isinstance(arn, str) else None
    if found is None:
        raise InvalidInputError(
            f"{path}: {arn!r} is no training plan; write it as "
            "arn:aws:sagemaker:<region>:<account>:training-plan/<name>"
        )
    place = stack_of(scope).place
    for what, here in (("account", place.account), ("region", place.region)):
        if not is_unresolved(here) and found[what] != here:
            raise InvalidInputError(
                f"{path}: the plan {found['name']} is of {what} {found[what]} and the stack of {here}; "
                "plans cannot be shared"
            )
    return found["name"]


def _of_type(path: str, **given: tuple[Any, type]) -> None:
    for prop, (value, kind) in given.items():
        if not isinstance(value, kind):
            example = 'PriceCeiling("60000", "USD")' if kind is PriceCeiling else 'CapacityWindow(end_before="...Z")'
            raise InvalidInputError(f"{path}: {prop}: {example} is needed, {value!r} was given")


def _hours(path: str, duration: Time) -> int:
    given = seconds("duration", duration)
    hours = (given if isinstance(given, int | float) else given.total_seconds()) / 3600
    if is_unresolved(hours * 3600) or hours != int(hours):
        raise InvalidInputError(f"{path}: duration: whole hours are needed, known at synth; {hours:g} were given")
    return int(hours)


def _extension(path: str, until: datetime | str | None, fee: PriceCeiling | None, currency: str) -> dict[str, str]:
    if until is None and fee is None:
        return {}
    if until is None or fee is None:
        raise InvalidInputError(
            f"{path}: extend_until and max_extension_fee are given together: an extension is a purchase of its own"
        )
    _of_type(path, max_extension_fee=(fee, PriceCeiling))
    if fee.currency != currency:
        raise InvalidInputError(f"{path}: max_extension_fee is in {fee.currency} and max_upfront_fee in {currency}")
    return {"ExtendUntil": moment_text(zoned(until, "extend_until")), "MaxExtensionFee": fee.amount}


def _context(scope: Construct, path: str) -> dict[str, str]:
    """Return what the app's context says to purchases."""
    keys, again = (scope.node.try_get_context(key) for key in (PURCHASE_CONTEXT, ASK_AGAIN_CONTEXT))
    for key, value in ((PURCHASE_CONTEXT, keys), (ASK_AGAIN_CONTEXT, again)):
        if not isinstance(value, str | None):
            raise InvalidInputError(f"{path}: the context {key} is {value!r}; a text is needed")
    return {"Purchase": keys or "", **({"AskAgain": again} if again else {})}


def _flag(given: bool) -> str:
    return "true" if given else "false"
