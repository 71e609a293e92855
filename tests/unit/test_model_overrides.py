"""Overrides change exactly what they name, and whatever else is given is refused in words."""

from __future__ import annotations

import copy

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from constructs_lib.model import InvalidInputError
from constructs_lib.model.job_kinds import JOB_KINDS
from constructs_lib.model.overrides import OVERRIDES, overridden, overridden_limits

TRAINING = {
    "HyperParameters": {"lr": "1"},
    "InputDataConfig": [
        {"ChannelName": "train", "DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": "s3://b/train"}}},
        {"ChannelName": "files", "DataSource": {"FileSystemDataSource": {"FileSystemId": "fs-1"}}},
    ],
    "OutputDataConfig": {"S3OutputPath": "s3://b/out"},
    "ResourceConfig": {"InstanceCount": 1, "InstancePreferences": [{"InstanceType": "ml.g5.xlarge"}]},
    "StoppingCondition": {"MaxRuntimeInSeconds": 60},
}
PROCESSING = {
    "ProcessingInputs": [{"InputName": "train", "S3Input": {"S3Uri": "s3://b/train"}}],
    "ProcessingOutputConfig": {"Outputs": [{"OutputName": "out", "S3Output": {"S3Uri": "s3://b/out"}}]},
    "ProcessingResources": {"ClusterConfig": {"InstancePreferences": [{"InstanceType": "a", "InstanceCount": 1}]}},
    "StoppingCondition": {"MaxRuntimeInSeconds": 60},
}
TUNING = {
    "HyperParameterTuningJobConfig": {"ResourceLimits": {"MaxParallelTrainingJobs": 1}},
    "TrainingJobDefinition": {
        key: value for key, value in TRAINING.items() if key not in ("HyperParameters", "ResourceConfig")
    }
    | {"HyperParameterTuningResourceConfig": {"InstanceConfigs": [{"InstanceType": "a", "InstanceCount": 1}]}},
}
REQUESTS = {"training": TRAINING, "processing": PROCESSING, "tuning": TUNING}
TEXTS = st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=3)
URIS = st.text("abc/", min_size=1, max_size=9).map("s3://b{}".format)
GOOD = st.fixed_dictionaries(
    {},
    optional={
        "environment": TEXTS,
        "inputs": st.fixed_dictionaries({"train": URIS}),
        "output": URIS,
        "instance_count": st.integers(1, 64),
        "start_by": st.integers(1, 10**6),
        "finish_by": st.just("2027-01-27T00:00Z"),
        "max_runtime": st.integers(200, 10**6),
    },
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=6), inner, max_size=2),
    max_leaves=5,
)


def leaves(value, path=()):
    """Return every value of nested data by its path."""
    if isinstance(value, dict):
        return {k: v for key, inner in value.items() for k, v in leaves(inner, (*path, key)).items()}
    if isinstance(value, list):
        return {k: v for i, inner in enumerate(value) for k, v in leaves(inner, (*path, i)).items()}
    return {path: value}


@pytest.mark.parametrize("kind", REQUESTS)
@given(overrides=GOOD)
def test_everything_given_is_in_the_request_and_nothing_else_changes(kind, overrides):
    request, before = REQUESTS[kind], copy.deepcopy(REQUESTS[kind])
    changed = overridden(JOB_KINDS[kind], request, overrides, list(OVERRIDES))
    assert request == before
    new = {path: value for path, value in leaves(changed).items() if leaves(request).get(path, path) != value}
    expected = {name: value for name, value in overrides.items() if name not in ("start_by", "finish_by")}
    for name, value in expected.items():
        wanted = value.values() if isinstance(value, dict) else [value]
        assert all(one in leaves(changed).values() for one in wanted), name
    given_values = [one for value in expected.values() for one in leaves(value).values()]
    assert all(value in given_values for value in new.values() if value != {})
    assert set(overridden_limits(overrides)) == {"start_by", "finish_by"} & set(overrides)


@pytest.mark.parametrize("kind", REQUESTS)
@example(name="finish_by", value=8.64e13)
@example(name="start_by", value=float("nan"))
@given(name=st.sampled_from(sorted(OVERRIDES)) | st.text(max_size=9), value=ANYTHING)
def test_whatever_is_given_is_taken_or_refused_in_words_that_name_it(kind, name, value):
    words = ""
    try:
        overridden(JOB_KINDS[kind], REQUESTS[kind], {name: value}, list(OVERRIDES))
    except InvalidInputError as error:
        words = str(error)
    assert not words or (words.startswith("overrides") and name in words)


@given(overrides=GOOD, allowed=st.sets(st.sampled_from(sorted(OVERRIDES))))
def test_what_a_job_does_not_allow_is_never_taken(overrides, allowed):
    if set(overrides) <= allowed:
        overridden(JOB_KINDS["training"], TRAINING, overrides, sorted(allowed))
    else:
        with pytest.raises(InvalidInputError, match="may not be given for this job"):
            overridden(JOB_KINDS["training"], TRAINING, overrides, sorted(allowed))


def test_a_processing_job_has_no_hyperparameters_and_says_what_it_has():
    with pytest.raises(InvalidInputError, match="give environment instead"):
        overridden(JOB_KINDS["processing"], PROCESSING, {"hyperparameters": {}}, ["hyperparameters"])


def test_several_outputs_of_a_processing_job_are_named():
    outputs = [{"OutputName": name, "S3Output": {"S3Uri": "s3://b/x"}} for name in ("a", "b")]
    request = PROCESSING | {"ProcessingOutputConfig": {"Outputs": outputs}}
    with pytest.raises(InvalidInputError, match="the outputs are a, b"):
        overridden(JOB_KINDS["processing"], request, {"output": "s3://b/y"}, ["output"])
    changed = overridden(JOB_KINDS["processing"], request, {"output": {"b": "s3://b/y"}}, ["output"])
    assert [one["S3Output"]["S3Uri"] for one in changed["ProcessingOutputConfig"]["Outputs"]] == [
        "s3://b/x",
        "s3://b/y",
    ]
