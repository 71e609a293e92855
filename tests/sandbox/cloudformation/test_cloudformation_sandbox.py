"""CloudFormation inside the whole sandbox: real Lambda workers, endpoints, running machines, planned failures."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from constructs_lib.sandbox import Sandbox

pytestmark = pytest.mark.slow

ROLE = {"Type": "AWS::IAM::Role", "Properties": {"AssumeRolePolicyDocument": {"Statement": []}}}
ROLE_ARN = {"Fn::GetAtt": "Role.Arn"}
IMAGE = "123456789012.dkr.ecr.us-east-1.amazonaws.com/image:1"
Settle = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def running() -> Iterator[Sandbox]:
    with Sandbox(speed=600) as sandbox:
        yield sandbox


@pytest.fixture
def deploy(sandbox: Sandbox) -> Settle:
    """Create, or update, a stack and return its description once it has settled."""

    def run(name: str, resources: dict[str, Any], *, update: bool = False, **outputs: Any) -> dict[str, Any]:
        client = sandbox.client("cloudformation")
        template = {"Resources": resources, "Outputs": {key: {"Value": value} for key, value in outputs.items()}}
        start = client.update_stack if update else client.create_stack
        start(StackName=name, TemplateBody=json.dumps(template), Capabilities=["CAPABILITY_IAM"])
        sandbox.cloudformation.wait(name)
        return client.describe_stacks(StackName=name)["Stacks"][0]

    return run


@pytest.fixture
def destroy(sandbox: Sandbox) -> Callable[[str], str]:
    def run(name: str) -> str:
        client = sandbox.client("cloudformation")
        identifier = client.describe_stacks(StackName=name)["Stacks"][0]["StackId"]
        client.delete_stack(StackName=name)
        return sandbox.cloudformation.wait(identifier)

    return run


def why(sandbox: Sandbox, name: str, logical_id: str) -> str:
    events = sandbox.client("cloudformation").describe_stack_events(StackName=name)["StackEvents"]
    failed = [event for event in events if event["ResourceStatus"].endswith("_FAILED")]
    return next(e["ResourceStatusReason"] for e in failed if e["LogicalResourceId"] == logical_id)


def endpoint(instance_type: str) -> dict[str, Any]:
    variant = {
        "VariantName": "a",
        "ModelName": {"Fn::GetAtt": "Model.ModelName"},
        "InstanceType": instance_type,
        "InitialInstanceCount": "1",
        "InitialVariantWeight": 1,
    }
    return {
        "Role": ROLE,
        "Model": {
            "Type": "AWS::SageMaker::Model",
            "Properties": {"ExecutionRoleArn": ROLE_ARN, "PrimaryContainer": {"Image": IMAGE}},
        },
        "Config": {"Type": "AWS::SageMaker::EndpointConfig", "Properties": {"ProductionVariants": [variant]}},
        "Endpoint": {
            "Type": "AWS::SageMaker::Endpoint",
            "Properties": {"EndpointConfigName": {"Fn::GetAtt": "Config.EndpointConfigName"}},
        },
    }


def test_an_endpoint_is_waited_for_updated_in_place_and_removed(
    sandbox: Sandbox, deploy: Settle, destroy: Callable[[str], str]
) -> None:
    name = {"Fn::GetAtt": "Endpoint.EndpointName"}
    stack = deploy("serve", endpoint("ml.g5.xlarge"), Name=name)
    assert stack["StackStatus"] == "CREATE_COMPLETE"
    endpoint_name = stack["Outputs"][0]["OutputValue"]
    sagemaker = sandbox.client("sagemaker")
    first = sagemaker.describe_endpoint(EndpointName=endpoint_name)
    assert first["EndpointStatus"] == "InService"
    assert deploy("serve", endpoint("ml.g5.2xlarge"), update=True, Name=name)["StackStatus"] == "UPDATE_COMPLETE"
    second = sagemaker.describe_endpoint(EndpointName=endpoint_name)
    assert second["EndpointConfigName"] != first["EndpointConfigName"]
    assert [c["EndpointConfigName"] for c in sagemaker.list_endpoint_configs()["EndpointConfigs"]] == [
        second["EndpointConfigName"]
    ]
    assert destroy("serve") == "DELETE_COMPLETE"
    assert (sagemaker.list_endpoints()["Endpoints"], sagemaker.list_endpoint_configs()["EndpointConfigs"]) == ([], [])


def test_an_inline_function_answers_with_the_cfn_response_module(
    sandbox: Sandbox, deploy: Settle, destroy: Callable[[str], str]
) -> None:
    code = """
import cfnresponse

def handler(event, context):
    data = {"Twice": int(event["ResourceProperties"].get("N", 0)) * 2}
    cfnresponse.send(event, context, cfnresponse.SUCCESS, data, "the-id")
"""
    resources = {
        "Role": ROLE,
        "Function": {
            "Type": "AWS::Lambda::Function",
            "Properties": {
                "Runtime": "python3.13",
                "Handler": "index.handler",
                "Role": ROLE_ARN,
                "Code": {"ZipFile": code},
            },
        },
        "Thing": {
            "Type": "Custom::Thing",
            "Properties": {"ServiceToken": {"Fn::GetAtt": "Function.Arn"}, "N": 21},
        },
    }
    stack = deploy("inline", resources, Twice={"Fn::GetAtt": "Thing.Twice"}, Id={"Ref": "Thing"})
    assert {o["OutputKey"]: o["OutputValue"] for o in stack["Outputs"]} == {"Twice": "42", "Id": "the-id"}
    assert destroy("inline") == "DELETE_COMPLETE"
    assert [run.event["RequestType"] for run in sandbox.lambdas.invocations] == ["Create", "Delete"]


def test_a_machine_with_a_running_execution_is_deleted_once_that_has_ended(
    sandbox: Sandbox, deploy: Settle, destroy: Callable[[str], str]
) -> None:
    """ "On the next state transition the executions are terminated": the wait of ten minutes is over first."""
    definition = {
        "StartAt": "Wait",
        "States": {"Wait": {"Type": "Wait", "Seconds": 600, "Next": "Never"}, "Never": {"Type": "Pass", "End": True}},
    }
    machine = {
        "Type": "AWS::StepFunctions::StateMachine",
        "Properties": {"RoleArn": ROLE_ARN, "Definition": definition},
    }
    stack = deploy("run", {"Role": ROLE, "Machine": machine}, Arn={"Ref": "Machine"})
    arn, client = stack["Outputs"][0]["OutputValue"], sandbox.client("stepfunctions")
    client.start_execution(stateMachineArn=arn)
    assert destroy("run") == "DELETE_COMPLETE"
    with pytest.raises(client.exceptions.StateMachineDoesNotExist):
        client.describe_state_machine(stateMachineArn=arn)


def test_planned_failures_reach_cloudformations_own_calls(
    sandbox: Sandbox, deploy: Settle, destroy: Callable[[str], str]
) -> None:
    sandbox.faults.add("sqs", "CreateQueue", error=("InternalFailure", "try again", 500))
    assert deploy("fault", {"Queue": {"Type": "AWS::SQS::Queue"}})["StackStatus"] == "ROLLBACK_COMPLETE"
    assert "try again" in why(sandbox, "fault", "Queue")
    destroy("fault")
    sandbox.faults.add("sqs", "CreateQueue", when="after", error="drop")
    assert deploy("drop", {"Queue": {"Type": "AWS::SQS::Queue"}})["StackStatus"] == "ROLLBACK_COMPLETE"
    assert "HandlerErrorCode: NetworkFailure" in why(sandbox, "drop", "Queue")
    destroy("drop")


def test_a_sandbox_that_stops_ends_a_running_operation(eventually: Callable[..., Any], running: Sandbox) -> None:
    running.stop()
    code = "def handler(event, context): pass"
    resources = {
        "Role": ROLE,
        "Function": {
            "Type": "AWS::Lambda::Function",
            "Properties": {
                "Runtime": "python3.13",
                "Handler": "index.handler",
                "Role": ROLE_ARN,
                "Code": {"ZipFile": code},
            },
        },
        "Silent": {"Type": "Custom::Silent", "Properties": {"ServiceToken": {"Fn::GetAtt": "Function.Arn"}}},
    }
    with Sandbox(speed=1) as brief:
        client = brief.client("cloudformation")
        body = json.dumps({"Resources": resources})
        client.create_stack(StackName="stop", TemplateBody=body, Capabilities=["CAPABILITY_IAM"])
        eventually(lambda: brief.lambdas.invocations)
    assert brief.cloudformation.wait("stop").endswith(("_FAILED", "_COMPLETE"))
