"""A processing job's fields become a request without loss."""

from datetime import timedelta

import pytest

from constructs_lib.model import InstancePreference, InvalidInputError, UnresolvedListError
from constructs_lib.model.processing import ProcessingInput, ProcessingJobSpec, ProcessingOutput

NEEDED = {
    "name": "job",
    "image": "image:1",
    "preferences": [InstancePreference("ml.g5.xlarge", instance_count=1)],
    "volume_size_gb": 30,
    "max_runtime": timedelta(hours=1),
}


def request(**fields):
    return ProcessingJobSpec(**{**NEEDED, **fields}).to_request()


def test_what_is_not_given_is_not_sent():
    cluster = {"VolumeSizeInGB": 30, "InstancePreferences": [{"InstanceType": "ml.g5.xlarge", "InstanceCount": 1}]}
    assert request() == {
        "AppSpecification": {"ImageUri": "image:1"},
        "ProcessingResources": {"ClusterConfig": cluster},
        "StoppingCondition": {"MaxRuntimeInSeconds": 3600},
    }


def test_the_wait_is_ours_and_never_sent():
    assert request(max_pending=600) == request()


def test_a_missing_volume_size_is_left_to_the_rules():
    assert "VolumeSizeInGB" not in request(volume_size_gb=None)["ProcessingResources"]["ClusterConfig"]


def test_inputs_and_outputs_have_a_place_in_the_container_by_their_name():
    sent = request(inputs={"raw": "s3://b/raw"}, outputs={"clean": "s3://b/clean"})
    assert sent["ProcessingInputs"][0]["S3Input"]["LocalPath"] == "/opt/ml/processing/input/raw"
    assert sent["ProcessingOutputConfig"]["Outputs"][0]["S3Output"]["LocalPath"] == "/opt/ml/processing/output/clean"


def test_full_inputs_and_outputs_say_all_their_fields():
    given = ProcessingInput(s3_uri="s3://b/m", local_path="/x", data_type="ManifestFile", compression="Gzip")
    sent = request(inputs={"m": given}, outputs={"o": ProcessingOutput(s3_uri="s3://b/o", upload_mode="Continuous")})
    source = sent["ProcessingInputs"][0]["S3Input"]
    assert (source["LocalPath"], source["S3DataType"], source["S3CompressionType"]) == ("/x", "ManifestFile", "Gzip")
    assert sent["ProcessingOutputConfig"]["Outputs"][0]["S3Output"]["S3UploadMode"] == "Continuous"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"subnets": ["subnet-1"]}, "subnets and security_groups go together"),
        ({"output_kms_key": "key"}, "there are no outputs to encrypt"),
        ({"preferences": ["ml.g5.xlarge"]}, "each entry is an InstancePreference"),
        ({"entrypoint": "python3"}, "entrypoint: a list is needed"),
    ],
)
def test_what_no_request_could_say_is_refused_with_words(fields, words):
    with pytest.raises(InvalidInputError, match=words):
        request(**fields)


@pytest.mark.parametrize("prop", ["preferences", "subnets", "security_groups", "entrypoint", "arguments"])
def test_a_list_token_is_refused(prop):
    with pytest.raises(UnresolvedListError, match=prop):
        request(**{prop: ["#{Token[TOKEN.5]}"]})


def test_overrides_merge_last():
    sent = request(request_overrides={"ExperimentConfig": {"TrialName": "t"}, "AppSpecification": {"ImageUri": "x"}})
    assert (sent["ExperimentConfig"], sent["AppSpecification"]) == ({"TrialName": "t"}, {"ImageUri": "x"})
