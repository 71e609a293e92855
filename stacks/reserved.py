"""Reserved capacity for a team: one plan, a job on it, and a second person's consent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aws_cdk import Duration, Stack
from aws_cdk import aws_sns as sns

from constructs_lib import (
    Approval,
    CapacityBuyer,
    CapacityWindow,
    InstancePreference,
    PreferenceTrainingJob,
    PriceCeiling,
    TrainingPlan,
    TrainingPlanTarget,
)

if TYPE_CHECKING:
    from constructs import Construct

    from constructs_lib import Settings

__all__ = ["ReservedStack"]


class ReservedStack(Stack):
    """A stack whose first deploy quotes, and whose deploy with key and approval buys.

    Parameters
    ----------
    scope : Construct
    construct_id : str
    settings : Settings
        ``image`` and ``data`` are needed.
    window : CapacityWindow
        When the capacity is wanted.
    max_upfront_fee : PriceCeiling
    **stack_props
        As `aws_cdk.Stack` takes them.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        settings: Settings,
        window: CapacityWindow,
        max_upfront_fee: PriceCeiling,
        **stack_props: Any,
    ) -> None:
        super().__init__(scope, construct_id, **stack_props)
        if not (settings.image and settings.data):
            raise ValueError("context: set @gpu-capacity/image and @gpu-capacity/data, in cdk.json or with cdk -c")
        self.people = sns.Topic(self, "People", enforce_ssl=True)
        CapacityBuyer(self, notices=self.people)
        self.plan = TrainingPlan(
            self,
            "Nightly",
            training_plan_name="nightly",
            instance_type="ml.p5.48xlarge",
            instance_count=4,
            duration=Duration.days(3),
            window=window,
            target=TrainingPlanTarget.TRAINING_JOB,
            max_upfront_fee=max_upfront_fee,
            approval=Approval.required(topic=self.people),
        )
        self.plan.on_status_change("Changed")
        self.job = PreferenceTrainingJob(
            self,
            "FineTune",
            image=settings.image,
            inputs={"train": f"{settings.data}/train"},
            output=f"{settings.data}/models/nightly",
            checkpoint=f"{settings.data}/checkpoints/nightly",
            preferences=[
                self.plan.preference(reason="paid for upfront"),
                InstancePreference("ml.p4d.24xlarge", instance_count=8),
            ],
            max_runtime=Duration.hours(60),
            max_pending=Duration.hours(2),
        )
