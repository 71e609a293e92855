"""Every request a PreferenceProcessingJob renders holds all that was asked for, and SageMaker's model accepts it."""

from datetime import timedelta
from inspect import signature

import aws_cdk as cdk
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from constructs_lib import InstancePreference, PreferenceProcessingJob, ProcessingInput, ProcessingOutput
from constructs_lib.sandbox.modelcheck import violations

NEEDED = {
    "image": "111122223333.dkr.ecr.us-east-1.amazonaws.com/embed:1",
    "volume_size_gb": 100,
    "max_runtime": 3600,
    "preferences": [InstancePreference("ml.g6.12xlarge"), InstancePreference("ml.g5.12xlarge")],
    "instance_count": 2,
    "role": "arn:aws:iam::111122223333:role/processing",
}
QUIET = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
words = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=8)
locations = words.map(lambda word: f"s3://bucket/{word}")
inputs = st.builds(
    ProcessingInput,
    s3_uri=locations,
    local_path=st.none() | words.map(lambda word: f"/opt/ml/{word}"),
    data_type=st.sampled_from(["S3Prefix", "ManifestFile"]),
    input_mode=st.sampled_from(["File", "Pipe"]),
    distribution=st.none() | st.sampled_from(["FullyReplicated", "ShardedByS3Key"]),
    compression=st.none() | st.sampled_from(["Gzip", "None"]),
)
outputs = st.builds(
    ProcessingOutput,
    s3_uri=locations,
    local_path=st.none() | words.map(lambda word: f"/opt/ml/{word}"),
    upload_mode=st.sampled_from(["EndOfJob", "Continuous"]),
)
ANY = {
    "max_pending": st.integers(60, 90_000) | st.integers(1, 90).map(lambda n: timedelta(minutes=n)),
    "inputs": st.dictionaries(words, locations | inputs, min_size=1, max_size=3),
    "outputs": st.dictionaries(words, locations | outputs, min_size=1, max_size=3),
    "environment": st.dictionaries(words.map(lambda word: f"V_{word}"), words, min_size=1, max_size=3),
    "tags": st.dictionaries(words, words, min_size=1, max_size=3),
    "network_isolation": st.just(True),
    "encrypt_inter_container_traffic": st.just(True),
    "entrypoint": st.lists(words, min_size=1, max_size=3),
    "arguments": st.lists(words, min_size=1, max_size=3),
    "cpu_last_resort": st.just([InstancePreference("ml.c5.4xlarge")]),
}
# Where each keyword's value must stand in what the launcher is given.
PLACES = {
    "image": "request.AppSpecification.ImageUri",
    "volume_size_gb": "request.ProcessingResources.ClusterConfig.VolumeSizeInGB",
    "max_runtime": "request.StoppingCondition.MaxRuntimeInSeconds",
    "preferences": "request.ProcessingResources.ClusterConfig.InstancePreferences",
    "cpu_last_resort": "request.ProcessingResources.ClusterConfig.InstancePreferences",
    "instance_count": "request.ProcessingResources.ClusterConfig.InstanceCount",
    "role": "request.RoleArn",
    "max_pending": "max_pending",
    "inputs": "request.ProcessingInputs",
    "outputs": "request.ProcessingOutputConfig.Outputs",
    "environment": "request.Environment",
    "tags": "request.Tags",
    "volume_kms_key": "request.ProcessingResources.ClusterConfig.VolumeKmsKeyId",
    "output_kms_key": "request.ProcessingOutputConfig.KmsKeyId",
    "subnets": "request.NetworkConfig.VpcConfig.Subnets",
    "security_groups": "request.NetworkConfig.VpcConfig.SecurityGroupIds",
    "network_isolation": "request.NetworkConfig.EnableNetworkIsolation",
    "encrypt_inter_container_traffic": "request.NetworkConfig.EnableInterContainerTrafficEncryption",
    "entrypoint": "request.AppSpecification.ContainerEntrypoint",
    "arguments": "request.AppSpecification.ContainerArguments",
    "run_overrides": "overrides",
    "start_by": "limits.start_by",
    "finish_by": "limits.finish_by",
    "drop_without_quota": "limits.on_quota",
}
# Steps have a test of their own; a ceiling and its prices are told as for training.
ELSEWHERE = {"steps", "max_cost", "price_book", "request_overrides"}
NOT_TOLD = {"own_role", "integration", "timeout", "kit", "state_machine_name"}


@pytest.fixture
def render(payload_of):
    def payload(props):
        return payload_of(PreferenceProcessingJob(cdk.Stack(cdk.App(), "Research"), "Job", **props))

    return payload


def stands(name, value, told):
    if isinstance(value, timedelta):
        value = int(value.total_seconds())
    if name == "preferences":
        return told[: len(value)] == [entry.to_request() for entry in value]
    if name == "cpu_last_resort":
        return told[-len(value) :] == [entry.to_request() for entry in value]
    if name == "tags":
        return {tag["Key"]: tag["Value"] for tag in told} == value
    if name in ("inputs", "outputs"):
        kind = ProcessingInput if name == "inputs" else ProcessingOutput
        full = {key: kind(s3_uri=one) if isinstance(one, str) else one for key, one in value.items()}
        return told == [one.to_request(key) for key, one in full.items()]
    return told == value


def test_every_keyword_has_its_place():
    keywords = set(signature(PreferenceProcessingJob.__init__).parameters) - {"self", "scope", "construct_id"}
    assert keywords == set(PLACES) | ELSEWHERE | NOT_TOLD


@settings(max_examples=50, deadline=None, suppress_health_check=QUIET)
@given(props=st.fixed_dictionaries({}, optional=ANY))
@pytest.mark.slow
def test_every_field_that_is_set_is_told_and_the_model_accepts_the_request(render, at, props):
    given_props = NEEDED | props
    told = render(given_props)
    lost = [name for name, value in given_props.items() if not stands(name, value, at(told, PLACES[name]))]
    assert not lost
    assert violations("sagemaker", "CreateProcessingJob", told["request"] | {"ProcessingJobName": "job"}) == []


@pytest.mark.parametrize(
    "props",
    [
        {"subnets": ["subnet-1", "subnet-2", "subnet-3"], "security_groups": ["sg-1"]},
        {"outputs": {"o": "s3://bucket/o"}, "output_kms_key": "key"},
        {"volume_kms_key": "key", "preferences": [InstancePreference("ml.c5.4xlarge")]},
        {"instance_count": None, "preferences": [InstancePreference("ml.g6.12xlarge", instance_count=3)]},
    ],
    ids=lambda props: next(iter(props)),
)
def test_fields_that_go_together_are_told_and_the_model_accepts_the_request(render, at, props):
    given_props = {k: v for k, v in (NEEDED | props).items() if v is not None}
    told = render(given_props)
    assert all(stands(name, value, at(told, PLACES[name])) for name, value in given_props.items())
    assert violations("sagemaker", "CreateProcessingJob", told["request"] | {"ProcessingJobName": "job"}) == []


@pytest.mark.parametrize(
    ("prop", "value", "told"),
    [
        ("start_by", cdk.Duration.hours(1), 3600),
        ("finish_by", "2027-01-27T00:00Z", "2027-01-27T00:00:00Z"),
        ("drop_without_quota", True, "drop"),
        ("run_overrides", ("inputs",), ["inputs"]),
    ],
)
def test_what_no_request_says_is_told_to_the_launcher(render, at, prop, value, told):
    assert at(render(NEEDED | {prop: value}), PLACES[prop]) == told


def test_an_override_reaches_the_request(render, at):
    told = render(NEEDED | {"request_overrides": {"ExperimentConfig": {"TrialName": "t"}}})
    assert at(told, "request.ExperimentConfig.TrialName") == "t"


@pytest.mark.parametrize(
    "planted",
    [
        {"ProcessingResources": {"ClusterConfig": {"InstancePreference": []}}},
        {"AppSpecification": {"ImageUri": 7}},
        {"StoppingCondition": {"MaxPendingTimeInSeconds": 1800}},
        {"ProcessingInputs": [{"InputName": "a", "S3Input": {"S3Uri": "s3://b/c", "S3DataType": "prefix"}}]},
    ],
    ids=lambda planted: next(iter(planted)),
)
def test_the_model_would_notice_a_wrong_member_value_or_type(render, planted):
    request = render(NEEDED)["request"] | planted
    try:
        found = violations("sagemaker", "CreateProcessingJob", request | {"ProcessingJobName": "job"})
    except Exception as refused:  # noqa: BLE001 - a wrong type is refused at once
        found = [str(refused)]
    assert found


def test_a_lost_field_would_be_noticed(render, at):
    told = render(NEEDED | {"network_isolation": True})
    del told["request"]["NetworkConfig"]
    with pytest.raises(KeyError):
        at(told, PLACES["network_isolation"])
