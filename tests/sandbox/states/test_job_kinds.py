"""Processing and tuning jobs as Task states that wait for them."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest

from constructs_lib.sandbox import Sandbox

pytestmark = pytest.mark.slow

PROCESS = "arn:aws:states:::sagemaker:createProcessingJob.sync"
TUNE = "arn:aws:states:::sagemaker:createHyperParameterTuningJob.sync"
ROLE = "arn:aws:iam::123456789012:role/jobs"


@pytest.fixture
def name() -> str:
    return f"job-{uuid.uuid4().hex[:8]}"


def _task(resource: str, parameters: Any, **fields: Any) -> dict[str, Any]:
    return {"T": {"Type": "Task", "Resource": resource, "Parameters": parameters, "End": True, **fields}}


def _processing(name: str, **cluster: Any) -> dict[str, Any]:
    preferences = [{"InstanceType": kind, "InstanceCount": 1} for kind in ("ml.g5.xlarge", "ml.g6.xlarge")]
    return {
        "ProcessingJobName": name,
        "ProcessingResources": {"ClusterConfig": {"InstancePreferences": preferences, "VolumeSizeInGB": 30} | cluster},
        "AppSpecification": {"ImageUri": "123.dkr.ecr/image"},
        "RoleArn": ROLE,
    }


def _tuning(name: str) -> dict[str, Any]:
    config = {"InstanceType": "ml.g5.xlarge", "InstanceCount": 1, "VolumeSizeInGB": 30}
    return {
        "HyperParameterTuningJobName": name,
        "HyperParameterTuningJobConfig": {
            "Strategy": "Random",
            "ResourceLimits": {"MaxNumberOfTrainingJobs": 2, "MaxParallelTrainingJobs": 2},
        },
        "TrainingJobDefinition": {
            "AlgorithmSpecification": {"TrainingImage": "123.dkr.ecr/image", "TrainingInputMode": "File"},
            "RoleArn": ROLE,
            "OutputDataConfig": {"S3OutputPath": "s3://bucket/out"},
            "HyperParameterTuningResourceConfig": {"InstanceConfigs": [config], "AllocationStrategy": "Prioritized"},
            "StoppingCondition": {"MaxRuntimeInSeconds": 86400},
        },
    }


def test_a_sync_task_returns_the_completed_processing_jobs_description(run: Any, name: str) -> None:
    found = run(_task(PROCESS, _processing(name)), seconds=40)
    assert found["output"]["ProcessingJobStatus"] == "Completed"
    assert found["output"]["ProcessingResources"]["ClusterConfig"]["SelectedInstanceType"] == "ml.g5.xlarge"
    assert found["output"]["ProcessingEndTime"] > found["output"]["ProcessingStartTime"]


def test_a_processing_job_without_capacity_fails_its_task(sandbox: Sandbox, run: Any, name: str) -> None:
    sandbox.faults.switch("sagemaker.processing-pending", "at-once")
    for kind in ("ml.g5.xlarge", "ml.g6.xlarge"):
        sandbox.sagemaker.set_free(kind, 0)
    catch = [{"ErrorEquals": ["States.TaskFailed"], "Next": "C"}]
    found = run(_task(PROCESS, _processing(name), Catch=catch) | {"C": {"Type": "Succeed"}})
    for kind in ("ml.g5.xlarge", "ml.g6.xlarge"):
        sandbox.sagemaker.set_free(kind, 100)
    assert json.loads(found["output"]["Cause"])["FailureReason"].startswith("CapacityError: ")


def test_a_stopped_execution_stops_its_processing_job(
    sandbox: Sandbox, sfn: Any, start: Any, name: str, reaches: Any, eventually: Any
) -> None:
    arn = start(_task(PROCESS, _processing(name)))
    reaches(arn, "TaskSubmitted")
    sfn.stop_execution(executionArn=arn)
    client = sandbox.client("sagemaker")
    eventually(lambda: client.describe_processing_job(ProcessingJobName=name)["ProcessingJobStatus"] == "Stopped")


def test_a_sync_task_returns_the_completed_tuning_jobs_description(run: Any, name: str) -> None:
    found = run(_task(TUNE, _tuning(name)), seconds=40)
    assert found["output"]["HyperParameterTuningJobStatus"] == "Completed"
    assert found["output"]["TrainingJobStatusCounters"]["Completed"] == 2
