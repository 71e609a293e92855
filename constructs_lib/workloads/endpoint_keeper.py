"""What the reserved endpoints of a stack share: the keeper, its table, schedule, roles and logs, one of each."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from aws_cdk import (
    Acknowledgment,
    Duration,
    Token,
    Validations,
    aws_cloudwatch,
    aws_dynamodb,
    aws_events,
    aws_lambda,
    aws_logs,
    aws_scheduler,
)
from constructs import Construct

from constructs_lib.capacity.approval import topic_arn
from constructs_lib.model import InvalidInputError, is_unresolved
from constructs_lib.model.endpoint_names import (
    ENDPOINT_NOTICES_VARIABLE,
    ENDPOINT_TABLE_VARIABLE,
    KEEPER_VARIABLE,
)
from constructs_lib.model.endpoints_declaration import content_hash
from constructs_lib.shared.cdk_values import role_arn
from constructs_lib.shared.functions import TESTED_RUNTIME, RuntimeCode
from constructs_lib.shared.policies import allow, assumed_by
from constructs_lib.shared.role_maker import RoleMaker, late
from constructs_lib.shared.scopes import OnePerStack, stack_of
from constructs_lib.workloads.endpoint_roles import WHY_WIDE, Kept, keeper_statements, resource_statements
from constructs_lib.workloads.endpoint_settings import whole_seconds

if TYPE_CHECKING:
    from aws_cdk.interfaces.aws_iam import IManagedPolicyRef
    from aws_cdk.interfaces.aws_sns import ITopicRef

    from constructs_lib.shared.cdk_values import Role, Time

__all__ = ["KEEPER_ID", "EndpointKeeper"]

KEEPER_ID = "GpuEndpoints"
_RESOURCE_SECONDS = 900
_KEEPER_SECONDS = 120
_MINUTES = range(1, 16)
_LOG_RETENTION_DAYS = 365
_NOT_IN_TAGS = re.compile(r"[^\w\s.:/=+@-]")
_TAG_MAX = 256
_keepers: OnePerStack[EndpointKeeper] = OnePerStack("EndpointKeeper", "keeper", KEEPER_ID, before="the first endpoint")


class EndpointKeeper(Construct):
    """Keeps the endpoints of a stack as they are declared; made by the first one, one per stack, as ``GpuEndpoints``.

    A function looks at every endpoint once a period, compares, and makes at most one change to each. Only one of it
    runs at a time. Make the keeper yourself, before the first endpoint, to bring parts of your own or another period. A
    role that you bring is used as it is: its permissions are yours to give.

    Parameters
    ----------
    scope : Construct
        The stack.
    construct_id : str
        ``GpuEndpoints``.
    period : Duration, timedelta or seconds
        Whole minutes, 1 to 15; 5 by default. An endpoint comes up within one period of its plan's start.
    notices : ITopicRef or str, optional
        The topic that is told when an endpoint moves, is deleted, is rolled back or will leave its plan within 24
        hours, and that alarms publish to. Without it there are metrics and alarms only.
    keeper_role, resource_role, schedule_role : IRoleRef or str, optional
        The roles of the keeper, of the function that takes declarations in, and of the schedule.
    permissions_boundary : IManagedPolicyRef or str, optional
        Set on every role that is made here.

    Attributes
    ----------
    function, resource_function : CfnFunction
        The keeper, and what the endpoints' custom resources call.
    table : CfnTable
        One row an endpoint: what is declared, what was asked for, what is next.
    keeper_role, resource_role, schedule_role : CfnRole, IRoleRef or str
    service_token : str
    service_timeout : Duration
        What the custom resources call, and how long it may take.
    log_group : CfnLogGroup
    schedule : CfnSchedule
    rule : CfnRule
        Wakes the keeper when an endpoint changes its state; nothing depends on it.
    alarm : CfnAlarm
        The keeper fails.

    Examples
    --------
    >>> import aws_cdk as cdk
    >>> stack = cdk.Stack(cdk.App(), "Serving")
    >>> keeper = EndpointKeeper(stack, period=cdk.Duration.minutes(2))
    >>> EndpointKeeper.of(stack) is keeper, keeper.period_seconds
    (True, 120)
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str = KEEPER_ID,
        *,
        period: Time = 300,
        notices: ITopicRef | str | None = None,
        keeper_role: Role | None = None,
        resource_role: Role | None = None,
        schedule_role: Role | None = None,
        permissions_boundary: IManagedPolicyRef | str | None = None,
    ) -> None:
        stack = _keepers.place(scope, construct_id)
        self.period_seconds = _period(period)
        topic = None if notices is None else topic_arn("notices", notices)
        super().__init__(scope, construct_id)
        _keepers.keep(stack, self)
        self._stack, self._place, self._kept, self._topic = stack, stack.place, Kept(), topic
        self._owners = _NOT_IN_TAGS.sub("-", stack.name)[: _TAG_MAX // 2] + "/"
        self._roles = RoleMaker(stack.stack, WHY_WIDE, permissions_boundary, policy_name="Endpoints")
        self.node.add_validation(self._roles)
        Validations.of(self).acknowledge(Acknowledgment(id="AwsSolutions-L1", reason=TESTED_RUNTIME))
        self.log_group = aws_logs.CfnLogGroup(self, "Logs", retention_in_days=_LOG_RETENTION_DAYS)
        self.table = _table(self)
        # Read now: what is asked for at synth must make no construct.
        self._logs_arn, self._table_arn, self.table_name = self.log_group.attr_arn, self.table.attr_arn, self.table.ref
        self.alarm_actions: list[str] = Token.as_list(late(lambda: [self._topic] if self._topic else None))
        self.keeper_role = keeper_role or self._make_keeper_role()
        code = RuntimeCode(self, role=role_arn(self.keeper_role), log_group=self.log_group.ref)
        remembers = {ENDPOINT_TABLE_VARIABLE: self.table_name}
        tells = {ENDPOINT_NOTICES_VARIABLE: Token.as_string(late(lambda: self._topic))}
        self.function = code.function("Keeper", "endpoint_keeper", _KEEPER_SECONDS, remembers | tells)
        self.function.reserved_concurrent_executions = 1
        self._function_arn = self.function.attr_arn
        self.resource_role = resource_role or self._make_resource_role()
        self.resource_function = code.function(
            "ResourceFunction",
            "endpoint_resource",
            _RESOURCE_SECONDS,
            remembers | {KEEPER_VARIABLE: self.function.ref},
            role=role_arn(self.resource_role),
        )
        self.service_token = self.resource_function.attr_arn
        self.service_timeout = Duration.seconds(_RESOURCE_SECONDS + 60)
        self.schedule_role = schedule_role or self._make_schedule_role()
        self.schedule = self._run_every_period(role_arn(self.schedule_role))
        self.rule = self._run_on_changes()
        self.alarm = self._alarm()

    @staticmethod
    def of(scope: Construct) -> EndpointKeeper:
        """Return the keeper of the stack that ``scope`` is in, made now if it has none."""
        return _keepers.of(scope) or EndpointKeeper(stack_of(scope).stack)

    def tell(self, topic: ITopicRef | str) -> None:
        """Publish the stack's notices and alarms to a topic.

        Raises
        ------
        InvalidInputError
            If they go to another one already.
        """
        arn = topic_arn("notices", topic)
        if self._topic not in (None, arn):
            raise InvalidInputError(
                f"notices: the endpoints of the stack {self._stack.path!r} share one topic, {self._topic}; "
                f"{arn} was given too"
            )
        self._topic = arn

    def owner(self, path: str) -> str:
        """Return what the tags of an endpoint and its configurations name as their owner.

        Parameters
        ----------
        path : str
            The construct that declares it.
        """
        found = self._owners + _NOT_IN_TAGS.sub("-", path.removeprefix(f"{self._stack.path}/"))
        return found if len(found) <= _TAG_MAX else f"{found[: _TAG_MAX - 9]}-{content_hash(path, 8)}"

    def keep(self, name: str, path: str, *, configs: list[Any], scales: bool) -> None:
        """Let the keeper keep an endpoint.

        Parameters
        ----------
        name : str
            The endpoint's.
        path : str
            The construct that declares it.
        configs : list of dict
            The CreateEndpointConfig requests that it may need.
        scales : bool
            Whether it has autoscaling.

        Raises
        ------
        InvalidInputError
            If another construct declares an endpoint of this name.
        """
        if name in self._kept.endpoints:
            raise InvalidInputError(
                f"{path}: endpoint_name {name!r} is declared by {self._kept.endpoints[name]} already; "
                "give each endpoint its own name"
            )
        self._kept.endpoints[name] = path
        for config in configs:
            self._kept.take_in(config)
        self._kept.scales |= scales

    def _make_keeper_role(self) -> Role:
        return self._roles.make(
            self,
            "KeeperRole",
            trust=assumed_by("lambda.amazonaws.com"),
            statements=lambda: keeper_statements(
                self._place,
                self._kept,
                owners=self._owners,
                table=self._table_arn,
                topic=self._topic,
                log_group=self._logs_arn,
            ),
            too_large="pass keeper_role to the EndpointKeeper, or spread the endpoints over more stacks",
        )

    def _make_resource_role(self) -> Role:
        stack_id = self._stack.stack.stack_id
        return self._roles.make(
            self,
            "ResourceRole",
            trust=assumed_by("lambda.amazonaws.com"),
            statements=lambda: resource_statements(
                self._place,
                stack_id=stack_id,
                table=self._table_arn,
                keeper=self._function_arn,
                log_group=self._logs_arn,
            ),
            too_large="pass resource_role to the EndpointKeeper, or spread the endpoints over more stacks",
        )

    def _make_schedule_role(self) -> Role:
        return self._roles.make(
            self,
            "ScheduleRole",
            trust=assumed_by("scheduler.amazonaws.com", account=self._place.account),
            statements=lambda: [allow(["lambda:InvokeFunction"], [self._function_arn])],
            too_large="pass schedule_role to the EndpointKeeper",
        )

    def _run_every_period(self, role: str) -> aws_scheduler.CfnSchedule:
        aws_lambda.CfnEventInvokeConfig(
            self,
            "Deliveries",
            function_name=self.function.ref,
            qualifier="$LATEST",
            # What one run did not do the next one does: nothing is delivered again, or late.
            maximum_event_age_in_seconds=self.period_seconds,
            maximum_retry_attempts=0,
        )
        minutes = self.period_seconds // 60
        return aws_scheduler.CfnSchedule(
            self,
            "Period",
            description="gpu capacity: looks at the endpoints that this stack declares",
            schedule_expression=f"rate({minutes} minute{'s' if minutes > 1 else ''})",
            flexible_time_window=aws_scheduler.CfnSchedule.FlexibleTimeWindowProperty(mode="OFF"),
            target=aws_scheduler.CfnSchedule.TargetProperty(
                arn=self._function_arn, role_arn=role, input=json.dumps({"action": "reconcile"})
            ),
        )

    def _run_on_changes(self) -> aws_events.CfnRule:
        target = aws_events.CfnRule.TargetProperty(arn=self._function_arn, id="Keeper")
        rule = aws_events.CfnRule(self, "Changed", event_pattern=late(self._pattern), targets=[target])
        aws_lambda.CfnPermission(
            self,
            "ChangedPermission",
            action="lambda:InvokeFunction",
            function_name=self._function_arn,
            principal="events.amazonaws.com",
            source_arn=rule.attr_arn,
        )
        return rule

    def _pattern(self) -> dict[str, Any]:
        ours = self._stack.prefix.lower()
        own = {"prefix": ours}
        names = [own if name.startswith(ours) else name for name in self._kept.endpoints]
        return {
            "source": ["aws.sagemaker"],
            "detail-type": ["SageMaker Endpoint State Change"],
            # A pattern needs a name, also when no endpoint is declared any more.
            "detail": {"EndpointName": [name for at, name in enumerate(names) if name not in names[:at]] or [own]},
        }

    def _alarm(self) -> aws_cloudwatch.CfnAlarm:
        return aws_cloudwatch.CfnAlarm(
            self,
            "FailsAlarm",
            alarm_description="The keeper of the stack's endpoints fails: nobody takes them off their plans in time.",
            namespace="AWS/Lambda",
            metric_name="Errors",
            dimensions=[aws_cloudwatch.CfnAlarm.DimensionProperty(name="FunctionName", value=self.function.ref)],
            statistic="Sum",
            period=max(300, self.period_seconds),
            evaluation_periods=2,
            datapoints_to_alarm=2,
            threshold=1,
            comparison_operator="GreaterThanOrEqualToThreshold",
            treat_missing_data="notBreaching",
            alarm_actions=self.alarm_actions,
        )


def _period(period: Time) -> int:
    seconds = whole_seconds("period", period)
    if is_unresolved(seconds) or seconds % 60 or seconds // 60 not in _MINUTES:
        raise InvalidInputError(
            f"period: {_MINUTES[0]} to {_MINUTES[-1]} whole minutes are needed, known at synth; {period!r} was given"
        )
    return seconds


def _table(scope: Construct) -> aws_dynamodb.CfnTable:
    table = aws_dynamodb.CfnTable
    return table(
        scope,
        "Table",
        billing_mode="PAY_PER_REQUEST",
        attribute_definitions=[table.AttributeDefinitionProperty(attribute_name="name", attribute_type="S")],
        key_schema=[table.KeySchemaProperty(attribute_name="name", key_type="HASH")],
        point_in_time_recovery_specification=table.PointInTimeRecoverySpecificationProperty(
            point_in_time_recovery_enabled=True
        ),
    )
