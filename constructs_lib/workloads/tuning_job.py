"""A SageMaker tuning job whose training jobs may run on any of an ordered list of instance types."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from constructs_lib.model.fields import whole_seconds
from constructs_lib.model.tuning import TuningJobSpec
from constructs_lib.shared.cdk_values import role_arn, seconds
from constructs_lib.shared.scopes import stack_of
from constructs_lib.workloads.job_checks import declared_of
from constructs_lib.workloads.job_machine import JobMachine
from constructs_lib.workloads.job_steps import StepRequest, launch_limits

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from constructs import Construct

    from constructs_lib.model import TrainingJobSpec
    from constructs_lib.model.price import PriceCeiling
    from constructs_lib.model.prices import PriceBook
    from constructs_lib.model.tuning import HyperparameterRange, TuningObjective
    from constructs_lib.shared.cdk_values import Role, Time
    from constructs_lib.workloads.job_steps import Integration, Moment
    from constructs_lib.workloads.kit import CapacityKit

__all__ = ["TuningJob"]


class TuningJob(JobMachine):
    """A state machine that runs one hyperparameter tuning job on an ordered list of 1 to 6 acceptable types.

    Tuning has an ordered list of its own, older than that of training, and documented: each training job of the search
    takes the first type that is free. It knows no training plan and no limit on the wait for capacity.

    Parameters
    ----------
    scope : Construct
    construct_id : str
    training : TrainingJobSpec
        What each training job does, see `TuningJobSpec`. Its ``preferences`` are the list, its ``hyperparameters`` the
        static ones; with its ``max_pending`` the launcher stops a tuning job none of whose training jobs has started
        by then. It needs ``volume_size_gb``.
    objective : TuningObjective
        What is optimized.
    ranges : mapping of str to HyperparameterRange
        What is searched for.
    max_jobs, max_parallel : int
        Training jobs in all, and at a time.
    strategy : str
        ``Bayesian`` (default), ``Random``, ``Hyperband`` or ``Grid``.
    early_stopping : bool
        True: training jobs that cannot win are stopped by SageMaker.
    max_total_runtime : Duration, timedelta or seconds, optional
        The tuning job's own limit, over all its training jobs.
    start_by, finish_by, max_cost, price_book, drop_without_quota, run_overrides
        As `PreferenceTrainingJob` takes them.
    request_overrides : mapping, optional
        Deep-merged into the CreateHyperParameterTuningJob request last.
    role, own_role, integration, timeout, kit, state_machine_name
        As `PreferenceTrainingJob` takes them; ``integration="optimized"`` is ``createHyperParameterTuningJob.sync``.

    Raises
    ------
    InvalidInputError
        In the words of every rule that the request breaks.

    Examples
    --------
    >>> import aws_cdk as cdk
    >>> from constructs_lib import (
    ...     HyperparameterRange, InstancePreference, TrainingJobSpec, TuningJob, TuningObjective)
    >>> stack = cdk.Stack(cdk.App(), "Research")
    >>> training = TrainingJobSpec(
    ...     name="tune", image="111122223333.dkr.ecr.us-east-1.amazonaws.com/train:1", output="s3://bucket/models",
    ...     preferences=[InstancePreference("ml.g6.12xlarge"), InstancePreference("ml.g5.12xlarge")],
    ...     instance_count=1, volume_size_gb=200, max_runtime=3600)
    >>> job = TuningJob(
    ...     stack, "Search", training=training, max_jobs=20, max_parallel=2,
    ...     objective=TuningObjective("loss", "Minimize", regex="loss=([0-9.]+)"),
    ...     ranges={"learning_rate": HyperparameterRange.continuous(1e-5, 1e-2, scaling="Logarithmic")})
    >>> job.request["TrainingJobDefinition"]["HyperParameterTuningResourceConfig"]["AllocationStrategy"]
    'Prioritized'
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        training: TrainingJobSpec,
        objective: TuningObjective,
        ranges: Mapping[str, HyperparameterRange],
        max_jobs: int,
        max_parallel: int,
        strategy: str = "Bayesian",
        early_stopping: bool = False,
        max_total_runtime: Time | None = None,
        start_by: Moment | None = None,
        finish_by: Moment | None = None,
        max_cost: PriceCeiling | None = None,
        price_book: PriceBook | None = None,
        drop_without_quota: bool = False,
        run_overrides: Sequence[str] = (),
        request_overrides: Mapping[str, Any] | None = None,
        role: Role | None = None,
        own_role: bool = False,
        integration: Integration = "launcher",
        timeout: Time | None = None,
        kit: CapacityKit | None = None,
        state_machine_name: str | None = None,
    ) -> None:
        if role:
            training = replace(training, role_arn=role_arn(role))
        self._spec = TuningJobSpec(
            training=training,
            objective=objective,
            ranges=ranges,
            max_jobs=max_jobs,
            max_parallel=max_parallel,
            strategy=strategy,
            early_stopping=early_stopping,
            max_total_runtime=seconds("max_total_runtime", max_total_runtime),
            request_overrides=request_overrides or {},
        )
        super().__init__(
            scope,
            construct_id,
            kind="tuning",
            steps=[StepRequest(self._spec.to_request(), training.reasons(), whole_seconds(training.max_pending))],
            limits=launch_limits(
                start_by=start_by,
                finish_by=finish_by,
                max_cost=max_cost,
                price_book=price_book,
                drop_without_quota=drop_without_quota,
            ),
            declared=declared_of(stack_of(scope), training.preferences),
            role_given=training.role_arn is not None,
            own_role=own_role,
            integration=integration,
            timeout=timeout,
            kit=kit,
            state_machine_name=state_machine_name,
            run_overrides=run_overrides,
        )

    @property
    def spec(self) -> TuningJobSpec:
        """The job's fields as they were given."""
        return self._spec
