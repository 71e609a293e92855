"""Every request a TuningJob renders holds all that was asked for, and SageMaker's own model accepts it."""

from dataclasses import fields
from datetime import timedelta
from inspect import signature

import aws_cdk as cdk
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from constructs_lib import (
    HyperparameterRange,
    InputChannel,
    InstancePreference,
    TrainingJobSpec,
    TuningJob,
    TuningObjective,
)
from constructs_lib.sandbox.modelcheck import violations

TRAINING = {
    "name": "tune",
    "image": "111122223333.dkr.ecr.us-east-1.amazonaws.com/train:1",
    "output": "s3://bucket/models",
    "max_runtime": 3600,
    "preferences": [InstancePreference("ml.p5.48xlarge"), InstancePreference("ml.p4d.24xlarge")],
    "instance_count": 2,
    "volume_size_gb": 500,
    "role_arn": "arn:aws:iam::111122223333:role/training",
}
NEEDED = {
    "objective": TuningObjective("loss", "Minimize", regex="loss=([0-9.]+)"),
    "ranges": {"rate": HyperparameterRange.continuous(1e-5, 1e-2)},
    "max_jobs": 10,
    "max_parallel": 2,
}
QUIET = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
words = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=8)
locations = words.map(lambda word: f"s3://bucket/{word}")
scaling = st.none() | st.sampled_from(["Auto", "Linear", "Logarithmic"])
pairs = st.tuples(st.integers(1, 9), st.integers(10, 99))
ranges = (
    st.builds(lambda pair, scale: HyperparameterRange.integer(*pair, scaling=scale), pairs, scaling)
    | st.builds(lambda pair, scale: HyperparameterRange.continuous(*pair, scaling=scale), pairs, scaling)
    | st.lists(words, min_size=1, max_size=3).map(HyperparameterRange.categorical)
)
ANY = {
    "objective": st.builds(TuningObjective, words, st.sampled_from(["Minimize", "Maximize"]), st.none() | words),
    "ranges": st.dictionaries(words.map(lambda word: f"r_{word}"), ranges, min_size=1, max_size=3),
    "max_jobs": st.integers(1, 100),
    "max_parallel": st.integers(1, 10),
    "strategy": st.sampled_from(["Random", "Hyperband", "Grid"]),
    "early_stopping": st.just(True),
    "max_total_runtime": st.integers(120, 900_000) | st.integers(1, 90).map(lambda n: timedelta(hours=n)),
}
ANY_TRAINING = {
    "max_pending": st.integers(60, 90_000),
    "inputs": st.dictionaries(words, locations | st.builds(InputChannel, s3_uri=locations), min_size=1, max_size=2),
    "hyperparameters": st.dictionaries(words.map(lambda word: f"h_{word}"), words, min_size=1, max_size=3),
    "environment": st.dictionaries(words.map(lambda word: f"V_{word}"), words, min_size=1, max_size=3),
    "tags": st.dictionaries(words, words, min_size=1, max_size=3),
    "input_mode": st.sampled_from(["Pipe", "FastFile"]),
    "volume_size_gb": st.integers(1, 16_000),
    "output_kms_key": words,
    "checkpoint": locations,
    "network_isolation": st.just(True),
    "encrypt_inter_container_traffic": st.just(True),
    "max_attempts": st.integers(1, 30),
}
_TRAIN, _SEARCH = "request.TrainingJobDefinition", "request.HyperParameterTuningJobConfig"
# Where each keyword's value must stand in what the launcher is given.
PLACES = {
    "objective": f"{_SEARCH}.HyperParameterTuningJobObjective",
    "ranges": f"{_SEARCH}.ParameterRanges",
    "max_jobs": f"{_SEARCH}.ResourceLimits.MaxNumberOfTrainingJobs",
    "max_parallel": f"{_SEARCH}.ResourceLimits.MaxParallelTrainingJobs",
    "strategy": f"{_SEARCH}.Strategy",
    "early_stopping": f"{_SEARCH}.TrainingJobEarlyStoppingType",
    "max_total_runtime": f"{_SEARCH}.ResourceLimits.MaxRuntimeInSeconds",
    "role": f"{_TRAIN}.RoleArn",
    "start_by": "limits.start_by",
    "finish_by": "limits.finish_by",
    "drop_without_quota": "limits.on_quota",
    "run_overrides": "overrides",
}
TRAINING_PLACES = {
    "image": f"{_TRAIN}.AlgorithmSpecification.TrainingImage",
    "algorithm_name": f"{_TRAIN}.AlgorithmSpecification.AlgorithmName",
    "output": f"{_TRAIN}.OutputDataConfig.S3OutputPath",
    "max_runtime": f"{_TRAIN}.StoppingCondition.MaxRuntimeInSeconds",
    "preferences": f"{_TRAIN}.HyperParameterTuningResourceConfig.InstanceConfigs",
    "instance_count": f"{_TRAIN}.HyperParameterTuningResourceConfig.InstanceConfigs",
    "volume_size_gb": f"{_TRAIN}.HyperParameterTuningResourceConfig.InstanceConfigs",
    "volume_kms_key": f"{_TRAIN}.HyperParameterTuningResourceConfig.VolumeKmsKeyId",
    "role_arn": f"{_TRAIN}.RoleArn",
    "max_pending": "max_pending",
    "inputs": f"{_TRAIN}.InputDataConfig",
    "hyperparameters": f"{_TRAIN}.StaticHyperParameters",
    "environment": f"{_TRAIN}.Environment",
    "tags": "request.Tags",
    "input_mode": f"{_TRAIN}.AlgorithmSpecification.TrainingInputMode",
    "output_kms_key": f"{_TRAIN}.OutputDataConfig.KmsKeyId",
    "checkpoint": f"{_TRAIN}.CheckpointConfig.S3Uri",
    "checkpoint_local_path": f"{_TRAIN}.CheckpointConfig.LocalPath",
    "subnets": f"{_TRAIN}.VpcConfig.Subnets",
    "security_groups": f"{_TRAIN}.VpcConfig.SecurityGroupIds",
    "network_isolation": f"{_TRAIN}.EnableNetworkIsolation",
    "encrypt_inter_container_traffic": f"{_TRAIN}.EnableInterContainerTrafficEncryption",
    "max_attempts": f"{_TRAIN}.RetryStrategy.MaximumRetryAttempts",
}
REFUSED = {"training_plan", "keep_alive", "entrypoint", "arguments", "request_overrides"}
ELSEWHERE = {"training", "max_cost", "price_book", "request_overrides"}
NOT_TOLD = {"own_role", "integration", "timeout", "kit", "state_machine_name"}


@pytest.fixture
def render(payload_of):
    def payload(training, props):
        spec = TrainingJobSpec(**{**TRAINING, **training})
        return payload_of(TuningJob(cdk.Stack(cdk.App(), "Research"), "Job", training=spec, **{**NEEDED, **props}))

    return payload


def stands(name, value, told):
    if isinstance(value, timedelta):
        value = int(value.total_seconds())
    special = {
        "objective": lambda: told == {"Type": value.goal, "MetricName": value.metric},
        "ranges": lambda: (
            {one["Name"]: one for rows in told.values() for one in rows}
            == {key: one.to_request(key) for key, one in value.items()}
        ),
        "early_stopping": lambda: told == "Auto",
        "tags": lambda: {tag["Key"]: tag["Value"] for tag in told} == value,
        "inputs": lambda: (
            told
            == [
                (InputChannel(s3_uri=one) if isinstance(one, str) else one).to_request(key)
                for key, one in value.items()
            ]
        ),
        "preferences": lambda: [one["InstanceType"] for one in told] == [one.instance_type for one in value],
        "instance_count": lambda: {one["InstanceCount"] for one in told} == {value},
        "volume_size_gb": lambda: {one["VolumeSizeInGB"] for one in told} == {value},
    }
    return special[name]() if name in special else told == value


def test_every_keyword_has_its_place():
    keywords = set(signature(TuningJob.__init__).parameters) - {"self", "scope", "construct_id"}
    assert keywords == set(PLACES) | ELSEWHERE | NOT_TOLD


def test_every_field_of_the_training_job_has_its_place_or_is_refused():
    assert {field.name for field in fields(TrainingJobSpec)} - {"name"} == set(TRAINING_PLACES) | REFUSED


@settings(max_examples=50, deadline=None, suppress_health_check=QUIET)
@given(training=st.fixed_dictionaries({}, optional=ANY_TRAINING), props=st.fixed_dictionaries({}, optional=ANY))
@pytest.mark.slow
def test_every_field_that_is_set_is_told_and_the_model_accepts_the_request(render, at, training, props):
    told = render(training, props)
    given_props, given_training = NEEDED | props, {k: v for k, v in (TRAINING | training).items() if k != "name"}
    lost = [name for name, value in given_props.items() if not stands(name, value, at(told, PLACES[name]))]
    lost += [name for name, value in given_training.items() if not stands(name, value, at(told, TRAINING_PLACES[name]))]
    assert not lost
    if (regex := given_props["objective"].regex) is not None:
        assert at(told, f"{_TRAIN}.AlgorithmSpecification.MetricDefinitions")[0]["Regex"] == regex
    named = told["request"] | {"HyperParameterTuningJobName": "job"}
    assert violations("sagemaker", "CreateHyperParameterTuningJob", named) == []


@pytest.mark.parametrize(
    "training",
    [
        {"image": None, "algorithm_name": "my-algorithm"},
        {"checkpoint": "s3://bucket/c", "checkpoint_local_path": "/opt/ml/c"},
        {"subnets": ["subnet-1", "subnet-2", "subnet-3"], "security_groups": ["sg-1"]},
        {
            "volume_kms_key": "key",
            "preferences": [InstancePreference("ml.c5.xlarge"), InstancePreference("ml.m5.xlarge")],
        },
    ],
    ids=lambda training: next(iter(training)),
)
def test_fields_that_go_together_are_told_and_the_model_accepts_the_request(render, at, training):
    told = render(training, {})
    asked = {key: value for key, value in training.items() if value is not None}
    assert all(stands(name, value, at(told, TRAINING_PLACES[name])) for name, value in asked.items())
    named = told["request"] | {"HyperParameterTuningJobName": "job"}
    assert violations("sagemaker", "CreateHyperParameterTuningJob", named) == []


def test_one_entry_stands_without_a_list_as_the_api_wants_it(render, at):
    told = render({"preferences": [InstancePreference("ml.p5.48xlarge")]}, {})
    resources = at(told, f"{_TRAIN}.HyperParameterTuningResourceConfig")
    assert resources == {"InstanceType": "ml.p5.48xlarge", "InstanceCount": 2, "VolumeSizeInGB": 500}


def test_counts_of_entries_stand_on_the_entries(render, at):
    entries = [InstancePreference("ml.p5.48xlarge", 1), InstancePreference("ml.p4d.24xlarge", 3)]
    told = render({"preferences": entries, "instance_count": None}, {})
    listed = at(told, f"{_TRAIN}.HyperParameterTuningResourceConfig.InstanceConfigs")
    assert [one["InstanceCount"] for one in listed] == [1, 3]


@pytest.mark.parametrize(
    ("prop", "value", "told"),
    [
        ("start_by", cdk.Duration.hours(1), 3600),
        ("finish_by", "2027-01-27T00:00Z", "2027-01-27T00:00:00Z"),
        ("drop_without_quota", True, "drop"),
        ("run_overrides", ("hyperparameters",), ["hyperparameters"]),
        ("role", "arn:aws:iam::111122223333:role/other", "arn:aws:iam::111122223333:role/other"),
    ],
)
def test_what_no_training_job_says_is_told(render, at, prop, value, told):
    assert at(render({}, {prop: value}), PLACES[prop]) == told


@pytest.mark.parametrize(
    ("path", "wrong"),
    [
        (f"{_SEARCH}.Strategy", "bayesian"),
        (f"{_TRAIN}.HyperParameterTuningResourceConfig.AllocationStrategy", "Cheapest"),
        (f"{_TRAIN}.HyperParameterTuningResourceConfig.InstanceConfigs", []),
        (f"{_TRAIN}.ResourceConfig", {"InstancePreference": []}),
    ],
)
def test_the_model_would_notice_a_wrong_member_or_value(render, at, path, wrong):
    told = render({}, {})
    parent, _, member = path.rpartition(".")
    at(told, parent)[member] = wrong
    named = told["request"] | {"HyperParameterTuningJobName": "job"}
    assert violations("sagemaker", "CreateHyperParameterTuningJob", named)


def test_a_lost_field_would_be_noticed(render, at):
    told = render({"max_attempts": 3}, {})
    del told["request"]["TrainingJobDefinition"]["RetryStrategy"]
    with pytest.raises(KeyError):
        at(told, TRAINING_PLACES["max_attempts"])
