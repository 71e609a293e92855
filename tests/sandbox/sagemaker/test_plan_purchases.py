"""Buying a plan: what is found, what a call buys, and every way in which nobody knows how AWS answers."""

import pytest

from constructs_lib.sandbox.errors import SandboxError, ServiceError

P5, P4D = "ml.p5.48xlarge", "ml.p4d.24xlarge"
HOUR, DAY = 3600, 86400
TAGS = [{"Key": "gpucap:identity", "Value": "nightly"}]
SPLIT = {
    "instance_type": P5,
    "count": 4,
    "fee": "31250.00",
    "segments": [
        {"start": "2d", "end": "3d"},
        {"start": "5d", "end": "6d", "zone": "us-east-1b"},
    ],
}
WHOLE = {"instance_type": P5, "count": 4, "start": "2d", "end": "4d", "fee": "29900.00"}


def search(one, **request):
    asked = {"InstanceType": P5, "InstanceCount": 4, "DurationHours": 48, "TargetResources": ["training-job"]}
    return one.call("SearchTrainingPlanOfferings", **(asked | request))["TrainingPlanOfferings"]


def create(one, name="nightly", offering=None, **more):
    offering = offering or search(one)[0]["TrainingPlanOfferingId"]
    return one.call("CreateTrainingPlan", TrainingPlanName=name, TrainingPlanOfferingId=offering, Tags=TAGS, **more)


def describe(one, name="nightly"):
    return one.call("DescribeTrainingPlan", TrainingPlanName=name)


def refusal(call, *arguments, **members):
    with pytest.raises(ServiceError) as refused:
        call(*arguments, **members)
    return refused.value.code


def test_a_search_shows_segments_with_their_zones_and_gap(world):
    one = world({"offerings": [SPLIT, WHOLE]})
    first, second = search(one)
    parts = first["ReservedCapacityOfferings"]
    start = one.clock.now()
    assert [(part["StartTime"] - start, part["AvailabilityZone"]) for part in parts] == [
        (2 * DAY, "us-east-1a"),
        (5 * DAY, "us-east-1b"),
    ]
    assert (first["UpfrontFee"], first["CurrencyCode"], first["DurationHours"]) == ("31250.00", "USD", 48)
    assert first["TrainingPlanOfferingId"].startswith("tpo-")
    assert (second["UpfrontFee"], second["TargetResources"]) == ("29900.00", ["training-job"])


@pytest.mark.parametrize(
    "request_",
    [
        {"InstanceCount": 8},
        {"InstanceType": P4D},
        {"DurationHours": 72},
        {"DurationHours": 24},
        {"TargetResources": ["hyperpod-cluster"]},
        {"StartTimeAfter": 3 * DAY},
        {"EndTimeBefore": 3 * DAY},
    ],
)
def test_a_search_finds_only_what_fits(world, request_):
    one = world({"offerings": [WHOLE | {"target": "training-job"}]})
    times = {name: one.clock.now() + value for name, value in request_.items() if "Time" in name}
    assert len(search(one)) == 1
    assert search(one, **(request_ | times)) == []


def test_hours_are_rounded_up_to_days_and_a_reading_shows_longer_offerings_too(world):
    one = world({"offerings": [WHOLE | {"end": "3d15h51m"}, WHOLE | {"end": "5d"}]})
    found = search(one, DurationHours=40)
    assert [(row["DurationHours"], row["DurationMinutes"]) for row in found] == [(39, 51)]
    one.faults.switch("sagemaker.offering-duration", "at-least")
    assert [row["DurationHours"] for row in search(one, DurationHours=40)] == [39, 72]


def test_a_window_that_has_begun_or_is_shorter_than_a_day_is_refused(world):
    one = world({"offerings": [WHOLE]})
    now = one.clock.now()
    assert refusal(search, one, StartTimeAfter=now - 1) == "ValidationException"
    assert refusal(search, one, StartTimeAfter=now + 1, EndTimeBefore=now + DAY) == "ValidationException"


def test_whole_days_are_sold_from_one_half_past_eleven_to_another(world):
    one = world({"offerings": [{"instance_type": P5, "count": [4, 8], "days": [1, 2], "price": "40.00"}]})
    found = search(one)
    assert [row["UpfrontFee"] for row in found] == [f"{40 * 48 * 4}.00"] * 3
    starts = [row["ReservedCapacityOfferings"][0]["StartTime"] for row in found]
    assert [start % DAY for start in starts] == [11.5 * HOUR] * 3
    assert [later - starts[0] for later in starts] == [0, DAY, 2 * DAY]
    assert search(one, DurationHours=24, InstanceCount=8)[0]["UpfrontFee"] == f"{40 * 24 * 8}.00"
    late = one.clock.now() + 20 * DAY
    assert search(one, StartTimeAfter=late)[0]["ReservedCapacityOfferings"][0]["StartTime"] >= late


def test_what_starts_in_less_than_half_an_hour_or_more_than_eight_weeks_is_not_sold(world):
    one = world({"offerings": [WHOLE | {"start": "29m", "end": "48h"}, WHOLE | {"start": "57d", "end": "59d"}]})
    assert search(one) == []


def test_an_offering_is_sold_only_for_a_time(world):
    one = world({"offerings": [WHOLE | {"on_sale": {"from": "1h", "until": "2h"}}]})
    assert search(one) == []
    one.go(hours=1)
    offering = search(one)[0]["TrainingPlanOfferingId"]
    one.go(hours=1)
    assert search(one) == []
    assert refusal(create, one, offering=offering) == "ResourceNotFound"


def test_an_id_that_no_search_gave_buys_nothing(world):
    one = world({"offerings": [WHOLE]})
    assert refusal(create, one, offering="tpo-0") == "ResourceNotFound"
    assert one.sagemaker.purchases() == []


def test_a_bought_plan_is_pending_until_it_is_paid_then_scheduled_active_and_expired(world, plan_arn):
    one = world({"offerings": [WHOLE | {"payment": {"takes": "3h"}}]})
    assert create(one) == {"TrainingPlanArn": plan_arn("nightly")}
    seen = []
    for hours in (0, 2, 1, 45, 47, 1):
        one.go(hours=hours)
        seen.append(describe(one)["Status"])
    assert seen == ["Pending", "Pending", "Scheduled", "Active", "Active", "Expired"]
    (bought,) = one.sagemaker.purchases()
    assert (bought["plan"], bought["fee"], bought["currency"]) == (plan_arn("nightly"), "29900.00", "USD")
    assert bought["tags"] == {"gpucap:identity": "nightly"}


def test_a_bought_plan_tells_fee_zones_and_segments_and_has_its_tags_at_once(world, plan_arn):
    one = world({"offerings": [SPLIT]})
    create(one)
    plan = describe(one, plan_arn("nightly"))
    assert (plan["UpfrontFee"], plan["TargetResources"], plan["TotalInstanceCount"]) == (
        "31250.00",
        ["training-job"],
        4,
    )
    parts = plan["ReservedCapacitySummaries"]
    assert [part["AvailabilityZone"] for part in parts] == ["us-east-1a", "us-east-1b"]
    assert {part["Status"] for part in parts} == {"Pending"}
    assert one.call("ListTags", ResourceArn=plan_arn("nightly"))["Tags"] == TAGS


def test_a_payment_that_fails_leaves_a_failed_plan_with_the_reason(world):
    one = world({"offerings": [WHOLE | {"payment": {"takes": "10m", "fail": "Your card was declined."}}]})
    create(one)
    assert describe(one)["Status"] == "Pending"
    assert "StatusMessage" not in describe(one)
    one.go(minutes=10)
    assert (describe(one)["Status"], describe(one)["StatusMessage"]) == ("Failed", "Your card was declined.")


def test_a_payment_that_is_not_completed_five_minutes_before_the_start_fails(world):
    one = world({"offerings": [WHOLE | {"payment": {"takes": "9d"}}]})
    create(one)
    one.go(hours=48, minutes=-6)
    assert describe(one)["Status"] == "Pending"
    one.go(minutes=1)
    assert describe(one)["Status"] == "Failed"
    assert "5 minutes before the start" in describe(one)["StatusMessage"]


def test_a_job_runs_on_a_plan_that_was_bought_and_whose_instances_come_late(world):
    one = world({"offerings": [WHOLE | {"late": "20m"}]})
    create(one)
    one.go(hours=1)
    one.create(preferences=[(P5, 4, "nightly")], limits={"MaxPendingTimeInSeconds": 3 * HOUR})
    one.go(hours=47, minutes=19)
    assert (describe(one)["Status"], one.status()) == ("Scheduled", ("InProgress", "Pending"))
    one.go(minutes=1)
    assert (describe(one)["Status"], one.status()) == ("Active", ("InProgress", "Starting"))
    assert describe(one)["InUseInstanceCount"] == 4


def test_quotas_on_plans_and_on_their_instances_bind_search_and_purchase(world):
    one = world({"offerings": [WHOLE], "quotas": {"reserved-capacity-ml-p5-48xlarge": 7}})
    offering = search(one)[0]["TrainingPlanOfferingId"]
    create(one, offering=offering)
    for call in (lambda: search(one), lambda: create(one, "second", offering)):
        with pytest.raises(
            ServiceError, match=r"'reserved-capacity-ml-p5-48xlarge' is 7 Instances, with current utilization of 4"
        ):
            call()
    assert len(one.sagemaker.purchases()) == 1


def test_a_quota_on_the_number_of_plans_counts_only_live_ones(world):
    one = world({"offerings": [WHOLE], "quotas": {"training-plan-total_count": 1}, "plans": [ENDED]})
    offering = search(one)[0]["TrainingPlanOfferingId"]
    create(one, offering=offering)
    with pytest.raises(ServiceError, match="'training-plan-total_count' is 1 Training plans"):
        create(one, "second", offering)


ENDED = {"name": "ended", "instance_type": P5, "count": 4, "start": "-3d", "end": "-1d"}
ALIVE = ENDED | {"name": "alive", "end": "1d"}


@pytest.mark.parametrize(
    ("reading", "taken"),
    [("for ever", ["ended", "alive"]), ("while it lives", ["alive"]), ("never", [])],
)
def test_a_name_is_refused_as_long_as_the_reading_says(world, reading, taken):
    for name in ("ended", "alive"):
        one = world({"offerings": [WHOLE], "plans": [ENDED, ALIVE]})
        one.faults.switch("sagemaker.plan-name-taken", reading)
        if name in taken:
            assert refusal(create, one, name) == "ResourceInUse"
        else:
            create(one, name)
            assert describe(one, name)["Status"] == "Pending"
        assert len(one.sagemaker.purchases()) == (name not in taken)


def test_dead_plans_may_be_forgotten(world):
    one = world({"plans": [ENDED, ALIVE]})
    one.faults.switch("sagemaker.dead-plans", "forgotten")
    assert refusal(describe, one, "ended") == "ResourceNotFound"
    assert [row["TrainingPlanName"] for row in one.call("ListTrainingPlans")["TrainingPlanSummaries"]] == ["alive"]
    one.faults.switch("sagemaker.dead-plans", "remembered")
    assert describe(one, "ended")["Status"] == "Expired"


def test_a_price_changes_over_time_and_its_old_id_is_refused(world):
    levels = [{"at": "0m", "amount": "29900.00"}, {"at": "25m", "amount": "30400.00"}]
    one = world({"offerings": [WHOLE | {"fee": levels}]})
    before = search(one)[0]
    one.go(minutes=25)
    after = search(one)[0]
    assert [row["UpfrontFee"] for row in (before, after)] == ["29900.00", "30400.00"]
    assert before["TrainingPlanOfferingId"] != after["TrainingPlanOfferingId"]
    assert refusal(create, one, offering=before["TrainingPlanOfferingId"]) == "ResourceNotFound"
    assert one.sagemaker.purchases() == []


def test_or_an_old_id_is_sold_at_the_new_price(world):
    one = world({"offerings": [WHOLE]})
    one.faults.switch("sagemaker.offering-drift", "sold-at-new-price")
    before = search(one)[0]["TrainingPlanOfferingId"]
    one.sagemaker.set_price(P5, "200.00")
    create(one, offering=before)
    assert describe(one)["UpfrontFee"] == f"{200 * 48 * 4}.00"
    with pytest.raises(SandboxError, match=r"no offering is of ml\.p4d\.24xlarge: there are offerings of ml\.p5\.48x"):
        one.sagemaker.set_price(P4D, "1.00")


def test_an_offering_can_be_bought_twice_or_once_as_the_reading_says(world):
    one = world({"offerings": [WHOLE]})
    offering = search(one)[0]["TrainingPlanOfferingId"]
    create(one, offering=offering)
    create(one, "second", offering)
    one.faults.switch("sagemaker.offering-sells-twice", "no")
    assert refusal(create, one, "third", offering) == "ResourceNotFound"
    assert len(one.sagemaker.purchases()) == 2


def test_describe_and_tags_may_lag_each_by_its_own_time_but_the_name_is_taken_at_once(world, plan_arn):
    one = world({"offerings": [WHOLE]})
    one.faults.switch("lag.describe-training-plan", "60")
    one.faults.switch("lag.training-plan-tags", "300")
    create(one)
    tags = {"ResourceArn": plan_arn("nightly")}
    assert refusal(describe, one) == "ResourceNotFound"
    assert one.call("ListTrainingPlans")["TrainingPlanSummaries"] == []
    assert refusal(create, one) == "ResourceInUse"
    one.go(minutes=1)
    assert describe(one)["Status"] == "Pending"
    assert one.call("ListTags", **tags)["Tags"] == []
    one.go(minutes=4)
    assert one.call("ListTags", **tags)["Tags"] == TAGS
