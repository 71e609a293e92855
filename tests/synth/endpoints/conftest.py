import aws_cdk as cdk
import pytest

from constructs_lib import (
    CapacityWindow,
    OnExpiry,
    PriceCeiling,
    ReservedEndpoint,
    ReservedEndpointConfig,
    TrainingPlan,
    TrainingPlanTarget,
)

ARN = "arn:aws:sagemaker:us-east-1:111122223333:training-plan/serving"


@pytest.fixture
def stack(app):
    return cdk.Stack(app, "Serving")


@pytest.fixture
def make_plan(stack):
    """Return a function that brings a plan for endpoints into a stack: bought elsewhere, with what is known of it."""

    def make(construct_id="Plan", arn=ARN, *, scope=stack, **known):
        given = {
            "instance_type": "ml.p5.48xlarge",
            "instance_count": 4,
            "target": TrainingPlanTarget.ENDPOINT,
            "starts_at": "2027-01-27T11:30Z",
            "ends_at": "2027-02-03T11:30Z",
            **known,
        }
        return TrainingPlan.from_training_plan_arn(scope, construct_id, arn, **given)

    return make


@pytest.fixture
def buy_plan(stack):
    """Return a function that buys a plan for endpoints in a stack."""

    def buy(construct_id="Bought", *, scope=stack, **props):
        given = {
            "training_plan_name": "serving",
            "instance_type": "ml.p5.48xlarge",
            "instance_count": 4,
            "duration": cdk.Duration.days(7),
            "window": CapacityWindow(start_after="2027-01-27T00:00Z", end_before="2027-02-25T12:00Z"),
            "target": TrainingPlanTarget.ENDPOINT,
            "max_upfront_fee": PriceCeiling("60000", "USD"),
            **props,
        }
        return TrainingPlan(scope, construct_id, **given)

    return buy


@pytest.fixture
def make_endpoint(stack, make_plan):
    """Return a function that adds a small good endpoint to a stack, with other props where they are given."""

    def make(construct_id="Chat", *, scope=stack, **props):
        given = {"model_name": "chat", "instance_count": 2, "on_expiry": OnExpiry.delete(), **props}
        if "plan" not in given:
            given["plan"] = make_plan(f"{construct_id}Plan", scope=scope)
        return ReservedEndpoint(scope, construct_id, **given)

    return make


@pytest.fixture
def make_config(stack, make_plan):
    """Return a function that adds a small good configuration on a plan to a stack."""

    def make(construct_id="Config", *, scope=stack, **props):
        given = {"model_name": "chat", "instance_count": 2, **props}
        if "plan" not in given:
            given["plan"] = make_plan(f"{construct_id}Plan", scope=scope)
        return ReservedEndpointConfig(scope, construct_id, **given)

    return make


@pytest.fixture
def declared(synth, app, of_type):
    """Return a function that gives the properties of the stack's one reserved endpoint."""

    def properties(name="Serving"):
        (found,) = of_type(synth(app, name), "Custom::SageMakerReservedEndpoint").values()
        return found

    return properties
