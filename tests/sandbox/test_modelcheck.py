import copy
import time
from datetime import UTC, datetime

import pytest
from botocore.validate import ParamValidator
from hypothesis import given, settings
from hypothesis import strategies as st

from constructs_lib.sandbox import modelcheck
from constructs_lib.sandbox.errors import ServiceError
from constructs_lib.sandbox.modelcheck import check, epoch, operation_model, violations

REQUEST = {
    "TrainingJobName": "nightly-1",
    "AlgorithmSpecification": {"TrainingInputMode": "File", "TrainingImage": "123.dkr.ecr/image"},
    "RoleArn": "arn:aws:iam::123456789012:role/training",
    "OutputDataConfig": {"S3OutputPath": "s3://bucket/models"},
    "ResourceConfig": {
        "InstancePreferences": [
            {"InstanceType": "ml.p5.48xlarge", "InstanceCount": 4},
            {"InstanceType": "ml.p4d.24xlarge", "InstanceCount": 8},
        ]
    },
    "StoppingCondition": {"MaxRuntimeInSeconds": 3600, "MaxPendingTimeInSeconds": 1800},
    "VpcConfig": {"SecurityGroupIds": ["sg-1"], "Subnets": ["subnet-1"]},
    "Environment": {"STEP": "1"},
    "Tags": [{"Key": "größe", "Value": "8 x H100"}],
}


def changed(path, value):
    request = copy.deepcopy(REQUEST)
    *parents, last = path
    target = request
    for key in parents:
        target = target[key]
    target[last] = value
    return request


def test_a_correct_request_passes():
    assert violations("sagemaker", "CreateTrainingJob", REQUEST) == []


@pytest.mark.parametrize(
    ("path", "value", "sentence"),
    [
        (
            ("TrainingJobName",),
            "a_b",
            (
                "Value 'a_b' at 'trainingJobName' failed to satisfy constraint: Member must satisfy regular expression"
                " pattern: [a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}"
            ),
        ),
        (
            ("StoppingCondition", "MaxPendingTimeInSeconds"),
            1799,
            (
                "Value '1799' at 'stoppingCondition.maxPendingTimeInSeconds' failed to satisfy constraint: Member must"
                " have value greater than or equal to 1800"
            ),
        ),
        (
            ("StoppingCondition", "MaxPendingTimeInSeconds"),
            2419201,
            (
                "Value '2419201' at 'stoppingCondition.maxPendingTimeInSeconds' failed to satisfy constraint: Member"
                " must have value less than or equal to 2419200"
            ),
        ),
        (
            ("RoleArn",),
            None,
            "Value null at 'roleArn' failed to satisfy constraint: Member must not be null",
        ),
        (
            ("ResourceConfig", "InstancePreferences"),
            [],
            (
                "Value '[]' at 'resourceConfig.instancePreferences' failed to satisfy constraint: Member must have"
                " length greater than or equal to 1"
            ),
        ),
        (
            ("VpcConfig", "Subnets"),
            ["subnet-1", "subnet 2"],
            (
                "Value '[subnet-1, subnet 2]' at 'vpcConfig.subnets' failed to satisfy constraint: Member must satisfy"
                " constraint: [Member must have length less than or equal to 32, Member must have length greater than"
                " or equal to 0, Member must satisfy regular expression pattern: [-0-9a-zA-Z]+, Member must not be"
                " null]"
            ),
        ),
        (
            ("Environment",),
            {"A": "x" * 513},
            (
                f"Value '{{A={'x' * 513}}}' at 'environment' failed to satisfy constraint: Map value must satisfy"
                " constraint: [Member must have length less than or equal to 512, Member must have length greater than"
                " or equal to 0, Member must satisfy regular expression pattern: [\\S\\s]*, Member must not be null]"
            ),
        ),
        (
            ("Tags", 0, "Key"),
            "a*",
            (
                "Value 'a*' at 'tags.1.member.key' failed to satisfy constraint: Member must satisfy regular expression"
                " pattern: ([\\p{L}\\p{Z}\\p{N}_.:/=+\\-@]*)"
            ),
        ),
        (
            ("ResourceConfig", "InstancePreference"),
            [],
            "Unknown member 'resourceConfig.instancePreference': ResourceConfig has no member 'InstancePreference'",
        ),
    ],
)
def test_a_broken_constraint_is_told_in_awss_words(path, value, sentence):
    assert violations("sagemaker", "CreateTrainingJob", changed(path, value)) == [sentence]


def test_a_wrong_instance_type_lists_the_allowed_ones():
    (sentence,) = violations(
        "sagemaker",
        "CreateTrainingJob",
        changed(("ResourceConfig", "InstancePreferences", 1, "InstanceType"), "ml.p9.1xlarge"),
    )
    assert sentence.startswith(
        "Value 'ml.p9.1xlarge' at 'resourceConfig.instancePreferences.2.member.instanceType' failed to satisfy"
        " constraint: Member must satisfy enum value set: [ml.m4.xlarge, "
    )
    assert ", ml.p5.48xlarge, " in sentence


def test_all_violations_of_a_request_are_counted():
    request = changed(("TrainingJobName",), "x" * 64)
    request["ResourceConfig"]["VolumeSizeInGB"] = -1
    with pytest.raises(ServiceError) as refused:
        check("sagemaker", "CreateTrainingJob", request)
    assert refused.value.code == "ValidationException"
    assert refused.value.message.startswith("3 validation errors detected: Value 'xxx")
    assert refused.value.message.count("; Value ") == 2
    assert refused.value.message.endswith(
        "; Value '-1' at 'resourceConfig.volumeSizeInGB' failed to satisfy constraint: Member must have value greater"
        " than or equal to 0"
    )


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("ResourceConfig", "InstancePreferences", 0, "InstanceCount"), "4"),
        (("ResourceConfig", "InstancePreferences", 0, "InstanceCount"), True),
        (("ResourceConfig", "InstancePreferences", 0, "InstanceCount"), 4.5),
        (("ResourceConfig",), "ml.p5.48xlarge"),
        (("ResourceConfig", "InstancePreferences"), {"InstanceType": "ml.p5.48xlarge"}),
        (("VpcConfig", "Subnets"), [1]),
        (("Environment",), {"A": 1}),
        (("EnableNetworkIsolation",), "true"),
    ],
)
def test_a_value_of_the_wrong_type_can_not_be_read(path, value):
    with pytest.raises(ServiceError) as refused:
        check("sagemaker", "CreateTrainingJob", changed(path, value))
    assert refused.value.code == "SerializationException"


def test_an_operation_that_does_not_exist_is_named():
    with pytest.raises(ServiceError, match="sagemaker has no operation 'CreateJobs'") as refused:
        operation_model("sagemaker", "CreateJobs")
    assert refused.value.code == "UnknownOperationException"


@pytest.mark.parametrize("value", [1_800_000_000, "2027-01-15T08:00:00Z", datetime(2027, 1, 15, 8, tzinfo=UTC)])
def test_a_timestamp_may_be_a_number_text_or_a_datetime(value):
    assert violations("sagemaker", "ListTrainingJobs", {"CreationTimeAfter": value}) == []
    assert epoch(value) == 1_800_000_000


def test_a_timestamp_that_is_none_is_refused():
    with pytest.raises(ServiceError, match="can not be converted to timestamp"):
        check("sagemaker", "ListTrainingJobs", {"CreationTimeAfter": "soon"})


def test_a_union_takes_exactly_one_member():
    def tool(**members):
        return {"modelId": "m", "toolConfig": {"tools": [members]}}

    point = {"cachePoint": {"type": "default"}}
    assert violations("bedrock-runtime", "Converse", tool(**point)) == []
    for wrong in ({}, point | {"systemTool": {"name": "browser"}}):
        (sentence,) = violations("bedrock-runtime", "Converse", tool(**wrong))
        assert sentence.startswith(
            "Value at 'toolConfig.tools.1.member' failed to satisfy constraint: Exactly one member must be set of: "
        )


def test_nested_values_of_other_services_are_checked():
    item = {"a": {"M": {"b": {"L": [{"S": "x"}, {"N": 1}]}}}}
    with pytest.raises(ServiceError, match=r"at 'item\.a\.member\.m\.b\.member\.l\.2\.member\.n'"):
        check("dynamodb", "PutItem", {"TableName": "runs", "Item": item})


def test_an_answer_can_be_held_against_its_model_too():
    broken = {"TrainingJobArn": "arn:aws:sagemaker:us-east-1:123456789012:training-jobs/a"}
    assert len(violations("sagemaker", "CreateTrainingJob", broken, answer=True)) == 1


VALUES = st.one_of(
    st.none(),
    st.text(max_size=3),
    st.integers(-2, 10**7),
    st.booleans(),
    st.lists(st.text(max_size=2), max_size=3),
    st.dictionaries(st.sampled_from(["InstanceType", "Key", "Other"]), st.text(max_size=2), max_size=2),
)


def places(value, path=()):
    """Yield the path of every value within a request."""
    if path:
        yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in inner:
        yield from places(child, (*path, key))


def refused_here(request):
    try:
        return bool(violations("sagemaker", "CreateTrainingJob", request))
    except ServiceError:
        return True


def refused_by_botocore(request):
    shape = operation_model("sagemaker", "CreateTrainingJob").input_shape
    return ParamValidator().validate(request, shape).has_errors()


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(sorted(places(REQUEST), key=str)), VALUES)
def test_whatever_botocores_client_refuses_is_refused_here(path, value):
    request = changed(path, value)
    if value is not None and refused_by_botocore(request):  # botocore calls null a wrong type, the service an absence
        assert refused_here(request)


def test_the_comparison_with_botocore_would_find_a_check_that_is_missing(monkeypatch):
    monkeypatch.setattr(modelcheck, "_check_type", lambda *_: None)
    request = changed(("EnableNetworkIsolation",), "true")
    assert refused_by_botocore(request)
    assert not refused_here(request)


def test_a_thousand_requests_are_checked_within_a_second():
    check("sagemaker", "CreateTrainingJob", REQUEST)
    began = time.process_time()
    for _ in range(1000):
        check("sagemaker", "CreateTrainingJob", REQUEST)
    assert time.process_time() - began < 1
