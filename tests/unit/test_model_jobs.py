"""A training job's fields become a request without loss."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructs_lib.model import (
    InputChannel,
    InstancePreference,
    InvalidInputError,
    TrainingJobSpec,
    UnresolvedListError,
)
from constructs_lib.model.fields import deep_merge

NEEDED = {
    "name": "job",
    "image": "image:1",
    "output": "s3://bucket/out",
    "preferences": [InstancePreference("ml.g5.xlarge", instance_count=1)],
    "max_runtime": timedelta(hours=1),
}


def request(**fields):
    return TrainingJobSpec(**{**NEEDED, **fields}).to_request()


def test_what_is_not_given_is_not_sent():
    assert request() == {
        "AlgorithmSpecification": {"TrainingImage": "image:1", "TrainingInputMode": "File"},
        "OutputDataConfig": {"S3OutputPath": "s3://bucket/out"},
        "ResourceConfig": {"InstancePreferences": [{"InstanceType": "ml.g5.xlarge", "InstanceCount": 1}]},
        "StoppingCondition": {"MaxRuntimeInSeconds": 3600},
    }


def test_zero_seconds_of_keep_alive_are_sent():
    assert request(keep_alive=timedelta(0))["ResourceConfig"]["KeepAlivePeriodInSeconds"] == 0


def test_a_number_token_passes_as_it_is():
    token = -1.8881545897087626e289
    sent = request(max_pending=token, instance_count=token, preferences=[InstancePreference("ml.g5.xlarge")])
    assert sent["StoppingCondition"]["MaxPendingTimeInSeconds"] == token
    assert sent["ResourceConfig"]["InstanceCount"] == token


def test_a_channel_is_a_prefix_or_all_its_fields():
    channel = InputChannel(
        s3_uri="s3://b/m", data_type="ManifestFile", distribution="ShardedByS3Key", compression="Gzip"
    )
    sent = request(inputs={"train": "s3://b/train", "extra": channel})["InputDataConfig"]
    assert [entry["ChannelName"] for entry in sent] == ["train", "extra"]
    assert sent[0]["DataSource"]["S3DataSource"]["S3DataType"] == "S3Prefix"
    assert sent[1]["CompressionType"] == "Gzip"
    assert "ContentType" not in sent[1]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"image": None}, "give image or algorithm_name, neither was given"),
        ({"algorithm_name": "a"}, "give image or algorithm_name, both were given"),
        ({"subnets": ["subnet-1"]}, "subnets and security_groups go together"),
        ({"checkpoint_local_path": "/x"}, "checkpoint_local_path needs checkpoint"),
        ({"preferences": ["ml.g5.xlarge"]}, "each entry is an InstancePreference, 'ml.g5.xlarge' was given"),
        ({"arguments": "--fast"}, "a list is needed, the string '--fast' was given"),
    ],
)
def test_what_no_request_could_say_is_refused_with_words(fields, words):
    with pytest.raises(InvalidInputError, match=words):
        request(**fields)


@pytest.mark.parametrize("prop", ["preferences", "subnets", "security_groups", "entrypoint", "arguments"])
def test_a_list_token_is_refused(prop):
    with pytest.raises(UnresolvedListError, match=prop):
        request(**{prop: ["#{Token[TOKEN.5]}"]})


def test_overrides_merge_last_remove_with_none_and_change_nothing_else():
    overrides = {
        "StoppingCondition": {"MaxPendingTimeInSeconds": 1800},
        "OutputDataConfig": None,
        "Tags": [{"Key": "a"}],
    }
    sent = request(request_overrides=overrides)
    assert sent["StoppingCondition"] == {"MaxRuntimeInSeconds": 3600, "MaxPendingTimeInSeconds": 1800}
    assert "OutputDataConfig" not in sent
    assert sent["Tags"] == [{"Key": "a"}]


trees = st.recursive(
    st.none() | st.integers() | st.text(max_size=3),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3) | st.lists(inner, max_size=2),
    max_leaves=8,
)
mappings = st.dictionaries(st.sampled_from("abc"), trees, max_size=3)


@given(mappings, mappings)
def test_merging_takes_every_leaf_of_the_second_and_shares_nothing_with_either(base, over):
    merged = deep_merge(base, over)
    for key in {*base, *over}:
        if key not in over:
            assert merged[key] == base[key]
        elif over[key] is None:
            assert key not in merged
        elif isinstance(over[key], dict) and isinstance(base.get(key), dict):
            assert merged[key] == deep_merge(base[key], over[key])
        else:
            assert merged[key] == over[key]
    assert deep_merge(merged, {}) == merged
