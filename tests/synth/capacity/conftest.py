import aws_cdk as cdk
import botocore.session
import pytest

from constructs_lib import CapacityWindow, PriceCeiling, TrainingPlan, TrainingPlanTarget


@pytest.fixture
def make_plan(stack):
    """Return a function that adds a small good plan to a stack, with other props where they are given."""

    def make(construct_id="Nightly", *, scope=stack, **props):
        given = {
            "training_plan_name": "nightly",
            "instance_type": "ml.p5.48xlarge",
            "instance_count": 4,
            "duration": cdk.Duration.days(3),
            "window": CapacityWindow(start_after="2027-01-27T00:00Z", end_before="2027-02-05T12:00Z"),
            "target": TrainingPlanTarget.TRAINING_JOB,
            "max_upfront_fee": PriceCeiling("60000", "USD"),
            **props,
        }
        return TrainingPlan(scope, construct_id, **given)

    return make


@pytest.fixture
def purchases(of_type):
    """Return a function that gives the properties of a template's purchases, by logical id."""
    return lambda template: of_type(template, "Custom::SageMakerTrainingPlan")


@pytest.fixture
def botocore_enum():
    """Return a function that gives the values of one of the service model's enums."""
    model = botocore.session.get_session().get_service_model("sagemaker")
    return lambda shape: model.shape_for(shape).enum
