"""A SageMaker processing job that may run on any of an ordered list of instance types, as one state machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aws_cdk import Acknowledgment, Validations

from constructs_lib import facts
from constructs_lib.model import InvalidInputError
from constructs_lib.model.fields import check_lists, whole_seconds
from constructs_lib.model.processing import ProcessingJobSpec
from constructs_lib.model.steps import processing_request
from constructs_lib.shared.cdk_values import gigabytes, key_arn, role_arn, seconds
from constructs_lib.shared.scopes import stack_of
from constructs_lib.workloads.job_checks import declared_of
from constructs_lib.workloads.job_machine import JobMachine
from constructs_lib.workloads.job_steps import StepRequest, entries_of, launch_limits, plain_steps

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from aws_cdk import Size
    from constructs import Construct

    from constructs_lib.model import InstancePreference
    from constructs_lib.model.price import PriceCeiling
    from constructs_lib.model.prices import PriceBook
    from constructs_lib.model.processing import ProcessingInput, ProcessingOutput
    from constructs_lib.model.steps import LaunchStep
    from constructs_lib.shared.cdk_values import Key, Role, Time
    from constructs_lib.workloads.job_steps import Integration, Moment
    from constructs_lib.workloads.kit import CapacityKit

__all__ = ["PreferenceProcessingJob"]


class PreferenceProcessingJob(JobMachine):
    """A state machine that runs one processing job on the first of several instance types that has capacity.

    It is launched, watched, ended and recorded as a `PreferenceTrainingJob` is. Processing has no reserved capacity and
    no limit on the wait for capacity: ``max_pending`` is held by the launcher, which stops a job that has not started.

    Parameters
    ----------
    scope : Construct
    construct_id : str
    image : str
        The container's URI.
    volume_size_gb : Size or int
        Size of the volume, at most that of the smallest local disk in the list.
    max_runtime : Duration, timedelta or seconds
        The job is stopped when it has run this long, up to 9 days.
    preferences : sequence of InstancePreference, optional
        1 to 5 acceptable types, best first, all accelerated or all without accelerators. Give them or ``steps``.
    steps : sequence of LaunchStep, optional
        Several lists in order, each with a wait, and its own image, environment, counts and volume size.
    cpu_last_resort : sequence of InstancePreference
        Types without accelerators, behind accelerated ``preferences``: taken at once when none of those is free.
    instance_count : int, optional
        One count for every entry, instead of a count on each.
    max_pending : Duration, timedelta or seconds, optional
        A job that has not started by then is stopped within five minutes, and counts as one without capacity. Without
        it SageMaker decides how long an accelerated list waits, which is not documented.
    start_by, finish_by, max_cost, price_book, drop_without_quota, run_overrides
        As `PreferenceTrainingJob` takes them.
    inputs : mapping of str to str or ProcessingInput, optional
        Input name to ``s3://`` prefix or full input.
    outputs : mapping of str to str or ProcessingOutput, optional
        Output name to ``s3://`` prefix or full output.
    environment, tags : mapping of str to str, optional
        As CreateProcessingJob takes them; ``tags`` are the job's.
    volume_kms_key, output_kms_key : IKeyRef or str, optional
        Types with local storage refuse a volume key.
    subnets, security_groups : sequence of str, optional
        The job's VPC configuration; give both or none. Each member may be a token, the lists may not.
    network_isolation, encrypt_inter_container_traffic : bool
        Off by default, as in SageMaker.
    entrypoint, arguments : sequence of str, optional
        Container entry point and arguments.
    request_overrides : mapping, optional
        Deep-merged into the CreateProcessingJob request last: the way to fields that have no keyword here.
    role, own_role, integration, timeout, kit, state_machine_name
        As `PreferenceTrainingJob` takes them; ``integration="optimized"`` is ``createProcessingJob.sync``.

    Raises
    ------
    InvalidInputError
        In the words of every rule that the request breaks.

    Examples
    --------
    >>> import aws_cdk as cdk
    >>> from constructs_lib import InstancePreference, PreferenceProcessingJob
    >>> stack = cdk.Stack(cdk.App(), "Research")
    >>> job = PreferenceProcessingJob(
    ...     stack, "Embed", image="111122223333.dkr.ecr.us-east-1.amazonaws.com/embed:1",
    ...     inputs={"texts": "s3://bucket/texts"}, outputs={"vectors": "s3://bucket/vectors"},
    ...     preferences=[InstancePreference("ml.g6.12xlarge"), InstancePreference("ml.g5.12xlarge")],
    ...     instance_count=2, volume_size_gb=200, max_runtime=cdk.Duration.hours(6), max_pending=cdk.Duration.hours(1))
    >>> job.job_name_prefix.rpartition("-")[0]
    'Research-Embed'
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        image: str,
        volume_size_gb: Size | int | None,
        max_runtime: Time,
        preferences: Sequence[InstancePreference] = (),
        steps: Sequence[LaunchStep] = (),
        cpu_last_resort: Sequence[InstancePreference] = (),
        instance_count: int | None = None,
        max_pending: Time | None = None,
        start_by: Moment | None = None,
        finish_by: Moment | None = None,
        max_cost: PriceCeiling | None = None,
        price_book: PriceBook | None = None,
        drop_without_quota: bool = False,
        run_overrides: Sequence[str] = (),
        inputs: Mapping[str, str | ProcessingInput] | None = None,
        outputs: Mapping[str, str | ProcessingOutput] | None = None,
        environment: Mapping[str, str] | None = None,
        tags: Mapping[str, str] | None = None,
        volume_kms_key: Key | None = None,
        output_kms_key: Key | None = None,
        subnets: Sequence[str] = (),
        security_groups: Sequence[str] = (),
        network_isolation: bool = False,
        encrypt_inter_container_traffic: bool = False,
        entrypoint: Sequence[str] = (),
        arguments: Sequence[str] = (),
        request_overrides: Mapping[str, Any] | None = None,
        role: Role | None = None,
        own_role: bool = False,
        integration: Integration = "launcher",
        timeout: Time | None = None,
        kit: CapacityKit | None = None,
        state_machine_name: str | None = None,
    ) -> None:
        check_lists(preferences=preferences)
        check_lists(preferences=cpu_last_resort)
        spec = ProcessingJobSpec(
            name=construct_id,
            preferences=[*preferences, *cpu_last_resort],
            image=image,
            volume_size_gb=gigabytes("volume_size_gb", volume_size_gb),
            max_runtime=seconds("max_runtime", max_runtime),
            max_pending=seconds("max_pending", max_pending),
            role_arn=role_arn(role) if role else None,
            instance_count=instance_count,
            inputs=inputs or {},
            outputs=outputs or {},
            environment=environment or {},
            tags=tags or {},
            volume_kms_key=key_arn(volume_kms_key),
            output_kms_key=key_arn(output_kms_key),
            subnets=subnets,
            security_groups=security_groups,
            network_isolation=network_isolation,
            encrypt_inter_container_traffic=encrypt_inter_container_traffic,
            entrypoint=entrypoint,
            arguments=arguments,
            request_overrides=request_overrides or {},
        )
        self._spec, self._launch_steps = spec, plain_steps(construct_id, spec, steps)
        for listed in (preferences, *(step.preferences for step in steps)):
            _check_hardware(construct_id, listed, cpu_last_resort)
        declared = declared_of(stack_of(scope), entries_of(spec, self._launch_steps))
        super().__init__(
            scope,
            construct_id,
            kind="processing",
            steps=_requests(spec, self._launch_steps),
            limits=launch_limits(
                start_by=start_by,
                finish_by=finish_by,
                max_cost=max_cost,
                price_book=price_book,
                drop_without_quota=drop_without_quota,
            ),
            declared={**declared, "mixed_hardware": bool(cpu_last_resort)},
            role_given=role is not None,
            own_role=own_role,
            integration=integration,
            timeout=timeout,
            kit=kit,
            state_machine_name=state_machine_name,
            run_overrides=run_overrides,
        )
        if cpu_last_resort:
            # A template does not say what was declared, and the rules read templates too.
            known = Acknowledgment(id="GpuCapacity::GPU-PL12", reason="cpu_last_resort declares the types without one")
            Validations.of(self).acknowledge(known)

    @property
    def spec(self) -> ProcessingJobSpec:
        """The job's fields as they were given, the last resort behind the preferences."""
        return self._spec

    @property
    def steps(self) -> Sequence[LaunchStep]:
        """The launch's steps as they were given; none for a job with one list."""
        return self._launch_steps


def _requests(spec: ProcessingJobSpec, steps: Sequence[LaunchStep]) -> list[StepRequest]:
    if not steps:
        reasons = [entry.reason for entry in spec.preferences]
        return [StepRequest(spec.to_request(), reasons, whole_seconds(spec.max_pending))]
    return [
        StepRequest(
            processing_request(spec, step),
            step.reasons,
            whole_seconds(spec.max_pending if step.max_pending is None else step.max_pending),
        )
        for step in steps
    ]


def _check_hardware(name: str, listed: Sequence[InstancePreference], last_resort: Sequence[InstancePreference]) -> None:
    """Refuse a list in which an accelerator would be given up without anybody having said so."""
    plain = [entry.instance_type for entry in listed if _accelerated(entry) is False]
    fast = [entry.instance_type for entry in listed if _accelerated(entry)]
    if plain and fast:
        raise InvalidInputError(
            f"{name}: {', '.join(plain)} has no accelerator and stands beside {', '.join(fast)}; if the job is to run "
            "without one rather than not at all, give it as cpu_last_resort, or in a step of its own"
        )
    if wrong := [entry.instance_type for entry in last_resort if _accelerated(entry)]:
        raise InvalidInputError(
            f"{name}: cpu_last_resort: {', '.join(wrong)} has an accelerator; give it in preferences"
        )


def _accelerated(entry: InstancePreference) -> bool | None:
    known = facts.instance_types().get(entry.instance_type)
    return None if known is None or known.architecture is None else known.accelerator is not None
