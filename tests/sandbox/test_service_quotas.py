import pytest
from botocore.exceptions import ClientError

from constructs_lib.sandbox import Capacity, Sandbox
from constructs_lib.sandbox.clock import Clock
from constructs_lib.sandbox.context import Context
from constructs_lib.sandbox.errors import ServiceError
from constructs_lib.sandbox.faults import Faults
from constructs_lib.sandbox.modelcheck import violations
from constructs_lib.sandbox.service_quotas import ServiceQuotas

TRAINING, SPOT = "ml.g5.48xlarge for training job usage", "ml.g5.48xlarge for spot training job usage"
PROCESSING, ENDPOINT = "ml.g5.48xlarge for processing job usage", "ml.g5.48xlarge for endpoint usage"
QUOTAS = {TRAINING: 0, SPOT: 4, PROCESSING: 8, ENDPOINT: 2, "training-plan-total_count": 3}


@pytest.fixture
def ask():
    clock = Clock()
    quotas = ServiceQuotas(Context(clock, Faults(), lambda *_: None, lambda _: None), QUOTAS)

    def call(operation, **request):
        answer = quotas.handle(operation, {"ServiceCode": "sagemaker"} | request)
        assert violations("service-quotas", operation, answer, answer=True) == []
        return answer

    yield call
    clock.close()


def test_the_quotas_of_the_capacity_file_are_listed(ask):
    answer = ask("ListServiceQuotas")
    assert {row["QuotaName"]: row["Value"] for row in answer["Quotas"]} == QUOTAS
    assert "NextToken" not in answer


def test_a_list_comes_in_pages(ask):
    names, request = [], {"MaxResults": 2}
    while True:
        answer = ask("ListServiceQuotas", **request)
        names += [row["QuotaName"] for row in answer["Quotas"]]
        assert len(answer["Quotas"]) <= 2
        if "NextToken" not in answer:
            break
        request["NextToken"] = answer["NextToken"]
    assert sorted(names) == sorted(QUOTAS)


def test_a_quota_is_found_by_its_code(ask):
    row = next(row for row in ask("ListServiceQuotas")["Quotas"] if row["QuotaName"] == TRAINING)
    assert ask("GetServiceQuota", QuotaCode=row["QuotaCode"])["Quota"] == row
    assert ask("ListServiceQuotas", QuotaCode=row["QuotaCode"])["Quotas"] == [row]
    assert row["QuotaArn"] == f"arn:aws:servicequotas:us-east-1:123456789012:sagemaker/{row['QuotaCode']}"


@pytest.mark.parametrize(
    ("operation", "request_", "code"),
    [
        ("GetServiceQuota", {"QuotaCode": "L-00000000"}, "NoSuchResourceException"),
        ("ListServiceQuotas", {"ServiceCode": "ec2"}, "NoSuchResourceException"),
        ("ListServiceQuotas", {"NextToken": "abc"}, "InvalidPaginationTokenException"),
        ("ListServiceQuotas", {"MaxResults": 101}, "ValidationException"),
        ("GetServiceQuota", {}, "ValidationException"),
        ("ListServices", {}, "UnknownOperationException"),
    ],
)
def test_what_service_quotas_refuses_is_refused(ask, operation, request_, code):
    with pytest.raises(ServiceError) as refused:
        ask(operation, **request_)
    assert refused.value.code == code


@pytest.mark.slow
def test_the_front_serves_the_quotas_that_sagemaker_enforces():
    with Sandbox(capacity=Capacity.of({"quotas": QUOTAS})) as sandbox:
        client = sandbox.client("service-quotas")
        pages = client.get_paginator("list_service_quotas").paginate(ServiceCode="sagemaker", MaxResults=1)
        told = {row["QuotaName"]: row["Value"] for page in pages for row in page["Quotas"]}
        assert told == QUOTAS
        with pytest.raises(client.exceptions.NoSuchResourceException):
            client.get_service_quota(ServiceCode="sagemaker", QuotaCode="L-00000000")
        with pytest.raises(ClientError, match=rf"'{TRAINING}' is 0 Instances"):
            sandbox.client("sagemaker").create_training_job(
                TrainingJobName="one",
                AlgorithmSpecification={"TrainingImage": "image", "TrainingInputMode": "File"},
                RoleArn="arn:aws:iam::123456789012:role/training-jobs",
                OutputDataConfig={"S3OutputPath": "s3://amzn-s3-demo-bucket/models"},
                ResourceConfig={"InstanceType": "ml.g5.48xlarge", "InstanceCount": 1},
                StoppingCondition={"MaxRuntimeInSeconds": 3600},
            )
        sandbox.faults.add("service-quotas", "ListServiceQuotas", error=("AccessDeniedException", "no", 400))
        with pytest.raises(client.exceptions.AccessDeniedException):
            client.list_service_quotas(ServiceCode="sagemaker")
