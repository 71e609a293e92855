"""What is asked of AWS before a job is created: a good answer passes, a bad one refuses, no answer is said."""

from __future__ import annotations

import pytest

PLAN = "arn:aws:sagemaker:us-east-1:123456789012:training-plan/nightly"
P5, G5 = "ml.p5.48xlarge for training job usage", "ml.g5.48xlarge for training job usage"


@pytest.fixture
def plan(world):
    """A plan that fits the second preference."""
    world.request["ResourceConfig"]["InstancePreferences"][1] = {
        "InstanceType": "ml.p4d.24xlarge",
        "InstanceCount": 4,
        "TrainingPlanArns": [PLAN],
    }
    world.request["CheckpointConfig"] = {"S3Uri": "s3://bucket/checkpoints"}
    segment = {"InstanceType": "ml.p4d.24xlarge", "AvailabilityZone": "us-east-1b", "AvailabilityZoneId": "use1-az2"}
    plan = {
        "TrainingPlanArn": PLAN,
        "Status": "Active",
        "TargetResources": ["training-job"],
        "TotalInstanceCount": 4,
        "AvailableInstanceCount": 0,
        "ReservedCapacitySummaries": [segment],
    }
    world.sagemaker.plans["nightly"] = plan
    return plan


def launch(world, **more):
    machine = world.machine(**more)
    machine.start().finish()
    while world.runs:
        world.runs[0].finish()
    return machine


def refused(world, machine, end):
    (answer,) = machine.answers
    assert (answer.record["end"], answer.record["status"]) == (end, "NotCreated")
    assert not world.sagemaker.jobs
    assert not world.open_rows()
    return answer.record["cause"]


def completed(world, machine):
    world.end_job(*world.sagemaker.live(), "Completed")
    world.settle()
    world.check_settled()
    return machine.answers[-1].record


# --- quotas


def test_quotas_that_suffice_let_the_launch_pass(world):
    world.quotas = {P5: 2, G5: 4}
    machine = launch(world)
    assert "unverified" not in completed(world, machine)


def test_one_entry_without_quota_refuses_the_launch_with_both_figures(world):
    world.quotas = {P5: 8, G5: 0}
    assert refused(world, launch(world), "QuotaExceeded") == "ml.g5.48xlarge for training job usage: 0 < 4"


def test_dropping_submits_the_rest_and_records_what_was_dropped_in_row_and_record(world):
    world.quotas = {P5: 0, G5: 4}
    machine = launch(world, limits={"on_quota": "drop"})
    (job,) = world.sagemaker.jobs.values()
    assert [one["InstanceType"] for one in job.request["ResourceConfig"]["InstancePreferences"]] == ["ml.g5.48xlarge"]
    record = completed(world, machine)
    # The rank and the reason are those of the list as it was declared.
    assert (record["dropped"], record["rank"], "reason" in record) == (["ml.p5.48xlarge"], 2, False)
    (row,) = world.rows().values()
    assert row["dropped"] == {"L": [{"S": "ml.p5.48xlarge"}]}


def test_a_step_of_which_nothing_is_left_is_passed_over_and_the_last_one_ends_the_launch(world):
    world.quotas = {P5: 0, G5: 0}
    machine = launch(world, steps=2, limits={"on_quota": "drop"})
    assert "ml.p5.48xlarge for training job usage: 0 < 2" in refused(world, machine, "QuotaExceeded")
    record = machine.answers[0].record
    assert (record["step"], record["dropped"]) == (2, ["ml.p5.48xlarge", "ml.g5.48xlarge"])
    assert record["earlier"][0]["end"] == "QuotaExceeded"


def test_quotas_of_spot_and_of_processing_have_names_of_their_own(world):
    world.quotas = {P5: 2, G5: 4, "ml.p5.48xlarge for spot training job usage": 1}
    world.request |= {"EnableManagedSpotTraining": True}
    world.request["ResourceConfig"] = {"InstanceType": "ml.p5.48xlarge", "InstanceCount": 2, "VolumeSizeInGB": 100}
    world.request["StoppingCondition"] = {"MaxRuntimeInSeconds": 3600, "MaxWaitTimeInSeconds": 7200}
    world.request["CheckpointConfig"] = {"S3Uri": "s3://bucket/checkpoints"}
    assert "for spot training job usage: 1 < 2" in refused(world, launch(world), "QuotaExceeded")


@pytest.mark.parametrize("answer", ["AccessDeniedException", "TooManyRequestsException", "none of that name"])
def test_quotas_that_cannot_be_asked_are_said_and_stop_nothing(world, answer):
    world.quotas = {"something else": 1} if answer.startswith("none") else world.refused(answer, "no")
    machine = launch(world)
    (said, *_) = completed(world, machine)["unverified"]
    assert "no quota is called" in said if answer.startswith("none") else answer in said
    assert world.lines[0]["run"]["unverified"]


# --- plans


def test_a_plan_that_fits_lets_the_launch_pass_though_nothing_of_it_is_free(world, plan):
    machine = launch(world)
    assert "unverified" not in str(world.sagemaker.jobs)
    assert len(world.sagemaker.live()) == 1
    assert machine.status == "RUNNING"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"Status": "Expired"}, "is Expired"),
        ({"Status": "Failed"}, "is Failed"),
        ({"TargetResources": ["endpoint"]}, "is for endpoint, not for training-job"),
        ({"TotalInstanceCount": 2}, "holds 2 of ml.p4d.24xlarge, 4 were asked for"),
        (
            {"ReservedCapacitySummaries": [{"InstanceType": "ml.p5.48xlarge"}]},
            "holds ml.p5.48xlarge, ml.p4d.24xlarge was asked for",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_plan_that_does_not_fit_is_named_with_what_is_wrong(world, plan, change, words):
    plan |= change
    assert words in refused(world, launch(world), "PlanNotUsable")


def test_a_plan_that_does_not_exist_is_refused(world, plan):
    world.sagemaker.plans.clear()
    assert "nightly does not exist" in refused(world, launch(world), "PlanNotUsable")


@pytest.mark.parametrize("status", ["Pending", "Scheduled", "Active"])
def test_a_plan_that_will_come_is_usable(world, plan, status):
    plan["Status"] = status
    launch(world)
    assert len(world.sagemaker.live()) == 1


def test_a_plan_that_cannot_be_described_is_said_and_stops_nothing(world, plan):
    world.sagemaker.failing["describe_training_plan"] = world.refused("AccessDeniedException", "no")
    machine = launch(world)
    assert "nightly could not be described (AccessDeniedException: no)" in str(completed(world, machine)["unverified"])


def test_a_plan_of_the_whole_job_has_to_fit_one_entry(world, plan):
    del world.request["ResourceConfig"]["InstancePreferences"][1]["TrainingPlanArns"]
    world.request["ResourceConfig"]["TrainingPlanArn"] = PLAN
    launch(world)
    assert len(world.sagemaker.live()) == 1
    plan["ReservedCapacitySummaries"][0]["InstanceType"] = "ml.trn1.32xlarge"
    other = launch(world)
    assert other.answers[0].record["end"] == "PlanNotUsable"


# --- zones


@pytest.fixture
def subnets(world, plan):
    world.request["VpcConfig"] = {"Subnets": ["subnet-1", "subnet-2"], "SecurityGroupIds": ["sg-1"]}
    world.subnets = {"subnet-1": ("us-east-1a", "use1-az1"), "subnet-2": ("us-east-1b", "use1-az2")}
    return world.subnets


@pytest.mark.parametrize("key", ["AvailabilityZone", "AvailabilityZoneId"])
def test_a_zone_is_the_same_by_name_and_by_id(world, plan, subnets, key):
    segment = plan["ReservedCapacitySummaries"][0]
    plan["ReservedCapacitySummaries"] = [{"InstanceType": segment["InstanceType"], key: segment[key]}]
    launch(world)
    assert len(world.sagemaker.live()) == 1


def test_every_zone_of_the_plan_needs_a_subnet(world, plan, subnets):
    other = {"InstanceType": "ml.p4d.24xlarge", "AvailabilityZone": "us-east-1c", "AvailabilityZoneId": "use1-az3"}
    plan["ReservedCapacitySummaries"].append(other)
    words = refused(world, launch(world), "PlanNotUsable")
    assert "has capacity in us-east-1c = use1-az3; the subnets subnet-1, subnet-2 are in" in words


def test_subnets_that_cannot_be_described_are_said_and_stop_nothing(world, plan, subnets):
    subnets.clear()
    machine = launch(world)
    assert "the subnets could not be described" in str(completed(world, machine)["unverified"])
