"""Processing and tuning jobs are launched, waited for, stopped and recorded as training jobs are."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.slow

ROLE = "arn:aws:iam::123456789012:role/jobs"
IMAGE = "111122223333.dkr.ecr.us-east-1.amazonaws.com/work:1"
PROCESSING = {
    "AppSpecification": {"ImageUri": IMAGE},
    "RoleArn": ROLE,
    "ProcessingResources": {
        "ClusterConfig": {
            "VolumeSizeInGB": 100,
            "InstancePreferences": [
                {"InstanceType": "ml.g6.12xlarge", "InstanceCount": 2},
                {"InstanceType": "ml.g5.12xlarge", "InstanceCount": 4},
            ],
        }
    },
    "StoppingCondition": {"MaxRuntimeInSeconds": 3600},
}
TUNING = {
    "HyperParameterTuningJobConfig": {
        "Strategy": "Bayesian",
        "HyperParameterTuningJobObjective": {"Type": "Minimize", "MetricName": "loss"},
        "ResourceLimits": {"MaxNumberOfTrainingJobs": 10, "MaxParallelTrainingJobs": 2},
        "ParameterRanges": {"ContinuousParameterRanges": [{"Name": "lr", "MinValue": "0.1", "MaxValue": "0.2"}]},
    },
    "TrainingJobDefinition": {
        "AlgorithmSpecification": {
            "TrainingImage": IMAGE,
            "TrainingInputMode": "File",
            "MetricDefinitions": [{"Name": "loss", "Regex": "loss=(.*)"}],
        },
        "RoleArn": ROLE,
        "OutputDataConfig": {"S3OutputPath": "s3://bucket/models"},
        "HyperParameterTuningResourceConfig": {
            "AllocationStrategy": "Prioritized",
            "InstanceConfigs": [
                {"InstanceType": "ml.g6.12xlarge", "InstanceCount": 1, "VolumeSizeInGB": 50},
                {"InstanceType": "ml.g5.12xlarge", "InstanceCount": 1, "VolumeSizeInGB": 50},
            ],
        },
        "StoppingCondition": {"MaxRuntimeInSeconds": 3600},
    },
}
REQUESTS = {"processing": PROCESSING, "tuning": TUNING}
NOUNS = {"processing": "ProcessingJob", "tuning": "HyperParameterTuningJob"}


@pytest.fixture(params=REQUESTS)
def kind(request, world):
    world.request = REQUESTS[request.param]
    return request.param


def launched(world, kind, **more):
    machine = world.machine(kind=kind, **more)
    machine.start().finish()
    world.show()
    return machine


def over(world, machine):
    world.settle()
    world.check_settled()
    return machine.answers[-1].record


def test_a_job_is_created_named_tagged_and_its_end_heard_and_recorded(world, kind):
    machine = launched(world, kind)
    (job,) = world.sagemaker.jobs.values()
    assert job.noun == NOUNS[kind]
    assert job.name.startswith("Lab-Tune-")
    assert len(job.name) <= (32 if kind == "tuning" else 63)
    assert {tag["Key"] for tag in job.request["Tags"]} >= {"gpucap:execution", "gpucap:step"}
    job.start(world.clock.now, "ml.g5.12xlarge", 4)
    world.clock.sleep(100)
    world.end_job(job.name, "Completed")
    world.deliver(world.events.pop()).finish()
    record = over(world, machine)
    assert (record["end"], record["kind"], record["runtime_seconds"]) == ("Completed", kind, 100)
    (row,) = world.rows().values()
    assert [one["M"]["InstanceType"]["S"] for one in row["preferences"]["L"]] == ["ml.g6.12xlarge", "ml.g5.12xlarge"]


def test_a_processing_record_says_which_preference_won_and_how_long_it_waited(world):
    world.request = PROCESSING
    machine = launched(world, "processing")
    (job,) = world.sagemaker.jobs.values()
    job.start(world.clock.now + 50, "ml.g5.12xlarge", 4)
    world.clock.sleep(150)
    world.end_job(job.name, "Completed")
    record = over(world, machine)
    assert (record["rank"], record["instance_type"], record["instance_count"]) == (2, "ml.g5.12xlarge", 4)
    assert (record["pending_seconds"], record["runtime_seconds"]) == (50, 100)


def test_a_tuning_record_names_its_best_training_job_and_claims_no_rank(world):
    world.request = TUNING
    machine = launched(world, "tuning")
    world.end_job(*world.sagemaker.live(), "Completed")
    record = over(world, machine)
    assert record["best_training_job"].endswith("-001")
    assert record["training_jobs"]["Completed"] == 1
    assert "rank" not in record


def test_an_abort_stops_the_job(world, kind):
    machine = launched(world, kind)
    machine.aborted()
    world.settle()
    world.check_settled()
    assert [job.status for job in world.sagemaker.jobs.values()] == ["Stopped"]


def test_a_lost_answer_is_found_by_looking_and_the_job_is_adopted(world, kind):
    machine = world.machine(kind=kind)
    create = {"processing": "create_processing_job", "tuning": "create_hyper_parameter_tuning_job"}[kind]
    machine.start().until(f"sagemaker.{create}").step("late").finish()
    world.arrive()
    world.show()
    world.runs[0].finish()
    assert len(world.sagemaker.jobs) == 1
    world.end_job(*world.sagemaker.live(), "Completed")
    assert over(world, machine)["end"] == "Completed"


def test_a_redriven_launch_waits_for_the_job_before_it(world, kind):
    machine = launched(world, kind)
    machine.aborted()
    machine.redriven().finish()
    assert len(world.sagemaker.live()) == 1
    world.end_job(*world.sagemaker.live(), "Stopped")
    world.settle()
    world.check_settled()
    assert len(world.sagemaker.jobs) == 2


def test_our_own_deadline_stops_a_job_that_has_not_started_and_goes_on(world, kind):
    machine = launched(world, kind, steps=2, max_pending=1800)
    world.clock.sleep(1801)
    world.sweep().finish()
    assert machine.step == 1  # the next step waits for the stopped job's end
    world.end_job(*world.sagemaker.live(), "Stopped")
    world.sweep().finish()
    world.runs[0].finish()
    assert (machine.step, machine.went_on[0]["earlier"][0]["end"]) == (2, "InsufficientCapacity")
    assert len(world.sagemaker.stops) == 1


def test_our_own_deadline_leaves_a_job_alone_that_has_started(world, kind):
    machine = launched(world, kind, max_pending=1800)
    (job,) = world.sagemaker.jobs.values()
    job.start(world.clock.now)
    world.clock.sleep(7200)
    world.sweep().finish()
    assert (job.status, machine.status) == ("InProgress", "RUNNING")


def test_the_last_steps_deadline_ends_the_launch_as_scarcity(world, kind):
    machine = launched(world, kind, max_pending=1800)
    world.clock.sleep(1801)
    world.sweep().finish()
    record = over(world, machine)
    assert (record["end"], record["failure"]) == ("InsufficientCapacity", "capacity")


def test_a_tuning_job_of_which_nobody_can_say_whether_it_waits_is_not_stopped_for_waiting(world):
    world.request = TUNING
    call = "list_training_jobs_for_hyper_parameter_tuning_job"
    world.sagemaker.failing[call] = world.refused("AccessDeniedException", "no")
    machine = launched(world, "tuning", max_pending=1800)
    world.clock.sleep(7200)
    world.sweep().finish()
    assert (world.sagemaker.stops, machine.status) == ([], "RUNNING")


@pytest.mark.parametrize(("status", "reason"), [("Stopped", ""), ("Failed", "")])
def test_processing_that_ran_to_its_limit_ends_so_whichever_status_aws_gives_it(world, status, reason):
    world.request = PROCESSING
    machine = launched(world, "processing")
    (job,) = world.sagemaker.jobs.values()
    job.start(world.clock.now)
    world.clock.sleep(3600)
    world.end_job(job.name, status, reason)
    assert over(world, machine)["end"] == "MaxRuntimeExceeded"


def test_a_budget_counts_all_that_a_tuning_job_may_run_at_once(world):
    world.request = TUNING
    prices = {"currency": "USD", "as_of": "2026-11-29", "source": "us"}
    prices |= {"per_hour": {"ml.g6.12xlarge": "10", "ml.g5.12xlarge": "5"}}
    machine = launched(world, "tuning", limits={"max_cost": {"amount": "20", "currency": "USD"}, "prices": prices})
    (job,) = world.sagemaker.jobs.values()
    job.start(world.clock.now)
    world.clock.sleep(3400)  # two jobs at up to 10 USD an hour
    world.sweep().finish()
    assert over(world, machine)["end"] == "CostLimitReached"
