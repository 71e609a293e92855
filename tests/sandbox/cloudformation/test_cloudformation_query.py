"""The Query protocol, held against botocore's own reading of it."""

from __future__ import annotations

from typing import Any

import botocore.session
import pytest
from botocore.parsers import create_parser
from botocore.serialize import create_serializer

from constructs_lib.sandbox.cloudformation import query
from constructs_lib.sandbox.errors import ServiceError

MODEL = botocore.session.get_session().get_service_model("cloudformation")


def round_trip(action: str, request: dict[str, Any]) -> dict[str, Any]:
    """Write a request as botocore does and read it as we do."""
    body = create_serializer("query").serialize_to_request(request, MODEL.operation_model(action))["body"]
    return query.parse(action, {k: v for k, v in body.items() if k not in ("Action", "Version")})


def read_back(action: str, answer: dict[str, Any]) -> dict[str, Any]:
    """Write an answer as we do and read it as botocore does."""
    response = {"status_code": 200, "headers": {}, "body": query.render(action, answer)}
    parsed = create_parser("query").parse(response, MODEL.operation_model(action).output_shape)
    del parsed["ResponseMetadata"]
    return parsed


@pytest.mark.parametrize(
    ("action", "request_"),
    [
        ("DescribeStacks", {"StackName": "a"}),
        (
            "CreateStack",
            {
                "StackName": "a",
                "TemplateBody": '{"a": "ü"}',
                "Parameters": [
                    {"ParameterKey": "A", "ParameterValue": "1.2=3&4"},
                    {"ParameterKey": "B", "UsePreviousValue": True},
                ],
                "Capabilities": [f"C{n}" for n in range(12)],
                "DisableRollback": False,
                "TimeoutInMinutes": 5,
                "DeploymentConfig": {"Mode": "STANDARD"},
            },
        ),
        (
            "CreateChangeSet",
            {
                "StackName": "a",
                "ChangeSetName": "b",
                "ResourcesToImport": [
                    {"ResourceType": "T", "LogicalResourceId": "L", "ResourceIdentifier": {"Name": "n", "Other": "o"}}
                ],
            },
        ),
        ("ListExports", {}),
    ],
)
def test_a_request_is_read_as_botocore_meant_it(action: str, request_: dict[str, Any]) -> None:
    assert round_trip(action, request_) == request_


def test_an_answer_is_read_by_botocore_as_it_was_meant() -> None:
    answer = {
        "Stacks": [
            {
                "StackId": "arn",
                "StackName": "<a> & 'b'",
                "CreationTime": 1_700_000_000.5,
                "StackStatus": "CREATE_COMPLETE",
                "StackStatusReason": None,
                "DisableRollback": False,
                "EnableTerminationProtection": True,
                "TimeoutInMinutes": 5,
                "NotificationARNs": ["x", "y"],
                "Outputs": [{"OutputKey": "k", "OutputValue": "ü\n"}],
                "Tags": [],
            }
        ]
    }
    (stack,) = read_back("DescribeStacks", answer)["Stacks"]
    assert stack.pop("CreationTime").timestamp() == 1_700_000_000.5
    expected = {k: v for k, v in answer["Stacks"][0].items() if v is not None and k != "CreationTime"}
    assert stack == expected


def test_an_answer_with_a_member_that_the_model_lacks_is_our_mistake() -> None:
    with pytest.raises(KeyError):
        query.render("DescribeStacks", {"Stacks": [{"StakName": "a"}]})


@pytest.mark.parametrize(
    ("action", "params", "complaint"),
    [
        ("Nonsense", {}, "The action Nonsense is not valid"),
        ("CreateStack", {}, "CreateStack needs StackName"),
        ("CreateStack", {"StackName": "a", "TimeoutInMinutes": "soon"}, "'soon' is not a whole number"),
    ],
)
def test_a_wrong_request_is_refused(action: str, params: dict[str, str], complaint: str) -> None:
    with pytest.raises(ServiceError, match=complaint):
        query.parse(action, params)


@pytest.mark.slow
def test_an_action_that_is_not_served_says_so(cloud: Any) -> None:
    with pytest.raises(Exception, match="the sandbox's CloudFormation does not serve DetectStackDrift"):
        cloud.cfn.detect_stack_drift(StackName="a")


@pytest.mark.slow
def test_what_newer_clis_ask_for_is_answered(cloud: Any) -> None:
    cloud.create("asks", {"Resources": {"A": {"Type": "AWS::SQS::Queue", "Properties": {"DelaySeconds": "x"}}}})
    events = cloud.cfn.describe_events(StackName="asks")["OperationEvents"]
    assert events[0]["ResourceStatus"] == "ROLLBACK_COMPLETE"
    failed = cloud.cfn.describe_events(StackName="asks", Filters={"FailedEvents": True})["OperationEvents"]
    assert [event["LogicalResourceId"] for event in failed] == ["A"]
    assert cloud.cfn.describe_events(ChangeSetName="any")["OperationEvents"] == []
    assert cloud.cfn.list_hook_results(TargetType="STACK", TargetId="asks")["HookResults"] == []
    cloud.delete("asks")
