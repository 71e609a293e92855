"""Every field of a step is in the request of that step, over the job's own, and SageMaker's own model accepts it."""

from dataclasses import fields
from datetime import timedelta

import aws_cdk as cdk
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from constructs_lib import InstancePreference, LaunchStep, PreferenceProcessingJob, PreferenceTrainingJob
from constructs_lib.sandbox.modelcheck import violations

PLAN = "arn:aws:sagemaker:us-east-1:111122223333:training-plan/research"
IMAGE = "111122223333.dkr.ecr.us-east-1.amazonaws.com/train:1"
FIRST = LaunchStep([InstancePreference("ml.g6.48xlarge", instance_count=1)], max_pending=1800)
JOB = {
    "image": IMAGE,
    "output": "s3://bucket/models",
    "max_runtime": 3600,
    "max_pending": 2000,
    "volume_size_gb": 99,
    "role": "arn:aws:iam::111122223333:role/training",
    "hyperparameters": {"epochs": "1", "rate": "job"},
    "environment": {"A": "job", "B": "job"},
    "request_overrides": {"Environment": {"C": "job"}},
}
words = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=8)
ANY = {
    "max_pending": st.integers(1800, 9000) | st.integers(30, 200).map(lambda n: timedelta(minutes=n)),
    "instance_count": st.integers(1, 64),
    "image": words.map(lambda word: f"{IMAGE}-{word}"),
    "environment": st.dictionaries(st.sampled_from("AD"), words, min_size=1),
    "hyperparameters": st.dictionaries(st.sampled_from(["rate", "layers"]), words, min_size=1),
    "volume_size_gb": st.integers(1, 16_000),
    "training_plan": st.just(PLAN),
    "request_overrides": st.just({"RetryStrategy": {"MaximumRetryAttempts": 3}}),
}
# Where each field's value must stand in the request of its step.
PLACES = {
    "preferences": "ResourceConfig.InstancePreferences",
    "max_pending": "StoppingCondition.MaxPendingTimeInSeconds",
    "instance_count": "ResourceConfig.InstanceCount",
    "image": "AlgorithmSpecification.TrainingImage",
    "environment": "Environment",
    "hyperparameters": "HyperParameters",
    "volume_size_gb": "ResourceConfig.VolumeSizeInGB",
    "training_plan": "ResourceConfig.TrainingPlanArn",
    "request_overrides": "RetryStrategy.MaximumRetryAttempts",
    "spot": "EnableManagedSpotTraining",
    "max_wait": "StoppingCondition.MaxWaitTimeInSeconds",
}
PROCESSING = {
    "preferences": "ProcessingResources.ClusterConfig.InstancePreferences",
    "instance_count": "ProcessingResources.ClusterConfig.InstanceCount",
    "image": "AppSpecification.ImageUri",
    "environment": "Environment",
    "volume_size_gb": "ProcessingResources.ClusterConfig.VolumeSizeInGB",
    "request_overrides": "NetworkConfig.EnableNetworkIsolation",
}


def second(payload_of, step, **props):
    """Return the request of a step that is the second of a training job."""
    job = PreferenceTrainingJob(cdk.Stack(cdk.App(), "Research"), "Job", steps=[FIRST, step], **{**JOB, **props})
    return payload_of(job)["then"][0]["request"]


def stands(name, value, sent):
    """Tell whether a field's value is in what was sent: a mapping's members over others, a list as entries."""
    if isinstance(value, timedelta):
        value = int(value.total_seconds())
    if name == "preferences":
        value = [entry.to_request() for entry in value]
    if name == "request_overrides":
        value = next(iter(next(iter(value.values())).values()))
    if isinstance(value, dict):
        return value.items() <= sent.items()
    return sent == value


def test_every_field_of_a_step_has_its_place():
    assert {field.name for field in fields(LaunchStep)} - {"_"} == set(PLACES)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(given_fields=st.fixed_dictionaries({}, optional=ANY))
@pytest.mark.slow
def test_every_field_of_a_step_is_in_its_request_and_the_model_accepts_it(payload_of, at, given_fields):
    entry = InstancePreference("ml.g5.48xlarge", None if "instance_count" in given_fields else 2)
    set_fields = {"preferences": [entry], **given_fields}
    request = second(payload_of, LaunchStep(**set_fields))
    lost = [name for name, value in set_fields.items() if not stands(name, value, at(request, PLACES[name]))]
    assert not lost
    assert request["Environment"]["B"] == request["Environment"]["C"] == "job"
    assert request["HyperParameters"]["epochs"] == "1"
    assert violations("sagemaker", "CreateTrainingJob", request | {"TrainingJobName": "job"}) == []


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(wait=st.integers(3600, 90_000), count=st.integers(1, 64), size=st.none() | st.integers(1, 16_000))
@pytest.mark.slow
def test_a_spot_step_asks_for_one_type_with_spot_and_its_wait_and_the_model_accepts_it(
    payload_of, at, wait, count, size
):
    step = LaunchStep([InstancePreference("ml.p4d.24xlarge", count)], spot=True, max_wait=wait, volume_size_gb=size)
    request = second(payload_of, step)
    assert at(request, PLACES["spot"]) is True
    assert at(request, PLACES["max_wait"]) == wait
    resources = {"InstanceType": "ml.p4d.24xlarge", "InstanceCount": count, "VolumeSizeInGB": size or 99}
    assert request["ResourceConfig"] == resources
    assert "MaxPendingTimeInSeconds" not in request["StoppingCondition"]
    assert violations("sagemaker", "CreateTrainingJob", request | {"TrainingJobName": "job"}) == []


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    given_fields=st.fixed_dictionaries(
        {},
        optional={key: ANY[key] for key in ("instance_count", "image", "environment")}
        | {"volume_size_gb": st.integers(1, 300), "max_pending": st.integers(60, 9000)}
        | {"request_overrides": st.just({"NetworkConfig": {"EnableNetworkIsolation": True}})},
    )
)
@pytest.mark.slow
def test_every_field_of_a_processing_step_is_in_its_request_and_the_model_accepts_it(payload_of, at, given_fields):
    entry = InstancePreference("ml.g5.12xlarge", None if "instance_count" in given_fields else 2)
    set_fields = {"preferences": [entry], **given_fields}
    job = PreferenceProcessingJob(
        cdk.Stack(cdk.App(), "Research"),
        "Job",
        steps=[LaunchStep([InstancePreference("ml.g6.12xlarge", 1)]), LaunchStep(**set_fields)],
        image=IMAGE,
        volume_size_gb=99,
        max_runtime=3600,
        max_pending=600,
        role="arn:aws:iam::111122223333:role/processing",
        environment={"A": "job", "B": "job"},
    )
    told = payload_of(job)["then"][0]
    wait = set_fields.pop("max_pending", 600)
    assert told["max_pending"] == wait
    lost = [
        name for name, value in set_fields.items() if not stands(name, value, at(told["request"], PROCESSING[name]))
    ]
    assert not lost
    assert violations("sagemaker", "CreateProcessingJob", told["request"] | {"ProcessingJobName": "job"}) == []


def test_a_field_that_a_step_loses_would_be_noticed(payload_of, at):
    request = second(payload_of, LaunchStep([InstancePreference("ml.g5.48xlarge", 1)], environment={"A": "step"}))
    request["Environment"]["A"] = "job"
    assert not stands("environment", {"A": "step"}, at(request, PLACES["environment"]))
    del request["StoppingCondition"]["MaxPendingTimeInSeconds"]
    with pytest.raises(KeyError):
        at(request, PLACES["max_pending"])
