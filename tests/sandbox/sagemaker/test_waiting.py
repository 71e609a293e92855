import pytest

P5, P4D, CPU = "ml.p5.48xlarge", "ml.p4d.24xlarge", "ml.m5.4xlarge"
HOUR = 3600
JOB = {"start": "1m", "download": "1m", "runtime": "2h", "upload": "1m"}


def plan(name, start, end, count=8, **fields):
    return {"name": name, "instance_type": P5, "count": count, "start": start, "end": end, **fields}


def test_the_limit_covers_the_whole_list_and_a_job_that_reaches_it_fails_for_capacity(world):
    one = world({"types": {P5: 0, P4D: [{"at": "0m", "free": 0}, {"at": "31m", "free": 8}]}})
    one.create(preferences=[(P5, 8), (P4D, 8)], limits={"MaxPendingTimeInSeconds": 1800})
    one.go(hours=1)
    assert one.phases() == [("Pending", 0), ("Failed", 30)]
    described = one.describe()
    assert described["FailureReason"].startswith("CapacityError: Unable to provision requested ML compute capacity")
    assert described["TrainingEndTime"] == described["CreationTime"] + 1800
    assert not {"TrainingStartTime", "BillableTimeInSeconds"} & described.keys()


def test_capacity_that_comes_before_the_limit_is_taken(world):
    one = world({"types": {P5: 0, P4D: [{"at": "29m", "free": 8}]}})
    one.create(preferences=[(P5, 8), (P4D, 8)], limits={"MaxPendingTimeInSeconds": 1800})
    one.go(hours=1)
    assert one.phases()[1] == ("Starting", 29)


@pytest.mark.parametrize("limits", [{}, {"MaxPendingTimeInSeconds": 1800}])
def test_a_list_without_accelerators_is_evaluated_once(world, limits):
    one = world({"types": {CPU: [{"at": "1m", "free": 8}]}})
    volume = {"VolumeSizeInGB": 50}
    one.create(preferences=[(CPU, 8)], resources=volume, limits=limits)
    assert one.status() == ("Failed", "Failed")
    assert one.describe()["FailureReason"].startswith("CapacityError: ")
    one.go(minutes=5)
    one.create("later", preferences=[(CPU, 8)], resources=volume)
    assert one.status("later") == ("InProgress", "Starting")


def test_one_accelerated_type_is_enough_to_wait(world):
    one = world({"types": {CPU: 0, P5: 0}})
    one.create(preferences=[(CPU, 8), (P5, 1)], resources={"VolumeSizeInGB": 50})
    assert one.status() == ("InProgress", "Pending")


def test_a_plan_that_has_not_begun_is_passed_over_for_on_demand(world, plan_arn):
    one = world({"types": {P4D: 8}, "plans": [plan("soon", "1h", "25h")]})
    one.create(preferences=[(P5, 8, "soon"), (P4D, 8)])
    assert one.describe()["ResourceConfig"]["SelectedInstanceType"] == P4D
    first, second = one.sagemaker.evaluations("job")
    assert (first["training_plan_arn"], first["free"], first["outcome"]) == (plan_arn("soon"), 0, "no capacity")
    assert (second["training_plan_arn"], second["outcome"]) == (None, "selected")


def test_a_full_plan_is_passed_over_for_on_demand(world):
    one = world({"types": {P5: 0, P4D: 8}, "plans": [plan("busy", "-1h", "30d")]})
    one.create("holder", preferences=[(P5, 8, "busy")])
    one.create(preferences=[(P5, 1, "busy"), (P4D, 8)])
    assert one.describe()["ResourceConfig"]["SelectedInstanceType"] == P4D


def test_the_plan_wins_over_on_demand_behind_it_while_it_has_room(world):
    one = world({"plans": [plan("now", "-1h", "30d")]})
    one.create(preferences=[(P5, 8, "now"), (P4D, 8)])
    assert one.call("DescribeTrainingPlan", TrainingPlanName="now")["InUseInstanceCount"] == 8


def test_a_list_of_plans_only_waits_for_the_plan_and_that_time_does_not_count(world):
    one = world({"plans": [plan("soon", "10h", "40h")]})
    one.create(preferences=[(P5, 8, "soon")], limits={"MaxPendingTimeInSeconds": 1800})
    one.go(hours=11)
    assert one.phases()[:2] == [("Pending", 0), ("Starting", 600)]


def test_waiting_for_a_plan_that_is_active_but_full_counts(world):
    one = world({"plans": [plan("soon", "10h", "40h")], "job": JOB})
    one.create("holder", preferences=[(P5, 1, "soon")])
    one.create(preferences=[(P5, 8, "soon")], limits={"MaxPendingTimeInSeconds": 1800})
    one.go(hours=11)
    assert one.phases() == [("Pending", 0), ("Failed", 630)]


def test_the_time_between_two_segments_does_not_count(world):
    segments = [{"start": "1h", "end": "3h"}, {"start": "20h", "end": "60h"}]
    split = {"name": "split", "instance_type": P5, "count": 8, "segments": segments}
    one = world({"plans": [split], "job": JOB | {"runtime": "10h"}})
    one.create("holder", preferences=[(P5, 1, "split")])
    one.create(preferences=[(P5, 8, "split")], limits={"MaxPendingTimeInSeconds": 3 * HOUR})
    one.go(hours=24)
    # Active from 1 h to 3 h and from 20 h on: the third hour of waiting ends at 21 h.
    assert one.phases() == [("Pending", 0), ("Failed", 21 * 60)]


def test_with_on_demand_in_the_list_all_waiting_counts(world):
    one = world({"types": {P4D: 0}, "plans": [plan("soon", "10h", "40h")]})
    one.create(preferences=[(P5, 8, "soon"), (P4D, 8)], limits={"MaxPendingTimeInSeconds": 1800})
    one.go(hours=11)
    assert one.phases() == [("Pending", 0), ("Failed", 30)]


def test_on_a_plan_two_days_of_waiting_are_the_default(world):
    one = world({"plans": [plan("now", "-1h", "30d")], "job": JOB | {"runtime": "20d"}})
    long = {"MaxRuntimeInSeconds": 28 * 86400}
    one.create("holder", preferences=[(P5, 8, "now")], limits=long)
    one.create(preferences=[(P5, 8, "now")], limits=long)
    one.go(hours=60)
    assert one.phases() == [("Pending", 0), ("Failed", 48 * 60)]


def test_instances_of_a_plan_return_to_the_plan(world):
    one = world({"types": {P5: 0}, "plans": [plan("now", "-1h", "30d")], "job": JOB})
    one.create("first", preferences=[(P5, 8, "now")])
    one.create("second", preferences=[(P5, 8, "now")])
    one.create("other", preferences=[(P5, 8)])
    one.go(hours=3)
    assert one.phases("second")[1] == ("Starting", 123)
    assert one.status("other") == ("InProgress", "Pending")


def test_the_instances_of_a_plan_go_half_an_hour_before_its_end_and_the_job_with_them(world):
    one = world({"plans": [plan("now", "-1h", "2h")], "job": JOB})
    one.create(preferences=[(P5, 8, "now")])
    one.go(hours=3)
    assert one.phases()[2:] == [("Training", 2), ("Failed", 90)]
    assert one.describe()["FailureReason"] == "CapacityError: The reserved capacity of the training plan has ended."
    assert one.describe()["BillableTimeInSeconds"] == 89 * 60


def test_who_waits_for_a_plan_that_is_over_fails(world):
    one = world({"plans": [plan("now", "-1h", "2h")], "job": JOB})
    one.create("holder", preferences=[(P5, 8, "now")])
    one.create(preferences=[(P5, 8, "now")], limits={"MaxPendingTimeInSeconds": 86400})
    one.go(hours=3)
    assert one.phases() == [("Pending", 0), ("Failed", 90)]
    assert one.status("holder") == ("Failed", "Failed")


@pytest.mark.parametrize(
    ("checkpoint", "completed"),
    [
        ({}, 20 * 60 + 1 + 1 + 120 + 1),  # from the start again
        ({"CheckpointConfig": {"S3Uri": "s3://bucket/points"}}, 20 * 60 + 1 + 1 + 32 + 1),  # 88 minutes were kept
    ],
)
def test_a_job_waits_for_the_next_segment_and_goes_on_from_its_checkpoint(world, checkpoint, completed):
    segments = [{"start": "0h", "end": "2h"}, {"start": "20h", "end": "60h"}]
    split = {"name": "split", "instance_type": P5, "count": 8, "segments": segments}
    one = world({"types": {P5: 99}, "plans": [split], "job": JOB})
    one.create(preferences=[(P5, 8, "split"), (P4D, 8)], **checkpoint)
    one.go(hours=1)
    created_start = one.describe()["TrainingStartTime"]
    one.go(hours=30)
    phases = one.phases()
    assert phases[:5] == [("Starting", 0), ("Downloading", 1), ("Training", 2), ("Pending", 90), ("Starting", 1200)]
    assert phases[-1] == ("Completed", completed)
    described = one.describe()
    assert described["TrainingStartTime"] == created_start
    assert described["BillableTimeInSeconds"] == (89 + completed - 1201) * 60
    assert described["ResourceConfig"]["SelectedInstanceType"] == P5


def test_a_job_that_is_being_stopped_when_its_segment_ends_is_stopped_then(world):
    one = world({"plans": [plan("now", "-1h", "2h")], "job": JOB | {"stop_takes": "10m"}})
    one.create(preferences=[(P5, 8, "now")])
    one.go(minutes=85)
    one.stop()
    one.go(hours=3)
    assert one.phases()[-2:] == [("Stopping", 85), ("Stopped", 90)]


def test_a_plan_in_another_zone_than_the_subnets_is_refused(world):
    one = world({"plans": [plan("now", "-1h", "30d", zone="us-east-1b")]})
    inside = {"SecurityGroupIds": ["sg-1"], "Subnets": ["subnet-a", "subnet-b"]}
    one.create(preferences=[(P5, 8, "now")], VpcConfig=inside)
    assert one.status() == ("InProgress", "Starting")
