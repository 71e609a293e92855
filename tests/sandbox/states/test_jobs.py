"""SageMaker jobs as Task states: optimised integrations, their ends, and what stops a job."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from constructs_lib.sandbox import Sandbox
from constructs_lib.sandbox.protocol import json_response

pytestmark = pytest.mark.slow

TRAIN = "arn:aws:states:::sagemaker:createTrainingJob"
SDK_TRAIN = "arn:aws:states:::aws-sdk:sagemaker:createTrainingJob"


def _request(name: str, **members: Any) -> dict[str, Any]:
    return {
        "TrainingJobName": name,
        "AlgorithmSpecification": {"TrainingImage": "123.dkr.ecr/image", "TrainingInputMode": "File"},
        "RoleArn": "arn:aws:iam::123456789012:role/training",
        "OutputDataConfig": {"S3OutputPath": "s3://bucket/out"},
        "ResourceConfig": {"InstanceType": "ml.m5.large", "InstanceCount": 1, "VolumeSizeInGB": 1},
        "StoppingCondition": {"MaxRuntimeInSeconds": 86400},
    } | members


def _task(resource: str, parameters: Any, **fields: Any) -> dict[str, Any]:
    return {"T": {"Type": "Task", "Resource": resource, "Parameters": parameters, "End": True, **fields}}


@pytest.fixture
def name() -> str:
    return f"job-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def status(sandbox: Sandbox) -> Any:
    """Look up a training job's status."""
    return lambda name: sandbox.client("sagemaker").describe_training_job(TrainingJobName=name)["TrainingJobStatus"]


def test_a_request_response_task_returns_as_soon_as_the_job_is_made(run: Any, name: str, status: Any) -> None:
    found = run(_task(TRAIN, _request(name)))
    assert found["output"]["TrainingJobArn"].endswith(f"training-job/{name}")
    assert status(name) == "InProgress"


def test_a_sync_task_returns_the_completed_jobs_description(run: Any, name: str, status: Any) -> None:
    found = run(_task(TRAIN + ".sync", _request(name)), seconds=40)
    assert found["output"]["TrainingJobStatus"] == status(name) == "Completed"
    assert found["output"]["ResourceConfig"]["VolumeSizeInGB"] == 1
    created = found["output"]["CreationTime"]
    assert isinstance(created, int)
    assert created / 1000 >= found["startDate"].timestamp() - 1


def test_times_in_a_sync_result_may_be_read_as_text(sandbox: Sandbox, run: Any, name: str) -> None:
    sandbox.faults.switch("states.job-times", "text")
    assert run(_task(TRAIN + ".sync", _request(name)), seconds=40)["output"]["CreationTime"].endswith("Z")


@pytest.mark.parametrize(
    ("resource", "error"),
    [(TRAIN + ".sync", "SageMaker.ResourceInUseException"), (SDK_TRAIN, "SageMaker.ResourceInUseException")],
)
def test_a_name_in_use_has_an_error_that_can_be_caught(
    sandbox: Sandbox, run: Any, name: str, resource: str, error: str
) -> None:
    sandbox.client("sagemaker").create_training_job(**_request(name))
    catch = [{"ErrorEquals": [error], "Next": "C"}]
    found = run(_task(resource, _request(name), Catch=catch) | {"C": {"Type": "Succeed"}})
    assert found["output"]["Error"] == error


@pytest.mark.parametrize(
    ("resource", "code", "error"),
    [
        (TRAIN, "ResourceLimitExceeded", "SageMaker.ResourceLimitExceededException"),
        (SDK_TRAIN, "ResourceLimitExceeded", "SageMaker.ResourceLimitExceededException"),
        (TRAIN, "ThrottlingException", "SageMaker.AmazonSageMakerException"),
        (SDK_TRAIN, "ThrottlingException", "SageMaker.SageMakerException"),
    ],
)
def test_both_integrations_name_a_services_errors_as_documented(
    sandbox: Sandbox, run: Any, name: str, resource: str, code: str, error: str
) -> None:
    sandbox.faults.add("sagemaker", "CreateTrainingJob", error=(code, "no more", 400))
    found = run(_task(resource, _request(name)))
    assert (found["status"], found["error"]) == ("FAILED", error)
    assert found["cause"].startswith("no more (")


def test_a_job_that_somebody_stops_fails_the_task_and_says_which(
    sandbox: Sandbox, start: Any, end: Any, name: str, status: Any, reaches: Any
) -> None:
    catch = [{"ErrorEquals": ["States.TaskFailed"], "Next": "C"}]
    arn = start(_task(TRAIN + ".sync", _request(name), Catch=catch) | {"C": {"Type": "Succeed"}})
    reaches(arn, "TaskSubmitted")
    sandbox.client("sagemaker").stop_training_job(TrainingJobName=name)
    found = end(arn)
    assert found["output"]["Error"] == "States.TaskFailed"
    assert json.loads(found["output"]["Cause"])["TrainingJobStatus"] == "Stopped"


def test_a_stopped_job_may_be_read_as_a_result(sandbox: Sandbox, start: Any, end: Any, name: str, reaches: Any) -> None:
    sandbox.faults.switch("states.stopped-job", "succeeds")
    arn = start(_task(TRAIN + ".sync", _request(name)))
    reaches(arn, "TaskSubmitted")
    sandbox.client("sagemaker").stop_training_job(TrainingJobName=name)
    assert end(arn)["output"]["TrainingJobStatus"] == "Stopped"


class TestWhatStopsAJob:
    def test_a_stopped_execution(
        self, sfn: Any, start: Any, name: str, status: Any, reaches: Any, eventually: Any
    ) -> None:
        arn = start(_task(TRAIN + ".sync", _request(name)))
        reaches(arn, "TaskSubmitted")
        sfn.stop_execution(executionArn=arn)
        eventually(lambda: status(name) in ("Stopping", "Stopped"))

    def test_a_tasks_time_limit(self, run: Any, name: str, status: Any) -> None:
        found = run(_task(TRAIN + ".sync", _request(name), TimeoutSeconds=60))
        assert found["error"] == "States.Timeout"
        assert status(name) in ("Stopping", "Stopped")

    def test_a_machines_time_limit(self, run: Any, name: str, status: Any, eventually: Any) -> None:
        assert run(_task(TRAIN + ".sync", _request(name)), TimeoutSeconds=60)["status"] == "TIMED_OUT"
        eventually(lambda: status(name) in ("Stopping", "Stopped"))

    def test_a_branch_that_fails_beside_it(self, run: Any, name: str, status: Any, eventually: Any) -> None:
        lose = {"W": {"Type": "Wait", "Seconds": 60, "Next": "F"}, "F": {"Type": "Fail", "Error": "Lost"}}
        branches = [
            {"StartAt": "T", "States": _task(TRAIN + ".sync", _request(name))},
            {"StartAt": "W", "States": lose},
        ]
        assert run({"P": {"Type": "Parallel", "Branches": branches, "End": True}})["error"] == "Lost"
        eventually(lambda: status(name) in ("Stopping", "Stopped"))

    def test_an_item_that_fails_beside_it(self, run: Any, name: str, status: Any, eventually: Any) -> None:
        choice = {"Variable": "$.lose", "BooleanEquals": True, "Next": "W"}
        inner = {
            "C": {"Type": "Choice", "Choices": [choice], "Default": "T"},
            "W": {"Type": "Wait", "Seconds": 60, "Next": "F"},
            "F": {"Type": "Fail", "Error": "Lost"},
            **_task(TRAIN + ".sync", _request(name)),
        }
        items = {"Type": "Map", "ItemProcessor": {"StartAt": "C", "States": inner}, "End": True}
        assert run({"M": items}, [{"lose": False}, {"lose": True}])["error"] == "Lost"
        eventually(lambda: status(name) in ("Stopping", "Stopped"))

    def test_not_the_end_of_a_request_response_task(
        self, sfn: Any, start: Any, name: str, status: Any, reaches: Any
    ) -> None:
        task = _task(TRAIN, _request(name))
        task["T"].pop("End")
        arn = start({"T": task["T"] | {"Next": "W"}, "W": {"Type": "Wait", "Seconds": 9999, "End": True}})
        reaches(arn, "WaitStateEntered")
        sfn.stop_execution(executionArn=arn)
        assert status(name) == "InProgress"


PREFERENCES = {"InstancePreferences": [{"InstanceType": "ml.p5.48xlarge", "InstanceCount": 1}], "VolumeSizeInGB": 1}


class TestSnapshot:
    @pytest.mark.parametrize("resource", [TRAIN, TRAIN + ".sync", SDK_TRAIN])
    def test_an_old_snapshot_fails_a_new_field_at_run_time_where_nothing_catches_it(
        self, sandbox: Sandbox, run: Any, name: str, resource: str
    ) -> None:
        sandbox.faults.switch("states.sagemaker-snapshot", "2026-06-03")
        catch = [{"ErrorEquals": ["States.ALL"], "Next": "C"}]
        task = _task(resource, _request(name, ResourceConfig=PREFERENCES), Catch=catch)
        found = run(task | {"C": {"Type": "Succeed"}})
        assert (found["status"], found["error"]) == ("FAILED", "States.Runtime")
        assert "The field 'InstancePreferences' is not supported by Step Functions" in found["cause"]
        with pytest.raises(ClientError, match="not found"):
            sandbox.client("sagemaker").describe_training_job(TrainingJobName=name)

    def test_an_old_snapshot_refuses_a_pending_time_below_two_hours(
        self, sandbox: Sandbox, run: Any, name: str
    ) -> None:
        sandbox.faults.switch("states.sagemaker-snapshot", "2026-06-03")
        limits = {"MaxRuntimeInSeconds": 3600, "MaxPendingTimeInSeconds": 1800}
        found = run(_task(TRAIN, _request(name, StoppingCondition=limits)))
        assert found["error"] == "States.Runtime"
        assert "MaxPendingTimeInSeconds" in found["cause"]
        limits["MaxPendingTimeInSeconds"] = 7200
        assert run(_task(TRAIN, _request(name, StoppingCondition=limits)))["status"] == "SUCCEEDED"

    def test_todays_model_takes_the_field_and_shows_what_was_selected(self, run: Any, name: str) -> None:
        found = run(_task(TRAIN + ".sync", _request(name, ResourceConfig=PREFERENCES)), seconds=40)
        assert found["output"]["ResourceConfig"]["SelectedInstanceType"] == "ml.p5.48xlarge"

    def test_an_old_snapshot_hides_new_fields_of_a_result(self, sandbox: Sandbox, run: Any, name: str) -> None:
        sandbox.client("sagemaker").create_training_job(**_request(name, ResourceConfig=PREFERENCES))
        sandbox.faults.switch("states.sagemaker-snapshot", "2026-06-03")
        describe = "arn:aws:states:::aws-sdk:sagemaker:describeTrainingJob"
        found = run(_task(describe, {"TrainingJobName": name}))
        assert found["output"]["ResourceConfig"] == {"VolumeSizeInGB": 1}


@pytest.mark.parametrize(
    "resource",
    [
        TRAIN + ".waitForTaskToken",
        "arn:aws:states:::sagemaker:createModel.sync",
        "arn:aws:states:::sagemaker:createCluster",
    ],
)
def test_an_integration_that_does_not_exist_is_refused_when_the_machine_is_made(machine: Any, resource: str) -> None:
    with pytest.raises(ClientError, match="not recognized") as refused:
        machine(_task(resource, {}))
    assert refused.value.response["Error"]["Code"] == "InvalidDefinition"


def test_a_description_that_is_lost_or_throttled_is_asked_for_again(sandbox: Sandbox, run: Any, name: str) -> None:
    sandbox.faults.add("sagemaker", "DescribeTrainingJob", error="drop")
    sandbox.faults.add("sagemaker", "DescribeTrainingJob", error=("ThrottlingException", "Rate exceeded", 400))
    assert run(_task(TRAIN + ".sync", _request(name)), seconds=40)["status"] == "SUCCEEDED"


class _AnyJobs:
    """A SageMaker of all kinds of jobs: each completes when it is described for the third time."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def __call__(self, call: Any) -> Any:
        self.calls.append(call.operation)
        verb = next(verb for verb in ("Create", "Describe", "Stop") if call.operation.startswith(verb))
        kind = call.operation.removeprefix(verb)
        name = call.request[f"{kind}Name"]
        if verb == "Create":
            return json_response({f"{kind}Arn": f"arn:aws:sagemaker:us-east-1:123456789012:job/{name}"})
        done = self.calls.count(call.operation) >= 3
        return json_response({f"{kind}Name": name, f"{kind}Status": "Completed" if done else "InProgress"})


@pytest.fixture
def any_jobs(sandbox: Sandbox) -> Iterator[_AnyJobs]:
    services = sandbox._front.services
    before, services["sagemaker"] = services["sagemaker"], _AnyJobs()
    yield services["sagemaker"]
    services["sagemaker"] = before


@pytest.mark.parametrize("kind", ["ProcessingJob", "HyperParameterTuningJob", "TransformJob", "LabelingJob"])
def test_every_kind_of_job_is_waited_for_and_stopped_with_its_own_operations(
    any_jobs: _AnyJobs, run: Any, start: Any, sfn: Any, reaches: Any, eventually: Any, kind: str
) -> None:
    task = _task(f"arn:aws:states:::sagemaker:create{kind}.sync", {f"{kind}Name": "one"})
    assert run(task)["output"] == {f"{kind}Name": "one", f"{kind}Status": "Completed"}
    assert any_jobs.calls == [f"Create{kind}", *[f"Describe{kind}"] * 3]
    any_jobs.calls.clear()
    arn = start(task)
    reaches(arn, "TaskSubmitted")
    sfn.stop_execution(executionArn=arn)
    eventually(lambda: f"Stop{kind}" in any_jobs.calls)
