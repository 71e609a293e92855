"""Stacks inside stacks."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.slow

BAD = {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "Nonsense", "Value": "v"}}


def inner(**resources: Any) -> dict[str, Any]:
    return {
        "Parameters": {"Delay": {"Type": "Number"}, "Names": {"Type": "CommaDelimitedList", "Default": ""}},
        "Resources": {
            "Queue": {"Type": "AWS::SQS::Queue", "Properties": {"DelaySeconds": {"Ref": "Delay"}}},
            **resources,
        },
        "Outputs": {"Url": {"Value": {"Ref": "Queue"}}, "Names": {"Value": {"Fn::Join": ["+", {"Ref": "Names"}]}}},
    }


@pytest.fixture
def nested(cloud: Any) -> Callable[..., dict[str, Any]]:
    """Store a template and return a resource that nests it."""
    s3 = cloud.client("s3")
    s3.create_bucket(Bucket="nested")

    def make(template: dict[str, Any], **parameters: Any) -> dict[str, Any]:
        key = f"{abs(hash(json.dumps(template)))}.json"
        s3.put_object(Bucket="nested", Key=key, Body=json.dumps(template))
        properties = {"TemplateURL": f"{cloud.url}/nested/{key}", "Parameters": parameters}
        return {"Type": "AWS::CloudFormation::Stack", "Properties": properties}

    return make


def outer(child: dict[str, Any], **more: Any) -> dict[str, Any]:
    names = ("Url", "Names")
    outputs = {name: {"Value": {"Fn::GetAtt": ["Child", f"Outputs.{name}"]}} for name in names}
    return {"Resources": {"Child": child, **more}, "Outputs": outputs}


def delay(cloud: Any, url: str) -> str:
    answer = cloud.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=["DelaySeconds"])
    return answer["Attributes"]["DelaySeconds"]


def test_a_nested_stack_lives_and_dies_with_its_parent(cloud: Any, nested: Callable[..., Any]) -> None:
    child = nested(inner(), Delay=1, Names=["a", "b"])
    assert cloud.create("outer", outer(child)) == "CREATE_COMPLETE", cloud.reasons("outer", "Child")
    shown = cloud.outputs("outer")
    assert (delay(cloud, shown["Url"]), shown["Names"]) == ("1", "a+b")
    identifier = cloud.physical("outer")["Child"]
    assert cloud.describe(identifier)["StackName"].startswith("outer-Child-")
    assert cloud.update("outer", outer(nested(inner(), Delay=2, Names=["a", "b"]))) == "UPDATE_COMPLETE"
    assert cloud.outputs("outer")["Url"] == shown["Url"]
    assert delay(cloud, shown["Url"]) == "2"
    assert cloud.delete("outer") == "DELETE_COMPLETE"
    assert cloud.describe(identifier)["StackStatus"] == "DELETE_COMPLETE"
    assert cloud.client("sqs").list_queues().get("QueueUrls", []) == []


def test_a_nested_stack_that_fails_fails_its_parent_with_its_reason(cloud: Any, nested: Callable[..., Any]) -> None:
    assert cloud.create("fails", outer(nested(inner(Bad=BAD), Delay=1))) == "ROLLBACK_COMPLETE"
    reason = cloud.why("fails", "Child")
    assert "was not successfully created: The following resource(s) failed to create: [Bad]." in reason
    assert cloud.client("sqs").list_queues().get("QueueUrls", []) == []


def test_a_nested_stack_goes_back_with_its_parent(cloud: Any, nested: Callable[..., Any]) -> None:
    cloud.create("back", outer(nested(inner(), Delay=1)))
    url = cloud.outputs("back")["Url"]
    after = outer(nested(inner(), Delay=2), Bad={**BAD, "DependsOn": "Child"})
    assert cloud.update("back", after) == "UPDATE_ROLLBACK_COMPLETE"
    assert delay(cloud, url) == "1"
    assert cloud.update("back", outer(nested(inner(Bad=BAD), Delay=3))) == "UPDATE_ROLLBACK_COMPLETE"
    assert delay(cloud, url) == "1"
    assert cloud.delete("back") == "DELETE_COMPLETE"
