"""Custom resources: what a function is sent, and what its answer, or its silence, leads to."""

from __future__ import annotations

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


def test_a_create_sends_properties_as_text(cloud: Any, arn: str) -> None:
    properties = {"Yes": True, "No": False, "Count": 3, "Rate": 0.5, "Nested": [{"Deep": True}], "Text": "t"}
    assert cloud.create("text", of(Thing=custom(arn, **properties))) == "CREATE_COMPLETE"
    (event,) = cloud.delivered
    assert event["ResourceProperties"] == {
        "ServiceToken": arn,
        "Yes": "true",
        "No": "false",
        "Count": "3",
        "Rate": "0.5",
        "Nested": [{"Deep": "true"}],
        "Text": "t",
    }
    assert event["ResourceType"] == "Custom::Thing"
    assert event["LogicalResourceId"] == "Thing"
    assert event["StackId"] == cloud.describe("text")["StackId"]
    assert event["ResponseURL"].startswith(cloud.url)
    assert "PhysicalResourceId" not in event
    assert "OldResourceProperties" not in event
    assert cloud.physical("text") == {"Thing": "one"}
    cloud.delete("text")
    assert sent(cloud)[-1] == ("Delete", "one")


def test_both_names_of_the_type_work(cloud: Any, arn: str) -> None:
    plain = {"Type": "AWS::CloudFormation::CustomResource", "Properties": {"ServiceToken": arn}}
    cloud.create("plain", of(Thing=plain))
    assert cloud.delivered[0]["ResourceType"] == "AWS::CloudFormation::CustomResource"
    cloud.delete("plain")


def test_an_update_sends_old_and_new_properties_and_the_physical_id(cloud: Any, arn: str) -> None:
    cloud.create("update", of(Thing=custom(arn, A="1")))
    assert cloud.update("update", of(Thing=custom(arn, A="2"))) == "UPDATE_COMPLETE"
    event = cloud.delivered[-1]
    assert event["RequestType"] == "Update"
    assert event["PhysicalResourceId"] == "one"
    assert event["ResourceProperties"]["A"] == "2"
    assert event["OldResourceProperties"] == {"ServiceToken": arn, "A": "1"}
    assert (
        cloud.update("update", {**of(Thing=custom(arn, A="2")), "Outputs": {"O": {"Value": "1"}}}) == "UPDATE_COMPLETE"
    )
    assert len(cloud.delivered) == 2, "an update that does not change it sends nothing"
    cloud.delete("update")


def test_its_data_is_there_for_others(cloud: Any) -> None:
    arn = cloud.function("data", lambda _: {"Data": {"Arn": "arn:x", "Number": 5}})
    user = {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": {"Fn::GetAtt": "Thing.Arn"}}}
    template = {**of(Thing=custom(arn), User=user), "Outputs": {"N": {"Value": {"Fn::GetAtt": ["Thing", "Number"]}}}}
    assert cloud.create("data", template) == "CREATE_COMPLETE"
    assert cloud.outputs("data") == {"N": "5"}
    value = cloud.client("ssm").get_parameter(Name=cloud.physical("data")["User"])["Parameter"]["Value"]
    assert value == "arn:x"
    cloud.delete("data")


def test_an_attribute_it_does_not_have_fails_who_asks_for_it(cloud: Any, arn: str) -> None:
    user = {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": {"Fn::GetAtt": "Thing.Nothing"}}}
    assert cloud.create("lacks", of(Thing=custom(arn), User=user)) == "ROLLBACK_COMPLETE"
    assert "Vendor response doesn't contain Nothing attribute in object" in cloud.why("lacks", "User")
    assert cloud.history("lacks", "Thing")[-1] == "DELETE_COMPLETE"


def test_no_echo_hides_its_data_in_descriptions_only(cloud: Any) -> None:
    arn = cloud.function("hush", lambda _: {"NoEcho": True, "Data": {"Secret": "s3"}})
    user = {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": {"Fn::GetAtt": "Thing.Secret"}}}
    cloud.create(
        "hush", {**of(Thing=custom(arn), User=user), "Outputs": {"S": {"Value": {"Fn::GetAtt": "Thing.Secret"}}}}
    )
    assert cloud.outputs("hush") == {"S": "****"}
    value = cloud.client("ssm").get_parameter(Name=cloud.physical("hush")["User"])["Parameter"]["Value"]
    assert value == "s3"
    cloud.delete("hush")


def test_a_new_physical_id_is_a_replacement_and_the_old_one_is_deleted_in_the_clean_up(cloud: Any) -> None:
    arn = cloud.function("renames", lambda e: {"PhysicalResourceId": f"id-{e['ResourceProperties']['A']}"})
    cloud.create("rename", of(Thing=custom(arn, A="1")))
    assert cloud.update("rename", of(Thing=custom(arn, A="2"))) == "UPDATE_COMPLETE"
    assert sent(cloud) == [("Create", ""), ("Update", "id-1"), ("Delete", "id-1")]
    assert cloud.delivered[-1]["ResourceProperties"]["A"] == "1"
    assert cloud.physical("rename") == {"Thing": "id-2"}
    statuses = [(e["LogicalResourceId"], e["ResourceStatus"]) for e in cloud.events("rename")]
    clean_up = statuses.index(("rename", "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS"))
    assert statuses.index(("Thing", "DELETE_IN_PROGRESS")) > clean_up
    assert "Requested update required the provider to create a new physical resource" in cloud.reasons(
        "rename", "Thing"
    )
    cloud.delete("rename")


def test_failed_shows_its_reason_and_is_sent_a_delete_under_the_id_it_gave(cloud: Any) -> None:
    def handler(event: dict[str, Any]) -> dict[str, Any]:
        refuses = event["RequestType"] == "Create"
        return {"Status": "FAILED", "Reason": "too dear", "PhysicalResourceId": "tried"} if refuses else {}

    assert cloud.create("dear", of(Thing=custom(cloud.function("dear", handler)))) == "ROLLBACK_COMPLETE"
    reason = "Received response status [FAILED] from custom resource. Message returned: too dear (RequestId: "
    assert cloud.why("dear", "Thing").startswith(reason)
    assert sent(cloud) == [("Create", ""), ("Delete", "tried")]
    cloud.delete("dear")


def test_failed_without_a_physical_id_hides_the_reason_and_is_deleted_under_a_generated_one(cloud: Any) -> None:
    def handler(event: dict[str, Any]) -> dict[str, Any]:
        return (
            {} if event["RequestType"] == "Delete" else {"Status": "FAILED", "Reason": "x", "PhysicalResourceId": None}
        )

    cloud.create("noid", of(Thing=custom(cloud.function("noid", handler))))
    assert cloud.why("noid", "Thing") == "Invalid PhysicalResourceId"
    assert sent(cloud)[-1][0] == "Delete"
    assert sent(cloud)[-1][1].startswith("noid-Thing-")


def test_a_failed_update_is_updated_back_with_old_and_new_swapped_and_no_mark(cloud: Any) -> None:
    def handler(event: dict[str, Any]) -> dict[str, Any]:
        dear = event["RequestType"] == "Update" and event["ResourceProperties"]["Fee"] == "9"
        return {"Status": "FAILED", "Reason": "too dear"} if dear else {}

    arn = cloud.function("swaps", handler)
    cloud.create("swaps", of(Thing=custom(arn, Fee=1)))
    assert cloud.update("swaps", of(Thing=custom(arn, Fee=9))) == "UPDATE_ROLLBACK_COMPLETE"
    forward, back = cloud.delivered[1:]
    assert forward["OldResourceProperties"]["Fee"], forward["ResourceProperties"]["Fee"] == ("1", "9")
    assert (back["OldResourceProperties"]["Fee"], back["ResourceProperties"]["Fee"]) == ("9", "1")
    assert back["RequestType"] == "Update"
    assert back.keys() == forward.keys()
    assert back["RequestId"] != forward["RequestId"]
    cloud.delete("swaps")


def test_a_succeeded_update_is_updated_back_when_another_resource_fails(cloud: Any, arn: str) -> None:
    cloud.create("other", of(Thing=custom(arn, A="1")))
    after = of(Thing=custom(arn, A="2"), Bad={**BAD, "DependsOn": "Thing"})
    assert cloud.update("other", after) == "UPDATE_ROLLBACK_COMPLETE"
    assert sent(cloud) == [("Create", ""), ("Update", "one"), ("Update", "one")]
    assert cloud.delivered[-1]["ResourceProperties"]["A"] == "1"
    assert cloud.delivered[-1]["OldResourceProperties"]["A"] == "2"
    cloud.delete("other")


def test_a_replaced_one_is_taken_back_and_the_new_one_deleted_when_another_resource_fails(cloud: Any) -> None:
    arn = cloud.function("renames", lambda e: {"PhysicalResourceId": f"id-{e['ResourceProperties']['A']}"})
    cloud.create("undo", of(Thing=custom(arn, A="1")))
    after = of(Thing=custom(arn, A="2"), Bad={**BAD, "DependsOn": "Thing"})
    assert cloud.update("undo", after) == "UPDATE_ROLLBACK_COMPLETE"
    assert sent(cloud) == [("Create", ""), ("Update", "id-1"), ("Delete", "id-2")]
    assert cloud.physical("undo")["Thing"] == "id-1"
    cloud.delete("undo")


def test_in_the_other_reading_a_replaced_one_is_sent_an_update_before_the_delete(cloud: Any) -> None:
    cloud.faults.switch("cloudformation.custom-resource-replaced", "updated")
    arn = cloud.function("renames", lambda e: {"PhysicalResourceId": f"id-{e['ResourceProperties']['A']}"})
    cloud.create("undo2", of(Thing=custom(arn, A="1")))
    after = of(Thing=custom(arn, A="2"), Bad={**BAD, "DependsOn": "Thing"})
    assert cloud.update("undo2", after) == "UPDATE_ROLLBACK_COMPLETE"
    assert sent(cloud) == [("Create", ""), ("Update", "id-1"), ("Update", "id-2"), ("Delete", "id-2")]
    assert cloud.physical("undo2")["Thing"] == "id-1"
    cloud.delete("undo2")


def test_a_failed_update_under_a_new_id_counts_as_a_replacement(cloud: Any) -> None:
    def handler(event: dict[str, Any]) -> dict[str, Any]:
        failed = {"Status": "FAILED", "Reason": "x", "PhysicalResourceId": "half-made"}
        return (
            failed if event["RequestType"] == "Update" else {"PhysicalResourceId": event.get("PhysicalResourceId", "1")}
        )

    arn = cloud.function("half", handler)
    cloud.create("halfway", of(Thing=custom(arn, A="1")))
    assert cloud.update("halfway", of(Thing=custom(arn, A="2"))) == "UPDATE_ROLLBACK_COMPLETE"
    assert sent(cloud) == [("Create", ""), ("Update", "1"), ("Delete", "half-made")]
    assert cloud.physical("halfway")["Thing"] == "1"
    cloud.delete("halfway")


def test_a_failed_roll_back_leaves_the_stack_stuck(cloud: Any) -> None:
    arn = cloud.function(
        "stubborn", lambda e: {"Status": "FAILED", "Reason": "no"} if e["RequestType"] == "Update" else {}
    )
    cloud.create("stubborn", of(Thing=custom(arn, A="1")))
    assert cloud.update("stubborn", of(Thing=custom(arn, A="2"))) == "UPDATE_ROLLBACK_FAILED"
    assert [kind for kind, _ in sent(cloud)] == ["Create", "Update", "Update"]
    cloud.delete("stubborn")
