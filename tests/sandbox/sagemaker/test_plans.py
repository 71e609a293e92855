from datetime import UTC, datetime

import pytest

from constructs_lib.sandbox.errors import ServiceError

P5 = "ml.p5.48xlarge"
DOCUMENT = {
    "plans": [
        {
            "name": "split",
            "instance_type": P5,
            "count": 8,
            "upfront_fee": "60000.00",
            "tags": {"team": "vision"},
            "segments": [
                {"start": "1h", "end": "25h"},
                {"start": "48h", "end": "72h30m", "count": 4, "zone": "us-east-1b"},
            ],
        },
        {"name": "ended", "instance_type": "ml.p4d.24xlarge", "count": 1, "start": "-3d", "end": "-1d"},
        {
            "name": "broke",
            "instance_type": "ml.p4d.24xlarge",
            "count": 1,
            "start": "1h",
            "end": "2d",
            "status": "Failed",
        },
    ]
}


@pytest.fixture
def one(world):
    return world(DOCUMENT)


def describe(one, name="split"):
    return one.call("DescribeTrainingPlan", TrainingPlanName=name)


def test_a_plan_follows_the_clock_through_its_segments(one):
    seen = []
    for hours in (0, 1, 24, 23, 24, 1):
        one.go(hours=hours)
        seen.append(describe(one)["Status"])
    assert seen == ["Scheduled", "Active", "Scheduled", "Active", "Active", "Expired"]
    assert describe(one, "ended")["Status"] == "Expired"
    assert describe(one, "broke")["Status"] == "Failed"


def test_a_plan_tells_what_it_holds(one, plan_arn):
    plan = describe(one, plan_arn("split"))
    start = one.clock.now()
    assert (plan["TrainingPlanName"], plan["TargetResources"]) == ("split", ["training-job"])
    assert (plan["StartTime"], plan["EndTime"]) == (start + 3600, start + 72.5 * 3600)
    assert (plan["DurationHours"], plan["DurationMinutes"]) == (48, 30)
    assert (plan["UpfrontFee"], plan["CurrencyCode"]) == ("60000.00", "USD")
    first, second = plan["ReservedCapacitySummaries"]
    assert (first["TotalInstanceCount"], first["AvailabilityZone"], first["Status"]) == (8, "us-east-1a", "Scheduled")
    assert (second["TotalInstanceCount"], second["AvailabilityZone"]) == (4, "us-east-1b")
    assert "UpfrontFee" not in describe(one, "ended")


def test_a_plan_counts_what_is_in_use(one):
    one.create(preferences=[(P5, 3, "split")])
    assert describe(one)["InUseInstanceCount"] == 0
    one.go(hours=1)
    plan = describe(one)
    assert [plan[f"{kind}InstanceCount"] for kind in ("Total", "InUse", "Available")] == [8, 3, 5]
    capacity = one.call(
        "DescribeReservedCapacity", ReservedCapacityArn=plan["ReservedCapacitySummaries"][0]["ReservedCapacityArn"]
    )
    assert (capacity["InUseInstanceCount"], capacity["AvailableInstanceCount"], capacity["Status"]) == (3, 5, "Active")
    one.go(hours=3)
    assert describe(one)["InUseInstanceCount"] == 0


def test_jobs_can_be_listed_by_plan(one, plan_arn):
    one.create("mine", preferences=[(P5, 3, "split")])
    one.create("other")
    found = one.call("ListTrainingJobs", TrainingPlanArnEquals=plan_arn("split"))["TrainingJobSummaries"]
    assert [(row["TrainingJobName"], row["TrainingPlanArn"]) for row in found] == [("mine", plan_arn("split"))]


def test_a_job_that_fell_back_to_on_demand_is_no_job_of_the_plan(one, plan_arn):
    one.create("fell-back", preferences=[(P5, 8, "split"), ("ml.g5.48xlarge", 8)])
    assert one.call("ListTrainingJobs", TrainingPlanArnEquals=plan_arn("split"))["TrainingJobSummaries"] == []


def test_plans_are_listed_in_pages_by_status_and_start(one):
    def names(**request):
        return [row["TrainingPlanName"] for row in one.call("ListTrainingPlans", **request)["TrainingPlanSummaries"]]

    assert names() == ["broke", "ended", "split"]
    assert names(SortBy="StartTime", SortOrder="Descending") == ["split", "broke", "ended"]
    assert names(Filters=[{"Name": "Status", "Value": "Expired"}]) == ["ended"]
    now = datetime.fromtimestamp(one.clock.now(), UTC)
    assert names(StartTimeBefore=now) == ["ended"]
    assert names(StartTimeAfter=now) == ["broke", "split"]
    page = one.call("ListTrainingPlans", MaxResults=2)
    assert names(MaxResults=2, NextToken=page["NextToken"]) == ["split"]


def test_a_plan_has_tags(one, plan_arn):
    assert one.call("ListTags", ResourceArn=plan_arn("split"))["Tags"] == [{"Key": "team", "Value": "vision"}]
    one.call("AddTags", ResourceArn=plan_arn("split"), Tags=[{"Key": "generation", "Value": "2"}])
    assert len(one.call("ListTags", ResourceArn=plan_arn("split"))["Tags"]) == 2


def test_what_does_not_exist_is_not_found(one, plan_arn):
    capacity = plan_arn("split").replace("training-plan", "reserved-capacity")
    for operation, request in (
        ("DescribeTrainingPlan", {"TrainingPlanName": "nobody"}),
        ("DescribeReservedCapacity", {"ReservedCapacityArn": f"{capacity}-9"}),
    ):
        with pytest.raises(ServiceError) as refused:
            one.call(operation, **request)
        assert refused.value.code == "ResourceNotFound"


def test_the_counts_follow_a_job_from_one_segment_to_the_next(world):
    segments = [{"start": "0h", "end": "2h"}, {"start": "3h", "end": "9h", "count": 6}]
    plan = {"name": "split", "instance_type": P5, "count": 8, "segments": segments}
    one = world({"plans": [plan], "job": {"runtime": "4h"}})
    one.create("goes-on", preferences=[(P5, 5, "split")])
    one.create("waits", preferences=[(P5, 5, "split")])
    seen = []
    for minutes in (0, 90, 60, 30, 300):
        one.go(minutes=minutes)
        plan = describe(one)
        counts = (plan["TotalInstanceCount"], plan["InUseInstanceCount"], plan["AvailableInstanceCount"])
        seen.append((plan["Status"], *counts, one.status("goes-on")[1]))
    assert seen == [
        ("Active", 8, 5, 3, "Starting"),
        ("Active", 8, 0, 8, "Pending"),  # the instances went half an hour before the segment's end
        ("Scheduled", 6, 0, 6, "Pending"),
        ("Active", 6, 5, 1, "Starting"),
        ("Active", 6, 5, 1, "Completed"),
    ]
    assert one.status("waits")[1] == "Training"  # it got the instances that the first gave back
    one.go(hours=1)
    assert describe(one)["Status"] == "Expired"


def test_a_job_that_only_the_first_segment_can_hold_waits_in_vain_for_the_second(world):
    segments = [{"start": "0h", "end": "2h"}, {"start": "3h", "end": "9h", "count": 4}]
    plan = {"name": "split", "instance_type": P5, "count": 8, "segments": segments}
    one = world({"plans": [plan], "job": {"runtime": "4h"}})
    one.create(preferences=[(P5, 8, "split")])
    one.go(hours=5)
    assert one.status() == ("InProgress", "Pending")
    assert describe(one)["InUseInstanceCount"] == 0
    one.go(hours=5)
    assert one.status() == ("Failed", "Failed")


def test_the_subnets_must_cover_the_zones_of_all_segments(world, plan_arn):
    segments = [{"start": "0h", "end": "2h", "zone": "us-east-1a"}, {"start": "3h", "end": "9h", "zone": "us-east-1b"}]
    one = world({"plans": [{"name": "split", "instance_type": P5, "count": 8, "segments": segments}]})
    vpc = {"SecurityGroupIds": ["sg-1"], "Subnets": ["subnet-a"]}
    with pytest.raises(ServiceError, match=r"lie in us-east-1a, but .*split has reserved capacity in us-east-1b"):
        one.create(preferences=[(P5, 8, "split")], VpcConfig=vpc)
    with pytest.raises(ServiceError, match=r"lie in us-east-1a, but .*split has reserved capacity in us-east-1b"):
        one.create(
            resources={"InstanceType": P5, "InstanceCount": 8, "TrainingPlanArn": plan_arn("split")}, VpcConfig=vpc
        )
    one.create(preferences=[(P5, 8, "split")], VpcConfig=vpc | {"Subnets": ["subnet-a", "subnet-b"]})
    assert one.status() == ("InProgress", "Starting")
