"""Endpoints as a client sees them: requests, planned failures, scaling and control over HTTP."""

import http.client
import json
from collections.abc import Iterator

import pytest
from botocore.exceptions import ClientError

from constructs_lib.sandbox import Capacity, Sandbox

pytestmark = pytest.mark.slow

G5 = "ml.g5.2xlarge"
PLAN = {
    "name": "plan",
    "instance_type": "ml.p5.48xlarge",
    "count": 1,
    "start": "-1h",
    "end": "20h",
    "target": "endpoint",
}
VARIANT = {
    "ServiceNamespace": "sagemaker",
    "ResourceId": "endpoint/chat/variant/all",
    "ScalableDimension": "sagemaker:variant:DesiredInstanceCount",
}


@pytest.fixture(scope="module")
def running() -> Iterator[Sandbox]:
    with Sandbox(speed=1, capacity=Capacity.of({"plans": [PLAN]})) as sandbox:
        yield sandbox


@pytest.fixture
def chat(sandbox):
    """Make an endpoint called chat, and take it down afterwards; time moves only when told."""
    client = sandbox.client("sagemaker")
    variant = {"VariantName": "all", "ModelName": "model", "InstanceType": G5, "InitialInstanceCount": 1}
    client.create_endpoint_config(EndpointConfigName="blue", ProductionVariants=[variant])
    client.create_endpoint(EndpointName="chat", EndpointConfigName="blue")
    yield sandbox
    client.delete_endpoint(EndpointName="chat")
    client.delete_endpoint_config(EndpointConfigName="blue")
    sandbox.clock.jump(60)


def invoke(sandbox, **members):
    return sandbox.client("sagemaker-runtime").invoke_endpoint(EndpointName="chat", **members)


def control(sandbox, path, body=None):
    connection = http.client.HTTPConnection(sandbox.url.removeprefix("http://"), timeout=10)
    connection.request("GET" if body is None else "POST", f"/_sandbox/sagemaker/{path}", body and json.dumps(body))
    response = connection.getresponse()
    status, answer = response.status, json.loads(response.read())
    connection.close()
    return status, answer


def test_a_model_echoes_what_it_is_sent_byte_for_byte(chat):
    with pytest.raises(ClientError) as early:
        invoke(chat, Body=b"hello")
    assert early.value.response["Error"] == {
        "Code": "ValidationError",
        "Message": "Endpoint chat of account 123456789012 not found.",
    }
    chat.clock.jump(301)
    for kind in ("application/json", "application/x-www-form-urlencoded", "application/octet-stream"):
        body = bytes(range(256))
        answer = invoke(chat, Body=body, ContentType=kind, CustomAttributes="trace=1", TargetVariant="all")
        assert (answer["Body"].read(), answer["ContentType"]) == (body, kind)
        assert (answer["InvokedProductionVariant"], answer["CustomAttributes"]) == ("all", "trace=1")
    with pytest.raises(ClientError, match="Variant nobody of endpoint chat not found"):
        invoke(chat, Body=b"", TargetVariant="nobody")
    status, rows = control(chat, "invocations/chat")
    assert (status, [row["error"] for row in rows]) == (200, ["ValidationError", None, None, None, "ValidationError"])
    assert [(r.service, r.operation, r.status) for r in chat.requests][-1] == (
        "sagemaker-runtime",
        "InvokeEndpoint",
        400,
    )


def test_what_the_runtime_does_not_play_is_said(chat):
    with pytest.raises(
        ClientError, match="has no SageMaker Runtime operation InvokeEndpointAsync; it has InvokeEndpoint"
    ):
        chat.client("sagemaker-runtime").invoke_endpoint_async(EndpointName="chat", InputLocation="s3://bucket/key")
    chat.clock.jump(301)


def test_a_request_to_an_endpoint_can_be_let_fail(chat):
    chat.clock.jump(301)
    chat.faults.add("sagemaker-runtime", "InvokeEndpoint", error=("ModelNotReadyException", "warming up", 429))
    with pytest.raises(ClientError, match="ModelNotReadyException"):
        invoke(chat, Body=b"{}")
    assert invoke(chat, Body=b"{}")["Body"].read() == b"{}"


def test_registered_variants_are_scaled(chat, eventually):
    chat.clock.jump(301)
    scaling = chat.client("application-autoscaling")
    scaling.register_scalable_target(MinCapacity=2, MaxCapacity=3, **VARIANT)
    chat.clock.jump(61)
    eventually(lambda: control(chat, "scaling")[1])
    chat.clock.jump(121)
    policy = {
        "TargetValue": 5.0,
        "PredefinedMetricSpecification": {"PredefinedMetricType": "SageMakerVariantInvocationsPerInstance"},
        "ScaleOutCooldown": 0,
        "ScaleInCooldown": 0,
    }
    kind = "TargetTrackingScaling"
    scaling.put_scaling_policy(
        PolicyName="load", PolicyType=kind, TargetTrackingScalingPolicyConfiguration=policy, **VARIANT
    )
    for _ in range(12):
        invoke(chat, Body=b"{}")
    chat.clock.jump(61)
    eventually(lambda: len(control(chat, "scaling")[1]) > 1)
    scaling.deregister_scalable_target(**VARIANT)
    chat.clock.jump(121)
    assert [(row["from"], row["to"]) for row in control(chat, "scaling")[1]] == [(1, 2), (2, 3)]
    about = chat.client("sagemaker").describe_endpoint(EndpointName="chat")
    assert about["ProductionVariants"][0]["CurrentInstanceCount"] == 3


def test_a_status_can_be_given_over_http(chat):
    chat.clock.jump(301)
    assert control(chat, "endpoints/chat", {"status": "SystemUpdating"}) == (200, None)
    with pytest.raises(ClientError, match="Cannot update in-progress endpoint"):
        chat.client("sagemaker").delete_endpoint(EndpointName="chat")
    assert control(chat, "endpoints/chat", {"status": "InService"}) == (200, None)
    assert [row["what"] for row in control(chat, "endpoints/chat")[1]][-3:] == [
        "InService",
        "SystemUpdating",
        "InService",
    ]
    status, answer = control(chat, "endpoints/chat", {})
    assert (status, answer["message"]) == (400, 'give a JSON body such as {"status": "SystemUpdating"}')


def test_an_expired_reservation_is_a_model_error_with_its_status(chat):
    chat.clock.jump(301)
    arn = "arn:aws:sagemaker:us-east-1:123456789012:training-plan/plan"
    reserved = {"CapacityReservationPreference": "capacity-reservations-only", "MlReservationArn": arn}
    variant = {"VariantName": "all", "ModelName": "model", "InstanceType": "ml.p5.48xlarge", "InitialInstanceCount": 1}
    client, runtime = chat.client("sagemaker"), chat.client("sagemaker-runtime")
    rows = [variant | {"CapacityReservationConfig": reserved}]
    client.create_endpoint_config(EndpointConfigName="reserved", ProductionVariants=rows)
    client.create_endpoint(EndpointName="reserved", EndpointConfigName="reserved")
    chat.clock.jump(20 * 3600)
    with pytest.raises(
        ClientError, match=r"reservation has expired\. Please update endpoint configuration\."
    ) as refused:
        runtime.invoke_endpoint(EndpointName="reserved", Body=b"{}")
    assert refused.value.response["Error"]["Code"] == "ModelError"
    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 424
