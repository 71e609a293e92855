"""Extending a plan: what is offered, when the end moves, and that nothing keeps a second call from buying again."""

import pytest

from constructs_lib.sandbox.errors import ServiceError

P5 = "ml.p5.48xlarge"
HOUR, DAY = 3600, 86400
PLAN = {"name": "nightly", "instance_type": P5, "count": 4, "start": "-1d", "end": "2d", "upfront_fee": "28800.00"}


@pytest.fixture
def extended(world, plan_arn):
    """Return a maker of worlds with one plan whose extension is told by keywords."""

    def make(**extension):
        one = world({"plans": [PLAN | {"extension": extension or {"days": [1, 2]}}]})
        one.arn = plan_arn("nightly")
        return one

    return make


def offers(one, **request):
    return one.call("SearchTrainingPlanOfferings", TrainingPlanArn=one.arn, **request)["TrainingPlanExtensionOfferings"]


def extend(one, given):
    return one.call("ExtendTrainingPlan", TrainingPlanExtensionOfferingId=given)["TrainingPlanExtensions"]


def history(one):
    return one.call("DescribeTrainingPlanExtensionHistory", TrainingPlanArn=one.arn)["TrainingPlanExtensions"]


def end(one):
    return one.call("DescribeTrainingPlan", TrainingPlanName=one.arn)["EndTime"]


def test_an_extension_begins_where_the_plan_ends_and_costs_what_an_instance_hour_cost(extended):
    one = extended()
    (offer,) = offers(one, DurationHours=48)
    assert (offer["StartDate"], offer["EndDate"]) == (end(one), end(one) + 2 * DAY)
    assert (offer["UpfrontFee"], offer["CurrencyCode"]) == ("19200.00", "USD")  # 100 x 48 h x 4
    assert offer["TrainingPlanExtensionOfferingId"].startswith("tpeo-")
    assert [row["DurationHours"] for row in offers(one)] == [24, 48]
    assert offers(one, DurationHours=72) == []


def test_steps_are_a_day_up_to_14_and_a_week_up_to_182(extended):
    one = extended(price="10.00")
    sold = [hours for hours in range(24, 200 * 24, 24) if offers(one, DurationHours=hours)]
    assert sold == [24 * days for days in (*range(1, 15), *range(21, 183, 7))]


def test_the_end_moves_once_the_extension_is_paid_and_history_tells(extended):
    one = extended(days=[2], payment={"takes": "1h"})
    before = end(one)
    (row,) = extend(one, offers(one)[0]["TrainingPlanExtensionOfferingId"])
    assert (row["Status"], row["PaymentStatus"], end(one)) == ("Pending", "Pending", before)
    one.go(hours=1)
    assert end(one) == before + 2 * DAY
    (row,) = history(one)
    assert (row["Status"], row["PaymentStatus"]) == ("Active", "Completed")
    assert row["ExtendedAt"] == one.clock.now() - HOUR
    assert [(made["operation"], made["fee"]) for made in one.sagemaker.purchases()] == [
        ("ExtendTrainingPlan", "19200.00")
    ]


def test_or_it_moves_at_once_and_back_if_the_payment_fails(extended):
    one = extended(days=[2], payment={"takes": "1h", "fail": "declined"})
    one.faults.switch("sagemaker.extension-end", "at once")
    before = end(one)
    extend(one, offers(one)[0]["TrainingPlanExtensionOfferingId"])
    assert end(one) == before + 2 * DAY
    one.go(hours=1)
    assert end(one) == before
    assert history(one)[0]["Status"] == "Failed"


def test_a_payment_that_fails_moves_nothing(extended):
    one = extended(days=[2], payment={"takes": "1h", "fail": "declined"})
    before = end(one)
    extend(one, offers(one)[0]["TrainingPlanExtensionOfferingId"])
    one.go(hours=2)
    assert (end(one), history(one)[0]["PaymentStatus"]) == (before, "Failed")


def test_a_job_keeps_its_instances_over_the_old_end(extended):
    one = extended()
    one.create(preferences=[(P5, 4, "nightly")], limits={"MaxRuntimeInSeconds": 28 * DAY})
    extend(one, offers(one, DurationHours=48)[0]["TrainingPlanExtensionOfferingId"])
    one.go(hours=47)
    assert one.call("DescribeTrainingPlan", TrainingPlanName=one.arn)["Status"] == "Active"
    one.create("late", preferences=[(P5, 4, "nightly")])
    one.go(hours=1, minutes=1)
    assert one.call("DescribeTrainingPlan", TrainingPlanName=one.arn)["InUseInstanceCount"] == 0
    assert one.describe("late")["TrainingJobStatus"] == "Completed"
    one.go(hours=48)
    assert one.call("DescribeTrainingPlan", TrainingPlanName=one.arn)["Status"] == "Expired"


def test_nothing_is_offered_while_one_is_pending_but_an_old_id_still_buys_again(extended):
    one = extended(days=[2], payment={"takes": "1h"})
    before, given = end(one), offers(one)[0]["TrainingPlanExtensionOfferingId"]
    extend(one, given)
    assert offers(one) == []
    extend(one, given)
    one.go(hours=1)
    assert end(one) == before + 4 * DAY
    assert len(one.sagemaker.purchases()) == len(history(one)) == 2
    assert [row["StartDate"] for row in history(one)] == [before, before + 2 * DAY]


def test_or_an_old_id_is_refused(extended):
    one = extended()
    one.faults.switch("sagemaker.offering-sells-twice", "no")
    given = offers(one)[0]["TrainingPlanExtensionOfferingId"]
    extend(one, given)
    with pytest.raises(ServiceError, match="ResourceNotFound"):
        extend(one, given)
    assert len(history(one)) == 1


def test_a_plan_in_its_last_hour_or_without_extensions_is_offered_none(extended, world, plan_arn):
    one = extended()
    given = offers(one)[0]["TrainingPlanExtensionOfferingId"]
    one.go(hours=47, seconds=1)
    assert offers(one) == []
    with pytest.raises(ServiceError, match="ResourceNotFound"):
        extend(one, given)
    other = world({"plans": [PLAN | {"extension": "none"}]})
    other.arn = plan_arn("nightly")
    assert offers(other) == []


def test_the_history_comes_in_pages(extended):
    one = extended(days=[1], payment={"takes": "0"})
    for _ in range(3):
        extend(one, offers(one)[0]["TrainingPlanExtensionOfferingId"])
        one.go(minutes=1)
    page = one.call("DescribeTrainingPlanExtensionHistory", TrainingPlanArn=one.arn, MaxResults=2)
    rest = one.call(
        "DescribeTrainingPlanExtensionHistory", TrainingPlanArn=one.arn, MaxResults=2, NextToken=page["NextToken"]
    )
    assert page["TrainingPlanExtensions"] + rest["TrainingPlanExtensions"] == history(one)


def test_a_plan_that_is_not_there_has_neither_offers_nor_history(extended):
    one = extended()
    one.arn += "-2"
    for call in (offers, history):
        with pytest.raises(ServiceError, match="ResourceNotFound"):
            call(one)
