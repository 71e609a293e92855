"""What the jobs of a stack share: roles, the launcher, the run table and the log group, one of each."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from aws_cdk import Acknowledgment, Validations, aws_iam, aws_logs
from aws_cdk.aws_dynamodb import CfnTable
from aws_cdk.aws_stepfunctions import CfnStateMachine
from constructs import Construct

from constructs_lib.model import name_prefix
from constructs_lib.shared.cdk_values import role_arn
from constructs_lib.shared.functions import TESTED_RUNTIME
from constructs_lib.shared.policies import assumed_by
from constructs_lib.shared.role_maker import RoleMaker
from constructs_lib.shared.scopes import OnePerStack, stack_of
from constructs_lib.workloads.access import JobAccess
from constructs_lib.workloads.approved import ApprovedTypes
from constructs_lib.workloads.launcher import Launcher, run_table
from constructs_lib.workloads.policies import execution_statements
from constructs_lib.workloads.roles import WHY_WIDE
from constructs_lib.workloads.served import Served

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from aws_cdk.interfaces.aws_dynamodb import ITableRef
    from aws_cdk.interfaces.aws_iam import IManagedPolicyRef
    from aws_cdk.interfaces.aws_logs import ILogGroupRef

    from constructs_lib.shared.cdk_values import Role
    from constructs_lib.shared.policies import Statement

__all__ = ["KIT_ID", "CapacityKit"]

KIT_ID = "GpuCapacity"
_LOG_RETENTION_DAYS = 365
_kits: OnePerStack[CapacityKit] = OnePerStack("CapacityKit", "kit", KIT_ID, before="the first job")


class CapacityKit(Construct):
    """What the jobs of one stack share; made when the first job needs it, one per stack, at the path ``GpuCapacity``.

    Make it yourself, before the first job, to bring parts of your own. A part that you bring is used as it is: its
    permissions are yours to give. Every part is made only when something needs it: jobs of the optimized integration
    alone make no function, no table and no rule.

    Parameters
    ----------
    scope : Construct
        The stack.
    construct_id : str
        ``GpuCapacity``.
    execution_role : IRoleRef or str, optional
        The role that jobs run with. By default one that reaches exactly what the stack's jobs name in their
        requests: S3 prefixes, KMS keys and ECR repositories, and network interfaces if a job runs in a VPC.
    machine_role, launcher_role, schedule_role, event_role : IRoleRef or str, optional
        The roles of the state machines, of the launcher and the drain function, of schedules (the sweep's and those
        that start jobs), and of the rules that start jobs.
    run_table : ITableRef, optional
        A DynamoDB table with the partition key ``name`` and the indexes ``open`` and ``execution``.
    log_group : ILogGroupRef, optional
        Takes the logs of functions and machines. By default one that is kept for a year and deleted with the stack.
    permissions_boundary : IManagedPolicyRef or str, optional
        Set on every role that the kit or a job of it makes. Boundaries set by context or by
        ``PermissionsBoundary.of()`` are honoured without it.
    shared_data : sequence of str, optional
        ``s3://`` prefixes that the execution role may read and write as a whole. What jobs name under one of them is
        not listed again, which keeps the role's policy small in a stack of many jobs.

    Examples
    --------
    >>> import aws_cdk as cdk
    >>> stack = cdk.Stack(cdk.App(), "Research")
    >>> kit = CapacityKit(stack, "GpuCapacity", execution_role="arn:aws:iam::111122223333:role/training")
    >>> CapacityKit.of(stack) is kit
    True
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str = KIT_ID,
        *,
        execution_role: Role | None = None,
        machine_role: Role | None = None,
        launcher_role: Role | None = None,
        schedule_role: Role | None = None,
        event_role: Role | None = None,
        run_table: ITableRef | None = None,
        log_group: ILogGroupRef | None = None,
        permissions_boundary: IManagedPolicyRef | str | None = None,
        shared_data: Sequence[str] = (),
    ) -> None:
        stack = _kits.place(scope, construct_id)
        super().__init__(scope, construct_id)
        _kits.keep(stack, self)
        self._stack, self._place = stack, stack.place
        self.launcher_name = self._named("launcher")
        self._given_execution_role, self._given_machine_role = execution_role, machine_role
        self._given_launcher_role = launcher_role
        self._given_schedule_role, self._given_event_role = schedule_role, event_role
        self._given_table, self._given_log_group = run_table, log_group
        self._roles = RoleMaker(stack.stack, WHY_WIDE, permissions_boundary)
        self._approved = ApprovedTypes(stack.root, stack.path)
        self.node.add_validation(self._roles)
        self.node.add_validation(self._approved)
        Validations.of(self).acknowledge(Acknowledgment(id="AwsSolutions-L1", reason=TESTED_RUNTIME))
        self.shared_access = JobAccess(shared_data)
        self._served = Served(self._place, stack.prefix, self.launcher_arn)
        self._extra_statements: list[Statement] = []

    @staticmethod
    def of(scope: Construct) -> CapacityKit:
        """Return the kit of the stack that ``scope`` is in, made now if it has none."""
        return _kits.of(scope) or CapacityKit(stack_of(scope).stack)

    @property
    def name_prefix(self) -> str:
        """The start of the name of every job and machine of the stack."""
        return self._stack.prefix

    def job_name_prefix(self, construct_id: str, path: str) -> str:
        """Return the start of the names of one job of the kit, which roles and events know it by."""
        return name_prefix(self._stack.name, construct_id, path)

    @cached_property
    def log_group(self) -> ILogGroupRef:
        """The log group of functions and machines."""
        return self._given_log_group or aws_logs.CfnLogGroup(
            self, "Logs", log_group_name=self._log_group_name, retention_in_days=_LOG_RETENTION_DAYS
        )

    @cached_property
    def _log_group_name(self) -> str:
        if self._given_log_group is not None:
            return self._given_log_group.log_group_ref.log_group_name
        # Under this prefix Step Functions' log delivery needs no line of its own in the account's resource policy.
        return f"/aws/vendedlogs/states/{self._named('logs')}"

    @cached_property
    def log_group_arn(self) -> str:
        """The log group's ARN, with the ``:*`` at its end that Step Functions asks for."""
        if isinstance(self.log_group, aws_logs.CfnLogGroup):
            return self.log_group.attr_arn
        return self._place.arn("logs", f"log-group:{self._log_group_name}:*")

    @cached_property
    def execution_role(self) -> Role:
        """The role that jobs run with, unless a job has one of its own."""
        return self._given_execution_role or self._make_execution_role(self, "ExecutionRole", self.shared_access)

    @cached_property
    def execution_role_arn(self) -> str:
        """The ARN of the shared execution role."""
        return role_arn(self.execution_role)

    @cached_property
    def machine_role(self) -> Role:
        """The role of the state machines."""
        if self._given_machine_role:
            return self._given_machine_role
        return self._roles.make(
            self,
            "MachineRole",
            trust=assumed_by("states.amazonaws.com", account=self._place.account),
            statements=self._served.of_machines,
            too_large="pass machine_role to the kit, or spread the jobs over more stacks",
        )

    @cached_property
    def machine_role_arn(self) -> str:
        """The ARN of the machines' role."""
        return role_arn(self.machine_role)

    @cached_property
    def launcher_role(self) -> Role:
        """The role of the launcher and the drain function."""
        if self._given_launcher_role:
            return self._given_launcher_role
        # Read now: what is asked for at synth must make no construct.
        table, logs = self._table_arn, self.log_group_arn
        return self._roles.make(
            self,
            "LauncherRole",
            trust=assumed_by("lambda.amazonaws.com"),
            statements=lambda: self._served.of_launcher(table=table, log_group=logs),
            too_large="pass launcher_role to the kit, or spread the jobs over more stacks",
        )

    @cached_property
    def schedule_role(self) -> Role:
        """The role with which schedules call the launcher and start jobs."""
        return self._given_schedule_role or self._roles.make(
            self,
            "ScheduleRole",
            trust=assumed_by("scheduler.amazonaws.com", account=self._place.account),
            statements=self._served.of_schedules,
            too_large="pass schedule_role to the kit",
        )

    @cached_property
    def event_role(self) -> Role:
        """The role with which rules start jobs."""
        return self._given_event_role or self._roles.make(
            self,
            "EventRole",
            trust=assumed_by("events.amazonaws.com"),
            statements=self._served.of_events,
            too_large="pass event_role to the kit",
        )

    @cached_property
    def machine_logging(self) -> CfnStateMachine.LoggingConfigurationProperty:
        """The logging of the machines: everything, into the log group."""
        group = CfnStateMachine.CloudWatchLogsLogGroupProperty(log_group_arn=self.log_group_arn)
        destination = CfnStateMachine.LogDestinationProperty(cloud_watch_logs_log_group=group)
        return CfnStateMachine.LoggingConfigurationProperty(
            destinations=[destination], include_execution_data=True, level="ALL"
        )

    @cached_property
    def run_table(self) -> ITableRef:
        """The table with a row for every job that the launcher started."""
        return self._given_table or run_table(self)

    @cached_property
    def launcher(self) -> Launcher:
        """The launcher's resources: functions, rules, schedule and drain."""
        return Launcher(
            self,
            place=self._place,
            name=self.launcher_name,
            approved=self._approved,
            job_prefix=self.name_prefix,
            served=self._served,
            launcher_role=role_arn(self.launcher_role),
            schedule_role=role_arn(self.schedule_role),
            log_group=self._log_group_name,
            table=table.ref if isinstance(table := self.run_table, CfnTable) else table.table_ref.table_name,
        )

    @property
    def launcher_arn(self) -> str:
        """The launcher function's ARN, made of its name."""
        return self._place.arn("lambda", f"function:{self.launcher_name}")

    def add_to_execution_policy(self, *statements: Mapping[str, Any]) -> None:
        """Add IAM statements, as plain policy JSON, to the execution role that the kit makes.

        For what no request says: the KMS key of an input bucket, a file system, an experiment tracker.
        """
        self._extra_statements += [dict(statement) for statement in statements]

    def add_to_machine_policy(self, *statements: Mapping[str, Any]) -> None:
        """Add IAM statements, as plain policy JSON, to the role of the state machines that the kit makes."""
        self._served.let_machines([dict(statement) for statement in statements])

    def watch_machine(self, name: str) -> None:
        """Let the launcher look at, and be woken by, executions of the machines whose names start with ``name``.

        Those whose names start with `name_prefix` are watched anyway. An empty ``name`` lets the launcher look at every
        execution of the account and region; it is woken by none of them, and the sweep sees their ends within minutes.
        """
        self._served.watch(name)

    def own_execution_role(self, scope: Construct, construct_id: str, access: JobAccess) -> aws_iam.CfnRole:
        """Return a new execution role that reaches what the requests in ``access`` name."""
        return self._make_execution_role(scope, construct_id, access, path=self._own_roles_path)

    def add_job(
        self, request: Mapping[str, Any], *, launched: bool, own_role: bool = False, kind: str = "training"
    ) -> None:
        """Let the stack's roles do what a job needs.

        Parameters
        ----------
        request : Mapping
            The Create request, complete with its execution role.
        launched : bool
            Whether the launcher sends it, or else the machine itself.
        own_role : bool
            Whether the role came from `own_execution_role`.
        kind : str
            ``training``, ``processing`` or ``tuning``.
        """
        # One path instead of every role by name: hundreds of names would not fit into a policy.
        own = self._place.arn("iam", f"role{self._own_roles_path}*", region="") if own_role else None
        self._served.add(kind, request, launched=launched, passed=own)
        if launched:
            self.launcher  # noqa: B018 - made when the first job needs it

    def let_start(self, machine: str, *, by: Literal["schedule", "event", "plan"], plan: str = "") -> str:
        """Let a machine be started, and return the ARN of the role that starts it.

        Parameters
        ----------
        machine : str
            The machine's name.
        by : str
            A ``schedule``, an ``event``, or the launcher when a ``plan`` is active, which a schedule wakes.
        plan : str
            The plan's ARN.
        """
        self._served.start(machine, by=by, plan=plan)
        return role_arn(self.event_role if by == "event" else self.schedule_role)

    def launch_statements(self, kind: str, requests: Sequence[Mapping[str, Any]], *, launched: bool) -> list[Statement]:
        """Return what a machine that is not the kit's needs to launch one job, in whatever step."""
        return self._served.launching(kind, list(requests), launched=launched)

    @property
    def _table_arn(self) -> str:
        table = self.run_table
        return table.attr_arn if isinstance(table, CfnTable) else table.table_ref.table_arn

    @property
    def _own_roles_path(self) -> str:
        return f"/gpu-capacity/{self.name_prefix.rstrip('-')}/"

    def _named(self, what: str) -> str:
        return self.job_name_prefix(what, f"{self._stack.path}/{KIT_ID}")

    def _make_execution_role(
        self, scope: Construct, construct_id: str, access: JobAccess, path: str | None = None
    ) -> aws_iam.CfnRole:
        return self._roles.make(
            scope,
            construct_id,
            trust=assumed_by("sagemaker.amazonaws.com"),
            statements=lambda: execution_statements(self._place, access.reach),
            others=lambda: self._extra_statements,
            too_large="give jobs own_role=True, or name a common prefix in the kit's shared_data",
            path=path,
        )
