"""The launcher of a stack: two functions, the run table, and what wakes them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from aws_cdk import CustomResource, Duration, aws_dynamodb, aws_events, aws_lambda, aws_scheduler

from constructs_lib import facts
from constructs_lib.model.approvals import ALLOWED_TYPES_VARIABLE
from constructs_lib.model.job_kinds import JOB_KINDS
from constructs_lib.shared.functions import RuntimeCode
from constructs_lib.shared.role_maker import late

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constructs import Construct

    from constructs_lib.model.job_kinds import JobKind
    from constructs_lib.shared.policies import Place
    from constructs_lib.workloads.approved import ApprovedTypes
    from constructs_lib.workloads.served import Served

__all__ = ["Launcher", "run_table"]

_LAUNCHER_SECONDS = 60
_DRAIN_SECONDS = 900
_SWEEP = "rate(5 minutes)"
# How an execution can end without a word from the launcher: a waitForTaskToken task gets no call back.
_SILENT_ENDS = ["ABORTED", "TIMED_OUT", "FAILED"]
_EVENTS = {
    "training": "SageMaker Training Job State Change",
    "processing": "SageMaker Processing Job State Change",
    "tuning": "SageMaker HyperParameter Tuning Job State Change",
}


class Launcher:
    """Builds the launcher's resources in a kit; each is an attribute.

    Parameters
    ----------
    scope : Construct
        The kit.
    place : Place
        Where the stack goes.
    name : str
        The launcher function's name. It is text and no token because every machine's definition holds it.
    approved : ApprovedTypes
        What the guardrails over the stack approve.
    job_prefix : str
        The start of the names of the stack's jobs.
    served : Served
        The jobs and machines whose ends wake the launcher, once all are known.
    launcher_role, schedule_role : str
        ARNs.
    log_group, table : str
        Names.
    """

    def __init__(
        self,
        scope: Construct,
        *,
        place: Place,
        name: str,
        approved: ApprovedTypes,
        job_prefix: str,
        served: Served,
        launcher_role: str,
        schedule_role: str,
        log_group: str,
        table: str,
    ) -> None:
        self._scope, self._place, self._served = scope, place, served
        self._job_prefix, self._table = job_prefix, table
        self._code = RuntimeCode(scope, role=launcher_role, log_group=log_group)
        self.function = self._function(
            "Launcher", "launcher", _LAUNCHER_SECONDS, name=name, more={ALLOWED_TYPES_VARIABLE: approved.variable()}
        )
        self._function_arn = self.function.attr_arn
        self.job_rule = self._rule("JobEnded", late(self._job_pattern))
        self.execution_rule = self._rule("ExecutionEnded", late(self._execution_pattern))
        permissions = [self._permit("JobEnded", self.job_rule), self._permit("ExecutionEnded", self.execution_rule)]
        self.schedule = self._sweep(schedule_role)
        self.drain_function = self._function("DrainFunction", "drain", _DRAIN_SECONDS)
        self.drain = self._drain()
        # CloudFormation deletes in reverse: the drain first, while everything that ends jobs is still there.
        self.drain.node.add_dependency(self.job_rule, self.execution_rule, *permissions, self.schedule)

    def _function(
        self,
        construct_id: str,
        handler: str,
        timeout: int,
        *,
        name: str | None = None,
        more: Mapping[str, str] | None = None,
    ) -> aws_lambda.CfnFunction:
        variables = {
            "GPUCAP_LAUNCHER_TIMEOUT": str(_LAUNCHER_SECONDS),
            "GPUCAP_RUN_TABLE": self._table,
            **(more or {}),
        }
        return self._code.function(construct_id, handler, timeout, variables, name=name)

    def _job_pattern(self) -> dict[str, Any]:
        """Return one pattern over the kinds of job in use: each has its own event, and its own names in it."""
        kinds = [JOB_KINDS[name] for name in self._served.kinds] or [JOB_KINDS["training"]]
        details = [_ended(kind, self._job_prefix) for kind in kinds]
        return {
            "source": ["aws.sagemaker"],
            "detail-type": [_EVENTS[kind.name] for kind in kinds],
            "detail": details[0] if len(details) == 1 else {"$or": details},
        }

    def _execution_pattern(self) -> dict[str, Any]:
        arns = [{"prefix": self._place.arn("states", f"stateMachine:{name}")} for name in self._served.waking]
        return {
            "source": ["aws.states"],
            "detail-type": ["Step Functions Execution Status Change"],
            "detail": {"stateMachineArn": arns, "status": _SILENT_ENDS},
        }

    def _rule(self, construct_id: str, pattern: Any) -> aws_events.CfnRule:
        target = aws_events.CfnRule.TargetProperty(arn=self._function_arn, id="Launcher")
        return aws_events.CfnRule(self._scope, construct_id, event_pattern=pattern, targets=[target])

    def _permit(self, construct_id: str, rule: aws_events.CfnRule) -> aws_lambda.CfnPermission:
        return aws_lambda.CfnPermission(
            self._scope,
            f"{construct_id}Permission",
            action="lambda:InvokeFunction",
            function_name=self._function_arn,
            principal="events.amazonaws.com",
            source_arn=rule.attr_arn,
        )

    def _sweep(self, role: str) -> aws_scheduler.CfnSchedule:
        target = aws_scheduler.CfnSchedule.TargetProperty(
            arn=self._function_arn, role_arn=role, input=json.dumps({"action": "sweep"})
        )
        return aws_scheduler.CfnSchedule(
            self._scope,
            "Sweep",
            description="gpu capacity: looks at every open run",
            schedule_expression=_SWEEP,
            flexible_time_window=aws_scheduler.CfnSchedule.FlexibleTimeWindowProperty(mode="OFF"),
            target=target,
        )

    def _drain(self) -> CustomResource:
        return CustomResource(
            self._scope,
            "Drain",
            resource_type="Custom::GpuCapacityDrain",
            service_token=self.drain_function.attr_arn,
            service_timeout=Duration.seconds(_DRAIN_SECONDS + 60),
            properties={"TableName": self._table},
        )


def _ended(kind: JobKind, prefix: str) -> dict[str, Any]:
    terminal = [status for status, is_terminal in facts.job_states(kind.name).items() if is_terminal]
    return {kind.name_key: [{"prefix": prefix}], f"{kind.noun}Status": terminal}


def run_table(scope: Construct) -> aws_dynamodb.CfnTable:
    """Return a new run table: a row a job, open rows and the rows of an execution by index."""
    table = aws_dynamodb.CfnTable
    everything = table.ProjectionProperty(projection_type="ALL")

    def keys(partition: str, sort: str | None = None) -> list[aws_dynamodb.CfnTable.KeySchemaProperty]:
        names = [(partition, "HASH"), *([(sort, "RANGE")] if sort else [])]
        return [table.KeySchemaProperty(attribute_name=name, key_type=kind) for name, kind in names]

    types = {"name": "S", "open": "S", "updated": "N", "execution": "S"}
    return table(
        scope,
        "RunTable",
        billing_mode="PAY_PER_REQUEST",
        attribute_definitions=[
            table.AttributeDefinitionProperty(attribute_name=name, attribute_type=kind) for name, kind in types.items()
        ],
        key_schema=keys("name"),
        global_secondary_indexes=[
            table.GlobalSecondaryIndexProperty(
                index_name="open", key_schema=keys("open", "updated"), projection=everything
            ),
            table.GlobalSecondaryIndexProperty(
                index_name="execution", key_schema=keys("execution", "name"), projection=everything
            ),
        ],
        point_in_time_recovery_specification=table.PointInTimeRecoverySpecificationProperty(
            point_in_time_recovery_enabled=True
        ),
    )
