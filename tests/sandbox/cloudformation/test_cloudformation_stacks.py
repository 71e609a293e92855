"""The life of a stack that nothing goes wrong with."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

pytestmark = pytest.mark.slow

QUEUE = {"Type": "AWS::SQS::Queue"}


def queue(**properties: Any) -> dict[str, Any]:
    return {"Type": "AWS::SQS::Queue", "Properties": properties}


def parameter(value: Any = "v", **more: Any) -> dict[str, Any]:
    return {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": value}, **more}


def of(**resources: Any) -> dict[str, Any]:
    return {"Resources": resources}


def story(cloud: Any, name: str) -> list[tuple[str, str, str | None]]:
    """All events of a stack, oldest first."""
    members = ("LogicalResourceId", "ResourceStatus", "ResourceStatusReason")
    return [tuple(event.get(member) for member in members) for event in cloud.events(name)]


def test_a_create_is_told_in_cloudformations_words(cloud: Any) -> None:
    assert cloud.create("words", of(Queue=QUEUE)) == "CREATE_COMPLETE"
    lines = [
        (e["LogicalResourceId"], e["ResourceStatus"], e.get("ResourceStatusReason")) for e in cloud.events("words")
    ]
    assert lines == [
        ("words", "CREATE_IN_PROGRESS", "User Initiated"),
        ("Queue", "CREATE_IN_PROGRESS", None),
        ("Queue", "CREATE_IN_PROGRESS", "Resource creation Initiated"),
        ("Queue", "CREATE_COMPLETE", None),
        ("words", "CREATE_COMPLETE", None),
    ]
    assert cloud.delete("words") == "DELETE_COMPLETE"


def test_a_description_shows_parameters_outputs_tags_and_options(cloud: Any) -> None:
    template = {
        "Description": "what it is for",
        "Parameters": {
            "Plain": {"Type": "String", "Default": "p"},
            "Secret": {"Type": "String", "NoEcho": True},
        },
        **of(Queue=QUEUE),
        "Outputs": {"Name": {"Description": "its name", "Value": {"Fn::GetAtt": "Queue.QueueName"}}},
    }
    cloud.create(
        "shown",
        template,
        Parameters=[{"ParameterKey": "Secret", "ParameterValue": "hush"}],
        Tags=[{"Key": "team", "Value": "a"}],
        EnableTerminationProtection=False,
    )
    stack = cloud.describe("shown")
    assert stack["Description"] == "what it is for"
    assert {p["ParameterKey"]: p["ParameterValue"] for p in stack["Parameters"]} == {"Plain": "p", "Secret": "****"}
    assert stack["Tags"] == [{"Key": "team", "Value": "a"}]
    (output,) = stack["Outputs"]
    assert output["OutputValue"].startswith("shown-Queue-")
    assert output["Description"] == "its name"
    assert json.loads(json.dumps(cloud.cfn.get_template(StackName="shown")["TemplateBody"])) == template
    cloud.delete("shown")


def test_unchanged_properties_mean_no_call(cloud: Any) -> None:
    cloud.create("calm", of(Queue=queue(DelaySeconds=1), Other=queue(DelaySeconds=1)))
    cloud.calls.clear()
    assert cloud.update("calm", of(Queue=queue(DelaySeconds=1), Other=queue(DelaySeconds=2))) == "UPDATE_COMPLETE"
    assert [call for call in cloud.calls if call[0] == "sqs"] == [("sqs", "SetQueueAttributes")]
    assert cloud.history("calm", "Queue") == []
    assert cloud.history("calm", "Other") == ["UPDATE_IN_PROGRESS", "UPDATE_COMPLETE"]
    assert cloud.history("calm") == ["UPDATE_IN_PROGRESS", "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", "UPDATE_COMPLETE"]
    cloud.delete("calm")


def test_a_replacement_is_made_first_and_the_old_one_deleted_in_the_clean_up(cloud: Any) -> None:
    cloud.create("swap", of(Queue=QUEUE, User=parameter({"Ref": "Queue"})))
    old = cloud.physical("swap")["Queue"]
    assert (
        cloud.update("swap", of(Queue=queue(QueueName="fresh"), User=parameter({"Ref": "Queue"}))) == "UPDATE_COMPLETE"
    )
    lines = [(e["LogicalResourceId"], e["ResourceStatus"], e.get("ResourceStatusReason")) for e in cloud.events("swap")]
    update = lines[lines.index(("swap", "UPDATE_IN_PROGRESS", "User Initiated")) + 1 :]
    assert update == [
        (
            "Queue",
            "UPDATE_IN_PROGRESS",
            "Requested update requires the creation of a new physical resource; hence creating one.",
        ),
        ("Queue", "UPDATE_IN_PROGRESS", "Resource creation Initiated"),
        ("Queue", "UPDATE_COMPLETE", None),
        ("User", "UPDATE_IN_PROGRESS", None),
        ("User", "UPDATE_COMPLETE", None),
        ("swap", "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", None),
        ("Queue", "DELETE_IN_PROGRESS", None),
        ("Queue", "DELETE_COMPLETE", None),
        ("swap", "UPDATE_COMPLETE", None),
    ]
    deleted = next(e for e in cloud.events("swap") if e["ResourceStatus"] == "DELETE_COMPLETE")
    assert deleted["PhysicalResourceId"] == old
    assert cloud.client("sqs").list_queues(QueueNamePrefix="fresh")["QueueUrls"] == [cloud.physical("swap")["Queue"]]
    cloud.delete("swap")


def test_a_resource_with_a_fixed_name_cannot_be_replaced_under_that_name(cloud: Any) -> None:
    topic = {"Type": "AWS::SNS::Topic", "Properties": {"TopicName": "fixed.fifo", "FifoTopic": True}}
    table = {
        "Type": "AWS::DynamoDB::Table",
        "Properties": {
            "TableName": "fixed",
            "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "a", "AttributeType": "S"}],
            "BillingMode": "PAY_PER_REQUEST",
        },
    }
    cloud.create("fixed", of(Topic=topic, Table=table))
    other = json.loads(json.dumps(table).replace('"a"', '"b"'))
    assert cloud.update("fixed", of(Topic=topic, Table=other)) == "UPDATE_ROLLBACK_COMPLETE"
    assert any("Rename fixed and update the stack again." in reason for reason in cloud.reasons("fixed", "Table"))
    assert cloud.client("dynamodb").describe_table(TableName="fixed")["Table"]["KeySchema"][0]["AttributeName"] == "a"
    cloud.delete("fixed")


def test_resources_are_made_after_what_they_need_and_removed_before_it(cloud: Any) -> None:
    template = of(
        A=parameter({"Fn::Sub": "${B}"}),
        B=parameter({"Fn::Join": ["-", [{"Ref": "C"}, "x"]]}),
        C=parameter(DependsOn="D"),
        D=parameter(),
    )
    cloud.create("order", template)
    identifier = cloud.describe("order")["StackId"]
    cloud.delete("order")
    events = [(e["LogicalResourceId"], e["ResourceStatus"]) for e in cloud.events(identifier)]
    assert [name for name, status in events if status == "CREATE_COMPLETE" and name != "order"] == ["D", "C", "B", "A"]
    assert [name for name, status in events if status == "DELETE_COMPLETE" and name != "order"] == ["A", "B", "C", "D"]


def test_two_runs_do_the_same_in_the_same_order(cloud: Any) -> None:
    template = of(**{f"Q{n}": queue(DelaySeconds=n) for n in range(6)}, **{f"P{n}": parameter() for n in range(6)})

    def run(name: str) -> list[tuple[str, str]]:
        cloud.create(name, template)
        lines = [(e["LogicalResourceId"], e["ResourceStatus"]) for e in cloud.events(name)[1:-1]]
        cloud.delete(name)
        return lines

    assert run("first") == run("second")


def test_a_deleted_stack_is_found_by_its_id_only(cloud: Any) -> None:
    cloud.create("gone", of(Queue=QUEUE))
    identifier = cloud.describe("gone")["StackId"]
    assert cloud.delete("gone") == "DELETE_COMPLETE"
    assert cloud.describe(identifier)["StackStatus"] == "DELETE_COMPLETE"
    with pytest.raises(ClientError, match="Stack with id gone does not exist") as caught:
        cloud.describe("gone")
    assert caught.value.response["Error"]["Code"] == "ValidationError"
    assert cloud.cfn.delete_stack(StackName="gone")["ResponseMetadata"]["HTTPStatusCode"] == 200
    listed = cloud.cfn.list_stacks(StackStatusFilter=["DELETE_COMPLETE"])["StackSummaries"]
    assert identifier in [stack["StackId"] for stack in listed]
    assert identifier not in [stack["StackId"] for stack in cloud.cfn.describe_stacks()["Stacks"]]


def test_an_update_without_changes_is_refused(cloud: Any) -> None:
    template = {**of(Queue=QUEUE), "Outputs": {"A": {"Value": "1"}}}
    cloud.create("same", template)
    with pytest.raises(ClientError, match=r"No updates are to be performed\.") as caught:
        cloud.update("same", {**template, "Description": "only words changed"})
    assert caught.value.response["Error"]["Code"] == "ValidationError"
    assert cloud.update("same", {**template, "Outputs": {"A": {"Value": "2"}}}) == "UPDATE_COMPLETE"
    assert cloud.outputs("same") == {"A": "2"}
    cloud.delete("same")


def test_a_name_is_taken_while_its_stack_lives(cloud: Any) -> None:
    cloud.create("taken", of(Queue=QUEUE))
    with pytest.raises(ClientError, match=r"Stack \[taken\] already exists") as caught:
        cloud.create("taken", of(Queue=QUEUE))
    assert caught.value.response["Error"]["Code"] == "AlreadyExistsException"
    cloud.delete("taken")
    assert cloud.create("taken", of(Queue=QUEUE)) == "CREATE_COMPLETE"
    cloud.delete("taken")


def test_a_busy_stack_takes_no_second_operation(cloud: Any, eventually: Callable[..., Any], send: Any) -> None:
    arn = cloud.function("slow", lambda _: None)
    custom = {"Type": "Custom::Slow", "Properties": {"ServiceToken": arn}}
    cloud.create("busy", of(Queue=QUEUE))
    template = of(Queue=QUEUE, Slow=custom)
    cloud.cfn.update_stack(StackName="busy", TemplateBody=json.dumps(template))
    event = eventually(lambda: cloud.delivered and cloud.delivered[0])
    with pytest.raises(ClientError, match="is in UPDATE_IN_PROGRESS state and can not be updated"):
        cloud.cfn.update_stack(StackName="busy", TemplateBody=json.dumps(of(Queue=queue(DelaySeconds=9))))
    with pytest.raises(ClientError, match="cannot be deleted while in status UPDATE_IN_PROGRESS"):
        cloud.cfn.delete_stack(StackName="busy")
    send(event)
    assert cloud.settled("busy") == "UPDATE_COMPLETE"
    cloud.function("slow", lambda _: {})
    cloud.delete("busy")


def test_a_stack_can_be_deleted_while_it_is_created(cloud: Any, eventually: Callable[..., Any]) -> None:
    arn = cloud.function("never", lambda event: {} if event["RequestType"] == "Delete" else None)
    template = of(
        Queue=QUEUE, Never={"Type": "Custom::Never", "Properties": {"ServiceToken": arn}, "DependsOn": "Queue"}
    )
    cloud.cfn.create_stack(StackName="early", TemplateBody=json.dumps(template))
    eventually(lambda: cloud.delivered)
    identifier = cloud.describe("early")["StackId"]
    cloud.cfn.delete_stack(StackName="early")
    assert cloud.engine.wait(identifier) == "DELETE_COMPLETE"
    assert [event["RequestType"] for event in cloud.delivered] == ["Create", "Delete"]


def test_a_create_that_takes_too_long_is_rolled_back(cloud: Any) -> None:
    arn = cloud.function("never", lambda event: {} if event["RequestType"] == "Delete" else None)
    template = of(Never={"Type": "Custom::Never", "Properties": {"ServiceToken": arn}})
    assert cloud.create("late", template, TimeoutInMinutes=2) == "ROLLBACK_COMPLETE"
    assert "exceeded the specified timeout" in cloud.describe("late")["StackStatusReason"]
    cloud.delete("late")


def test_every_change_of_status_is_an_event_on_the_bus(cloud: Any) -> None:
    cloud.create("told", of(Queue=QUEUE))
    cloud.delete("told")
    statuses = [
        (detail.get("logical-resource-id"), detail["status-details"]["status"])
        for source, _, detail in cloud.emitted
        if source == "aws.cloudformation"
    ]
    assert statuses[0] == (None, "CREATE_IN_PROGRESS")
    assert ("Queue", "CREATE_COMPLETE") in statuses
    assert statuses[-1] == (None, "DELETE_COMPLETE")


def test_events_carry_virtual_time(cloud: Any) -> None:
    before = cloud.clock.now()
    cloud.create("times", of(Queue=QUEUE))
    stamps = [event["Timestamp"].timestamp() for event in cloud.events("times")]
    assert stamps == sorted(stamps)
    assert before - 0.001 <= stamps[0] <= stamps[-1] <= cloud.clock.now()
    cloud.delete("times")


def test_work_that_waits_for_nothing_costs_no_virtual_time(cloud: Any) -> None:
    began_virtual, began_real = cloud.clock.now(), time.monotonic()
    cloud.create("quick", of(**{f"Q{n}": QUEUE for n in range(20)}))
    stamps = [event["Timestamp"].timestamp() for event in cloud.events("quick")]
    real = time.monotonic() - began_real
    # At full speed the work alone would take hundreds of times as long.
    assert stamps[-1] - stamps[1] <= real * 20, f"{stamps[-1] - began_virtual} virtual seconds in {real} real ones"
    cloud.delete("quick")


def test_resources_can_be_described_and_listed(cloud: Any) -> None:
    template = of(Queue={**QUEUE, "Metadata": {"aws:cdk:path": "App/Queue"}}, P=parameter())
    cloud.create("listed", template)
    detail = cloud.cfn.describe_stack_resource(StackName="listed", LogicalResourceId="Queue")["StackResourceDetail"]
    assert json.loads(detail["Metadata"]) == {"aws:cdk:path": "App/Queue"}
    (only,) = cloud.cfn.describe_stack_resources(StackName="listed", LogicalResourceId="P")["StackResources"]
    assert only["ResourceType"] == "AWS::SSM::Parameter"
    listed = cloud.cfn.list_stack_resources(StackName="listed")["StackResourceSummaries"]
    assert [r["ResourceStatus"] for r in listed] == ["CREATE_COMPLETE"] * 2
    with pytest.raises(ClientError, match="Resource Nobody does not exist for stack listed"):
        cloud.cfn.describe_stack_resource(StackName="listed", LogicalResourceId="Nobody")
    cloud.delete("listed")


def test_an_unknown_type_is_refused_before_anything_is_made(cloud: Any) -> None:
    template = of(Queue=QUEUE, Fleet={"Type": "AWS::GameLift::Fleet"})
    with pytest.raises(ClientError, match=r"Fleet \(AWS::GameLift::Fleet\).*--stub AWS::GameLift::Fleet"):
        cloud.create("unknown", template)
    assert not [call for call in cloud.calls if call[0] == "sqs"]
    with pytest.raises(ClientError, match="does not exist"):
        cloud.describe("unknown")


def test_a_stubbed_type_is_a_placeholder_and_every_line_says_so(make_cloud: Callable[..., Any]) -> None:
    cloud = make_cloud(stubs=("AWS::GameLift::Fleet",))
    try:
        fleet = {"Type": "AWS::GameLift::Fleet", "Properties": {"Name": {"Ref": "Queue"}, "Whatever": [1]}}
        template = of(Queue=QUEUE, Fleet=fleet, P=parameter({"Fn::Sub": "${Fleet} ${Fleet.FleetId}"}))
        assert cloud.create("stubbed", template) == "CREATE_COMPLETE"
        assert all("(stub)" in reason for reason in cloud.reasons("stubbed", "Fleet"))
        assert not any("(stub)" in reason for reason in cloud.reasons("stubbed", "Queue"))
        value = cloud.client("ssm").get_parameter(Name=cloud.physical("stubbed")["P"])["Parameter"]["Value"]
        assert value == f"{cloud.physical('stubbed')['Fleet']} stub-Fleet-FleetId"
        fleet["Properties"]["Whatever"] = [2]
        assert cloud.update("stubbed", template) == "UPDATE_COMPLETE"
        assert cloud.delete("stubbed") == "DELETE_COMPLETE"
    finally:
        cloud.close()
