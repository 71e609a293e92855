"""What can be asked of a job once it is declared: its requests, grants and metrics; as a step; to start by itself."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from constructs_lib.model import InvalidInputError, RunEnd, is_unresolved
from constructs_lib.model.job_kinds import JOB_KINDS
from constructs_lib.model.overrides import overridden
from constructs_lib.rules import check_request, raise_for_errors
from constructs_lib.workloads.definition import parallel_step, plans_of
from constructs_lib.workloads.grants import JobGrants
from constructs_lib.workloads.job_steps import STATES
from constructs_lib.workloads.metrics import run_metric

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from aws_cdk.aws_cloudwatch import Metric
    from aws_cdk.aws_events import CfnRule
    from aws_cdk.aws_iam import CfnRole
    from aws_cdk.aws_scheduler import CfnSchedule
    from aws_cdk.aws_stepfunctions import CfnStateMachine, CustomState

    from constructs_lib.workloads.access import JobAccess
    from constructs_lib.workloads.definition import Launch
    from constructs_lib.workloads.job_steps import Integration, StepRequest
    from constructs_lib.workloads.kit import CapacityKit
    from constructs_lib.workloads.starting import PlanStart, Started

__all__ = ["JobActions"]

_ALLOW = 'name it in run_overrides, such as run_overrides=("hyperparameters", "inputs")'


class JobActions:
    """The public side of every job construct, without its construction.

    It stands behind the CDK class in the order of bases: jsii looks through every member of the Python classes before
    that class whenever an object is made.
    """

    _path: str
    _name: str
    _steps: Sequence[StepRequest]
    _declared: Mapping[str, Any]
    _integration: Integration
    _kit: CapacityKit
    _access: JobAccess
    _own_role: CfnRole | None
    _launch: Launch

    @property
    def request(self) -> Mapping[str, Any]:
        """The Create request without the job's name; of the first step, if there are several."""
        return self._steps[0].request

    @property
    def requests(self) -> list[Mapping[str, Any]]:
        """The Create request of each step."""
        return [step.request for step in self._steps]

    @property
    def kit(self) -> CapacityKit:
        """What this job shares with the other jobs of its stack."""
        return self._kit

    @property
    def execution_role(self) -> CfnRole | None:
        """The job's own execution role; ``None`` unless ``own_role`` was asked for."""
        return self._own_role

    @property
    def job_name_prefix(self) -> str:
        """The start of the names of the jobs that this machine launches; tuning jobs keep the stack's part of it."""
        return self._launch.prefix

    @property
    def grants(self) -> JobGrants:
        """Permissions for others: ``job.grants.start(role)``."""
        launched = self._integration == "launcher"
        return JobGrants(
            self._machine, self._kit.launch_statements(self._launch.kind, self.requests, launched=launched)
        )

    def metric_pending_seconds(self, *, instance_type: str | None = None, **options: Any) -> Metric:
        """Return the wait for capacity, from the job's creation to its start; by default the average over 5 minutes.

        Parameters
        ----------
        instance_type : str, optional
            Only runs that this type won.
        **options
            As `aws_cdk.aws_cloudwatch.Metric` takes them: ``statistic``, ``period``, ``label`` ...
        """
        return self._metric("PendingSeconds", options, InstanceType=instance_type)

    def metric_runtime_seconds(self, *, instance_type: str | None = None, **options: Any) -> Metric:
        """Return the time from start to end, see `metric_pending_seconds`."""
        return self._metric("RuntimeSeconds", options, InstanceType=instance_type)

    def metric_billable_instance_seconds(self, *, instance_type: str | None = None, **options: Any) -> Metric:
        """Return the billed time summed over the job's instances; by default the sum over 5 minutes."""
        return self._metric("BillableInstanceSeconds", {"statistic": "Sum", **options}, InstanceType=instance_type)

    def metric_rank(self, **options: Any) -> Metric:
        """Return the winner's place in the list of preferences, 1 for the first; by default the average."""
        return self._metric("Rank", options)

    def metric_runs_ended(self, *, end: str | None = None, **options: Any) -> Metric:
        """Return the number of runs that ended; by default the sum over 5 minutes.

        Parameters
        ----------
        end : RunEnd or str, optional
            Only runs with this end, such as ``InsufficientCapacity``.
        **options
            As `aws_cdk.aws_cloudwatch.Metric` takes them.
        """
        named = None if end is None else str(RunEnd(end))
        return self._metric("Ended", {"statistic": "Sum", **options}, End=named)

    def metric_steps_ended(self, *, end: str | None = None, **options: Any) -> Metric:
        """Return the number of steps that ended and were followed by another, see `metric_runs_ended`."""
        named = None if end is None else str(RunEnd(end))
        return self._metric("StepEnded", {"statistic": "Sum", **options}, End=named)

    def metric_cost(self, *, instance_type: str | None = None, **options: Any) -> Metric:
        """Return what jobs cost by the price book, in its currency; by default the sum over 5 minutes."""
        return self._metric("Cost", {"statistic": "Sum", **options}, InstanceType=instance_type)

    def _metric(self, name: str, options: dict[str, Any], **dimensions: str | None) -> Metric:
        if self._integration == "optimized":
            raise InvalidInputError(
                f"metric {name}: the launcher writes it, and this job has integration='optimized'; "
                "use the machine's own metrics in AWS/States"
            )
        return run_metric(self.job_name_prefix, name, options, **dimensions)

    def as_step(
        self, step_id: str, *, entry: str | None = None, machine_name: str | None = None, overrides: str | None = None
    ) -> CustomState:
        """Return the job as one state of a machine of your own.

        The state succeeds with the run's record and fails with the record's named end, which ``add_catch`` takes by
        name. The machine's role needs ``job.grants.launch(machine)``.

        Parameters
        ----------
        step_id : str
            The state's name, at most 70 characters.
        entry : str, optional
            A JSONPath that tells the entries of a Map apart, such as ``$$.Map.Item.Index``.
        machine_name : str, optional
            The start of your machine's name. The launcher may then look only at the executions of such machines, and
            stops the job at once when one is aborted. Without it the launcher may look at all executions of the account
            and region, and an abort is noticed by the sweep, within five minutes.
        overrides : str, optional
            A JSONPath to what this run overrides, such as ``$.overrides``; only what ``run_overrides`` allows.
        """
        from aws_cdk.aws_stepfunctions import CustomState  # noqa: PLC0415

        if overrides and not self._launch.overrides:
            raise InvalidInputError(f"{self._path}: overrides of a step: the job allows none; {_ALLOW}")
        self._kit.watch_machine(machine_name or "")
        step = replace(self._launch, step=step_id, item=entry or "", overrides_path=overrides or "")
        return CustomState(self._machine, step_id, state_json=parallel_step(STATES[self._integration](step)))

    def start_on_schedule(
        self, schedule_id: str, expression: str, *, time_zone: str = "UTC", overrides: Mapping[str, Any] | None = None
    ) -> CfnSchedule:
        """Start a run at times.

        Parameters
        ----------
        schedule_id : str
        expression : str
            ``rate(1 day)``, ``cron(0 6 ? * MON-FRI *)`` or ``at(2027-01-27T06:00:00)``, as EventBridge Scheduler takes
            it.
        time_zone : str
            The zone of the expression, such as ``Europe/Berlin``.
        overrides : Mapping, optional
            What these runs override; judged now by the same rules as the job.

        Raises
        ------
        InvalidInputError
            For an expression or a zone that Scheduler would refuse, and for overrides that break a rule.
        """
        from constructs_lib.workloads.starting import on_schedule  # noqa: PLC0415 - most jobs have none

        if overrides:
            self._judge(overrides)
        return on_schedule(self._started, schedule_id, expression, time_zone=time_zone, overrides=overrides)

    def start_on_object_created(
        self, rule_id: str, bucket_name: str, *, prefix: str = "", channel: str = "train"
    ) -> CfnRule:
        """Start a run for every object that is created under a prefix; the object becomes one of the job's inputs.

        The bucket has to send its events to EventBridge, and ``run_overrides`` has to allow ``inputs``. EventBridge may
        deliver an event twice, and each delivery is a run.

        Parameters
        ----------
        rule_id : str
        bucket_name : str
        prefix : str
            Only keys that start so.
        channel : str
            The input that takes the object.

        Raises
        ------
        InvalidInputError
            If the job allows no overriding of its inputs, or has no such input.
        """
        from constructs_lib.workloads.starting import on_object_created  # noqa: PLC0415

        uri = f"s3://{bucket_name}/{prefix}"
        self._judge({"inputs": {channel: uri}})
        self._access.add({"InputDataConfig": [{"S3Uri": uri}]})
        return on_object_created(self._started, rule_id, bucket=bucket_name, prefix=prefix, channel=channel)

    def start_on_plan(
        self, start_id: str, plan: str, *, plan_name: str, starts: str, topic: str | None = None
    ) -> PlanStart:
        """Start one run when a training plan is active; `TrainingPlan.start_on_active` calls it.

        Parameters
        ----------
        start_id : str
        plan, plan_name : str
            The plan's ARN and name.
        starts : str
            When it starts, as ISO 8601; empty or a token where only a deploy knows.
        topic : str, optional
            The ARN of the topic that hears of a late plan.
        """
        from constructs_lib.workloads.starting import on_plan  # noqa: PLC0415

        if self._integration == "optimized":
            raise InvalidInputError(
                f"{self._path}: a start on a plan needs the launcher, which cuts the runtime to what the plan leaves; "
                "drop integration='optimized'"
            )
        named = [one for request in self.requests for one in plans_of(self._launch.kind, request)]
        if plan not in named and not any(map(is_unresolved, [plan, *named])):
            raise InvalidInputError(
                f"{self._path}: it names no entry on {plan}, so the plan would start it and stay unused; "
                "put plan.preference() into its list"
            )
        return on_plan(self._started, start_id, plan=plan, plan_name=plan_name, starts=starts, topic=topic)

    @property
    def _machine(self) -> CfnStateMachine:
        return cast("CfnStateMachine", self)

    @property
    def _started(self) -> Started:
        from constructs_lib.workloads.starting import Started  # noqa: PLC0415

        return Started(self._machine, self._path, self._name, self._kit)

    def _judge(self, given: Mapping[str, Any]) -> None:
        """Refuse overrides that the launcher would refuse, in its words."""
        kind = JOB_KINDS[self._launch.kind]
        for step in self._steps:
            try:
                changed = overridden(kind, step.request, dict(given), self._launch.overrides)
            except InvalidInputError as error:
                raise InvalidInputError(f"{self._path}: {error}") from None
            raise_for_errors(check_request(kind.subject, changed, path=self._path, declared=self._declared))
