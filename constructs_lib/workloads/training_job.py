"""A SageMaker training job that may run on any of an ordered list of instance types, as one state machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from constructs_lib.model import TrainingJobSpec
from constructs_lib.model.steps import training_request
from constructs_lib.shared.cdk_values import gigabytes, key_arn, role_arn, seconds
from constructs_lib.shared.scopes import stack_of
from constructs_lib.workloads.job_checks import declared_of
from constructs_lib.workloads.job_machine import JobMachine
from constructs_lib.workloads.job_steps import StepRequest, entries_of, launch_limits, plain_steps

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from aws_cdk import Size
    from constructs import Construct

    from constructs_lib.model import HasTrainingPlanArn, InputChannel, InstancePreference
    from constructs_lib.model.price import PriceCeiling
    from constructs_lib.model.prices import PriceBook
    from constructs_lib.model.steps import LaunchStep
    from constructs_lib.shared.cdk_values import Key, Role, Time
    from constructs_lib.workloads.job_steps import Integration, Moment
    from constructs_lib.workloads.kit import CapacityKit

__all__ = ["PreferenceTrainingJob"]


class PreferenceTrainingJob(JobMachine):
    """A state machine that runs one training job on the first of several instance types that has capacity.

    Each execution launches one SageMaker training job with an ordered list of instance types, waits for its end and
    ends like it: it succeeds with the run's record, or fails with the record's named end (``InsufficientCapacity``,
    ``QuotaExceeded``, ``AlgorithmError`` ...) as its error. Stopping the execution stops the job.

    With ``steps`` it may launch several, one after the other: the next list is tried when the one before has found no
    capacity, and never two jobs run at once.

    It costs one resource in the template; roles, launcher, run table and log group are the stack's `CapacityKit`.

    Parameters
    ----------
    scope : Construct
    construct_id : str
    preferences : sequence of InstancePreference, optional
        1 to 5 acceptable types, best first. SageMaker takes the first that has capacity for all its instances. Give
        them or ``steps``.
    steps : sequence of LaunchStep, optional
        Several lists in order, each with its own wait, and its own image, environment, hyperparameters and counts.
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
        which is not documented for on-demand lists. A step may have its own.
    start_by, finish_by : Duration, timedelta, seconds, ISO 8601 text or datetime, optional
        A job has to have started by then, and is stopped then, whatever step it is of. A duration counts from the begin
        of the run. Held to within the five minutes of the sweep.
    max_cost : PriceCeiling, optional
        What all jobs of a run may cost together, by ``price_book``; reserved entries are paid for already.
    price_book : PriceBook, optional
        Prices of an instance hour; with it the run's record says what the run cost.
    drop_without_quota : bool
        True: entries that the account has no quota for are left out, and the record names them. By default the launch
        ends in ``QuotaExceeded``, for SageMaker would refuse the whole list.
    run_overrides : sequence of str
        What an execution's input may override under the key ``overrides``: ``hyperparameters``, ``environment``,
        ``inputs``, ``output``, ``instance_count``, ``max_runtime``, ``start_by``, ``finish_by``. By default nothing.
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
        A launch, of each step, that takes longer is stopped and ends in ``TimedOut``. By default ``max_pending`` (28
        days when not given) plus ``max_runtime`` plus an hour; a year with a training plan, for the time before it
        starts does not count as pending.
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
        output: str,
        max_runtime: Time,
        preferences: Sequence[InstancePreference] = (),
        steps: Sequence[LaunchStep] = (),
        image: str | None = None,
        algorithm_name: str | None = None,
        instance_count: int | None = None,
        max_pending: Time | None = None,
        start_by: Moment | None = None,
        finish_by: Moment | None = None,
        max_cost: PriceCeiling | None = None,
        price_book: PriceBook | None = None,
        drop_without_quota: bool = False,
        run_overrides: Sequence[str] = (),
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
        integration: Integration = "launcher",
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
        self._spec, self._launch_steps = spec, plain_steps(construct_id, spec, steps)
        super().__init__(
            scope,
            construct_id,
            kind="training",
            steps=_requests(spec, self._launch_steps),
            limits=launch_limits(
                start_by=start_by,
                finish_by=finish_by,
                max_cost=max_cost,
                price_book=price_book,
                drop_without_quota=drop_without_quota,
                reserved_only=reserved_only,
            ),
            declared=declared_of(stack_of(scope), entries_of(spec, self._launch_steps), reserved_only=reserved_only),
            role_given=role is not None,
            own_role=own_role,
            integration=integration,
            timeout=timeout,
            kit=kit,
            state_machine_name=state_machine_name,
            run_overrides=run_overrides,
        )

    @property
    def spec(self) -> TrainingJobSpec:
        """The job's fields as they were given."""
        return self._spec

    @property
    def steps(self) -> Sequence[LaunchStep]:
        """The launch's steps as they were given; none for a job with one list."""
        return self._launch_steps


def _requests(spec: TrainingJobSpec, steps: Sequence[LaunchStep]) -> list[StepRequest]:
    if not steps:
        return [StepRequest(spec.to_request(), spec.reasons())]
    return [StepRequest(training_request(spec, step), step.reasons) for step in steps]
