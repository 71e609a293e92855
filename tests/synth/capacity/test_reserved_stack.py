"""The example stack of a team that reserves."""

import aws_cdk as cdk
import pytest

from constructs_lib import CapacityWindow, PriceCeiling, Settings, synth_checked
from stacks.reserved import ReservedStack

SAID = {
    "@gpu-capacity/image": "111122223333.dkr.ecr.us-east-1.amazonaws.com/tune:1",
    "@gpu-capacity/data": "s3://amzn-s3-demo-bucket/research",
}


def reserved(app):
    window = CapacityWindow(start_after="2027-01-27T00:00Z", end_before="2027-02-05T12:00Z")
    ceiling = PriceCeiling("60000", "USD")
    return ReservedStack(app, "Reserved", settings=Settings.of(app), window=window, max_upfront_fee=ceiling)


def test_the_example_is_clean_and_asks_the_topic_that_it_makes(tmp_path, nag, synth, purchases):
    app = cdk.App(outdir=str(tmp_path), context=SAID)
    stack = reserved(app)
    assert nag(app) == set()
    synth_checked(app)
    (purchase,) = purchases(synth(app, "Reserved")).values()
    assert purchase["Approval"]["TopicArn"] == stack.resolve(stack.people.topic_arn)
    assert "GpuCapacityBuyer" in str(stack.resolve(stack.plan.buyer.service_token))


def test_the_example_tells_what_it_needs(app):
    with pytest.raises(ValueError, match="@gpu-capacity/image"):
        reserved(app)
