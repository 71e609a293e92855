"""What outlives a stack, what protects it, what it shares: policies, protection, tags, exports."""

from __future__ import annotations

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


def test_a_resource_that_leaves_the_template_is_deleted_in_the_clean_up(cloud: Any) -> None:
    cloud.create("less", of(Queue=QUEUE, Old=parameter()))
    name = cloud.physical("less")["Old"]
    assert cloud.update("less", of(Queue=QUEUE)) == "UPDATE_COMPLETE"
    assert cloud.history("less", "Old") == ["DELETE_IN_PROGRESS", "DELETE_COMPLETE"]
    with pytest.raises(ClientError, match="ParameterNotFound"):
        cloud.client("ssm").get_parameter(Name=name)
    assert list(cloud.physical("less")) == ["Queue"]
    cloud.delete("less")


@pytest.mark.parametrize("policy", ["Retain", "RetainExceptOnCreate"])
def test_a_retained_resource_outlives_its_stack(cloud: Any, policy: str) -> None:
    cloud.create("keep", of(Kept=parameter(DeletionPolicy=policy), Lost=parameter()))
    identifier, names = cloud.describe("keep")["StackId"], cloud.physical("keep")
    assert cloud.delete("keep") == "DELETE_COMPLETE"
    assert cloud.history(identifier, "Kept") == ["DELETE_SKIPPED"]
    assert cloud.client("ssm").get_parameter(Name=names["Kept"])
    with pytest.raises(ClientError, match="ParameterNotFound"):
        cloud.client("ssm").get_parameter(Name=names["Lost"])


def test_a_retained_resource_that_leaves_the_template_stays(cloud: Any) -> None:
    cloud.create("leave", of(Queue=QUEUE, Kept=parameter(DeletionPolicy="Retain")))
    name = cloud.physical("leave")["Kept"]
    cloud.update("leave", of(Queue=QUEUE))
    assert cloud.history("leave", "Kept") == ["DELETE_SKIPPED"]
    assert cloud.client("ssm").get_parameter(Name=name)
    cloud.delete("leave")


def test_a_replaced_resource_stays_if_its_update_replace_policy_says_so(cloud: Any) -> None:
    cloud.create("both", of(Queue=QUEUE))
    old = cloud.physical("both")["Queue"]
    cloud.update("both", of(Queue={**queue(QueueName="second"), "UpdateReplacePolicy": "Retain"}))
    assert cloud.history("both", "Queue")[-1] == "DELETE_SKIPPED"
    assert cloud.client("sqs").get_queue_attributes(QueueUrl=old)
    cloud.delete("both")


def test_changing_only_a_deletion_policy_is_an_update_without_calls(cloud: Any) -> None:
    cloud.create("policy", of(Kept=parameter()))
    name = cloud.physical("policy")["Kept"]
    cloud.calls.clear()
    assert cloud.update("policy", of(Kept=parameter(DeletionPolicy="Retain"))) == "UPDATE_COMPLETE"
    assert not [call for call in cloud.calls if call[0] == "ssm"]
    cloud.delete("policy")
    assert cloud.client("ssm").get_parameter(Name=name)


def test_termination_protection_refuses_a_delete(cloud: Any) -> None:
    cloud.create("safe", of(Queue=QUEUE), EnableTerminationProtection=True)
    with pytest.raises(ClientError, match="cannot be deleted while TerminationProtection is enabled"):
        cloud.cfn.delete_stack(StackName="safe")
    cloud.cfn.update_termination_protection(StackName="safe", EnableTerminationProtection=False)
    assert cloud.delete("safe") == "DELETE_COMPLETE"


def test_stack_tags_reach_resources_and_a_resources_own_tag_wins(cloud: Any) -> None:
    own = queue(Tags=[{"Key": "team", "Value": "own"}])
    cloud.create("tags", of(Plain=QUEUE, Own=own, Map=parameter()), Tags=[{"Key": "team", "Value": "stack"}])
    urls = cloud.physical("tags")

    def tags(name: str) -> dict[str, str]:
        return cloud.client("sqs").list_queue_tags(QueueUrl=urls[name]).get("Tags", {})

    assert (tags("Plain"), tags("Own")) == ({"team": "stack"}, {"team": "own"})
    listed = cloud.client("ssm").list_tags_for_resource(ResourceType="Parameter", ResourceId=urls["Map"])["TagList"]
    assert listed == [{"Key": "team", "Value": "stack"}]
    cloud.update("tags", of(Plain=QUEUE, Own=own, Map=parameter()), Tags=[{"Key": "cost", "Value": "b"}])
    assert tags("Plain") == {"cost": "b"}
    cloud.delete("tags")


def test_exports_join_stacks_and_hold_each_other(cloud: Any) -> None:
    exporting = {
        **of(Queue=QUEUE),
        "Outputs": {"Url": {"Value": {"Ref": "Queue"}, "Export": {"Name": {"Fn::Sub": "${AWS::StackName}-url"}}}},
    }
    importing = of(User=parameter({"Fn::ImportValue": "giver-url"}))
    cloud.create("giver", exporting)
    assert cloud.create("taker", importing) == "CREATE_COMPLETE"
    value = cloud.client("ssm").get_parameter(Name=cloud.physical("taker")["User"])["Parameter"]["Value"]
    assert value == cloud.physical("giver")["Queue"]
    assert cloud.cfn.list_exports()["Exports"][0]["Name"] == "giver-url"
    assert cloud.cfn.list_imports(ExportName="giver-url")["Imports"] == ["taker"]
    assert cloud.delete("giver") == "CREATE_COMPLETE"
    assert "Cannot delete export giver-url as it is in use by taker" in cloud.describe("giver")["StackStatusReason"]
    changed = {**exporting, "Resources": {"Queue": queue(QueueName="elsewhere")}}
    assert cloud.update("giver", changed) == "UPDATE_ROLLBACK_COMPLETE"
    assert "Export giver-url cannot be updated as it is in use by taker" in cloud.reasons("giver", "giver")[-3]
    assert cloud.delete("taker") == "DELETE_COMPLETE"
    assert cloud.delete("giver") == "DELETE_COMPLETE"


def test_an_export_needs_a_name_of_its_own_and_an_import_an_export(cloud: Any) -> None:
    exporting = {**of(Queue=QUEUE), "Outputs": {"O": {"Value": "1", "Export": {"Name": "one-name"}}}}
    cloud.create("owner", exporting)
    assert cloud.create("second", exporting) == "ROLLBACK_COMPLETE"
    assert "already exported by stack owner" in cloud.describe("second")["StackStatusReason"]
    assert cloud.create("third", of(P=parameter({"Fn::ImportValue": "no-such"}))) == "ROLLBACK_COMPLETE"
    assert "No export named no-such found." in cloud.reasons("third", "P")
    for name in ("owner", "second", "third"):
        cloud.delete(name)


def test_a_protected_table_keeps_its_stack_until_it_is_let_go(cloud: Any) -> None:
    table = {
        "Type": "AWS::DynamoDB::Table",
        "Properties": {
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
            "BillingMode": "PAY_PER_REQUEST",
            "DeletionProtectionEnabled": True,
        },
    }
    cloud.create("protected", of(Table=table))
    name = cloud.physical("protected")["Table"]
    assert cloud.delete("protected") == "DELETE_FAILED"
    assert "protected" in cloud.why("protected", "Table")
    cloud.client("dynamodb").update_table(TableName=name, DeletionProtectionEnabled=False)
    assert cloud.delete("protected") == "DELETE_COMPLETE"
    assert name not in cloud.client("dynamodb").list_tables()["TableNames"]
