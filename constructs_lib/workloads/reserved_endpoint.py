"""An endpoint that lives and moves with its reservation."""

from __future__ import annotations

import re
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

import jsii
from aws_cdk import CustomResource, ITaggableV2, TagManager, TagType
from constructs import Construct

from constructs_lib.model import InvalidInputError, is_unresolved, name_prefix
from constructs_lib.model.approvals import approvals, types_in
from constructs_lib.model.endpoint_names import RESERVED_ENDPOINT
from constructs_lib.rules.reserved_endpoints import subjects_of
from constructs_lib.shared.role_maker import late
from constructs_lib.shared.scopes import path_of, stack_of
from constructs_lib.workloads.endpoint_alarms import EndpointMetrics, endpoint_alarms
from constructs_lib.workloads.endpoint_configs import judge
from constructs_lib.workloads.endpoint_keeper import EndpointKeeper
from constructs_lib.workloads.endpoint_roles import endpoint_arns
from constructs_lib.workloads.endpoint_scaling import EndpointScaling
from constructs_lib.workloads.endpoint_settings import EndpointSettings, config_request, whole_seconds
from constructs_lib.workloads.on_expiry import OnExpiry
from constructs_lib.workloads.plan_use import instance_type_of, plan_use

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from aws_cdk.aws_iam import Grant, IGrantable
    from aws_cdk.interfaces.aws_sns import ITopicRef

    from constructs_lib.model import HasTrainingPlanArn
    from constructs_lib.shared.cdk_values import Time
    from constructs_lib.shared.scopes import StackInfo
    from constructs_lib.workloads.plan_use import PlanUse

__all__ = ["EndpointGrants", "ReservedEndpoint"]

_NAME = re.compile(r"[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}")


@jsii.implements(ITaggableV2)
class ReservedEndpoint(EndpointMetrics, Construct):
    """A SageMaker endpoint on a training plan: there while the plan is, and gone before its capacity is taken away.

    A deploy only declares the endpoint. The stack's `EndpointKeeper` makes it when the plan is active, within one
    period; changes its model or count without asking for more than the plan has; and takes it off the plan by the cut,
    as ``on_expiry`` says. The cut is the usable end of each segment of the plan, less ``margin``; when AWS takes the
    instances is not documented for endpoints, so an hour before the segment ends counts as its usable end. A plan that
    starts next week can be bought and used in one stack. Deleting the stack deletes the endpoint first.

    An update that finds no free instance in the plan lowers the count by one first; with a single instance it stops
    and replaces, if ``accept_downtime`` allows it, or else leaves the old configuration in service and raises an alarm.

    Parameters
    ----------
    scope : Construct
    construct_id : str
    plan : HasTrainingPlanArn or str
        One plan, bought for endpoints, or its ARN.
    model_name : str
    instance_count : int
        At most what the plan has.
    on_expiry : OnExpiry
        It has to be given.
    instance_type : str, optional
        The plan's own when left out.
    margin : Duration, timedelta or seconds
        How long before the usable end the endpoint begins to leave; 15 minutes by default. It has to hold the longest
        move and two periods of the keeper.
    accept_downtime : Duration, timedelta or seconds, optional
        How long the endpoint may be away in an update that has no room. By default not at all.
    scaling : EndpointScaling, optional
        Within the plan.
    endpoint_name : str, optional
        Made of stack, id and path when left out. Another name is another endpoint.
    notices : ITopicRef or str, optional
        See `EndpointKeeper`; the endpoints of a stack share one topic.
    tags : mapping of str to str, optional
        The endpoint's; those of ``Tags.of()`` reach it too.
    request_overrides : mapping, optional
        Deep-merged into each CreateEndpointConfig request on a plan last: the way to members that have no keyword here.
        Lists replace. The requests on demand have their own, in `OnExpiry.to_on_demand`.
    **settings
        As `EndpointSettings` says.

    Attributes
    ----------
    endpoint_name : str
        Text, and the same in every deploy.
    endpoint_arn : str
    resource : CustomResource
    keeper : EndpointKeeper
    alarms : dict of str to CfnAlarm
        By construct id: rolled back, no head-room, not as declared for 15 minutes, 24 hours to the cut.
    config_request, fallback_request : Mapping
        The CreateEndpointConfig requests without a name: on the plan, and after it (``None`` without one).

    Raises
    ------
    InvalidInputError
        Without ``on_expiry``, and in the words of every rule that the declaration breaks.

    Examples
    --------
    >>> import aws_cdk as cdk
    >>> from constructs_lib import OnExpiry, ReservedEndpoint, TrainingPlan
    >>> stack = cdk.Stack(cdk.App(), "Serving")
    >>> plan = TrainingPlan.from_training_plan_arn(stack, "Plan", instance_type="ml.p5.48xlarge", instance_count=2,
    ...     training_plan_arn="arn:aws:sagemaker:us-west-2:111122223333:training-plan/serving")
    >>> endpoint = ReservedEndpoint(stack, "Chat", plan=plan, model_name="chat", instance_count=2,
    ...     on_expiry=OnExpiry.to_on_demand("ml.g6e.48xlarge", "ml.g5.48xlarge", last_resort=OnExpiry.delete()))
    >>> endpoint.endpoint_name
    'serving-chat-02783e37'
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        plan: HasTrainingPlanArn | str,
        model_name: str,
        instance_count: int,
        on_expiry: OnExpiry | None = None,
        instance_type: str | None = None,
        margin: Time = timedelta(minutes=15),
        accept_downtime: Time | None = None,
        scaling: EndpointScaling | None = None,
        endpoint_name: str | None = None,
        notices: ITopicRef | str | None = None,
        tags: Mapping[str, str] | None = None,
        request_overrides: Mapping[str, Any] | None = None,
        **settings: Unpack[EndpointSettings],
    ) -> None:
        stack, path = stack_of(scope), path_of(scope, construct_id)
        if not isinstance(on_expiry, OnExpiry):
            raise InvalidInputError(f"{path}: on_expiry: {_WAYS} is needed, {on_expiry!r} was given")
        name = _name(stack, construct_id, path, endpoint_name)
        use, keeper = plan_use("plan", plan), EndpointKeeper.of(scope)
        kind = instance_type_of(use, instance_type)
        make = partial(config_request, model_name=model_name, settings=settings)
        self.config_request = make(
            instance_count=instance_count,
            capacity={"InstanceType": kind, **use.capacity},
            overrides=request_overrides,
        )
        self.fallback_request = _fallback(on_expiry, make, kind, instance_count, request_overrides)
        after = {"EndpointConfig": self.fallback_request} if self.fallback_request else {}
        properties: dict[str, Any] = {
            "EndpointName": name,
            "TrainingPlanArn": use.arn,
            "EndpointConfig": self.config_request,
            "OnExpiry": {**on_expiry.properties(), **after},
            "MarginSeconds": whole_seconds("margin", margin),
            "PeriodSeconds": keeper.period_seconds,
            "AcceptDowntimeSeconds": whole_seconds("accept_downtime", accept_downtime or 0),
            **_scaling(scaling, self.config_request),
            "Owner": keeper.owner(path),
        }
        _judge(scope, path, properties, [use, *([on_expiry.next_plan] if on_expiry.next_plan else [])])
        super().__init__(scope, construct_id)
        self.endpoint_name, self.endpoint_arn = name, endpoint_arns(stack.place, name.lower())[0]
        self.keeper, self._place, self._tags = keeper, stack.place, TagManager(TagType.STANDARD, RESERVED_ENDPOINT)
        for key, value in (tags or {}).items():
            self._tags.set_tag(key, value)
        if notices is not None:
            keeper.tell(notices)
        configs = [self.config_request, *([self.fallback_request] if self.fallback_request else [])]
        keeper.keep(name, path, configs=configs, scales=scaling is not None)
        self.resource = self._declare(properties)
        self.alarms = endpoint_alarms(self, name, every=keeper.period_seconds, actions=keeper.alarm_actions)

    @property
    def cdk_tag_manager(self) -> TagManager:
        """The endpoint's tags, for `Tags.of()`."""
        return self._tags

    @property
    def grants(self) -> EndpointGrants:
        """Permissions on the endpoint: ``endpoint.grants.invoke(role)``."""
        return EndpointGrants(self, endpoint_arns(self._place, self.endpoint_name))

    @property
    def attr_status(self) -> str:
        """What the keeper made of the endpoint when the deploy ended, such as ``WaitingForPlan``."""
        return self.resource.get_att_string("Status")

    @property
    def attr_next_action(self) -> str:
        """What the keeper does next, as of the deploy."""
        return self.resource.get_att_string("NextAction")

    @property
    def attr_next_action_at(self) -> str:
        """When it does that, as of the deploy; empty if that is not known."""
        return self.resource.get_att_string("NextActionAt")

    def _declare(self, properties: dict[str, Any]) -> CustomResource:
        resource = CustomResource(
            self,
            "Resource",
            resource_type=RESERVED_ENDPOINT,
            service_token=self.keeper.service_token,
            service_timeout=self.keeper.service_timeout,
            properties={**properties, "TableName": self.keeper.table_name, "Tags": late(self._tag_rows)},
        )
        # CloudFormation deletes in reverse: the endpoint first, while all that takes it down is still there.
        node = resource.node
        node.add_dependency(self.keeper)
        declaration = node.default_child
        for policy in ("DeletionPolicy", "UpdateReplacePolicy"):
            # Kept without its keeper, an endpoint would stay on its plan beyond the cut.
            declaration.add_override(policy, "Delete")  # type: ignore[union-attr]
        return resource

    def _tag_rows(self) -> list[dict[str, str]] | None:
        return [{"Key": key, "Value": value} for key, value in sorted(self._tags.tag_values().items())] or None


class EndpointGrants:
    """Permissions on one endpoint.

    Parameters
    ----------
    endpoint : ReservedEndpoint
    arns : list of str
        The endpoint's, in both cases.
    """

    def __init__(self, endpoint: ReservedEndpoint, arns: list[str]) -> None:
        self._endpoint, self._arns = endpoint, arns

    def invoke(self, grantee: IGrantable) -> Grant:
        """Allow sending requests to the endpoint: answered at once, as a stream, or later."""
        from aws_cdk.aws_iam import Grant  # noqa: PLC0415 - most endpoints grant nothing here

        actions = [f"sagemaker:InvokeEndpoint{kind}" for kind in ("", "Async", "WithResponseStream")]
        return Grant.add_to_principal(grantee=grantee, actions=actions, resource_arns=self._arns)


_WAYS = "OnExpiry.delete(), OnExpiry.to_on_demand(...), OnExpiry.to_plan(...) or OnExpiry.keep(acknowledge=...)"


def _name(stack: StackInfo, construct_id: str, path: str, given: str | None) -> str:
    if given is None:
        # In lower case, as SageMaker writes it into ARNs.
        return name_prefix(stack.name, construct_id, path).lower()
    if not isinstance(given, str) or is_unresolved(given) or not _NAME.fullmatch(given):
        raise InvalidInputError(
            f"{path}: endpoint_name: 1 to 63 letters, digits and inner hyphens are needed, known at synth; "
            f"{given!r} was given"
        )
    return given


def _fallback(
    on_expiry: OnExpiry,
    make: Callable[..., dict[str, Any]],
    instance_type: str,
    instance_count: int,
    overrides: Mapping[str, Any] | None,
) -> dict[str, Any] | None:
    """Return the configuration after the plan."""
    count = instance_count if on_expiry.instance_count is None else on_expiry.instance_count
    if plan := on_expiry.next_plan:
        capacity = {"InstanceType": plan.instance_type or instance_type, **plan.capacity}
        return make(instance_count=count, capacity=capacity, overrides=overrides)
    if on_expiry.capacity:
        return make(instance_count=count, capacity=on_expiry.capacity, overrides=on_expiry.request_overrides)
    return None


def _scaling(scaling: EndpointScaling | None, request: Mapping[str, Any]) -> dict[str, Any]:
    if scaling is None:
        return {}
    EndpointScaling.check(scaling)
    return {"Scaling": scaling.property(request["ProductionVariants"][0]["VariantName"])}


def _judge(scope: Construct, path: str, properties: dict[str, Any], plans: list[PlanUse]) -> None:
    seen = properties
    for plan in plans:
        seen = plan.judged(seen)
    judge(scope, subjects_of(seen, path=path), [plan.described for plan in plans])
    approvals(stack_of(scope).root).use(path, types_in(properties))
