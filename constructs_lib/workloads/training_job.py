"""A SageMaker training job that may run on any of an ordered list of instance types, as one state machine."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal

from aws_cdk.aws_stepfunctions import CfnStateMachine

from constructs_lib import facts
from constructs_lib.model import InvalidInputError, RunEnd, TrainingJobSpec, is_unresolved
from constructs_lib.model.approvals import approvals, types_in
from constructs_lib.model.values import literal
from constructs_lib.rules import check_request, raise_for_errors
from constructs_lib.shared.cdk_values import definition_text, gigabytes, key_arn, role_arn, seconds
from constructs_lib.shared.scopes import path_of, stack_of
from constructs_lib.workloads.definition import Launch, launcher_states, optimized_states, parallel_step
from constructs_lib.workloads.grants import TrainingJobGrants
from constructs_lib.workloads.kit import CapacityKit
from constructs_lib.workloads.metrics import run_metric

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from aws_cdk import Size
    from aws_cdk.aws_cloudwatch import Metric
    from aws_cdk.aws_iam import CfnRole
    from aws_cdk.aws_stepfunctions import CustomState
    from constructs import Construct

    from constructs_lib.model import HasTrainingPlanArn, InputChannel, InstancePreference
    from constructs_lib.shared.cdk_values import Key, Role, Time
    from constructs_lib.shared.scopes import StackInfo

__all__ = ["PreferenceTrainingJob"]

_MARGIN_SECONDS = 3600
_YEAR_SECONDS = 31_536_000


class PreferenceTrainingJob(CfnStateMachine):
    """A state machine that runs one training job on the first of several instance types that has capacity.

    Each execution launches one SageMaker training job with an ordered list of instance types, waits for its end and
    ends like it: it succeeds with the run's record, or fails with the record's named end (``InsufficientCapacity``,
    ``QuotaExceeded``, ``AlgorithmError`` ...) as its error. Stopping the execution stops the job.

    It costs one resource in the template; roles, launcher, run table and log group are the stack's `CapacityKit`.

    Parameters
    ----------
    scope : Construct
    construct_id : str
    preferences : sequence of InstancePreference
        1 to 5 acceptable types, best first. SageMaker takes the first that has capacity for all its instances.
    output : str
        ``s3://`` prefix for the model artifacts.
    max_runtime : Duration, timedelta or seconds
        The job is stopped when it has run this long.
    image : str, optional
        The training image's URI. Give it or ``algorithm_name``.
    algorithm_name : str, optional
        A SageMaker algorithm's name or ARN.
    instance_count : int, optional
        One count for every entry, instead of a count on each.
    max_pending : Duration, timedelta or seconds, optional
        Bounds the wait for capacity over the whole list, 30 minutes to 28 days. Without it SageMaker's default applies,
        which is not documented for on-demand lists.
    inputs : mapping of str to str or InputChannel, optional
        Channel name to ``s3://`` prefix or full channel.
    hyperparameters, environment, tags : mapping of str to str, optional
        As CreateTrainingJob takes them; ``tags`` are the job's.
    input_mode : str
        ``File`` (default), ``FastFile`` or ``Pipe``.
    volume_size_gb : Size or int, optional
        Size of the EBS volume. Needed for types without local storage; types with local NVMe take no EBS volume.
    volume_kms_key, output_kms_key : IKeyRef or str, optional
        Types with local storage refuse a volume key.
    keep_alive : Duration, timedelta or seconds, optional
        Keeps the instances as a warm pool after the job, billed, 0 s to 6 h.
    training_plan : HasTrainingPlanArn or str, optional
        A job-level plan, applied to the entry whose type matches. Excludes plans on entries.
    checkpoint : str, optional
        ``s3://`` prefix for checkpoints. Use it on reserved capacity: the plan's last 30 minutes are not usable.
    checkpoint_local_path : str, optional
        Where the container writes checkpoints; SageMaker's default is ``/opt/ml/checkpoints``.
    subnets, security_groups : sequence of str, optional
        The job's VPC configuration; give both or none. Each member may be a token, the lists may not.
    network_isolation, encrypt_inter_container_traffic : bool
        Off by default, as in SageMaker.
    max_attempts : int, optional
        Retries by SageMaker itself on internal errors, 1 to 30.
    entrypoint, arguments : sequence of str, optional
        Container entry point and arguments.
    request_overrides : mapping, optional
        Deep-merged into the CreateTrainingJob request last: the way to fields that have no keyword here.
    reserved_only : bool
        True: synth fails unless every entry names a training plan.
    role : IRoleRef or str, optional
        The job's execution role, used as it is. By default the kit's shared one.
    own_role : bool
        True: the job gets an execution role of its own, a second resource, that reaches only what this job names.
    integration : str
        ``launcher`` (default): a function that knows the newest fields of the API creates the job. ``optimized``: Step
        Functions' own ``createTrainingJob.sync``, without a function; a field that Step Functions does not know yet
        makes it fail at run time with an error that nothing can catch.
    timeout : Duration, timedelta or seconds, optional
        A launch that takes longer is stopped and ends in ``TimedOut``. By default ``max_pending`` (28 days when not
        given) plus ``max_runtime`` plus an hour; a year with a training plan, for the time before it starts does not
        count as pending.
    kit : CapacityKit, optional
        The kit of another stack, such as the one around a nested stack; the job's name starts like that stack's then.
    state_machine_name : str, optional
        By default `job_name_prefix`.

    Raises
    ------
    InvalidInputError
        In the words of every rule that the request breaks.

    Examples
    --------
    >>> import aws_cdk as cdk
    >>> from constructs_lib import InstancePreference, PreferenceTrainingJob
    >>> stack = cdk.Stack(cdk.App(), "Research")
    >>> job = PreferenceTrainingJob(
    ...     stack, "FineTune", image="111122223333.dkr.ecr.us-east-1.amazonaws.com/train:1",
    ...     inputs={"train": "s3://bucket/train"}, output="s3://bucket/models",
    ...     preferences=[InstancePreference("ml.p5.48xlarge"), InstancePreference("ml.p4d.24xlarge")],
    ...     instance_count=8, max_runtime=cdk.Duration.hours(60), max_pending=cdk.Duration.hours(2))
    >>> job.job_name_prefix
    'Research-FineTune-cf7e14c7'
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        preferences: Sequence[InstancePreference],
        output: str,
        max_runtime: Time,
        image: str | None = None,
        algorithm_name: str | None = None,
        instance_count: int | None = None,
        max_pending: Time | None = None,
        inputs: Mapping[str, str | InputChannel] | None = None,
        hyperparameters: Mapping[str, str] | None = None,
        environment: Mapping[str, str] | None = None,
        tags: Mapping[str, str] | None = None,
        input_mode: str = "File",
        volume_size_gb: Size | int | None = None,
        volume_kms_key: Key | None = None,
        output_kms_key: Key | None = None,
        keep_alive: Time | None = None,
        training_plan: HasTrainingPlanArn | str | None = None,
        checkpoint: str | None = None,
        checkpoint_local_path: str | None = None,
        subnets: Sequence[str] = (),
        security_groups: Sequence[str] = (),
        network_isolation: bool = False,
        encrypt_inter_container_traffic: bool = False,
        max_attempts: int | None = None,
        entrypoint: Sequence[str] = (),
        arguments: Sequence[str] = (),
        request_overrides: Mapping[str, Any] | None = None,
        reserved_only: bool = False,
        role: Role | None = None,
        own_role: bool = False,
        integration: Literal["launcher", "optimized"] = "launcher",
        timeout: Time | None = None,
        kit: CapacityKit | None = None,
        state_machine_name: str | None = None,
    ) -> None:
        spec = TrainingJobSpec(
            name=construct_id,
            preferences=preferences,
            output=output,
            max_runtime=seconds("max_runtime", max_runtime),
            image=image,
            algorithm_name=algorithm_name,
            role_arn=role_arn(role) if role else None,
            instance_count=instance_count,
            max_pending=seconds("max_pending", max_pending),
            inputs=inputs or {},
            hyperparameters=hyperparameters or {},
            environment=environment or {},
            tags=tags or {},
            input_mode=input_mode,
            volume_size_gb=gigabytes("volume_size_gb", volume_size_gb),
            volume_kms_key=key_arn(volume_kms_key),
            output_kms_key=key_arn(output_kms_key),
            keep_alive=seconds("keep_alive", keep_alive),
            training_plan=training_plan,
            checkpoint=checkpoint,
            checkpoint_local_path=checkpoint_local_path,
            subnets=subnets,
            security_groups=security_groups,
            network_isolation=network_isolation,
            encrypt_inter_container_traffic=encrypt_inter_container_traffic,
            max_attempts=max_attempts,
            entrypoint=entrypoint,
            arguments=arguments,
            request_overrides=request_overrides or {},
        )
        if integration not in _STATES:
            raise InvalidInputError(f"integration: {integration!r} was given; 'launcher' and 'optimized' are allowed")
        if role and own_role:
            raise InvalidInputError("own_role: it makes a role, and role= brings one; give one of them")
        path = path_of(scope, construct_id)
        request = spec.to_request()
        _check(request, path, stack_of(scope), preferences, reserved_only=reserved_only)
        self._spec, self._integration = spec, integration
        self._kit = kit or CapacityKit.of(scope)
        self._own_role = self._kit.own_execution_role(scope, f"{construct_id}Role", request) if own_role else None
        request.setdefault(
            "RoleArn", self._own_role.attr_arn if self._own_role else self._kit.share_execution_role(request)
        )
        self._kit.add_job(request, launched=integration == "launcher", own_role=own_role)
        prefix = self._kit.job_name_prefix(construct_id, path)
        self._launch = Launch(
            kind="training",
            request=request,
            prefix=prefix if integration == "launcher" else _short(prefix, self._kit.name_prefix),
            seconds=_backstop(request, seconds("timeout", timeout)),
            partition=stack_of(scope).place.partition,
            launcher=self._kit.launcher_name,
            reasons=spec.reasons(),
        )
        if state_machine_name:
            self._kit.watch_machine(state_machine_name)
        super().__init__(
            scope,
            construct_id,
            role_arn=self._kit.machine_role_arn,
            state_machine_name=state_machine_name or prefix,
            definition_string=definition_text(_STATES[integration](self._launch)),
            logging_configuration=self._kit.machine_logging,
            tracing_configuration=_TRACING,
        )

    @property
    def spec(self) -> TrainingJobSpec:
        """The job's fields as they were given."""
        return self._spec

    @property
    def request(self) -> Mapping[str, Any]:
        """The CreateTrainingJob request without the job's name."""
        return self._launch.request

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
        """The start of the names of the jobs that this machine launches."""
        return self._launch.prefix

    @property
    def grants(self) -> TrainingJobGrants:
        """Permissions for others: ``job.grants.start(role)``."""
        launched = self._integration == "launcher"
        return TrainingJobGrants(self, self._kit.launch_statements(self.request, launched=launched))

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

    def _metric(self, name: str, options: dict[str, Any], **dimensions: str | None) -> Metric:
        if self._integration == "optimized":
            raise InvalidInputError(
                f"metric {name}: the launcher writes it, and this job has integration='optimized'; "
                "use the machine's own metrics in AWS/States"
            )
        return run_metric(self.job_name_prefix, name, options, **dimensions)

    def as_step(self, step_id: str, *, entry: str | None = None, machine_name: str | None = None) -> CustomState:
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
        """
        from aws_cdk.aws_stepfunctions import CustomState  # noqa: PLC0415

        self._kit.watch_machine(machine_name or "")
        step = replace(self._launch, step=step_id, item=entry or "")
        return CustomState(self, step_id, state_json=parallel_step(_STATES[self._integration](step)))


_STATES = {"launcher": launcher_states, "optimized": optimized_states}
_TRACING = CfnStateMachine.TracingConfigurationProperty(enabled=True)


def _check(
    request: Mapping[str, Any],
    path: str,
    stack: StackInfo,
    preferences: Sequence[InstancePreference],
    *,
    reserved_only: bool,
) -> None:
    declared = {
        # What the declaration of an imported plan says of it; any other plan is just an ARN.
        "plans": [known for entry in preferences if (known := getattr(entry.training_plan, "described", None))],
        "region": literal(stack.place.region),
        "account": literal(stack.place.account),
        "reserved_only": reserved_only,
    }
    raise_for_errors(check_request("training-job", request, path=path, declared=declared))
    approvals(stack.root).use(path, types_in(request))


def _backstop(request: Mapping[str, Any], timeout: float | timedelta | None) -> float:
    """Return after how many seconds a launch is stopped, whatever happens."""
    if timeout is not None:
        return int(timeout.total_seconds()) if isinstance(timeout, timedelta) else timeout
    stopping = request.get("StoppingCondition", {})
    pending = stopping.get("MaxPendingTimeInSeconds", facts.limit("MaxPendingTimeInSeconds").max)
    runtime = stopping.get("MaxRuntimeInSeconds", _YEAR_SECONDS)
    if is_unresolved(pending) or is_unresolved(runtime) or _is_reserved(request):
        return _YEAR_SECONDS
    return min(int(pending) + int(runtime) + _MARGIN_SECONDS, _YEAR_SECONDS)


def _is_reserved(request: Mapping[str, Any]) -> bool:
    resources = request.get("ResourceConfig", {})
    return "TrainingPlanArn" in resources or any(
        "TrainingPlanArns" in entry for entry in resources.get("InstancePreferences", ())
    )


def _short(prefix: str, stack_prefix: str) -> str:
    """Return a prefix that leaves room for the 32 characters of the hash that States.Hash makes."""
    return stack_prefix + prefix.rpartition("-")[2]
