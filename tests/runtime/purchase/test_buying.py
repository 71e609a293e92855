"""What a deploy of a training plan does when nothing goes wrong, and how it says no."""

from __future__ import annotations

ARN = "arn:aws:sagemaker:us-east-1:123456789012:training-plan/nightly"


def test_a_deploy_without_a_key_is_a_quote(world):
    answer = world.deploy()
    data = answer["Data"]
    assert (answer["Status"], data["Status"], answer["PhysicalResourceId"]) == ("SUCCESS", "Quote", ARN)
    assert (data["QuotedFee"], data["QuotedStartTime"]) == ("28800.00", "2026-12-08T11:30:00Z")
    assert "no purchase key is given" in data["Quote"]
    assert data["UpfrontFee"] == ""
    assert not world.bought


def test_the_key_buys_and_keeps_the_id(world, purchase_key):
    world.deploy()
    answer = world.deploy(Purchase=purchase_key())
    assert answer["PhysicalResourceId"] == ARN
    data = answer["Data"]
    assert (data["Status"], data["UpfrontFee"], data["CurrencyCode"]) == ("Pending", "28800.00", "USD")
    assert (data["StartTime"], data["EndTime"]) == ("2026-12-08T11:30:00Z", "2026-12-11T11:30:00Z")
    assert (data["AvailabilityZones"], data["InstanceCount"]) == ("us-east-1a", "4")
    (bought,) = world.bought
    assert bought["tags"] == {"gpucap:identity": "nightly", "gpucap:generation": "1"}
    world.settle()
    world.check_settled()
