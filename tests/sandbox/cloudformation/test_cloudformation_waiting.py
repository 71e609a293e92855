"""Custom resources: silence, wrong answers, cancelled waits, late and double delivery."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.slow

BAD = {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "Nonsense", "Value": "v"}}
NO_RESPONSE = "CloudFormation did not receive a response from your Custom Resource"


def custom(arn: str, **more: Any) -> dict[str, Any]:
    attributes = {key: more.pop(key) for key in ("DependsOn", "DeletionPolicy", "UpdateReplacePolicy") if key in more}
    return {"Type": "Custom::Thing", "Properties": {"ServiceToken": arn, **more}, **attributes}


def of(**resources: Any) -> dict[str, Any]:
    return {"Resources": resources}


def sent(cloud: Any) -> list[tuple[str, str]]:
    return [(event["RequestType"], event.get("PhysicalResourceId", "")) for event in cloud.delivered]


def refusing(kind: str, reason: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """A function that answers FAILED to one kind of request."""
    return lambda event: {"Status": "FAILED", "Reason": reason} if event["RequestType"] == kind else {}


@pytest.fixture
def arn(cloud: Any) -> str:
    """A function that agrees to everything under the physical ID ``one``."""
    return cloud.function("agrees", lambda _: {"PhysicalResourceId": "one"})


def waited(cloud: Any, name: str) -> float:
    """Virtual seconds from the beginning of a create to its failure."""
    events = [event for event in cloud.events(name) if event["LogicalResourceId"] == "Thing"]
    times = {event["ResourceStatus"]: event["Timestamp"].timestamp() for event in events}
    return times["CREATE_FAILED"] - times["CREATE_IN_PROGRESS"]


def test_silence_fails_after_the_service_timeout_of_virtual_time(cloud: Any) -> None:
    arn = cloud.function("silent", lambda event: {} if event["RequestType"] == "Delete" else None)
    assert cloud.create("silent", of(Thing=custom(arn, ServiceTimeout=300))) == "ROLLBACK_COMPLETE"
    assert 300 <= waited(cloud, "silent") < 900
    assert cloud.why("silent", "Thing").startswith(NO_RESPONSE)
    assert cloud.delivered[0]["RequestId"] in cloud.why("silent", "Thing")
    assert cloud.delivered[0]["ResourceProperties"]["ServiceTimeout"] == "300"
    assert sent(cloud)[-1][1].startswith("silent-Thing-")


def test_the_default_timeout_is_an_hour(cloud: Any) -> None:
    arn = cloud.function("silent", lambda event: {} if event["RequestType"] == "Delete" else None)
    cloud.create("hour", of(Thing=custom(arn)))
    assert 3600 <= waited(cloud, "hour") < 4500


def test_a_function_that_raises_does_not_end_the_wait(cloud: Any, eventually: Callable[..., Any], send: Any) -> None:
    def handler(event: dict[str, Any]) -> dict[str, Any] | None:
        if event["RequestType"] == "Create":
            raise RuntimeError("boom")
        return {}

    arn = cloud.function("raises", handler)
    cloud.cfn.create_stack(StackName="raises", TemplateBody=json.dumps(of(Thing=custom(arn))))
    event = eventually(lambda: cloud.delivered and cloud.delivered[0])
    assert cloud.describe("raises")["StackStatus"] == "CREATE_IN_PROGRESS"
    send(event)  # somebody else answers in its place
    assert cloud.settled("raises") == "CREATE_COMPLETE"
    cloud.delete("raises")


@pytest.mark.parametrize("timeout", ["0", "3601", "soon"])
def test_a_service_timeout_out_of_range_fails_in_words(cloud: Any, arn: str, timeout: str) -> None:
    cloud.create("range", of(Thing=custom(arn, ServiceTimeout=timeout)))
    assert cloud.why("range", "Thing") == f"ServiceTimeout '{timeout}' is not a number of seconds from 1 to 3600"
    assert cloud.describe("range")["StackStatus"] == "ROLLBACK_COMPLETE"
    assert not cloud.delivered
    cloud.delete("range")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"no json", "Unable to parse JSON object"),
        (b"[1]", "Unable to parse JSON object"),
        (b'{"PhysicalResourceId": ""}', "Invalid PhysicalResourceId"),
        (b'{"PhysicalResourceId": "a"}', "StackId None is not the request's"),
        (b'{"PhysicalResourceId": "%s"}' % (b"a" * 4096), "Response object is too long (4122 bytes, at most 4096)"),
    ],
)
def test_an_answer_that_is_none_fails_in_words(cloud: Any, put_raw: Any, body: bytes, reason: str) -> None:
    def handler(event: dict[str, Any]) -> dict[str, Any] | None:
        if event["RequestType"] == "Delete":
            return {}
        put_raw(event["ResponseURL"], body)
        return None

    assert cloud.create("none", of(Thing=custom(cloud.function("none", handler)))) == "ROLLBACK_COMPLETE"
    assert reason in cloud.why("none", "Thing")
    cloud.delete("none")


def test_an_answer_of_just_4096_bytes_is_read(cloud: Any, put_raw: Any) -> None:
    def handler(event: dict[str, Any]) -> None:
        body = {key: event[key] for key in ("StackId", "RequestId", "LogicalResourceId")}
        body |= {"Status": "SUCCESS", "PhysicalResourceId": "a", "Data": {"Pad": ""}}
        body["Data"]["Pad"] = "x" * (4096 - len(json.dumps(body)))
        put_raw(event["ResponseURL"], json.dumps(body).encode())

    assert cloud.create("pad", of(Thing=custom(cloud.function("pad", handler)))) == "CREATE_COMPLETE"
    cloud.delete("pad")


def test_only_the_first_answer_counts(cloud: Any, send: Any) -> None:
    def handler(event: dict[str, Any]) -> None:
        send(event, PhysicalResourceId="first")
        send(event, PhysicalResourceId="second", Status="FAILED", Reason="too late")

    assert cloud.create("twoans", of(Thing=custom(cloud.function("twoans", handler)))) == "CREATE_COMPLETE"
    assert cloud.physical("twoans")["Thing"] == "first"
    cloud.delete("twoans")


def test_a_response_url_takes_only_a_put_to_where_a_request_is(cloud: Any, put_raw: Any) -> None:
    with pytest.raises(Exception, match="403"):
        put_raw(f"{cloud.url}/_cloudformation/response/nobody", b"{}")


def test_a_topic_as_service_token_is_refused_in_words(cloud: Any) -> None:
    token = "arn:aws:sns:us-east-1:123456789012:topic"
    cloud.create("topic", of(Thing=custom(token)))
    assert "sends custom resources to Lambda functions only" in cloud.why("topic", "Thing")
    cloud.delete("topic")


def test_a_missing_function_fails_its_resource(cloud: Any) -> None:
    missing = "arn:aws:lambda:us-east-1:123456789012:function:nobody"
    assert cloud.create("nobody", of(Thing=custom(missing))) == "ROLLBACK_COMPLETE"
    assert "Function not found: nobody" in cloud.why("nobody", "Thing")


def test_the_service_token_cannot_be_changed(cloud: Any, arn: str) -> None:
    other = cloud.function("another", lambda _: {})
    cloud.create("token", of(Thing=custom(arn)))
    assert cloud.update("token", of(Thing=custom(other))) == "UPDATE_ROLLBACK_COMPLETE"
    assert sent(cloud) == [("Create", "")]
    assert "Modifying service token is not allowed." in cloud.reasons("token", "Thing")
    cloud.delete("token")


def test_a_retained_one_is_not_even_told_of_the_stacks_deletion(cloud: Any, arn: str) -> None:
    cloud.create("kept", of(Thing=custom(arn, DeletionPolicy="Retain")))
    assert cloud.delete("kept") == "DELETE_COMPLETE"
    assert sent(cloud) == [("Create", "")]


def test_a_delete_that_drains_is_waited_for(cloud: Any, eventually: Callable[..., Any], send: Any) -> None:
    arn = cloud.function("drains", lambda event: None if event["RequestType"] == "Delete" else {})
    group = {"Type": "AWS::Logs::LogGroup"}
    cloud.create("drain", of(Group=group, Thing=custom(arn, DependsOn="Group")))
    identifier = cloud.describe("drain")["StackId"]
    cloud.cfn.delete_stack(StackName="drain")
    event = eventually(lambda: len(cloud.delivered) > 1 and cloud.delivered[1])
    assert cloud.history(identifier, "Group") == []
    send(event)
    assert cloud.engine.wait(identifier) == "DELETE_COMPLETE"
    assert cloud.history(identifier, "Group")[-1] == "DELETE_COMPLETE"


def test_a_delete_that_fails_leaves_the_stack(cloud: Any) -> None:
    arn = cloud.function(
        "clings", lambda e: {"Status": "FAILED", "Reason": "in use"} if e["RequestType"] == "Delete" else {}
    )
    cloud.create("clings", of(Thing=custom(arn)))
    assert cloud.delete("clings") == "DELETE_FAILED"
    assert "Message returned: in use" in cloud.why("clings", "Thing")
    cloud.function("clings", lambda _: {})
    assert cloud.delete("clings") == "DELETE_COMPLETE"


def test_a_clean_up_sends_delete_up_to_three_times_each_with_its_own_request_id(cloud: Any) -> None:
    arn = cloud.function(
        "clings", lambda e: {"Status": "FAILED", "Reason": "in use"} if e["RequestType"] == "Delete" else {}
    )
    cloud.create("tries", of(Thing=custom(arn), Group={"Type": "AWS::Logs::LogGroup"}))
    assert cloud.update("tries", of(Group={"Type": "AWS::Logs::LogGroup"})) == "UPDATE_COMPLETE"
    deletes = [event["RequestId"] for event in cloud.delivered if event["RequestType"] == "Delete"]
    assert len(set(deletes)) == 3
    cloud.delete("tries")


def test_another_failure_does_not_wait_for_a_running_one_and_deletes_it_under_a_made_up_id(
    cloud: Any, eventually: Callable[..., Any], send: Any
) -> None:
    """The function is told to delete what it is still creating: https://github.com/aws/aws-cdk/pull/36951."""
    arn = cloud.function("running", lambda event: {} if event["RequestType"] == "Delete" else None)
    slow_to_fail = cloud.function("refuses", lambda event: None)
    template = of(Running=custom(arn), Refuses={"Type": "Custom::R", "Properties": {"ServiceToken": slow_to_fail}})
    cloud.cfn.create_stack(StackName="sibling", TemplateBody=json.dumps(template))
    eventually(lambda: len(cloud.delivered) == 2)
    refused = next(event for event in cloud.delivered if event["LogicalResourceId"] == "Refuses")
    cloud.function("refuses", lambda _: {})
    send(refused, Status="FAILED", Reason="no", PhysicalResourceId="r")
    assert cloud.settled("sibling") == "ROLLBACK_COMPLETE"
    assert cloud.why("sibling", "Running") == "Resource creation cancelled"
    (deleted,) = [e for e in cloud.delivered if e["RequestType"] == "Delete" and e["LogicalResourceId"] == "Running"]
    assert deleted["PhysicalResourceId"].startswith("sibling-Running-")
    reason = "The following resource(s) failed to create: [Refuses, Running]. Rollback requested by user."
    assert cloud.describe("sibling")["StackStatusReason"] == reason


def test_a_cancelled_update_is_updated_back_while_it_still_runs_and_its_late_answer_is_ignored(
    cloud: Any, eventually: Callable[..., Any], send: Any
) -> None:
    def handler(event: dict[str, Any]) -> dict[str, Any] | None:
        return None if event["RequestType"] == "Update" and event["ResourceProperties"]["A"] == "2" else {}

    arn = cloud.function("late", handler)
    cloud.create("cancelled", of(Thing=custom(arn, A="1")))
    cloud.cfn.update_stack(StackName="cancelled", TemplateBody=json.dumps(of(Thing=custom(arn, A="2"))))
    event = eventually(lambda: len(cloud.delivered) > 1 and cloud.delivered[1])
    cloud.cfn.cancel_update_stack(StackName="cancelled")
    assert cloud.settled("cancelled") == "UPDATE_ROLLBACK_COMPLETE"
    send(event, Data={"Too": "late"})
    assert [e["ResourceProperties"]["A"] for e in cloud.delivered] == ["1", "2", "1"]
    assert "Resource update cancelled" in cloud.reasons("cancelled", "Thing")
    assert cloud.describe("cancelled")["StackStatus"] == "UPDATE_ROLLBACK_COMPLETE"
    cloud.delete("cancelled")


def test_a_function_can_see_that_its_stack_goes_forward_or_back(cloud: Any) -> None:
    seen: list[tuple[str, str]] = []

    def handler(event: dict[str, Any]) -> dict[str, Any]:
        status = cloud.describe(event["StackId"])["StackStatus"]
        seen.append((event["RequestType"], status))
        return {"Status": "FAILED", "Reason": "x"} if status == "UPDATE_IN_PROGRESS" else {}

    arn = cloud.function("looks", handler)
    cloud.create("looks", of(Thing=custom(arn, A="1")))
    cloud.update("looks", of(Thing=custom(arn, A="2")))
    cloud.delete("looks")
    assert seen == [
        ("Create", "CREATE_IN_PROGRESS"),
        ("Update", "UPDATE_IN_PROGRESS"),
        ("Update", "UPDATE_ROLLBACK_IN_PROGRESS"),
        ("Delete", "DELETE_IN_PROGRESS"),
    ]


def test_an_event_is_delivered_once_unless_a_switch_says_otherwise(cloud: Any, arn: str) -> None:
    cloud.create("once", of(Thing=custom(arn)))
    assert len(cloud.delivered) == 1
    cloud.faults.switch("cloudformation.custom-resource-delivery", "twice")
    cloud.update("once", of(Thing=custom(arn, A="2")))
    first, second = cloud.delivered[1:]
    assert first == second
    cloud.faults.clear()
    cloud.delete("once")


def test_late_delivery_comes_after_cloudformation_gave_up(cloud: Any, eventually: Callable[..., Any]) -> None:
    statuses = []

    def handler(event: dict[str, Any]) -> dict[str, Any]:
        if event["RequestType"] == "Update" and event["ResourceProperties"]["A"] == "2":
            statuses.append(cloud.describe(event["StackId"])["StackStatus"])
        return {}

    arn = cloud.function("tardy", handler)
    cloud.create("tardy", of(Thing=custom(arn, A="1")))
    cloud.faults.switch("cloudformation.custom-resource-delivery", "late")
    cloud.cfn.update_stack(
        StackName="tardy", TemplateBody=json.dumps(of(Thing=custom(arn, A="2", ServiceTimeout="60")))
    )
    assert cloud.settled("tardy") == "UPDATE_ROLLBACK_COMPLETE"
    eventually(lambda: statuses)
    assert "ROLLBACK" in statuses[0]
    assert [event["ResourceProperties"]["A"] for event in cloud.delivered].count("2") == 1
    cloud.delete("tardy")


def test_independent_ones_run_beside_each_other(cloud: Any, eventually: Callable[..., Any], send: Any) -> None:
    arn = cloud.function("beside", lambda event: {} if event["RequestType"] == "Delete" else None)
    cloud.cfn.create_stack(StackName="beside", TemplateBody=json.dumps(of(A=custom(arn), B=custom(arn))))
    for event in eventually(lambda: len(cloud.delivered) == 2 and list(cloud.delivered)):
        send(event)
    assert cloud.settled("beside") == "CREATE_COMPLETE"
    cloud.delete("beside")
