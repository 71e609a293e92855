"""What can be done with a training plan, whoever bought it."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from constructs import Construct

from constructs_lib.capacity.buyer_roles import plan_users
from constructs_lib.capacity.target import TrainingPlanTarget
from constructs_lib.model import InstancePreference, InvalidInputError
from constructs_lib.model.purchase_names import (
    EVENT_SOURCE,
    METRIC_DIMENSION,
    METRIC_NAMESPACE,
    NOTICE,
    PLAN_METRICS,
    STATUS_CHANGE,
)
from constructs_lib.shared.scopes import stack_of

if TYPE_CHECKING:
    from aws_cdk.aws_cloudwatch import Metric
    from aws_cdk.aws_events import IRuleTarget, Rule
    from aws_cdk.aws_iam import Grant, IGrantable

__all__ = ["ITrainingPlan", "PlanBase", "PlanGrants", "StartsOnPlan"]

_Start = TypeVar("_Start")
_Start_co = TypeVar("_Start_co", covariant=True)


class StartsOnPlan(Protocol[_Start_co]):
    """A job that can be started when a plan is active; returns what does it."""

    def start_on_plan(
        self, start_id: str, plan: str, *, plan_name: str, starts: str, topic: str | None = None
    ) -> _Start_co:
        """Start one run when the plan is active."""
        ...


class ITrainingPlan(Protocol):
    """A training plan, bought here or elsewhere; what is not known of it is ``None``."""

    training_plan_arn: str
    plan_name: str
    instance_type: str | None
    instance_count: int | None
    target: TrainingPlanTarget | None

    @property
    def grants(self) -> PlanGrants:
        """Permissions on the plan."""
        ...

    def preference(self, *, instance_count: int | None = None, reason: str | None = None) -> InstancePreference:
        """Return the plan as an entry of a job's list."""
        ...


class PlanBase(Construct):
    """A training plan as a construct.

    Attributes
    ----------
    training_plan_arn, plan_name : str
        The name includes the generation.
    instance_type : str or None
    instance_count : int or None
    target : TrainingPlanTarget or None
    """

    training_plan_arn: str
    plan_name: str
    instance_type: str | None
    instance_count: int | None
    target: TrainingPlanTarget | None

    @property
    def grants(self) -> PlanGrants:
        """Permissions on the plan: ``plan.grants.use(role)``."""
        return PlanGrants(self)

    def preference(self, *, instance_count: int | None = None, reason: str | None = None) -> InstancePreference:
        """Return the plan as an entry of a job's list of acceptable types.

        Parameters
        ----------
        instance_count : int, optional
            All instances of the plan when left out.
        reason : str, optional
            Why the entry stands where it does.

        Raises
        ------
        InvalidInputError
            If the plan serves no jobs, or its type is not known.
        """
        self._require_jobs()
        if self.instance_type is None:
            raise InvalidInputError(
                f"{self.node.path}: the plan's instance type is not known; give it to from_training_plan_arn"
            )
        count = self.instance_count if instance_count is None else instance_count
        return InstancePreference(self.instance_type, instance_count=count, training_plan=self, reason=reason)

    def start_on_active(self, job: StartsOnPlan[_Start]) -> _Start:
        """Start one run of a job as soon as the plan is active, however late that is.

        The plan is looked at when it should start and every few minutes from the deploy on. The job's runtime is cut to
        what is left until the capacity goes, 30 minutes before the plan ends, and the container finds that moment in
        ``GPUCAP_CAPACITY_USABLE_UNTIL``, in milliseconds since the epoch. An alarm goes off when the plan is 15 minutes
        late. A plan is started on once, whatever is deployed again.

        Scheduler may refuse to make a one-time schedule for a moment that has passed: to deploy this for the first time
        when an imported plan has begun already, leave its ``starts_at`` out.

        Parameters
        ----------
        job : PreferenceTrainingJob
            A job of the launcher that names the plan, such as with `preference`.

        Returns
        -------
        PlanStart
            The schedules and the alarm, which stand under the job.

        Raises
        ------
        InvalidInputError
            If the plan serves no jobs, or the job does not name it.
        """
        self._require_jobs()
        return job.start_on_plan(
            f"On{self.node.id}",
            self.training_plan_arn,
            plan_name=self.plan_name,
            starts=self._announced_start(),
            topic=self._notice_topic(),
        )

    def _announced_start(self) -> str:
        """Return when the plan starts, possibly a token; empty where nobody says."""
        return ""

    def _notice_topic(self) -> str | None:
        """Return the ARN of the topic that hears of the plan, if there is one."""
        return None

    def _require_jobs(self) -> None:
        if self.target not in (None, TrainingPlanTarget.TRAINING_JOB):
            raise InvalidInputError(
                f"{self.node.path}: the plan is for {self.target}, and a job needs one for "
                f"{TrainingPlanTarget.TRAINING_JOB}; what a plan is for cannot be changed"
            )

    def on_status_change(self, construct_id: str, *, target: IRuleTarget | None = None, **options: Any) -> Rule:
        """Do something whenever the plan's status changes, as the watcher sees it within five minutes.

        AWS puts no events for training plans; the watcher puts these.

        Parameters
        ----------
        construct_id : str
        target : IRuleTarget, optional
        **options
            As `aws_cdk.aws_events.Rule` takes them, without a pattern.
        """
        return self._rule(construct_id, STATUS_CHANGE, target, options)

    def on_notice(self, construct_id: str, *, target: IRuleTarget | None = None, **options: Any) -> Rule:
        """Do something whenever there is something to say: a late start, an end in 7 days, 24 hours or 1 hour.

        Parameters are those of `on_status_change`.
        """
        return self._rule(construct_id, NOTICE, target, options)

    def metric(self, name: str, **options: Any) -> Metric:
        """Return one of the metrics that the watcher measures every five minutes while the plan is live.

        Parameters
        ----------
        name : str
            One of `constructs_lib.model.purchase_names.PLAN_METRICS`.
        **options
            As `aws_cdk.aws_cloudwatch.Metric` takes them.

        Raises
        ------
        InvalidInputError
            If there is no such metric.
        """
        from aws_cdk.aws_cloudwatch import Metric  # noqa: PLC0415 - most plans are asked for no metric

        if name not in PLAN_METRICS:
            raise InvalidInputError(f"metric {name!r}: there are {', '.join(PLAN_METRICS)}")
        here = {
            "namespace": METRIC_NAMESPACE,
            "metric_name": name,
            "dimensions_map": {METRIC_DIMENSION: self.plan_name},
        }
        return Metric(**{"statistic": "Maximum", **here, **options})

    def metric_unused_reserved_instance_hours(self, **options: Any) -> Metric:
        """Return the instance-hours of the plan that nobody used; they add up."""
        return self.metric("UnusedReservedInstanceHours", **{"statistic": "Sum", **options})

    def metric_available_instances(self, **options: Any) -> Metric:
        """Return how many instances of the plan are free."""
        return self.metric("AvailableInstances", **options)

    def metric_in_use_instances(self, **options: Any) -> Metric:
        """Return how many instances of the plan are in use."""
        return self.metric("InUseInstances", **options)

    def metric_pending_payment(self, **options: Any) -> Metric:
        """Return 1 while the plan is bought and not Scheduled yet."""
        return self.metric("PendingPayment", **options)

    def metric_start_delay_minutes(self, **options: Any) -> Metric:
        """Return by how many minutes the plan is late."""
        return self.metric("StartDelayMinutes", **options)

    def metric_hours_to_end(self, **options: Any) -> Metric:
        """Return the hours until the plan ends; its instances go earlier, 30 minutes or with HyperPod an hour."""
        return self.metric("HoursToEnd", **options)

    def _rule(self, construct_id: str, kind: str, target: IRuleTarget | None, options: dict[str, Any]) -> Rule:
        from aws_cdk.aws_events import EventPattern, Rule  # noqa: PLC0415 - most plans have no rule

        detail = {METRIC_DIMENSION: [self.plan_name]}
        rule = Rule(
            self,
            construct_id,
            event_pattern=EventPattern(source=[EVENT_SOURCE], detail_type=[kind], detail=detail),
            **options,
        )
        if target is not None:
            rule.add_target(target)
        return rule


class PlanGrants:
    """Permissions on one plan.

    Parameters
    ----------
    plan : PlanBase
    """

    def __init__(self, plan: PlanBase) -> None:
        self._plan = plan

    def use(self, grantee: IGrantable, *, name_prefix: str = "") -> Grant:
        """Allow creating what runs on the plan: the call is authorized on it, on the plan and on its reserved capacity.

        Parameters
        ----------
        grantee : IGrantable
        name_prefix : str
            The start of the names of the jobs or clusters; any when left out. IAM allows them without the plan too.

        Raises
        ------
        InvalidInputError
            If it is not known what the plan is for.
        """
        from aws_cdk.aws_iam import Grant  # noqa: PLC0415 - most plans grant nothing

        plan = self._plan
        if plan.target is None:
            raise InvalidInputError(
                f"{plan.node.path}: what the plan is for is not known; give target to from_training_plan_arn"
            )
        place, arn = stack_of(plan).place, plan.training_plan_arn
        grants = [
            Grant.add_to_principal(grantee=grantee, actions=one["Action"], resource_arns=one["Resource"])
            for one in plan_users(place, plan.target, arn, name_prefix=name_prefix)
        ]
        return reduce(lambda one, other: one.combine(other), grants)
