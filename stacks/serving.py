"""Reserved capacity for inference: a plan, an endpoint that lives and moves with it, and a topic that tells people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aws_cdk import Acknowledgment, CfnOutput, Duration, Stack, Validations
from aws_cdk import aws_sns as sns

from constructs_lib import (
    CapacityBuyer,
    EndpointScaling,
    OnExpiry,
    PriceCeiling,
    ReservedEndpoint,
    TrainingPlan,
    TrainingPlanTarget,
)

if TYPE_CHECKING:
    from constructs import Construct

    from constructs_lib import CapacityWindow

__all__ = ["ServingStack"]


class ServingStack(Stack):
    """A stack that buys a plan for endpoints and declares the endpoint on it: deployed weeks before the plan starts.

    Parameters
    ----------
    scope : Construct
    construct_id : str
    model_name : str
        A SageMaker model that is there already.
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
        model_name: str,
        window: CapacityWindow,
        max_upfront_fee: PriceCeiling,
        **stack_props: Any,
    ) -> None:
        super().__init__(scope, construct_id, **stack_props)
        self.people = sns.Topic(self, "People", enforce_ssl=True)
        CapacityBuyer(self, notices=self.people)
        self.plan = TrainingPlan(
            self,
            "Serving",
            training_plan_name="serving",
            instance_type="ml.p5.48xlarge",
            instance_count=4,
            duration=Duration.days(7),
            window=window,
            target=TrainingPlanTarget.ENDPOINT,
            max_upfront_fee=max_upfront_fee,
        )
        # One instance of the plan stays free, so that a new model is rolled in without lowering the count.
        self.endpoint = ReservedEndpoint(
            self,
            "Chat",
            plan=self.plan,
            model_name=model_name,
            instance_count=2,
            scaling=EndpointScaling(min_capacity=2, max_capacity=3, invocations_per_instance=120),
            on_expiry=OnExpiry.to_on_demand(
                "ml.g6e.48xlarge",
                "ml.g5.48xlarge",
                last_resort=OnExpiry.delete(),
                instance_count=4,
                provision_timeout=Duration.minutes(15),
            ),
            margin=Duration.minutes(30),
            notices=self.people,
        )
        reason = "the model fits into 24 GiB a device, the least of the list"
        Validations.of(self.endpoint).acknowledge(Acknowledgment(id="GpuCapacity::GPU-PL12", reason=reason))
        CfnOutput(self, "Endpoint", value=self.endpoint.endpoint_name)
        CfnOutput(self, "Next", value=f"{self.endpoint.attr_next_action} {self.endpoint.attr_next_action_at}")
