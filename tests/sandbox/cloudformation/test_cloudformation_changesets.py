"""Change sets: what they foresee, what becomes of them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

pytestmark = pytest.mark.slow

QUEUE = {"Type": "AWS::SQS::Queue"}
NAME = "set"


def queue(**properties: Any) -> dict[str, Any]:
    return {"Type": "AWS::SQS::Queue", "Properties": properties}


def parameter(value: Any = "v", **more: Any) -> dict[str, Any]:
    return {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": value}, **more}


def change_set(cloud: Any, stack: str, template: Any, kind: str = "UPDATE", **options: Any) -> dict[str, Any]:
    cloud.cfn.create_change_set(
        StackName=stack, ChangeSetName=NAME, ChangeSetType=kind, TemplateBody=json.dumps(template), **options
    )
    return cloud.cfn.describe_change_set(StackName=stack, ChangeSetName=NAME, IncludePropertyValues=True)


def changes(described: dict[str, Any]) -> dict[str, tuple[str, str | None]]:
    each = [change["ResourceChange"] for change in described["Changes"]]
    return {change["LogicalResourceId"]: (change["Action"], change.get("Replacement")) for change in each}


def execute(cloud: Any, stack: str, **options: Any) -> str:
    cloud.cfn.execute_change_set(StackName=stack, ChangeSetName=NAME, **options)
    return cloud.settled(stack)


def test_a_new_stack_is_reviewed_then_created(cloud: Any) -> None:
    described = change_set(cloud, "new", {"Resources": {"A": QUEUE}}, "CREATE", Description="why")
    assert (described["Status"], described["ExecutionStatus"]) == ("CREATE_COMPLETE", "AVAILABLE")
    assert described["Description"] == "why"
    assert changes(described) == {"A": ("Add", None)}
    assert cloud.describe("new")["StackStatus"] == "REVIEW_IN_PROGRESS"
    assert not [call for call in cloud.calls if call[0] == "sqs"]
    assert execute(cloud, "new") == "CREATE_COMPLETE"
    assert [e["ResourceStatus"] for e in cloud.events("new") if e["LogicalResourceId"] == "new"] == [
        "REVIEW_IN_PROGRESS",
        "CREATE_IN_PROGRESS",
        "CREATE_COMPLETE",
    ]
    cloud.delete("new")


def test_a_reviewed_stack_can_be_deleted(cloud: Any) -> None:
    change_set(cloud, "review", {"Resources": {"A": QUEUE}}, "CREATE")
    assert cloud.delete("review") == "DELETE_COMPLETE"


def test_changes_are_foreseen(cloud: Any) -> None:
    cloud.create(
        "foresee",
        {
            "Resources": {
                "Same": QUEUE,
                "InPlace": queue(DelaySeconds=1),
                "Replaced": QUEUE,
                "User": parameter({"Ref": "Replaced"}),
                "Gone": parameter(),
                "Kept": parameter(DeletionPolicy="Retain"),
            }
        },
    )
    described = change_set(
        cloud,
        "foresee",
        {
            "Resources": {
                "Same": QUEUE,
                "InPlace": queue(DelaySeconds=2),
                "Replaced": {**queue(QueueName="n"), "UpdateReplacePolicy": "Retain"},
                "User": parameter({"Ref": "Replaced"}),
                "New": parameter({"Fn::GetAtt": "Replaced.Arn"}),
            }
        },
    )
    assert changes(described) == {
        "InPlace": ("Modify", "False"),
        "Replaced": ("Modify", "True"),
        "User": ("Modify", "False"),
        "New": ("Add", None),
        "Gone": ("Remove", None),
        "Kept": ("Remove", None),
    }
    by_name = {c["ResourceChange"]["LogicalResourceId"]: c["ResourceChange"] for c in described["Changes"]}
    assert by_name["Replaced"]["PolicyAction"] == "ReplaceAndRetain"
    assert by_name["Gone"]["PolicyAction"] == "Delete"
    assert by_name["Kept"]["PolicyAction"] == "Retain"
    (detail,) = by_name["InPlace"]["Details"]
    assert detail["Target"] == {
        "Attribute": "Properties",
        "Name": "DelaySeconds",
        "RequiresRecreation": "Never",
        "Path": "/Properties/DelaySeconds",
        "BeforeValue": "1",
        "AfterValue": "2",
        "AttributeChangeType": "Modify",
    }
    assert detail["Evaluation"] == "Static"
    (detail,) = by_name["User"]["Details"]
    assert (detail["Evaluation"], detail["Target"]["AfterValue"]) == ("Dynamic", "{{changeSet:KNOWN_AFTER_APPLY}}")
    assert json.loads(by_name["InPlace"]["BeforeContext"]) == {"Properties": {"DelaySeconds": 1}}
    short = cloud.cfn.describe_change_set(StackName="foresee", ChangeSetName=NAME)
    assert "BeforeContext" not in short["Changes"][0]["ResourceChange"]
    assert execute(cloud, "foresee") == "UPDATE_COMPLETE"
    cloud.delete("foresee")


def test_what_an_unknown_value_may_replace_is_conditional(cloud: Any) -> None:
    topic = {"Type": "AWS::SNS::Topic", "Properties": {"TopicName": {"Fn::Sub": "t-${Q.QueueName}"}}}
    cloud.create("maybe", {"Resources": {"Q": QUEUE, "T": topic}})
    described = change_set(cloud, "maybe", {"Resources": {"Q": queue(QueueName="other"), "T": topic}})
    assert changes(described) == {"Q": ("Modify", "True"), "T": ("Modify", "Conditional")}
    cloud.delete("maybe")


def test_data_of_a_custom_resource_is_unknown_once_it_changes(cloud: Any) -> None:
    arn = cloud.function("same", lambda _: {"Data": {"A": "always"}})

    def template(version: str) -> dict[str, Any]:
        thing = {"Type": "Custom::Thing", "Properties": {"ServiceToken": arn, "V": version}}
        return {"Resources": {"Thing": thing, "User": parameter({"Fn::GetAtt": "Thing.A"})}}

    cloud.create("data", template("1"))
    described = change_set(cloud, "data", template("2"))
    assert changes(described) == {"Thing": ("Modify", "False"), "User": ("Modify", "False")}
    execute(cloud, "data")
    assert cloud.history("data", "User") == [], "the value turned out to be the same: no call"
    cloud.delete("data")


def test_no_changes_make_a_failed_change_set_in_the_words_the_cdk_looks_for(cloud: Any) -> None:
    template = {"Resources": {"A": QUEUE}}
    cloud.create("same", template)
    described = change_set(cloud, "same", template)
    assert described["Status"] == "FAILED"
    assert described["ExecutionStatus"] == "UNAVAILABLE"
    assert described["StatusReason"].startswith("The submitted information didn't contain changes.")
    with pytest.raises(ClientError, match="cannot be executed in its current execution status") as caught:
        cloud.cfn.execute_change_set(StackName="same", ChangeSetName=NAME)
    assert caught.value.response["Error"]["Code"] == "InvalidChangeSetStatus"
    cloud.cfn.delete_change_set(StackName="same", ChangeSetName=NAME)
    cloud.delete("same")


@pytest.mark.parametrize(
    "more",
    [
        {"Outputs": {"O": {"Value": "1"}}},
        {"Resources": {"A": {**QUEUE, "Metadata": {"m": 1}}}},
        {"Resources": {"A": {**QUEUE, "DeletionPolicy": "Retain"}}},
    ],
    ids=["outputs", "metadata", "deletion policy"],
)
def test_what_needs_no_call_is_a_change_all_the_same(cloud: Any, more: dict[str, Any]) -> None:
    cloud.create("little", {"Resources": {"A": QUEUE}})
    described = change_set(cloud, "little", {"Resources": {"A": QUEUE}} | more)
    assert described["Status"] == "CREATE_COMPLETE"
    assert execute(cloud, "little") == "UPDATE_COMPLETE"
    cloud.delete("little")


def test_a_change_set_that_is_gone_is_not_found(cloud: Any) -> None:
    cloud.create("find", {"Resources": {"A": QUEUE}})
    change_set(cloud, "find", {"Resources": {"A": queue(DelaySeconds=1)}})
    with pytest.raises(ClientError, match=f"ChangeSet {NAME} already exists") as exists:
        change_set(cloud, "find", {"Resources": {"A": queue(DelaySeconds=2)}})
    assert exists.value.response["Error"]["Code"] == "AlreadyExistsException"
    assert [s["ChangeSetName"] for s in cloud.cfn.list_change_sets(StackName="find")["Summaries"]] == [NAME]
    for _ in range(2):
        cloud.cfn.delete_change_set(StackName="find", ChangeSetName=NAME)
    with pytest.raises(ClientError, match=rf"ChangeSet \[{NAME}\] does not exist") as caught:
        cloud.cfn.describe_change_set(StackName="find", ChangeSetName=NAME)
    assert caught.value.response["Error"]["Code"] == "ChangeSetNotFound"
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 404
    assert type(caught.value).__name__ == "ChangeSetNotFoundException"
    with pytest.raises(ClientError, match="does not exist"):
        cloud.cfn.describe_change_set(StackName="nobody", ChangeSetName=NAME)
    cloud.delete("find")


def test_an_executed_change_set_is_done_and_its_rivals_lapse(cloud: Any) -> None:
    cloud.create("rivals", {"Resources": {"A": QUEUE}})
    described = change_set(cloud, "rivals", {"Resources": {"A": queue(DelaySeconds=1)}})
    cloud.cfn.create_change_set(
        StackName="rivals", ChangeSetName="other", TemplateBody=json.dumps({"Resources": {"A": queue(DelaySeconds=2)}})
    )
    execute(cloud, "rivals")
    done = cloud.cfn.describe_change_set(ChangeSetName=described["ChangeSetId"])
    assert done["ExecutionStatus"] == "EXECUTE_COMPLETE"
    with pytest.raises(ClientError, match="does not exist"):
        cloud.cfn.describe_change_set(StackName="rivals", ChangeSetName="other")
    with pytest.raises(ClientError, match="cannot be executed"):
        cloud.cfn.execute_change_set(StackName="rivals", ChangeSetName=NAME)
    assert change_set(cloud, "rivals", {"Resources": {"A": queue(DelaySeconds=3)}})["Status"] == "CREATE_COMPLETE"
    cloud.delete("rivals")


def test_a_failed_execution_is_told(cloud: Any) -> None:
    cloud.create("told", {"Resources": {"A": queue(DelaySeconds=1)}})
    described = change_set(cloud, "told", {"Resources": {"A": queue(DelaySeconds="many")}})
    assert execute(cloud, "told") == "UPDATE_ROLLBACK_COMPLETE"
    done = cloud.cfn.describe_change_set(ChangeSetName=described["ChangeSetId"])
    assert done["ExecutionStatus"] == "EXECUTE_FAILED"
    cloud.delete("told")


def test_no_roll_back_is_an_option_of_the_execution(cloud: Any) -> None:
    cloud.create("norb", {"Resources": {"A": queue(DelaySeconds=1)}})
    change_set(cloud, "norb", {"Resources": {"A": queue(DelaySeconds="many")}})
    assert execute(cloud, "norb", DisableRollback=True) == "UPDATE_FAILED"
    change_set(cloud, "norb", {"Resources": {"A": queue(DelaySeconds=2)}})
    assert execute(cloud, "norb", DisableRollback=True) == "UPDATE_COMPLETE"
    cloud.delete("norb")


@pytest.mark.parametrize(("on_failure", "status"), [("DO_NOTHING", "CREATE_FAILED"), ("ROLLBACK", "ROLLBACK_COMPLETE")])
def test_what_a_failed_create_leads_to_is_an_option_of_the_change_set(cloud: Any, on_failure: str, status: str) -> None:
    name = f"opt-{on_failure.replace('_', '').lower()}"
    bad = {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "Nonsense", "Value": "v"}}
    change_set(cloud, name, {"Resources": {"A": bad}}, "CREATE", OnStackFailure=on_failure)
    assert execute(cloud, name) == status
    cloud.delete(name)


def test_kinds_that_do_not_fit_are_refused(cloud: Any) -> None:
    template = {"Resources": {"A": QUEUE}}
    cloud.create("kinds", template)
    with pytest.raises(ClientError, match=r"Stack \[kinds\] already exists and cannot be created again"):
        change_set(cloud, "kinds", template, "CREATE")
    with pytest.raises(ClientError, match=r"Stack \[nobody\] does not exist"):
        change_set(cloud, "nobody", template, "UPDATE")
    with pytest.raises(ClientError, match="imports no resources"):
        change_set(cloud, "kinds", template, "IMPORT")
    with pytest.raises(ClientError, match="detects no drift"):
        change_set(cloud, "kinds", template, DeploymentMode="REVERT_DRIFT")
    cloud.delete("kinds")


def test_the_template_of_a_change_set_can_be_read(cloud: Any) -> None:
    cloud.create("read", {"Resources": {"A": QUEUE}})
    new = {"Resources": {"A": queue(DelaySeconds=1)}}
    change_set(cloud, "read", new)
    assert cloud.cfn.get_template(StackName="read", ChangeSetName=NAME)["TemplateBody"] == new
    assert cloud.cfn.get_template(StackName="read")["TemplateBody"] == {"Resources": {"A": QUEUE}}
    cloud.cfn.delete_change_set(StackName="read", ChangeSetName=NAME)
    cloud.cfn.create_change_set(StackName="read", ChangeSetName=NAME, UsePreviousTemplate=True)
    assert cloud.cfn.describe_change_set(StackName="read", ChangeSetName=NAME)["Status"] == "FAILED"
    cloud.delete("read")
