"""Every request a PreferenceTrainingJob renders holds all that was asked for, and SageMaker's own model accepts it."""

import json
from datetime import timedelta
from inspect import signature

import aws_cdk as cdk
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from constructs_lib import InputChannel, InstancePreference, LaunchStep, PreferenceTrainingJob, PriceBook, PriceCeiling
from constructs_lib.sandbox.modelcheck import violations

PLAN = "arn:aws:sagemaker:us-east-1:111122223333:training-plan/research"
NEEDED = {
    "image": "111122223333.dkr.ecr.us-east-1.amazonaws.com/train:1",
    "output": "s3://bucket/models",
    "max_runtime": 3600,
    "preferences": [InstancePreference("ml.p5.48xlarge"), InstancePreference("ml.p4d.24xlarge")],
    "instance_count": 2,
    "role": "arn:aws:iam::111122223333:role/training",
}
words = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=8)
texts = st.text(st.characters(codec="utf-8", exclude_categories=["C"], exclude_characters="\u2028\u2029"), max_size=12)
locations = words.map(lambda word: f"s3://bucket/{word}")
seconds = st.integers(1800, 21_600).flatmap(lambda n: st.sampled_from([n, timedelta(seconds=n)]))
channels = st.builds(
    InputChannel,
    s3_uri=locations,
    data_type=st.sampled_from(["S3Prefix", "ManifestFile"]),
    distribution=st.sampled_from(["FullyReplicated", "ShardedByS3Key"]),
    content_type=st.none() | words,
    input_mode=st.none() | st.sampled_from(["File", "FastFile", "Pipe"]),
    compression=st.none() | st.sampled_from(["Gzip", "None"]),
    record_wrapper=st.none() | st.sampled_from(["RecordIO", "None"]),
)
ANY = {
    "max_pending": seconds,
    "inputs": st.dictionaries(words, locations | channels, min_size=1, max_size=3),
    "hyperparameters": st.dictionaries(words, texts, min_size=1, max_size=3),
    "environment": st.dictionaries(words.map(lambda w: f"V_{w}"), texts, min_size=1, max_size=3),
    "tags": st.dictionaries(words, words, min_size=1, max_size=3),
    "input_mode": st.sampled_from(["Pipe", "FastFile"]),
    "volume_size_gb": st.integers(1, 16_000),
    "output_kms_key": words,
    "keep_alive": seconds,
    "checkpoint": locations,
    "network_isolation": st.just(True),
    "encrypt_inter_container_traffic": st.just(True),
    "max_attempts": st.integers(1, 30),
    "entrypoint": st.lists(words, min_size=1, max_size=3),
    "arguments": st.lists(words, min_size=1, max_size=3),
    "training_plan": st.just(PLAN),
}
# Where each keyword's value must stand in the request.
PLACES = {
    "preferences": "ResourceConfig.InstancePreferences",
    "instance_count": "ResourceConfig.InstanceCount",
    "output": "OutputDataConfig.S3OutputPath",
    "max_runtime": "StoppingCondition.MaxRuntimeInSeconds",
    "image": "AlgorithmSpecification.TrainingImage",
    "algorithm_name": "AlgorithmSpecification.AlgorithmName",
    "role": "RoleArn",
    "max_pending": "StoppingCondition.MaxPendingTimeInSeconds",
    "inputs": "InputDataConfig",
    "hyperparameters": "HyperParameters",
    "environment": "Environment",
    "tags": "Tags",
    "input_mode": "AlgorithmSpecification.TrainingInputMode",
    "volume_size_gb": "ResourceConfig.VolumeSizeInGB",
    "volume_kms_key": "ResourceConfig.VolumeKmsKeyId",
    "output_kms_key": "OutputDataConfig.KmsKeyId",
    "keep_alive": "ResourceConfig.KeepAlivePeriodInSeconds",
    "training_plan": "ResourceConfig.TrainingPlanArn",
    "checkpoint": "CheckpointConfig.S3Uri",
    "checkpoint_local_path": "CheckpointConfig.LocalPath",
    "subnets": "VpcConfig.Subnets",
    "security_groups": "VpcConfig.SecurityGroupIds",
    "network_isolation": "EnableNetworkIsolation",
    "encrypt_inter_container_traffic": "EnableInterContainerTrafficEncryption",
    "max_attempts": "RetryStrategy.MaximumRetryAttempts",
    "entrypoint": "AlgorithmSpecification.ContainerEntrypoint",
    "arguments": "AlgorithmSpecification.ContainerArguments",
}
# Where each keyword that no request says must stand in what the launcher is given.
TOLD = {
    "start_by": "limits.start_by",
    "finish_by": "limits.finish_by",
    "max_cost": "limits.max_cost",
    "price_book": "limits.prices",
    "drop_without_quota": "limits.on_quota",
    "reserved_only": "limits.reserved_only",
    "run_overrides": "overrides",
    "steps": "then",
}
NOT_IN_THE_REQUEST = {"own_role", "integration", "timeout", "kit", "state_machine_name"}
PRICES = PriceBook({"ml.p5.48xlarge": "98.32", "ml.p4d.24xlarge": "25.25"}, "USD", "2026-11-29", "a list")


def rendered(props):
    """Return the request as the state machine's text holds it, every token replaced by plausible text."""
    stack = cdk.Stack(cdk.App(), "Research")
    job = PreferenceTrainingJob(stack, "Job", **props)
    value = stack.resolve(job.definition_string)
    parts = value["Fn::Join"][1] if isinstance(value, dict) else [value]
    text = "".join(part if isinstance(part, str) else "aws" for part in parts)
    return json.loads(text)["States"]["Launch"]["Parameters"]["Payload"]["request"]


def at(request, place):
    value = request
    for key in place.split("."):
        value = value[key]
    return value


def as_sent(value):
    """Return a keyword's value as the API takes it."""
    if isinstance(value, timedelta):
        return int(value.total_seconds())
    if isinstance(value, list) and value and isinstance(value[0], InstancePreference):
        return [entry.to_request() for entry in value]
    return value


def stands(name, value, request):
    sent = at(request, PLACES[name])
    if name == "tags":
        return {tag["Key"]: tag["Value"] for tag in sent} == value
    if name == "inputs":
        channels = [c if isinstance(c, InputChannel) else InputChannel(s3_uri=c) for c in value.values()]
        return sent == [channel.to_request(key) for key, channel in zip(value, channels, strict=True)]
    return sent == as_sent(value)


def test_every_keyword_has_its_place_in_the_request():
    keywords = set(signature(PreferenceTrainingJob.__init__).parameters) - {"self", "scope", "construct_id"}
    assert keywords == set(PLACES) | set(TOLD) | NOT_IN_THE_REQUEST | {"request_overrides"}


@pytest.mark.parametrize(
    ("props", "told"),
    [
        ({"start_by": timedelta(hours=2)}, 7200),
        ({"start_by": "2027-01-27T01:00+01:00"}, "2027-01-27T00:00:00Z"),
        ({"finish_by": cdk.Duration.days(2)}, 172_800),
        ({"max_cost": PriceCeiling("1200.50", "USD"), "price_book": PRICES}, {"amount": "1200.50", "currency": "USD"}),
        (
            {"price_book": PRICES},
            {"currency": "USD", "as_of": "2026-11-29", "source": "a list", "per_hour": PRICES.per_hour},
        ),
        ({"drop_without_quota": True}, "drop"),
        (
            {
                "reserved_only": True,
                "preferences": [InstancePreference("ml.p5.48xlarge", training_plan=PLAN)],
            },
            True,
        ),
        ({"run_overrides": ("inputs", "hyperparameters")}, ["inputs", "hyperparameters"]),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_no_request_says_is_told_to_the_launcher(payload_of, at, props, told):
    payload = payload_of(PreferenceTrainingJob(cdk.Stack(cdk.App(), "Research"), "Job", **(NEEDED | props)))
    assert at(payload, TOLD[next(iter(props))]) == told


def test_steps_are_told_to_the_launcher_in_order(payload_of):
    lists = [[InstancePreference("ml.p5.48xlarge")], [InstancePreference("ml.p4d.24xlarge")]]
    props = {k: v for k, v in NEEDED.items() if k != "preferences"} | {"max_pending": 1800}
    job = PreferenceTrainingJob(cdk.Stack(cdk.App(), "Research"), "Job", steps=[*map(LaunchStep, lists)], **props)
    payload = payload_of(job)
    sent = [payload["request"], *(step["request"] for step in payload["then"])]
    assert [one["ResourceConfig"]["InstancePreferences"][0]["InstanceType"] for one in sent] == [
        "ml.p5.48xlarge",
        "ml.p4d.24xlarge",
    ]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.fixed_dictionaries({}, optional=ANY))
@pytest.mark.slow
def test_every_field_that_is_set_is_in_the_request_and_the_model_accepts_it(props):
    given_props = NEEDED | props
    request = rendered(given_props)
    lost = [name for name, value in given_props.items() if not stands(name, value, request)]
    assert not lost
    assert violations("sagemaker", "CreateTrainingJob", request | {"TrainingJobName": "job"}) == []


@pytest.mark.parametrize(
    "props",
    [
        {"image": None, "algorithm_name": "my-algorithm"},
        {"checkpoint": "s3://bucket/c", "checkpoint_local_path": "/opt/ml/c"},
        {"subnets": ["subnet-1", "subnet-2", "subnet-3"], "security_groups": ["sg-1"]},
        {"volume_kms_key": "key", "volume_size_gb": 9, "preferences": [InstancePreference("ml.c5.18xlarge")]},
        {
            "instance_count": None,
            "preferences": [
                InstancePreference("ml.p5.48xlarge", instance_count=4, training_plan=PLAN),
                InstancePreference("ml.p4d.24xlarge", instance_count=8),
            ],
        },
    ],
    ids=lambda props: next(iter(props)),
)
def test_fields_that_go_together_are_in_the_request_and_the_model_accepts_it(props):
    given_props = {k: v for k, v in (NEEDED | props).items() if v is not None}
    request = rendered(given_props)
    assert all(stands(name, value, request) for name, value in given_props.items())
    assert violations("sagemaker", "CreateTrainingJob", request | {"TrainingJobName": "job"}) == []


@pytest.mark.parametrize(
    "planted",
    [
        {"ResourceConfig": {"InstancePreference": []}},
        {"AlgorithmSpecification": {"TrainingInputMode": "file"}},
        {"StoppingCondition": {"MaxPendingTimeInSeconds": 60}},
        {"OutputDataConfig": {"S3OutputPath": "bucket/models"}},
        {"RetryStrategy": {"MaximumRetryAttempts": "3"}},
        {"RoleArn": "training"},
    ],
    ids=str,
)
def test_the_model_would_notice_a_wrong_member_value_or_type(planted):
    request = rendered(NEEDED)
    for member, wrong in planted.items():
        request[member] = {**request.get(member, {}), **wrong} if isinstance(wrong, dict) else wrong
    try:
        found = violations("sagemaker", "CreateTrainingJob", request | {"TrainingJobName": "job"})
    except Exception as refused:  # noqa: BLE001 - a wrong type is refused at once
        found = [str(refused)]
    assert found


def test_a_lost_field_would_be_noticed():
    request = rendered(NEEDED | {"keep_alive": 3600})
    del request["ResourceConfig"]["KeepAlivePeriodInSeconds"]
    with pytest.raises(KeyError):
        stands("keep_alive", 3600, request)
