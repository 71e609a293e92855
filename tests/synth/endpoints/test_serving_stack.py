"""The example stack of a team that serves on reserved capacity."""

from constructs_lib import CapacityWindow, PriceCeiling, synth_checked
from stacks.serving import ServingStack


def test_the_example_buys_and_declares_in_one_stack_and_is_clean(app, nag, synth, of_type):
    window = CapacityWindow(start_after="2027-01-27T00:00Z", end_before="2027-02-25T12:00Z")
    ceiling = PriceCeiling("90000", "USD")
    stack = ServingStack(app, "Serving", model_name="chat", window=window, max_upfront_fee=ceiling)
    assert nag(app) == set()
    synth_checked(app)
    template = synth(app, "Serving")
    (declared,) = of_type(template, "Custom::SageMakerReservedEndpoint").values()
    assert declared["TrainingPlanArn"] == stack.resolve(stack.plan.training_plan_arn)
    topics = {tuple(map(str, alarm["AlarmActions"])) for alarm in of_type(template, "AWS::CloudWatch::Alarm").values()}
    assert topics == {(str(stack.resolve(stack.people.topic_arn)),)}
