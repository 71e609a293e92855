"""A fleet's jobs as JSON Lines: what a line may hold, and what is said of one that is wrong."""

import json

import pytest

from constructs_lib.model import InputChannel, InstancePreference, InvalidInputError, TrainingJobSpec
from constructs_lib.model.fleet_file import read_lines, spec_of

GOOD = {
    "name": "lr-0.1",
    "image": "111122223333.dkr.ecr.us-east-1.amazonaws.com/x:1",
    "output": "s3://bucket/models",
    "max_runtime": 3600,
    "preferences": [{"instance_type": "ml.p5.48xlarge", "instance_count": 1, "reason": "fast"}],
    "inputs": {"train": "s3://bucket/train", "more": {"s3_uri": "s3://bucket/more", "input_mode": "FastFile"}},
    "hyperparameters": {"lr": "0.1"},
}


def test_a_line_is_the_spec_with_the_same_fields():
    assert spec_of(json.dumps(GOOD)) == TrainingJobSpec(
        name="lr-0.1",
        image=GOOD["image"],
        output="s3://bucket/models",
        max_runtime=3600,
        preferences=[InstancePreference("ml.p5.48xlarge", instance_count=1, reason="fast")],
        inputs={
            "train": "s3://bucket/train",
            "more": InputChannel(s3_uri="s3://bucket/more", input_mode="FastFile"),
        },
        hyperparameters={"lr": "0.1"},
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"imagee": "x"}, "imagee: no field of TrainingJobSpec; it has"),
        ({"output": ...}, "output: missing; a TrainingJobSpec needs name, preferences, output, max_runtime"),
        ({"preferences": "ml.p5.48xlarge"}, "preferences: a list is needed"),
        ({"preferences": [{"instance_count": 1}]}, "instance_type: a SageMaker type"),
        ({"preferences": [{"type": "x"}]}, "type: no field of InstancePreference"),
        ({"preferences": [7]}, "preferences: an object is needed, 7 was given"),
        ({"hyperparameters": {"lr": 0.1}}, "hyperparameters.lr: SageMaker takes text, 0.1 was given; quote it"),
        ({"inputs": []}, r"inputs: an object is needed, \[\] was given"),
        ({"inputs": {"train": {"uri": "x"}}}, "uri: no field of InputChannel"),
        ({"inputs": {"train": {}}}, "inputs.train: s3_uri is missing"),
        ({"algorithm_name": "x"}, "give image or algorithm_name, both were given"),
    ],
)
def test_what_is_wrong_is_named_with_what_is_allowed(change, words):
    line = {key: value for key, value in (GOOD | change).items() if value is not ...}
    with pytest.raises(InvalidInputError, match=words):
        spec_of(json.dumps(line))


@pytest.mark.parametrize(("line", "words"), [("{", "no JSON: "), ("[1]", "an object with the fields")])
def test_a_line_that_is_no_object_is_refused(line, words):
    with pytest.raises(InvalidInputError, match=words):
        spec_of(line)


def test_empty_lines_count_and_hold_nothing(tmp_path):
    file = tmp_path / "jobs.jsonl"
    file.write_text('\ufeff{"a": 1}\n\n  \n{"b": 2}')
    assert list(read_lines(file)) == [(1, '{"a": 1}'), (4, '{"b": 2}')]


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InvalidInputError, match=r"jobs_file: .*nowhere.jsonl cannot be read"):
        list(read_lines(tmp_path / "nowhere.jsonl"))
