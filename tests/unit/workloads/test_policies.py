"""IAM documents for locations, keys and images that are literal, partly known, or known only at deploy."""

import pytest

from constructs_lib.shared.policies import Place, assumed_by, document, estimated_size
from constructs_lib.workloads.access import JobAccess
from constructs_lib.workloads.policies import execution_statements

HERE = Place("aws", "us-east-1", "111122223333")
TOKEN = "${Token[TOKEN.7]}"


def resources(request, action, place=HERE):
    access = JobAccess()
    access.add(request)
    return [r for s in execution_statements(place, access.reach) if action in s["Action"] for r in s["Resource"]]


def test_a_location_known_only_at_deploy_is_cut_into_bucket_and_objects_by_cloudformation():
    request = {"OutputDataConfig": {"S3OutputPath": TOKEN}}
    rest = {"Fn::Select": [1, {"Fn::Split": ["s3://", TOKEN]}]}
    assert resources(request, "s3:PutObject") == [{"Fn::Join": ["", ["arn:aws:s3:::", rest, "/*"]]}]
    bucket = {"Fn::Select": [2, {"Fn::Split": ["/", TOKEN]}]}
    assert resources(request, "s3:ListBucket") == [{"Fn::Join": ["", ["arn:aws:s3:::", bucket]]}]


def test_a_bucket_from_a_token_is_part_of_the_arn():
    request = {"OutputDataConfig": {"S3OutputPath": f"s3://{TOKEN}/models/"}}
    assert resources(request, "s3:PutObject") == [f"arn:aws:s3:::{TOKEN}/models/*"]
    assert resources(request, "s3:ListBucket") == [f"arn:aws:s3:::{TOKEN}"]


def test_a_whole_bucket_is_no_other_bucket_whose_name_starts_so():
    request = {"InputDataConfig": [{"DataSource": {"S3DataSource": {"S3Uri": "s3://data/"}}}]}
    assert resources(request, "s3:GetObject") == ["arn:aws:s3:::data/*"]


def test_logs_are_those_of_the_kinds_of_job_that_there_are():
    logs = "arn:aws:logs:us-east-1:111122223333:log-group:/aws/sagemaker"
    training, processing = {"AlgorithmSpecification": {}}, {"AppSpecification": {"ImageUri": "x"}}
    assert resources({}, "logs:PutLogEvents") == [f"{logs}/TrainingJobs*"]
    assert resources(training, "logs:PutLogEvents") == [f"{logs}/TrainingJobs*"]
    assert resources(processing, "logs:PutLogEvents") == [f"{logs}/ProcessingJobs*"]
    both = resources(training | processing, "logs:PutLogEvents")
    assert both == [f"{logs}/TrainingJobs*", f"{logs}/ProcessingJobs*"]


def test_an_input_under_an_output_is_not_listed_twice():
    request = {
        "InputDataConfig": [{"DataSource": {"S3DataSource": {"S3Uri": "s3://b/runs/1"}}}],
        "OutputDataConfig": {"S3OutputPath": "s3://b/runs"},
    }
    assert resources(request, "s3:GetObject") == ["arn:aws:s3:::b/runs/*"]


@pytest.mark.parametrize(
    ("key", "resource"),
    [
        ("1234abcd", "arn:aws:kms:us-east-1:111122223333:key/1234abcd"),
        ("arn:aws:kms:eu-west-1:444455556666:key/x", "arn:aws:kms:eu-west-1:444455556666:key/x"),
        (TOKEN, TOKEN),
        ("alias/models", "arn:aws:kms:us-east-1:111122223333:key/*"),
        ("arn:aws:kms:us-east-1:111122223333:alias/models", "arn:aws:kms:us-east-1:111122223333:key/*"),
    ],
)
def test_a_key_is_an_arn_an_id_or_an_alias(key, resource):
    assert resources({"OutputDataConfig": {"KmsKeyId": key}}, "kms:GenerateDataKey") == [resource]


def test_other_partitions_have_their_own_arns():
    china = Place("aws-cn", "cn-north-1", "111122223333")
    request = {"OutputDataConfig": {"S3OutputPath": "s3://b/out"}}
    assert resources(request, "s3:PutObject", china) == ["arn:aws-cn:s3:::b/out/*"]


def test_a_trust_policy_names_the_account_only_where_it_is_asked_to():
    assert "Condition" not in assumed_by("sagemaker.amazonaws.com")["Statement"][0]
    condition = assumed_by("states.amazonaws.com", account="1")["Statement"][0]["Condition"]
    assert condition == {"StringEquals": {"aws:SourceAccount": "1"}}


def test_a_documents_size_counts_tokens_at_the_length_of_what_they_become():
    def size(arn):
        return estimated_size(document([{"Effect": "Allow", "Action": ["s3:GetObject"], "Resource": [arn]}]))

    literal = size("arn:aws:iam::111122223333:role/x")
    assert size("arn:${Token[AWS.Partition.3]}:iam::${Token[AWS.AccountId.4]}:role/x") == literal
    assert size("${Token[TOKEN.123]}") == size("x" * 32)
