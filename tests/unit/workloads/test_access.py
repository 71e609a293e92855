"""What a request names is what the job's role reaches."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructs_lib.workloads.access import ImageRepository, JobAccess, S3Prefixes

paths = st.lists(st.sampled_from(["a", "b", "ab", "c"]), min_size=1, max_size=4).map(
    lambda parts: "s3://" + "/".join(parts)
)


@given(st.lists(paths, max_size=8))
def test_every_prefix_is_covered_by_one_that_is_kept_and_none_kept_lies_under_another(uris):
    prefixes = S3Prefixes(uris)
    kept = list(prefixes)
    assert all(any(f"{uri}/".startswith(f"{one}/") for one in kept) for uri in uris)
    assert not [(one, other) for one in kept for other in kept if one != other and one.startswith(f"{other}/")]
    assert all(prefixes.covers(uri) for uri in uris)


def test_a_neighbour_with_a_longer_name_is_no_child():
    assert not S3Prefixes(["s3://bucket/train"]).covers("s3://bucket/train-2")


@pytest.mark.parametrize(
    ("image", "repository"),
    [
        ("111122223333.dkr.ecr.us-east-1.amazonaws.com/train:1", ("111122223333", "us-east-1", "train")),
        (
            "111122223333.dkr.ecr-fips.us-gov-west-1.amazonaws.com/a/b@sha256:00",
            ("111122223333", "us-gov-west-1", "a/b"),
        ),
        ("111122223333.dkr.ecr.cn-north-1.amazonaws.com.cn/x", ("111122223333", "cn-north-1", "x")),
        (
            "${Token[AWS.AccountId.4]}.dkr.ecr.${Token[AWS.Region.5]}.${Token[AWS.URLSuffix.6]}/x:1",
            ("${Token[AWS.AccountId.4]}", "${Token[AWS.Region.5]}", "x"),
        ),
        ("${Token[TOKEN.9]}", ("*", "*", "*")),
    ],
)
def test_an_image_says_its_repository(image, repository):
    assert ImageRepository.of(image) == ImageRepository(*repository)


def test_an_image_of_another_registry_needs_no_permission():
    assert ImageRepository.of("docker.io/pytorch/pytorch:2.8") is None


def reach_of(request):
    access = JobAccess()
    access.add(request)
    return access.reach


def test_inputs_and_code_are_read_and_everything_else_is_written():
    reach = reach_of(
        {
            "InputDataConfig": [{"DataSource": {"S3DataSource": {"S3Uri": "s3://in/train"}}}],
            "HyperParameters": {"sagemaker_submit_directory": '"s3://code/source.tar.gz"', "epochs": "3"},
            "Environment": {"EXTRA": "s3://in/extra"},
            "OutputDataConfig": {"S3OutputPath": "s3://out/models", "KmsKeyId": "out-key"},
            "CheckpointConfig": {"S3Uri": "s3://out/checkpoints", "LocalPath": "/opt/ml"},
            "DebugHookConfig": {"S3OutputPath": "s3://debug"},
            "ResourceConfig": {"VolumeKmsKeyId": "volume-key", "TrainingPlanArn": "plan-1"},
            "VpcConfig": {"Subnets": ["subnet-1"]},
        }
    )
    assert list(reach.reads) == ["s3://code/source.tar.gz", "s3://in/extra", "s3://in/train"]
    assert list(reach.writes) == ["s3://debug", "s3://out/checkpoints", "s3://out/models"]
    assert (reach.keys, reach.volume_keys, reach.plans, reach.vpc) == ({"out-key"}, {"volume-key"}, {"plan-1"}, True)


def test_a_processing_job_reads_its_inputs_and_writes_its_outputs_in_its_vpc():
    reach = reach_of(
        {
            "AppSpecification": {"ImageUri": "111122223333.dkr.ecr.us-east-1.amazonaws.com/embed:1"},
            "ProcessingInputs": [{"S3Input": {"S3Uri": "s3://in/raw"}}],
            "ProcessingOutputConfig": {"Outputs": [{"S3Output": {"S3Uri": "s3://out/clean"}}], "KmsKeyId": "key"},
            "ProcessingResources": {"ClusterConfig": {"VolumeKmsKeyId": "volume-key"}},
            "NetworkConfig": {"VpcConfig": {"Subnets": ["subnet-1"]}},
        }
    )
    assert (list(reach.reads), list(reach.writes)) == (["s3://in/raw"], ["s3://out/clean"])
    assert (reach.keys, reach.volume_keys, reach.vpc) == ({"key"}, {"volume-key"}, True)
    assert [image.repository for image in reach.images] == ["embed"]
    assert (reach.trains, reach.processes) == (False, True)


def test_a_tuning_job_reaches_what_its_training_jobs_reach():
    definition = {
        "AlgorithmSpecification": {"TrainingImage": "111122223333.dkr.ecr.us-east-1.amazonaws.com/train:1"},
        "StaticHyperParameters": {"code": "s3://code/x"},
        "InputDataConfig": [{"DataSource": {"S3DataSource": {"S3Uri": "s3://in/train"}}}],
        "OutputDataConfig": {"S3OutputPath": "s3://out/models"},
        "VpcConfig": {"Subnets": ["subnet-1"]},
    }
    reach = reach_of({"TrainingJobDefinition": definition})
    assert list(reach.reads) == ["s3://code/x", "s3://in/train"]
    assert list(reach.writes) == ["s3://out/models"]
    assert (reach.vpc, reach.trains, reach.processes) == (True, True, False)


def test_plans_of_entries_are_found():
    entries = [{"InstanceType": "ml.p5.48xlarge", "TrainingPlanArns": ["plan-2"]}]
    assert reach_of({"ResourceConfig": {"InstancePreferences": entries}}).plans == {"plan-2"}


def test_a_location_known_only_at_deploy_is_kept_and_other_tokens_are_not_taken_for_one():
    reach = reach_of(
        {
            "OutputDataConfig": {"S3OutputPath": "${Token[TOKEN.1]}"},
            "RoleArn": "${Token[TOKEN.2]}",
            "Environment": {"X": "${Token[TOKEN.3]}"},
        }
    )
    assert list(reach.writes) == ["${Token[TOKEN.1]}"]
    assert list(reach.reads) == []


def test_requests_are_read_when_asked_and_once():
    access = JobAccess(["s3://shared"])
    access.add({"OutputDataConfig": {"S3OutputPath": "s3://one"}})
    assert list(access.reach.writes) == ["s3://one", "s3://shared"]
    access.add({"OutputDataConfig": {"S3OutputPath": "s3://shared/two"}})
    assert list(access.reach.writes) == ["s3://one", "s3://shared"]
