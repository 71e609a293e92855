"""What a deploy of a training plan does when nothing goes wrong, what it refuses, and how it says so."""

from __future__ import annotations

import json

import pytest

from constructs_lib.runtime.errors import ServiceModelError
from constructs_lib.runtime.handlers.training_plan import outcome

ARN = "arn:aws:sagemaker:us-east-1:123456789012:training-plan/nightly"
CREATE = "sagemaker.create_training_plan"
DESCRIBE = "sagemaker.describe_training_plan"
TOPIC = "arn:aws:sns:us-east-1:123456789012:approvers"
APPROVAL = {"Required": "true", "TopicArn": TOPIC}
TAG = [{"Key": "team", "Value": "a"}]


def calls(world, operation):
    return [request for _, name, request in world.sagemaker.requests if name == operation]


# --- two keys


def test_a_deploy_without_a_key_is_a_quote(world):
    answer = world.deploy()
    data = answer["Data"]
    assert (answer["Status"], data["Status"], answer["PhysicalResourceId"]) == ("SUCCESS", "Quote", ARN)
    assert (data["QuotedFee"], data["QuotedStartTime"]) == ("28800.00", "2026-12-08T11:30:00Z")
    assert "no purchase key is given" in data["Quote"]
    assert "100.0000 USD an instance-hour" in data["Quote"]
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


@pytest.mark.parametrize(
    ("what", "last_day", "reason"),
    [
        ("nightly#2", "2026-12-31", "for another purchase"),
        ("weekly#1", "2026-12-31", "for another purchase"),
        ("nightly#1+2026-12-20", "2026-12-31", "for another purchase"),
        ("nightly#1", "2026-11-30", "ended on 2026-11-30"),
        ("nightly", "2026-12-31", "buys nothing: write name#generation"),
    ],
)
def test_a_key_for_anything_else_buys_nothing(world, purchase_key, what, last_day, reason):
    data = world.deploy(Purchase=purchase_key(what, last_day))["Data"]
    assert data["Status"] == "Quote"
    assert reason in data["Quote"]
    assert not world.bought


def test_a_key_for_another_place_buys_nothing(world, purchase_key):
    data = world.deploy(Purchase=purchase_key().replace("us-east-1", "us-west-2"))["Data"]
    assert "for another place than 123456789012/us-east-1" in data["Quote"]


def test_the_last_day_of_a_key_ends_with_the_day(keyed):
    keyed.properties["Purchase"] = keyed.properties["Purchase"].replace("2026-12-31", "2026-12-01")
    keyed.clock.sleep(86399)
    assert keyed.deploy()["Data"]["UpfrontFee"] == "28800.00"


def test_an_approval_is_asked_for_and_buys_on_the_next_deploy(keyed):
    data = keyed.deploy(Approval=APPROVAL)["Data"]
    assert data["Status"] == "AwaitingApproval"
    (notice,) = keyed.published
    assert "gpucap approve nightly --max-fee 28800.00" in notice["Message"]
    assert notice["TopicArn"] == TOPIC
    keyed.approve(fee="28800.00")
    data = keyed.deploy(Tags=TAG)["Data"]
    assert data["UpfrontFee"] == "28800.00"
    assert len(keyed.bought) == 1


def test_an_approval_ends(keyed):
    keyed.deploy(Approval=APPROVAL)
    keyed.approve(seconds=600)
    keyed.clock.sleep(601)
    data = keyed.deploy(Tags=TAG)["Data"]
    assert data["Status"] == "AwaitingApproval"
    assert "has ended" in data["Quote"]
    assert not keyed.bought


# --- what is said


def test_a_quota_is_not_called_lack_of_capacity(keyed, refused):
    keyed.refuse["SearchTrainingPlanOfferings"] = refused("ResourceLimitExceeded", "limit of reserved-capacity is 0")
    answer = keyed.deploy()
    assert answer["Status"] == "FAILED"
    assert "quota is too low" in answer["Reason"]
    assert "no capacity" not in answer["Reason"]


def test_a_payment_that_failed_is_said_with_its_reason(make_world, purchase_key):
    world = make_world(Purchase=purchase_key(), payment={"fail": "card declined"})
    assert world.deploy()["Data"]["Status"] == "Pending"
    world.clock.sleep(600)
    answer = world.deploy(Tags=TAG)
    assert answer["Status"] == "FAILED"
    assert "card declined" in answer["Reason"]
    assert "raise generation" in answer["Reason"]
    assert world.stack().phase == "idle"


def test_a_payment_that_failed_does_not_block_the_next_generation(make_world, purchase_key):
    world = make_world(Purchase=f"{purchase_key()},{purchase_key('nightly#2')}", payment={"fail": "card declined"})
    world.deploy()
    world.clock.sleep(600)
    answer = world.deploy(Generation="2")
    assert answer["PhysicalResourceId"] == ARN + "-2"
    assert len(world.bought) == 2


def test_an_offering_whose_price_changed_is_gone_and_not_bought(keyed):
    keyed.stack().deploy()
    run = keyed.deliver().until(CREATE)
    keyed.price("150.00")
    run.finish()
    assert run.result["Status"] == "FAILED"
    assert "its price has changed" in run.result["Reason"]
    assert not keyed.bought


def test_an_offering_that_is_sold_dearer_than_searched_is_noticed_afterwards(keyed):
    keyed.faults.switch("sagemaker.offering-drift", "sold-at-new-price")
    keyed.stack().deploy()
    run = keyed.deliver().until(CREATE)
    keyed.price("150.00")
    run.finish()
    assert keyed.bought[0]["fee"] == "43200.00"
    keyed.watch().finish()
    told = [json.loads(event["Detail"]) for event in keyed.events if event["DetailType"] == "Training Plan Notice"]
    assert [detail["Notice"] for detail in told] == ["fee"]
    assert "43200.00 USD" in told[0]["Message"]
    assert "28800.00 USD" in told[0]["Message"]


def test_an_unreadable_stack_buys_nothing(keyed):
    keyed.planned["cloudformation.describe_stacks"] = "throttled-before"
    data = keyed.deploy()["Data"]
    assert data["Status"] == "Quote"
    assert "status could not be read" in data["Quote"]
    assert not keyed.bought


def test_an_answer_always_fits(keyed, refused):
    keyed.refuse["CreateTrainingPlan"] = refused("ValidationException", "ü" * 9000)
    answer = keyed.deploy()
    assert answer["Status"] == "FAILED"
    assert len(json.dumps(answer).encode()) <= 4096


def test_a_window_that_has_passed_is_refused_without_a_search(keyed):
    answer = keyed.deploy(StartTimeAfter="2026-11-01T00:00Z", EndTimeBefore="2026-12-02T00:00Z")
    assert answer["Status"] == "FAILED"
    assert "do not fit" in answer["Reason"]
    assert not calls(keyed, "SearchTrainingPlanOfferings")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"MaxUpfrontFee": "60,000"}, "60,000"),
        ({"MaxUpfrontFee": "-1"}, "negative"),
        ({"InstanceCount": "0"}, "InstanceCount"),
        ({"StartTimeAfter": "2026-12-08T00:00:00"}, "no time zone"),
        ({"TrainingPlanName": "n" * 65}, "at most 64"),
        ({"Choice": "luckiest"}, "cheapest, earliest, longest"),
        ({"ExtendUntil": "2026-12-30T11:30:00Z"}, "MaxExtensionFee"),
        ({"TargetResources": ["training-job", "endpoint"]}, "TargetResources"),
    ],
)
def test_bad_properties_are_refused_in_words_before_any_call(keyed, changes, words):
    event = keyed.stack().deploy(**changes)
    answer = outcome(event, 0, buying_that_goes_forward())
    assert answer["Status"] == "FAILED"
    assert words in answer["Reason"]
    if "TrainingPlanName" not in changes:
        assert answer["PhysicalResourceId"] == ARN
    assert not keyed.sagemaker.requests


def buying_that_goes_forward():
    class Stacks:
        def reason_against(self, stack):
            return None

    class Means:
        stacks = Stacks()

    class Buying:
        means = Means()

    return Buying()


# --- changes


def test_raising_the_generation_buys_a_second_plan_on_purpose(make_world, purchase_key):
    world = make_world(Purchase=f"{purchase_key()},{purchase_key('nightly#2')}")
    world.deploy()
    answer = world.deploy(Generation="2")
    assert answer["Data"]["TrainingPlanName"] == "nightly-2"
    assert [row["plan"] for row in world.bought] == [ARN, ARN + "-2"]


def test_another_s_plan_of_that_name_is_left_alone(keyed):
    keyed.deploy()
    keyed.dynamodb.items.clear()
    tags = [{"Key": "gpucap:identity", "Value": "other"}]
    keyed.sagemaker.handle("AddTags", {"ResourceArn": ARN, "Tags": tags})
    event = keyed.stack("second").deploy()
    run = keyed.deliver()
    with pytest.raises(AssertionError, match="FAILED although the plan exists"):
        run.finish()
    answer = run.result
    assert event is not None
    assert "tagged as another's ('other')" in answer["Reason"]


@pytest.mark.parametrize(("adopt", "status"), [("true", "Scheduled"), ("false", "Unconfirmed")])
def test_a_plan_without_tags_is_only_taken_when_told(keyed, adopt, status):
    keyed.deploy()
    keyed.dynamodb.items.clear()
    keys = ["gpucap:identity", "gpucap:generation"]
    keyed.sagemaker.handle("DeleteTags", {"ResourceArn": ARN, "TagKeys": keys})
    keyed.clock.sleep(600)
    answer = keyed.deploy("second", Adopt=adopt)
    assert (answer["Status"], answer["Data"]["Status"]) == ("SUCCESS", status)
    assert ("adopt=True" in answer["Data"]["Quote"]) == (adopt == "false")
    assert len(keyed.bought) == 1


def test_an_adopted_plan_that_is_not_what_is_asked_for_is_said_to_be_so(keyed):
    keyed.deploy()
    answer = keyed.deploy("second", InstanceCount="8", EndTimeBefore="2026-12-11T00:00:00Z")
    assert (answer["Status"], answer["Data"]["InstanceCount"]) == ("SUCCESS", "4")
    assert "it is not what is asked for: InstanceCount 8 is asked for, 4 was bought" in answer["Data"]["Quote"]
    assert "another window is asked for" in answer["Data"]["Quote"]
    assert "is asked for, 4" not in keyed.deploy("second", Tags=TAG)["Data"]["Quote"]


def test_an_outage_does_not_blank_what_is_on_record(keyed, refused):
    keyed.deploy()
    keyed.refuse["DescribeTrainingPlan"] = refused("ServiceUnavailable", "down", 503)
    data = keyed.deploy(Tags=TAG)["Data"]
    assert (data["UpfrontFee"], data["EndTime"]) == ("28800.00", "2026-12-11T11:30:00Z")
    assert "as the record says" in data["Quote"]


def test_an_unclear_extension_does_not_blank_the_plan(keyed, purchase_key):
    keyed.planned["sagemaker.extend_training_plan"] = "lost-before"
    data = extending(keyed, purchase_key("nightly#1+2026-12-14"))["Data"]
    assert (data["Status"], data["UpfrontFee"]) == ("Unconfirmed", "28800.00")
    assert "open whether it was extended" in data["Quote"]


def test_an_old_service_model_buys_nothing(keyed):
    def too_old(client):
        raise ServiceModelError("botocore 1.30.0 lacks CreateTrainingPlan; 1.44.8 is needed")

    keyed.model = too_old
    answer = keyed.deploy()
    assert answer["Status"] == "FAILED"
    assert "1.30.0" in answer["Reason"]
    assert "1.44.8" in answer["Reason"]
    assert not keyed.bought


# --- extensions


END = "2026-12-14T11:30:00Z"


def extending(world, key, **more):
    world.deploy()
    world.clock.sleep(600)
    return world.deploy(ExtendUntil=END, Purchase=key, **({"MaxExtensionFee": "40000"} | more))


def test_an_extension_is_bought_once_with_its_own_key(keyed, purchase_key):
    data = extending(keyed, purchase_key("nightly#1+2026-12-14"))["Data"]
    assert "extended until 2026-12-14T11:30:00Z for 28800.00 USD" in data["Quote"]
    keyed.clock.sleep(600)
    data = keyed.deploy(Tags=TAG)["Data"]
    assert data["EndTime"] == END
    assert len(keyed.extended) == 1


def test_the_plan_s_own_key_extends_nothing(keyed, purchase_key):
    data = extending(keyed, purchase_key())["Data"]
    assert "not extended" in data["Quote"]
    assert data["Status"] == "Scheduled"
    assert not keyed.extended


def test_an_extension_above_its_ceiling_is_refused_with_both_figures(keyed, purchase_key):
    answer = extending(keyed, purchase_key("nightly#1+2026-12-14"), MaxExtensionFee="28799.99")
    assert answer["Status"] == "FAILED"
    assert "28800.00 USD is above the ceiling of 28799.99 USD" in answer["Reason"]
    assert not keyed.extended


def test_an_extension_in_the_history_is_not_bought_again_without_a_record(keyed, purchase_key):
    extending(keyed, purchase_key("nightly#1+2026-12-14"))
    items = keyed.dynamodb.items["nightly"]["purchases"]["M"]
    keyed.dynamodb.items["nightly"]["purchases"]["M"] = {"1": items["1"]}
    data = keyed.deploy(Tags=TAG)["Data"]
    assert "is bought" in data["Quote"]
    assert len(keyed.extended) == 1


def test_an_extension_needs_an_approval_of_its_own(keyed, purchase_key):
    keyed.deploy(Approval=APPROVAL)
    keyed.approve()
    both = f"{purchase_key()},{purchase_key('nightly#1+2026-12-14')}"
    keyed.deploy(Purchase=both)
    assert len(keyed.bought) == 1
    keyed.clock.sleep(600)
    extension = {"ExtendUntil": END, "MaxExtensionFee": "40000"}
    assert "approval of nightly#1+2026-12-14 is not given" in keyed.deploy(**extension)["Data"]["Quote"]
    command = "gpucap approve nightly --extend-until 2026-12-14 --max-fee 28800.00"
    assert command in keyed.published[-1]["Message"]
    assert not keyed.extended
    keyed.approve("1+2026-12-14")
    assert "extended until" in keyed.deploy(Tags=TAG)["Data"]["Quote"]


def test_a_person_resolves_an_unclear_extension(keyed, purchase_key):
    keyed.deploy()
    keyed.clock.sleep(600)
    keyed.planned["sagemaker.extend_training_plan"] = "lost-before"
    answer = keyed.deploy(ExtendUntil=END, MaxExtensionFee="40000", Purchase=purchase_key("nightly#1+2026-12-14"))
    assert answer["Data"]["Status"] == "Unconfirmed"
    with pytest.raises(ValueError, match="may still be under way"):
        keyed.resolve("1+2026-12-14")
    keyed.clock.sleep(600)
    keyed.watch().finish()
    command = "gpucap resolve nightly --extend-until 2026-12-14 --nothing-was-bought"
    assert command in keyed.events[-1]["Detail"]
    assert "gpucap resolve nightly" in keyed.deploy(Tags=TAG)["Data"]["Quote"]
    keyed.resolve("1+2026-12-14")
    assert "extended until" in keyed.deploy(Tags=[])["Data"]["Quote"]
    assert len(keyed.extended) == 1


def test_deleting_calls_nothing(keyed):
    event = {"RequestType": "Delete", "StackId": "s", "RequestId": "r", "LogicalResourceId": "l"}
    for given in (ARN, "2026/11/29/[$LATEST]abc", "marker"):
        answer = outcome(event | {"PhysicalResourceId": given}, 0, buying=object())
        assert (answer["Status"], answer["PhysicalResourceId"]) == ("SUCCESS", given)
        assert "cannot be cancelled" in answer["Reason"]
