"""What the purchases of a stack share: the buyer, the watcher, their roles and logs, one of each."""

from __future__ import annotations

import json
from functools import cached_property
from typing import TYPE_CHECKING

from aws_cdk import Acknowledgment, Token, Validations, aws_lambda, aws_logs, aws_scheduler
from constructs import Construct

from constructs_lib.capacity.approval import topic_arn
from constructs_lib.capacity.buyer_roles import WHY_WIDE, Served, buyer_statements, watcher_statements
from constructs_lib.model.purchase_timing import BUYER_TIMEOUT, MAXIMUM_EVENT_AGE
from constructs_lib.shared.cdk_values import role_arn
from constructs_lib.shared.functions import TESTED_RUNTIME, RuntimeCode
from constructs_lib.shared.policies import allow, assumed_by
from constructs_lib.shared.role_maker import RoleMaker, late
from constructs_lib.shared.scopes import OnePerStack, stack_of

if TYPE_CHECKING:
    from aws_cdk.interfaces.aws_iam import IManagedPolicyRef
    from aws_cdk.interfaces.aws_sns import ITopicRef

    from constructs_lib.shared.cdk_values import Role

__all__ = ["BUYER_ID", "CapacityBuyer"]

BUYER_ID = "GpuCapacityBuyer"
_LOG_RETENTION_DAYS = 365
_WATCHER_SECONDS = 60
_WATCH = "rate(5 minutes)"
_buyers: OnePerStack[CapacityBuyer] = OnePerStack("CapacityBuyer", "buyer", BUYER_ID, before="the first plan")


class CapacityBuyer(Construct):
    """The functions that buy and watch; made by the first purchase, one per stack, at the path ``GpuCapacityBuyer``.

    Make it yourself, before the first purchase, to bring parts of your own. A role that you bring is used as it is:
    its permissions are yours to give, see the permissions of the ones that are made otherwise. Whoever may pass or
    assume the buyer's role, or invoke the buyer, can spend.

    Parameters
    ----------
    scope : Construct
        The stack.
    construct_id : str
        ``GpuCapacityBuyer``.
    buyer_role, watcher_role, schedule_role : IRoleRef or str, optional
        The roles of the function that buys, of the one that watches, and of the watcher's schedule.
    notices : ITopicRef or str, optional
        The topic that is told when a plan starts late, ends soon or changes its status, and that alarms publish to.
        Without it there are metrics, alarms and events only.
    permissions_boundary : IManagedPolicyRef or str, optional
        Set on every role that is made here.

    Attributes
    ----------
    buyer, watcher : CfnFunction
    buyer_role, watcher_role, schedule_role : CfnRole, IRoleRef or str
    log_group : CfnLogGroup
        Kept for a year, deleted with the stack; what was bought stands in the purchase table.
    deliveries : CfnEventInvokeConfig
        How long Lambda may deliver a purchase's event again.
    schedule : CfnSchedule

    Examples
    --------
    >>> import aws_cdk as cdk
    >>> stack = cdk.Stack(cdk.App(), "Research")
    >>> buyer = CapacityBuyer(stack, notices="arn:aws:sns:us-west-2:111122223333:purchases")
    >>> CapacityBuyer.of(stack) is buyer
    True
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str = BUYER_ID,
        *,
        buyer_role: Role | None = None,
        watcher_role: Role | None = None,
        schedule_role: Role | None = None,
        notices: ITopicRef | str | None = None,
        permissions_boundary: IManagedPolicyRef | str | None = None,
    ) -> None:
        stack = _buyers.place(scope, construct_id)
        super().__init__(scope, construct_id)
        _buyers.keep(stack, self)
        self._place, self._stack_id = stack.place, stack.stack.stack_id
        self._served = Served({}, {})
        self._roles = RoleMaker(stack.stack, WHY_WIDE, permissions_boundary, policy_name="Purchases")
        self.node.add_validation(self._roles)
        Validations.of(self).acknowledge(Acknowledgment(id="AwsSolutions-L1", reason=TESTED_RUNTIME))
        self.notice_topic = None if notices is None else topic_arn("notices", notices)
        self.log_group = aws_logs.CfnLogGroup(self, "Logs", retention_in_days=_LOG_RETENTION_DAYS)
        self.buyer_role = buyer_role or self._make_buyer_role()
        self.watcher_role = watcher_role or self._make_watcher_role()
        code = RuntimeCode(self, role=role_arn(self.buyer_role), log_group=self.log_group.ref)
        self.buyer = code.function("Buyer", "training_plan", BUYER_TIMEOUT, {})
        self.deliveries = aws_lambda.CfnEventInvokeConfig(
            self,
            "Deliveries",
            function_name=self.buyer.ref,
            qualifier="$LATEST",
            maximum_event_age_in_seconds=MAXIMUM_EVENT_AGE,
        )
        told = {"GPUCAP_NOTICE_TOPIC": self.notice_topic} if self.notice_topic else {}
        self.watcher = code.function(
            "Watcher", "plan_watcher", _WATCHER_SECONDS, told, role=role_arn(self.watcher_role)
        )
        self.schedule_role = schedule_role or self._make_schedule_role()
        self.schedule = self._watch(role_arn(self.schedule_role))

    @staticmethod
    def of(scope: Construct) -> CapacityBuyer:
        """Return the buyer of the stack that ``scope`` is in, made now if it has none."""
        return _buyers.of(scope) or CapacityBuyer(stack_of(scope).stack)

    @cached_property
    def service_token(self) -> str:
        """The ARN of the function that a purchase's custom resource calls."""
        return self.buyer.attr_arn

    def serve(self, identity: str, *, approval_topic: str | None, extends: bool) -> None:
        """Let the buyer buy, and if asked extend, the plans of one identity.

        Parameters
        ----------
        identity : str
            The declared name of the plan.
        approval_topic : str, optional
            Whom it asks.
        extends : bool
            Whether it may extend plans; IAM knows no resource for that, so it is every plan of the account.
        """
        self._served.identities[identity] = None
        self._served.extends |= extends
        if approval_topic:
            self._served.topics[approval_topic] = None

    def _make_buyer_role(self) -> Role:
        logs = self.log_group.attr_arn  # read now: what is asked for at synth must make no construct
        return self._roles.make(
            self,
            "BuyerRole",
            trust=assumed_by("lambda.amazonaws.com"),
            statements=lambda: buyer_statements(self._place, self._served, stack_id=self._stack_id, log_group=logs),
            too_large="pass buyer_role to the CapacityBuyer, or spread the plans over more stacks",
        )

    def _make_watcher_role(self) -> Role:
        logs = self.log_group.attr_arn
        return self._roles.make(
            self,
            "WatcherRole",
            trust=assumed_by("lambda.amazonaws.com"),
            statements=lambda: watcher_statements(
                self._place, self._served, notice_topic=self.notice_topic, log_group=logs
            ),
            too_large="pass watcher_role to the CapacityBuyer",
        )

    def _make_schedule_role(self) -> Role:
        watcher = self.watcher.attr_arn
        return self._roles.make(
            self,
            "ScheduleRole",
            trust=assumed_by("scheduler.amazonaws.com", account=self._place.account),
            statements=lambda: [allow(["lambda:InvokeFunction"], [watcher])],
            too_large="pass schedule_role to the CapacityBuyer",
        )

    def _watched(self) -> str:
        return json.dumps({"identities": list(self._served.identities)})

    def _watch(self, role: str) -> aws_scheduler.CfnSchedule:
        return aws_scheduler.CfnSchedule(
            self,
            "Watch",
            description="gpu capacity: looks at the plans that this stack declares",
            schedule_expression=_WATCH,
            flexible_time_window=aws_scheduler.CfnSchedule.FlexibleTimeWindowProperty(mode="OFF"),
            target=aws_scheduler.CfnSchedule.TargetProperty(
                arn=self.watcher.attr_arn, role_arn=role, input=Token.as_string(late(self._watched))
            ),
        )
