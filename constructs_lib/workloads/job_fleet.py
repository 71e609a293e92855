"""Many SageMaker training jobs as one state machine: any number of jobs, one resource."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from aws_cdk import Annotations, AssetHashType, aws_s3_assets
from aws_cdk.aws_stepfunctions import CfnStateMachine

from constructs_lib.model import InvalidInputError, RunEnd, is_unresolved
from constructs_lib.model.approvals import approvals, types_in
from constructs_lib.rules import check_request, raise_for_errors
from constructs_lib.shared.cdk_values import definition_text, role_arn, seconds
from constructs_lib.shared.policies import allow
from constructs_lib.shared.scopes import path_of, stack_of
from constructs_lib.workloads.grants import JobGrants
from constructs_lib.workloads.job_checks import declared_of
from constructs_lib.workloads.job_fleet_definition import LABEL, FleetDefinition, fleet_states
from constructs_lib.workloads.job_fleet_items import FleetFile, given_jobs, refuse_invalid, rendered
from constructs_lib.workloads.job_steps import StepRequest, backstop
from constructs_lib.workloads.kit import CapacityKit
from constructs_lib.workloads.metrics import run_metric

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from aws_cdk.aws_cloudwatch import Metric
    from constructs import Construct

    from constructs_lib.model import TrainingJobSpec
    from constructs_lib.shared.cdk_values import Role, Time
    from constructs_lib.shared.policies import Statement
    from constructs_lib.shared.scopes import StackInfo

__all__ = ["JobFleet"]

DEFINITION_BYTES = 1_048_576
"""What Step Functions takes. Source: botocore, Step Functions' ``Definition``."""
# All holders of a fleet's slots stand in one item of DynamoDB, which has at most 400 KB; a holder takes 64 bytes.
_MOST_SLOTS = 5_000
_UNLIMITED_AT_ONCE = 1_000


class JobFleet(CfnStateMachine):
    """A state machine that runs many training jobs, no more of them at once on an instance type than you allow.

    Each execution of the machine runs every job that has not completed yet: one that failed, or that an earlier
    execution did not come to, is started, one that completed is not. Two executions at once never run the same job
    twice at a time. The fleet ends with one answer: how many jobs ended how, and which failed first. It fails with
    ``JobsFailed`` and the same answer as its cause when more than ``tolerated_failures`` jobs did not complete.

    It costs one resource and no kernel request a job: the jobs stand in one file, which CDK uploads like any asset.

    Parameters
    ----------
    scope : Construct
    construct_id : str
    jobs : sequence of TrainingJobSpec, optional
        The jobs, each with a name of its own. Give them or ``jobs_file``. Their texts and numbers may be CDK tokens.
    jobs_file : str or Path, optional
        A file of JSON Lines: one job a line, an object with the fields of `TrainingJobSpec` by name; times are
        seconds.
    max_concurrency_per_type : mapping of str to int
        How many jobs of this fleet may run at once on each instance type; other types have no limit. A job counts
        against every limited type that it may still take, and only against its own once it runs: a limit holds
        whatever wins.
    max_concurrency : int, optional
        How many jobs are under way at once, those that wait for a slot included. By default the sum of the limits;
        1,000 if a job takes none of the limited types.
    tolerated_failures : int
        How many jobs may fail in a fleet that succeeds; 0 by default. It stops nothing.
    stop_after_failures : int, optional
        Once more jobs than this failed, the rest is not started and what runs is stopped. By default the other jobs
        go on.
    on_invalid : str
        ``refuse`` (default): synth fails and names each job that breaks a rule. ``run_others``: such a job ends in
        ``InvalidRequest`` and counts as failed, the others run; synth warns.
    shared_data : sequence of str, optional
        ``s3://`` prefixes that the shared execution role may read and write as a whole. What the jobs name under them
        is not listed one by one, which keeps the role's policy below IAM's limit.
    role : IRoleRef or str, optional
        The execution role of jobs whose spec names none. By default the kit's shared one.
    timeout : Duration, timedelta or seconds, optional
        A job that takes longer from its launch to its end is stopped. By default what `PreferenceTrainingJob` takes.
    kit : CapacityKit, optional
        The kit of another stack, such as the one around a nested stack.
    state_machine_name : str, optional
        By default `job_name_prefix`.

    Raises
    ------
    InvalidInputError
        For a job that breaks a rule or a guardrail, has another's name, or is larger than a state's input may be; and
        for a fleet that is larger than its machine or its file may be.

    Examples
    --------
    >>> import aws_cdk as cdk
    >>> from constructs_lib import InstancePreference, JobFleet, TrainingJobSpec
    >>> stack = cdk.Stack(cdk.App(), "Research")
    >>> jobs = [
    ...     TrainingJobSpec(
    ...         name=f"lr-{rate}", image="111122223333.dkr.ecr.us-east-1.amazonaws.com/train:1",
    ...         output=f"s3://bucket/sweep/lr-{rate}", hyperparameters={"lr": rate}, max_runtime=3600, max_pending=7200,
    ...         preferences=[InstancePreference("ml.p5.48xlarge"), InstancePreference("ml.p4d.24xlarge")],
    ...         instance_count=1)
    ...     for rate in ("0.1", "0.01")]
    >>> fleet = JobFleet(stack, "Sweep", jobs=jobs, max_concurrency_per_type={"ml.p5.48xlarge": 4})
    >>> fleet.job_count, fleet.invalid
    (2, ())
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        jobs: Sequence[TrainingJobSpec] | None = None,
        jobs_file: str | Path | None = None,
        max_concurrency_per_type: Mapping[str, int],
        max_concurrency: int | None = None,
        tolerated_failures: int = 0,
        stop_after_failures: int | None = None,
        on_invalid: Literal["refuse", "run_others"] = "refuse",
        shared_data: Sequence[str] = (),
        role: Role | None = None,
        timeout: Time | None = None,
        kit: CapacityKit | None = None,
        state_machine_name: str | None = None,
    ) -> None:
        path, stack = path_of(scope, construct_id), stack_of(scope)
        _require_limits(max_concurrency_per_type, max_concurrency, tolerated_failures, stop_after_failures)
        if on_invalid not in ("refuse", "run_others"):
            raise InvalidInputError(f"on_invalid: {on_invalid!r} was given; 'refuse' and 'run_others' are allowed")
        self._kit = kit or CapacityKit.of(scope)
        longest = seconds("timeout", timeout)
        file = rendered(
            given_jobs(jobs, jobs_file),
            role=role_arn(role) if role else self._kit.execution_role_arn,
            judge=_Judge(path, stack, self._kit, shares_role=role is None),
            limits=max_concurrency_per_type,
            backstop=lambda request: backstop("training", StepRequest(request), longest),
        )
        if on_invalid == "refuse":
            refuse_invalid(file)
        for prefix in shared_data:
            self._kit.shared_access.add({"OutputDataConfig": {"S3OutputPath": prefix}})
        self._prefix = self._kit.job_name_prefix(construct_id, path)
        self._invalid, self._count = tuple(file.invalid), len(file.items)
        name = state_machine_name or self._prefix
        if state_machine_name:
            self._kit.watch_machine(state_machine_name)
        text = file.text()
        asset = _asset(scope, f"{construct_id}Jobs", text)
        definition = FleetDefinition(
            prefix=self._prefix,
            partition=stack.place.partition,
            launcher=self._kit.launcher_name,
            bucket=asset.s3_bucket_name,
            key=asset.s3_object_key,
            version=FleetFile.version(text)[:16],
            jobs=self._count,
            limits=max_concurrency_per_type,
            values=file.values,
            max_concurrency=max_concurrency or _at_once(file, max_concurrency_per_type),
            tolerated_failures=tolerated_failures,
            stop_after_failures=stop_after_failures,
        )
        self._kit.add_to_machine_policy(*_statements(stack, name, definition))
        super().__init__(
            scope,
            construct_id,
            role_arn=self._kit.machine_role_arn,
            state_machine_name=name,
            definition_string=_bounded(definition_text(fleet_states(definition))),
            logging_configuration=self._kit.machine_logging,
            tracing_configuration=_TRACING,
        )
        if file.invalid:
            words = f"{len(file.invalid)} of {self._count} jobs will end in InvalidRequest: " + "; ".join(file.invalid)
            Annotations.of(self).add_warning_v2("gpu-capacity:invalid-jobs", words)

    @property
    def job_count(self) -> int:
        """How many jobs the fleet has, the invalid ones included."""
        return self._count

    @property
    def invalid(self) -> tuple[str, ...]:
        """What is wrong with the jobs that will end in ``InvalidRequest``, in words."""
        return self._invalid

    @property
    def kit(self) -> CapacityKit:
        """What the fleet shares with the other jobs of its stack."""
        return self._kit

    @property
    def job_name_prefix(self) -> str:
        """The start of the names of the fleet's jobs."""
        return self._prefix

    @property
    def grants(self) -> JobGrants:
        """Permissions for others: ``fleet.grants.start(role)``."""
        return JobGrants(self, [])

    def metric_runs_ended(self, *, end: str | None = None, **options: Any) -> Metric:
        """Return the number of jobs that ended; by default the sum over 5 minutes.

        Parameters
        ----------
        end : RunEnd or str, optional
            Only jobs with this end, such as ``InsufficientCapacity``.
        **options
            As `aws_cdk.aws_cloudwatch.Metric` takes them.
        """
        named = None if end is None else str(RunEnd(end))
        return run_metric(self._prefix, "Ended", {"statistic": "Sum", **options}, End=named)

    def metric_pending_seconds(self, *, instance_type: str | None = None, **options: Any) -> Metric:
        """Return the jobs' wait for capacity; by default the average over 5 minutes, of all types."""
        return run_metric(self._prefix, "PendingSeconds", options, InstanceType=instance_type)


_TRACING = CfnStateMachine.TracingConfigurationProperty(enabled=True)


@dataclass(frozen=True, slots=True)
class _Judge:
    """Refuses a job that breaks a rule or a guardrail, and lets the kit's roles do what any other needs."""

    path: str
    stack: StackInfo
    kit: CapacityKit
    shares_role: bool

    def __call__(self, spec: TrainingJobSpec, request: Mapping[str, Any]) -> None:
        declared = declared_of(self.stack, spec.preferences, reserved_only=False)
        raise_for_errors(check_request("training-job", request, declared=declared))
        approvals(self.stack.root).use(f"{self.path}/{spec.name}", types_in(request))
        if self.shares_role and spec.role_arn is None:
            self.kit.shared_access.add(request)
        self.kit.add_job(request, launched=True)


def _require_limits(per_type: Mapping[str, int], at_once: int | None, tolerated: int, stop_after: int | None) -> None:
    whole: dict[str, tuple[int | None, int]] = {
        f"max_concurrency_per_type[{kind!r}]": (limit, 1) for kind, limit in per_type.items()
    }
    whole |= {
        "max_concurrency": (at_once, 1),
        "tolerated_failures": (tolerated, 0),
        "stop_after_failures": (stop_after, 0),
    }
    for what, (given, least) in whole.items():
        if given is not None and (isinstance(given, bool) or not isinstance(given, int) or given < least):
            raise InvalidInputError(f"{what}: {given!r} was given; a whole number of at least {least} is needed")
    for kind in per_type:
        if is_unresolved(kind) or not kind.startswith("ml."):
            raise InvalidInputError(
                f"max_concurrency_per_type: {kind!r} was given; a SageMaker type such as 'ml.p5.48xlarge' is needed"
            )
    if (slots := sum(per_type.values())) > _MOST_SLOTS:
        raise InvalidInputError(
            f"max_concurrency_per_type: {slots:,} jobs at once were given, {_MOST_SLOTS:,} are allowed together: their "
            "names stand in one item of DynamoDB, which has at most 400 KB; leave out the types that need no limit"
        )


def _at_once(file: FleetFile, limits: Mapping[str, int]) -> int:
    return _UNLIMITED_AT_ONCE if file.unlimited or not limits else sum(limits.values())


def _asset(scope: Construct, construct_id: str, text: str) -> aws_s3_assets.Asset:
    """Return the file as an asset; CDK copies it at once."""
    with tempfile.TemporaryDirectory(prefix="gpucap-fleet-") as folder:
        path = Path(folder) / "jobs.json"
        path.write_text(text, encoding="utf-8")
        return aws_s3_assets.Asset(
            scope,
            construct_id,
            path=str(path),
            asset_hash=FleetFile.version(text),
            asset_hash_type=AssetHashType.CUSTOM,
        )


def _statements(stack: StackInfo, name: str, fleet: FleetDefinition) -> list[Statement]:
    """Return what a Distributed Map needs: executions of its own machine, and its file.

    Notes
    -----
    Source: Step Functions guide, IAM policies for Distributed Map.
    """
    place = stack.place
    children = [place.arn("states", f"execution:{machine}:*") for machine in (name, f"{name}/{LABEL}")]
    return [
        allow(["states:StartExecution"], [place.arn("states", f"stateMachine:{name}")]),
        allow(["states:DescribeExecution", "states:StopExecution", "states:RedriveExecution"], children),
        allow(["s3:GetObject"], [f"arn:{place.partition}:s3:::{fleet.bucket}/{fleet.key}"]),
    ]


def _bounded(definition: str) -> str:
    if len(definition) <= DEFINITION_BYTES:
        return definition
    raise InvalidInputError(
        f"jobs: the machine's definition has {len(definition):,} bytes, Step Functions takes {DEFINITION_BYTES:,}; it "
        "holds every different token of the jobs: let them share tokens, or split the fleet"
    )
