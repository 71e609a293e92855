"""Machines as they are deployed, run in the sandbox: one result, one job, nothing left running."""

import datetime as dt
import json

import aws_cdk as cdk
import pytest

from constructs_lib import InstancePreference, PreferenceTrainingJob

pytestmark = pytest.mark.slow

NOTHING_FREE = {"types": {"ml.p5.48xlarge": 0, "ml.p4d.24xlarge": 0}}
SECOND_FREE = {"types": {"ml.p5.48xlarge": 0, "ml.p4d.24xlarge": 8}}


def one_job(stack, **props):
    given = {
        "preferences": [
            InstancePreference("ml.p5.48xlarge", instance_count=4, reason="fastest"),
            InstancePreference("ml.p4d.24xlarge", instance_count=8, reason="half as fast"),
        ],
        "image": "111122223333.dkr.ecr.us-east-1.amazonaws.com/train:1",
        "output": "s3://bucket/models",
        "max_runtime": dt.timedelta(hours=2),
        "max_pending": dt.timedelta(hours=1),
    }
    job = PreferenceTrainingJob(stack, "Job", **given | props)
    cdk.CfnOutput(stack, "Machine", value=job.attr_arn)


def test_the_winner_is_in_the_output_and_in_the_run_table(launch):
    flow = launch(one_job, SECOND_FREE)
    ended = flow.ended(flow.start())
    record = json.loads(ended["output"])
    assert ended["status"] == "SUCCEEDED"
    assert (record["end"], record["rank"], record["reason"]) == ("Completed", 2, "half as fast")
    assert (record["instance_type"], record["instance_count"]) == ("ml.p4d.24xlarge", 8)
    row = flow.settled(record["job_name"])
    assert (row["rank"]["N"], row["end"]["S"]) == ("2", "Completed")
    assert "token" not in row


def test_events_three_times_and_out_of_order_give_one_result(launch):
    flow = launch(one_job, SECOND_FREE)
    flow.sandbox.faults.switch("events.sagemaker", "thrice")
    ended = flow.ended(flow.start())
    assert ended["status"] == "SUCCEEDED"
    history = flow.client("stepfunctions").get_execution_history(executionArn=ended["executionArn"], maxResults=100)
    assert [event["type"] for event in history["events"]].count("TaskSucceeded") == 1
    assert len(flow.job_names()) == 1


def test_a_launcher_killed_right_after_the_create_is_retried_and_adopts(launch):
    flow = launch(one_job, SECOND_FREE)
    flow.sandbox.faults.add("sagemaker", "CreateTrainingJob", when="after", error="kill-caller")
    ended = flow.ended(flow.start())
    assert (ended["status"], json.loads(ended["output"])["rank"]) == ("SUCCEEDED", 2)
    assert flow.sandbox.faults.hits[("sagemaker.CreateTrainingJob", "after")] == 1
    assert len(flow.job_names()) == 1


def test_a_redriven_execution_gets_a_new_job(launch):
    flow = launch(one_job, NOTHING_FREE)
    execution = flow.start()
    first = flow.ended(execution)
    assert (first["status"], first["error"]) == ("FAILED", "InsufficientCapacity")
    flow.sandbox.sagemaker.set_free("ml.p5.48xlarge", 4)
    flow.client("stepfunctions").redrive_execution(executionArn=execution)
    second = flow.ended(execution)
    assert (second["status"], json.loads(second["output"])["rank"]) == ("SUCCEEDED", 1)
    assert len(flow.job_names()) == 2


@pytest.mark.parametrize("event", ["delivered", "lost"])
def test_an_aborted_execution_leaves_no_job_running(launch, event):
    flow = launch(one_job, NOTHING_FREE, speed=120)
    flow.sandbox.faults.switch("events.states", event)
    execution = flow.start()
    job = flow.pending()
    flow.client("stepfunctions").stop_execution(executionArn=execution)
    assert flow.job_ended(job)["TrainingJobStatus"] == "Stopped"
    flow.settled(job)
    assert flow.live() == []


@pytest.mark.parametrize("event", ["delivered", "lost"])
def test_an_execution_that_times_out_stops_its_job_and_says_so(launch, event):
    def build(stack):
        one_job(stack, timeout=dt.timedelta(minutes=20))

    flow = launch(build, NOTHING_FREE)
    flow.sandbox.faults.switch("events.sagemaker", event)
    ended = flow.ended(flow.start())
    assert (ended["status"], ended["error"]) == ("FAILED", "TimedOut")
    assert [flow.job(name)["TrainingJobStatus"] for name in flow.job_names()] == ["Stopped"]


@pytest.mark.parametrize(
    ("capacity", "error"),
    [
        (NOTHING_FREE, "InsufficientCapacity"),
        ({"job": {"fail": "AlgorithmError: exit code 1"}}, "AlgorithmError"),
        ({"quotas": {"ml.p4d.24xlarge for training job usage": 0}}, "QuotaExceeded"),
        ({"job": {"runtime": "3h"}}, "MaxRuntimeExceeded"),
    ],
)
def test_each_end_has_its_name(launch, capacity, error):
    flow = launch(one_job, capacity)
    ended = flow.ended(flow.start())
    assert (ended["status"], ended["error"]) == ("FAILED", error)
    assert flow.live() == []


def test_a_job_that_someone_stops_by_hand_ends_as_stopped(launch):
    flow = launch(one_job, NOTHING_FREE, speed=120)
    execution = flow.start()
    flow.client("sagemaker").stop_training_job(TrainingJobName=flow.pending())
    assert flow.ended(execution)["error"] == "Stopped"


def test_a_create_that_aws_refuses_ends_in_its_class_and_leaves_no_job(launch):
    flow = launch(one_job, SECOND_FREE)
    refusal = ("AccessDeniedException", "User: x is not authorized to perform: sagemaker:CreateTrainingJob", 400)
    flow.sandbox.faults.add("sagemaker", "CreateTrainingJob", error=refusal)
    ended = flow.ended(flow.start())
    assert (ended["status"], ended["error"]) == ("FAILED", "PermissionDenied")
    assert flow.job_names() == []


def test_destroy_with_a_job_running_stops_it_first_and_leaves_nothing(launch):
    flow = launch(one_job, NOTHING_FREE, speed=120)
    flow.start()
    job = flow.pending()
    assert flow.destroy() == "DELETE_COMPLETE"
    assert flow.job(job)["TrainingJobStatus"] == "Stopped"
    assert flow.client("dynamodb").list_tables()["TableNames"] == []
    assert flow.client("stepfunctions").list_state_machines()["stateMachines"] == []
    assert flow.client("lambda").list_functions()["Functions"] == []
    assert [r for r in flow.client("iam").list_roles()["Roles"] if r["RoleName"].startswith("Flow")] == []


def test_the_optimized_integration_ends_alike(launch):
    def build(stack):
        one_job(stack, integration="optimized")

    flow = launch(build, SECOND_FREE)
    assert flow.ended(flow.start())["status"] == "SUCCEEDED"
    flow.sandbox.sagemaker.set_free("ml.p4d.24xlarge", 0)
    ended = flow.ended(flow.start())
    assert (ended["status"], ended["error"]) == ("FAILED", "InsufficientCapacity")


def test_the_optimized_integration_fails_uncatchably_where_step_functions_is_older(launch):
    def build(stack):
        one_job(stack, integration="optimized")

    flow = launch(build, SECOND_FREE)
    flow.sandbox.faults.switch("states.sagemaker-snapshot", "2026-06-03")
    ended = flow.ended(flow.start())
    assert (ended["status"], ended["error"]) == ("FAILED", "States.Runtime")
    assert flow.job_names() == []
