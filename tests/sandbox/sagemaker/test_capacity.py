import pytest

from constructs_lib.sandbox.errors import SandboxError, ServiceError

P5, P4D = "ml.p5.48xlarge", "ml.p4d.24xlarge"
BOTH = [(P5, 8), (P4D, 8)]
JOB = {"start": "1m", "download": "1m", "runtime": "17m", "upload": "1m"}  # 20 minutes in all


def selected(world, name="job"):
    return world.describe(name)["ResourceConfig"].get("SelectedInstanceType")


def test_the_first_type_with_capacity_wins(world):
    for levels, winner in (({P5: 8, P4D: 8}, P5), ({P5: 7, P4D: 8}, P4D), ({P5: 7, P4D: 7}, None)):
        one = world({"types": levels})
        one.create(preferences=BOTH)
        assert selected(one) == winner


def test_a_type_that_the_file_does_not_name_is_free_without_limit(world):
    one = world({"types": {P5: 0}})
    one.create(preferences=[(P5, 8), (P4D, 1000)])
    assert selected(one) == P4D
    assert one.sagemaker.evaluations("job")[1]["free"] == "unlimited"
    other = world({"types": {P5: 0}, "default_free": 0})
    other.create(preferences=[(P5, 8), (P4D, 1)])
    assert selected(other) is None


def test_a_waiting_job_starts_at_the_very_moment_capacity_comes(world):
    one = world({"types": {P5: 0, P4D: [{"at": "25m", "free": 8}]}})
    one.go(minutes=3)
    one.create(preferences=BOTH)
    one.go(minutes=30)
    assert one.phases() == [("Pending", 3), ("Starting", 25), ("Downloading", 26), ("Training", 28)]


def test_what_a_job_held_returns_when_it_ends(world):
    one = world({"types": {P5: 8}, "job": JOB})
    one.create("first", preferences=[(P5, 8)])
    one.create("second", preferences=[(P5, 8)])
    one.go(minutes=30)
    assert one.phases("first")[-1] == ("Completed", 20)
    assert one.phases("second")[:2] == [("Pending", 0), ("Starting", 20)]


def test_a_level_says_what_is_free_for_those_who_ask_from_then_on(world):
    one = world({"types": {P5: [{"at": "0m", "free": 8}, {"at": "10m", "free": 4}]}, "job": JOB})
    one.create("old", preferences=[(P5, 8)])
    one.create("new", preferences=[(P5, 4)])
    one.create("big", preferences=[(P5, 8)])
    one.go(minutes=25)
    assert one.phases("new")[1] == ("Starting", 10)  # four are free at 10 minutes, though the old job holds eight
    assert one.status("old") == ("Completed", "Completed")
    assert one.status("big") == ("InProgress", "Pending")  # the old job's eight do not come back to the newer level
    one.go(minutes=60)
    assert one.status("big") == ("InProgress", "Pending")


def test_capacity_can_be_changed_while_the_sandbox_runs(world):
    one = world({"types": {P5: 0}})
    one.create(preferences=[(P5, 8)])
    one.go(minutes=7)
    one.sagemaker.set_free(P5, 7)
    assert one.status() == ("InProgress", "Pending")
    one.sagemaker.set_free(P5, 8)
    assert one.phases() == [("Pending", 0), ("Starting", 7)]
    one.sagemaker.set_free(P5, 0)
    one.create("other", preferences=[(P5, 1)])
    assert one.status("other") == ("InProgress", "Pending")


def test_a_capacity_that_can_not_be_is_refused_in_words(world):
    one = world({"types": {P5: {"us-east-1a": 8}}})
    with pytest.raises(SandboxError, match=r"-1 instances of ml\.p5\.48xlarge can not be free: give 0 or more"):
        one.sagemaker.set_free(P5, -1)
    with pytest.raises(SandboxError, match="has no zone None: give one of us-east-1a"):
        one.sagemaker.set_free(P5, 1)
    one.sagemaker.set_free(P5, 1, zone="us-east-1a")


def test_all_instances_of_a_job_lie_in_one_zone(world):
    one = world({"types": {P5: {"us-east-1a": 4, "us-east-1b": 4}}})
    one.create(preferences=[(P5, 8)])
    assert one.status() == ("InProgress", "Pending")
    one.sagemaker.set_free(P5, 8, zone="us-east-1b")
    assert selected(one) == P5


def test_a_jobs_subnets_say_in_which_zones_it_may_run(world):
    one = world({"types": {P5: {"us-east-1a": 8, "us-east-1b": 0}}})
    one.create(preferences=[(P5, 8)], VpcConfig={"SecurityGroupIds": ["sg-1"], "Subnets": ["subnet-b"]})
    assert one.status() == ("InProgress", "Pending")
    one.sagemaker.set_free(P5, 8, zone="us-east-1b")
    assert selected(one) == P5
    with pytest.raises(ServiceError, match="The subnet ID 'subnet-x' does not exist"):
        one.create("other", preferences=[(P5, 8)], VpcConfig={"SecurityGroupIds": ["sg-1"], "Subnets": ["subnet-x"]})


def test_jobs_are_served_in_order_and_a_smaller_one_may_pass_one_that_does_not_fit(world):
    one = world({"types": {P5: 0}})
    for name, count in (("big", 8), ("small", 2), ("smaller", 2)):
        one.create(name, preferences=[(P5, count)])
    one.sagemaker.set_free(P5, 3)
    assert [one.status(name)[1] for name in ("big", "small", "smaller")] == ["Pending", "Starting", "Pending"]


def test_every_evaluation_is_on_record(world):
    one = world({"types": {P5: 0, P4D: [{"at": "0m", "free": 2}, {"at": "25m", "free": 8}]}})
    one.create(preferences=BOTH)
    one.go(minutes=30)
    seen = [
        (round((row["time"] - one.clock.now()) / 60), row["rank"], row["instance_type"], row["needed"], row["free"])
        for row in one.sagemaker.evaluations("job")
    ]
    assert seen == [(-30, 1, P5, 8, 0), (-30, 2, P4D, 8, 2), (-5, 1, P5, 8, 0), (-5, 2, P4D, 8, 8)]
    assert [row["outcome"] for row in one.sagemaker.evaluations("job")] == [*["no capacity"] * 3, "selected"]
    assert one.sagemaker.evaluations("no such job") == []


def test_nothing_is_evaluated_while_nothing_changes(world):
    one = world({"types": {P5: 0}})
    one.create(preferences=[(P5, 8)], limits={"MaxPendingTimeInSeconds": 2_419_200})
    one.go(hours=600)
    assert len(one.sagemaker.evaluations("job")) == 1
