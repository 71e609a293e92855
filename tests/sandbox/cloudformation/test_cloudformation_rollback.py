"""What CloudFormation does when something goes wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

pytestmark = pytest.mark.slow

QUEUE = {"Type": "AWS::SQS::Queue"}
BAD = {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "Nonsense", "Value": "v"}}


def queue(**properties: Any) -> dict[str, Any]:
    return {"Type": "AWS::SQS::Queue", "Properties": properties}


def parameter(value: Any = "v", **more: Any) -> dict[str, Any]:
    return {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": value}, **more}


def of(**resources: Any) -> dict[str, Any]:
    return {"Resources": resources}


def delay(cloud: Any, url: str) -> str:
    answer = cloud.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=["DelaySeconds"])
    return answer["Attributes"]["DelaySeconds"]


def queues(cloud: Any) -> list[str]:
    return cloud.client("sqs").list_queues().get("QueueUrls", [])


def test_a_failed_create_removes_what_was_made(cloud: Any) -> None:
    assert cloud.create("fail", of(Queue=QUEUE, Bad={**BAD, "DependsOn": "Queue"})) == "ROLLBACK_COMPLETE"
    assert queues(cloud) == []
    lines = [(e["LogicalResourceId"], e["ResourceStatus"]) for e in cloud.events("fail")]
    assert lines == [
        ("fail", "CREATE_IN_PROGRESS"),
        ("Queue", "CREATE_IN_PROGRESS"),
        ("Queue", "CREATE_IN_PROGRESS"),
        ("Queue", "CREATE_COMPLETE"),
        ("Bad", "CREATE_IN_PROGRESS"),
        ("Bad", "CREATE_FAILED"),
        ("fail", "ROLLBACK_IN_PROGRESS"),
        ("Bad", "DELETE_COMPLETE"),
        ("Queue", "DELETE_IN_PROGRESS"),
        ("Queue", "DELETE_COMPLETE"),
        ("fail", "ROLLBACK_COMPLETE"),
    ]
    reason = "The following resource(s) failed to create: [Bad]. Rollback requested by user."
    assert cloud.describe("fail")["StackStatusReason"] == reason
    assert 'Resource handler returned message: "' in cloud.why("fail", "Bad")
    assert "HandlerErrorCode: InvalidRequest" in cloud.why("fail", "Bad")
    with pytest.raises(ClientError, match="is in ROLLBACK_COMPLETE state and can not be updated"):
        cloud.update("fail", of(Queue=QUEUE))
    assert cloud.delete("fail") == "DELETE_COMPLETE"


def test_wrong_and_missing_properties_fail_their_resource_in_words(cloud: Any) -> None:
    wrong = {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Valu": "v"}}
    assert cloud.create("wrong", of(P=wrong)) == "ROLLBACK_COMPLETE"
    reason = cloud.why("wrong", "P")
    assert "#: required key [Value] not found" in reason
    assert "#: extraneous key [Valu] is not permitted" in reason
    cloud.delete("wrong")


def test_a_retained_resource_survives_a_rolled_back_create_but_not_except_on_create(cloud: Any) -> None:
    template = of(
        Kept=parameter(DeletionPolicy="Retain"),
        Lost=parameter(DeletionPolicy="RetainExceptOnCreate"),
        Bad={**BAD, "DependsOn": ["Kept", "Lost"]},
    )
    cloud.create("retain", template)
    assert cloud.history("retain", "Kept")[-1] == "DELETE_SKIPPED"
    assert cloud.history("retain", "Lost")[-1] == "DELETE_COMPLETE"
    assert cloud.create("except", template, RetainExceptOnCreate=True) == "ROLLBACK_COMPLETE"
    assert cloud.history("except", "Kept")[-1] == "DELETE_COMPLETE"


def test_on_failure_delete_leaves_no_stack(cloud: Any) -> None:
    template = json.dumps(of(Queue=QUEUE, Bad={**BAD, "DependsOn": "Queue"}))
    identifier = cloud.cfn.create_stack(StackName="vanish", TemplateBody=template, OnFailure="DELETE")["StackId"]
    assert cloud.engine.wait(identifier) == "DELETE_COMPLETE"
    assert cloud.reasons(identifier, "vanish")[1].endswith("[Bad]. Delete requested by user.")
    assert queues(cloud) == []


def test_a_failed_create_without_roll_back_can_be_mended_by_an_update(cloud: Any) -> None:
    template = of(Queue=QUEUE, Bad={**BAD, "DependsOn": "Queue"})
    assert cloud.create("mend", template, DisableRollback=True) == "CREATE_FAILED"
    url = cloud.physical("mend")["Queue"]
    assert cloud.update("mend", of(Queue=QUEUE, Bad=parameter())) == "UPDATE_COMPLETE"
    assert cloud.physical("mend")["Queue"] == url
    assert cloud.history("mend", "Bad") == ["CREATE_IN_PROGRESS", "CREATE_IN_PROGRESS", "CREATE_COMPLETE"]
    cloud.delete("mend")


def test_a_failed_create_without_roll_back_can_be_rolled_back_later(cloud: Any) -> None:
    cloud.create("later", of(Queue=QUEUE, Bad={**BAD, "DependsOn": "Queue"}), OnFailure="DO_NOTHING")
    assert len(queues(cloud)) == 1
    cloud.cfn.rollback_stack(StackName="later")
    assert cloud.settled("later") == "ROLLBACK_COMPLETE"
    assert queues(cloud) == []
    with pytest.raises(ClientError, match="is in ROLLBACK_COMPLETE state and can not be rolled back"):
        cloud.cfn.rollback_stack(StackName="later")


def test_a_failed_update_brings_everything_back(cloud: Any) -> None:
    """In place: the old properties again. Replaced: the original. New: gone. Removed: still there."""
    before = of(InPlace=queue(DelaySeconds=1), Replaced=QUEUE, Removed=parameter("removed"))
    cloud.create("back", before)
    ids = cloud.physical("back")
    after = of(
        InPlace=queue(DelaySeconds=2),
        Replaced=queue(QueueName="replacement"),
        New=parameter("new"),
        Bad={**BAD, "DependsOn": ["InPlace", "Replaced", "New"]},
    )
    assert cloud.update("back", after) == "UPDATE_ROLLBACK_COMPLETE"
    assert cloud.physical("back") == ids
    assert delay(cloud, ids["InPlace"]) == "1"
    assert sorted(queues(cloud)) == sorted([ids["InPlace"], ids["Replaced"]])
    assert cloud.client("ssm").get_parameter(Name=ids["Removed"])["Parameter"]["Value"] == "removed"
    assert cloud.history("back") == [
        "UPDATE_IN_PROGRESS",
        "UPDATE_ROLLBACK_IN_PROGRESS",
        "UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS",
        "UPDATE_ROLLBACK_COMPLETE",
    ]
    assert cloud.history("back", "InPlace") == ["UPDATE_IN_PROGRESS", "UPDATE_COMPLETE"] * 2
    assert cloud.history("back", "Replaced")[-3:] == ["UPDATE_COMPLETE", "DELETE_IN_PROGRESS", "DELETE_COMPLETE"]
    assert cloud.history("back", "New")[-2:] == ["DELETE_IN_PROGRESS", "DELETE_COMPLETE"]
    assert cloud.history("back", "Removed") == []
    assert cloud.describe("back")["StackStatusReason"] == "The following resource(s) failed to create: [Bad]. "
    assert cloud.cfn.get_template(StackName="back")["TemplateBody"] == before
    assert cloud.update("back", {**before, "Outputs": {"A": {"Value": "1"}}}) == "UPDATE_COMPLETE"
    cloud.delete("back")
    assert queues(cloud) == []


def test_a_failed_update_says_what_failed_to_update(cloud: Any) -> None:
    cloud.create("say", of(Queue=queue(DelaySeconds=1)))
    cloud.faults.add("sqs", "SetQueueAttributes", error=("InvalidAttributeValue", "no such delay", 400))
    assert cloud.update("say", of(Queue=queue(DelaySeconds=2))) == "UPDATE_ROLLBACK_COMPLETE"
    assert cloud.describe("say")["StackStatusReason"] == "The following resource(s) failed to update: [Queue]. "
    assert any("no such delay" in reason for reason in cloud.reasons("say", "Queue"))
    assert cloud.history("say", "Queue") == [
        "UPDATE_IN_PROGRESS",
        "UPDATE_FAILED",
        "UPDATE_IN_PROGRESS",
        "UPDATE_COMPLETE",
    ]
    cloud.delete("say")


def test_a_failed_update_without_roll_back_stays_and_can_be_mended(cloud: Any) -> None:
    cloud.create("stay", of(Queue=queue(DelaySeconds=1), P=parameter()))
    cloud.faults.add("sqs", "SetQueueAttributes", error=("InvalidAttributeValue", "no", 400))
    wanted = of(Queue=queue(DelaySeconds=2), P=parameter())
    assert cloud.update("stay", wanted, DisableRollback=True) == "UPDATE_FAILED"
    assert cloud.update("stay", wanted, DisableRollback=True) == "UPDATE_COMPLETE"
    assert delay(cloud, cloud.physical("stay")["Queue"]) == "2"
    cloud.delete("stay")


def test_a_failed_update_without_roll_back_can_be_rolled_back_to_the_last_stable_state(cloud: Any) -> None:
    cloud.create("stable", of(Queue=queue(DelaySeconds=1), Other=queue(DelaySeconds=1)))
    ids = cloud.physical("stable")
    for name in ("one", "two"):
        template = of(
            Queue=queue(DelaySeconds=2), Other=queue(QueueName=name), Bad={**BAD, "DependsOn": ["Queue", "Other"]}
        )
        assert cloud.update("stable", template, DisableRollback=True) == "UPDATE_FAILED"
    cloud.cfn.rollback_stack(StackName="stable")
    assert cloud.settled("stable") == "UPDATE_ROLLBACK_COMPLETE"
    assert cloud.physical("stable") == ids
    assert delay(cloud, ids["Queue"]) == "1"
    assert sorted(queues(cloud)) == sorted(ids.values())
    cloud.delete("stable")


def test_what_was_replaced_without_roll_back_and_then_left_out_is_deleted(cloud: Any) -> None:
    cloud.create("out", of(Queue=QUEUE, P=parameter()))
    failing = of(Queue=queue(QueueName="out-new"), P=parameter(), Bad={**BAD, "DependsOn": "Queue"})
    assert cloud.update("out", failing, DisableRollback=True) == "UPDATE_FAILED"
    assert len(queues(cloud)) == 2
    assert cloud.update("out", of(P=parameter())) == "UPDATE_COMPLETE"
    assert queues(cloud) == []
    cloud.delete("out")


def test_a_roll_back_that_fails_can_be_continued(cloud: Any) -> None:
    cloud.create("stuck", of(Queue=queue(DelaySeconds=1)))
    refusal = ("InvalidAttributeValue", "still no", 400)
    cloud.faults.add("sqs", "SetQueueAttributes", error=refusal, times=2)
    assert cloud.update("stuck", of(Queue=queue(DelaySeconds=2))) == "UPDATE_ROLLBACK_FAILED"
    with pytest.raises(ClientError, match="can not be updated"):
        cloud.update("stuck", of(Queue=queue(DelaySeconds=3)))
    cloud.cfn.continue_update_rollback(StackName="stuck")
    assert cloud.settled("stuck") == "UPDATE_ROLLBACK_COMPLETE"
    assert delay(cloud, cloud.physical("stuck")["Queue"]) == "1"
    cloud.delete("stuck")


def test_a_resource_can_be_skipped_when_a_roll_back_is_continued(cloud: Any) -> None:
    cloud.create("skip", of(Queue=queue(DelaySeconds=1)))
    cloud.faults.add("sqs", "SetQueueAttributes", error=("InvalidAttributeValue", "no", 400), times=None)
    cloud.update("skip", of(Queue=queue(DelaySeconds=2)))
    with pytest.raises(ClientError, match=r"ResourcesToSkip names Nobody, and only \[Queue\] failed"):
        cloud.cfn.continue_update_rollback(StackName="skip", ResourcesToSkip=["Nobody"])
    cloud.cfn.continue_update_rollback(StackName="skip", ResourcesToSkip=["Queue"])
    assert cloud.settled("skip") == "UPDATE_ROLLBACK_COMPLETE"
    assert "Resource skipped during UpdateRollback" in cloud.reasons("skip", "Queue")
    cloud.faults.clear()
    cloud.delete("skip")


def test_a_stack_whose_resource_cannot_be_deleted_stays_and_can_let_it_go(cloud: Any) -> None:
    cloud.create("full", of(Bucket={"Type": "AWS::S3::Bucket"}, P=parameter({"Ref": "Bucket"})))
    bucket = cloud.physical("full")["Bucket"]
    cloud.client("s3").put_object(Bucket=bucket, Key="k", Body=b"x")
    assert cloud.delete("full") == "DELETE_FAILED"
    assert cloud.describe("full")["StackStatusReason"] == "The following resource(s) failed to delete: [Bucket]. "
    assert "not empty" in cloud.why("full", "Bucket")
    assert cloud.history("full", "P")[-1] == "DELETE_COMPLETE"
    assert cloud.delete("full", RetainResources=["Bucket"]) == "DELETE_COMPLETE"
    assert cloud.client("s3").head_bucket(Bucket=bucket)


def test_what_a_resource_needs_is_not_deleted_before_it(cloud: Any) -> None:
    user = {"Type": "AWS::S3::Bucket", "DependsOn": "Needed"}
    cloud.create("needs", of(Needed=parameter(), Bucket=user))
    cloud.client("s3").put_object(Bucket=cloud.physical("needs")["Bucket"], Key="k", Body=b"x")
    assert cloud.delete("needs") == "DELETE_FAILED"
    assert cloud.history("needs", "Needed") == []
    assert cloud.delete("needs", DeletionMode="FORCE_DELETE_STACK") == "DELETE_COMPLETE"


def test_a_clean_up_tries_three_times_and_does_not_fail_the_update(cloud: Any) -> None:
    cloud.create("clean", of(Queue=QUEUE, Old={"Type": "AWS::S3::Bucket"}))
    bucket = cloud.physical("clean")["Old"]
    cloud.client("s3").put_object(Bucket=bucket, Key="k", Body=b"x")
    assert cloud.update("clean", of(Queue=QUEUE)) == "UPDATE_COMPLETE"
    assert cloud.history("clean", "Old") == ["DELETE_IN_PROGRESS", "DELETE_FAILED"] * 3
    assert cloud.describe("clean")["StackStatusReason"].endswith("One or more resources could not be deleted.")
    assert list(cloud.physical("clean")) == ["Queue"]
    cloud.delete("clean")


def test_a_roll_back_that_cannot_remove_a_new_resource_still_completes_in_an_update_and_fails_in_a_create(
    cloud: Any,
) -> None:
    template = of(Topic={"Type": "AWS::SNS::Topic"}, Bad={**BAD, "DependsOn": "Topic"})
    cloud.faults.add("sns", "DeleteTopic", error=("InternalError", "not now", 500), times=None)
    assert cloud.create("norm", template) == "ROLLBACK_FAILED"
    assert cloud.describe("norm")["StackStatusReason"] == "The following resource(s) failed to delete: [Topic]. "
    cloud.create("upd", of(Queue=QUEUE))
    assert cloud.update("upd", {"Resources": {"Queue": QUEUE, **template["Resources"]}}) == "UPDATE_ROLLBACK_COMPLETE"
    cloud.faults.clear()
    assert cloud.delete("norm") == "DELETE_COMPLETE"
    cloud.delete("upd")


def test_a_throttled_call_is_made_again(cloud: Any) -> None:
    cloud.faults.add("sqs", "CreateQueue", error=("ThrottlingException", "slow down", 400), times=2)
    assert cloud.create("slow", of(Queue=QUEUE)) == "CREATE_COMPLETE"
    assert cloud.faults.hits["sqs.CreateQueue", "before"] >= 2
    cloud.delete("slow")


def test_a_call_that_is_throttled_half_way_does_not_make_the_resource_twice(cloud: Any) -> None:
    cloud.faults.add("iam", "AttachRolePolicy", error=("ThrottlingException", "slow down", 400), times=2)
    arn = "arn:aws:iam::aws:policy/ReadOnlyAccess"
    role = {"AssumeRolePolicyDocument": {"Statement": []}, "ManagedPolicyArns": [arn]}
    assert cloud.create("once", of(Role={"Type": "AWS::IAM::Role", "Properties": role})) == "CREATE_COMPLETE"
    roles = [r["RoleName"] for r in cloud.client("iam").list_roles()["Roles"] if r["RoleName"].startswith("once-")]
    assert roles == [cloud.physical("once")["Role"]]
    cloud.delete("once")


def test_a_cancelled_update_rolls_back(cloud: Any, eventually: Callable[..., Any]) -> None:
    arn = cloud.function("waits", lambda event: {} if event["RequestType"] == "Delete" else None)
    cloud.create("cancel", of(Queue=queue(DelaySeconds=1)))
    custom = {"Type": "Custom::W", "Properties": {"ServiceToken": arn}, "DependsOn": "Queue"}
    template = of(Queue=queue(DelaySeconds=2), Waits=custom)
    cloud.cfn.update_stack(StackName="cancel", TemplateBody=json.dumps(template))
    eventually(lambda: cloud.delivered)
    cloud.cfn.cancel_update_stack(StackName="cancel")
    assert cloud.settled("cancel") == "UPDATE_ROLLBACK_COMPLETE"
    assert "Resource creation cancelled" in cloud.reasons("cancel", "Waits")
    assert cloud.describe("cancel")["StackStatusReason"] == "Stack update cancelled"
    assert delay(cloud, cloud.physical("cancel")["Queue"]) == "1"
    with pytest.raises(ClientError, match="CancelUpdateStack cannot be called from current stack status"):
        cloud.cfn.cancel_update_stack(StackName="cancel")
    cloud.delete("cancel")


def test_a_replacement_that_fails_leaves_the_original_and_removes_what_it_had_made(cloud: Any) -> None:
    role = {
        "Type": "AWS::IAM::Role",
        "Properties": {"AssumeRolePolicyDocument": {"Statement": []}, "Path": "/a/"},
    }
    cloud.create("half", of(Role=role))
    original = cloud.physical("half")["Role"]
    changed = json.loads(json.dumps(role).replace("/a/", "/b/"))
    changed["Properties"]["ManagedPolicyArns"] = ["arn:aws:iam::aws:policy/NoSuchPolicy"]
    assert cloud.update("half", of(Role=changed)) == "UPDATE_ROLLBACK_COMPLETE"
    roles = [r["RoleName"] for r in cloud.client("iam").list_roles()["Roles"] if r["RoleName"].startswith("half-")]
    assert roles == [original]
    assert cloud.physical("half")["Role"] == original
    cloud.delete("half")


def test_a_resource_that_was_half_made_is_removed(cloud: Any) -> None:
    role = {
        "Type": "AWS::IAM::Role",
        "Properties": {
            "AssumeRolePolicyDocument": {"Statement": []},
            "ManagedPolicyArns": ["arn:aws:iam::aws:policy/NoSuchPolicy"],
        },
    }
    assert cloud.create("semi", of(Role=role)) == "ROLLBACK_COMPLETE"
    assert not [r for r in cloud.client("iam").list_roles()["Roles"] if r["RoleName"].startswith("semi-")]
    cloud.delete("semi")
