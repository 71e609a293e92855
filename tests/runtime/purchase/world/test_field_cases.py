"""Field cases: what went wrong for others who bought capacity, each with the behaviour that is right."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import botocore.session
import pytest

from constructs_lib.facts.capacity import plan_targets
from constructs_lib.model import capacity_block_end
from constructs_lib.runtime.adapters import clients
from constructs_lib.runtime.adapters.clients import buyer_clients, require_plan_model
from constructs_lib.runtime.errors import ServiceModelError
from constructs_lib.runtime.plan_request import PlanRequest

ARN = "arn:aws:sagemaker:us-east-1:123456789012:training-plan/nightly"
CREATE = "sagemaker.create_training_plan"
DESCRIBE = "sagemaker.describe_training_plan"
SEARCH = "sagemaker.search_training_plan_offerings"
APPROVAL = {"Required": "true", "TopicArn": "arn:aws:sns:us-east-1:123456789012:approvers"}
TAG = [{"Key": "team", "Value": "a"}]


def spent(world):
    """The purchase calls that SageMaker got."""
    return [name for _, name, _ in world.sagemaker.requests if name in ("CreateTrainingPlan", "ExtendTrainingPlan")]


# A01: the success of the money step is recorded before a step that can fail
def test_a01_an_accepted_plan_that_no_describe_shows_is_answered_with_its_arn(keyed, refused):
    keyed.stack().deploy()
    run = keyed.deliver().until(CREATE).step("lost-after")
    keyed.refuse["DescribeTrainingPlan"] = refused("ServiceUnavailable", "timed out", 503)
    run.finish()
    assert (run.result["Status"], run.result["PhysicalResourceId"]) == ("SUCCESS", ARN)
    assert run.result["Data"]["Status"] == "Unconfirmed"
    del keyed.refuse["DescribeTrainingPlan"]
    keyed.deploy(Tags=TAG)
    assert spent(keyed) == ["CreateTrainingPlan"]


# A02: at-least-once delivery is not exactly-once
def test_a02_one_event_in_two_runs_buys_once_and_both_answer_the_arn(keyed):
    keyed.stack().deploy()
    first, second = keyed.deliver(again=True), keyed.deliver()
    while not (first.done and second.done):
        for run in (first, second):
            if not run.done:
                run.step()
    assert [run.result["PhysicalResourceId"] for run in (first, second)] == [ARN, ARN]
    assert [run.result["Status"] for run in (first, second)] == ["SUCCESS", "SUCCESS"]
    assert {run.result["Data"]["UpfrontFee"] for run in (first, second)} == {"28800.00"}
    assert len(keyed.bought) == 1


# A03: the identity is stable and checked again
def test_a03_the_identity_does_not_depend_on_stack_path_or_request(world):
    def event(**more):
        return {
            "RequestType": "Create",
            "StackId": "arn:aws:cloudformation:us-east-1:123456789012:stack/a/1",
            "RequestId": "r1",
            "LogicalResourceId": "A",
            "ResourceProperties": world.properties,
        } | more

    one = PlanRequest.of(event())
    stack = "arn:aws:cloudformation:us-east-1:123456789012:stack/b/2"
    two = PlanRequest.of(event(StackId=stack, RequestId="r2", LogicalResourceId="B"))
    assert (one.plan, one.arn, one.plan.tags) == (two.plan, two.arn, two.plan.tags)


@pytest.mark.parametrize("status", ["Pending", "Scheduled", "Active"])
def test_a03_a_call_that_timed_out_is_looked_up_in_every_live_status(make_world, purchase_key, status):
    takes = {"Pending": "1d", "Scheduled": "0s", "Active": "0s"}[status]
    world = make_world(Purchase=purchase_key(), payment={"takes": takes})
    world.stack().deploy()
    run = world.deliver().until(CREATE).step("lost-after")
    if status == "Active":
        run.step("die-before")
        world.clock.sleep(8 * 86400)
        run = world.invoke(run.event)
    run.finish()
    assert run.result["Data"]["Status"] == status
    assert spent(world) == ["CreateTrainingPlan"]


def test_a03_the_purchase_client_never_repeats_a_call(monkeypatch):
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    made = buyer_clients()
    assert made["create"].meta.config.retries["total_max_attempts"] == 1
    assert made["sagemaker"].meta.config.retries["total_max_attempts"] > 1


# A04: an existence check that fails open
def test_a04_a_look_up_that_is_throttled_buys_nothing(keyed, refused):
    keyed.refuse["DescribeTrainingPlan"] = refused("ThrottlingException", "Rate exceeded")
    data = keyed.deploy()["Data"]
    assert data["Status"] == "Unconfirmed"
    assert "Rate exceeded" in data["Quote"]
    assert spent(keyed) == []


def test_a04_a_plan_that_is_scheduled_for_next_week_counts(keyed):
    keyed.deploy()
    keyed.clock.sleep(600)
    keyed.dynamodb.items.clear()
    assert keyed.deploy("second")["Data"]["Status"] == "Scheduled"
    assert len(keyed.bought) == 1


# A05: the guard stands before the irreversible call
def test_a05_a_fee_above_the_ceiling_is_refused_with_both_figures_and_no_call(make_world, purchase_key):
    world = make_world(Purchase=purchase_key(), MaxUpfrontFee="30000", DurationHours="48", days=[2], price="162.7605")
    answer = world.deploy()
    assert "31250.02 USD is above the ceiling of 30000 USD" in answer["Reason"]
    assert spent(world) == []


def test_a05_a_fee_above_the_approved_one_is_refused(keyed):
    keyed.deploy(Approval=APPROVAL)
    keyed.approve(fee="29900.00")
    keyed.price("105.56")
    answer = keyed.deploy(Approval=APPROVAL, Tags=TAG)
    assert answer["Status"] == "FAILED"
    assert "30401.28 USD is above the approved fee of 29900.00 USD" in answer["Reason"]
    assert spent(keyed) == []


def test_a05_a_purchase_is_searched_compared_and_then_made(keyed):
    keyed.stack().deploy()
    order, run = [], keyed.deliver()
    while not run.done:
        order.append(run.at)
        run.step()
    call = order.index(CREATE)
    assert SEARCH in order[:call]
    assert order[call - 1] == "cloudformation.describe_stacks"
    assert order[:3] == ["cloudformation.describe_stacks", DESCRIBE, "dynamodb.get_item"]


# A06: an approval that fails open
def test_a06_a_notice_that_cannot_be_published_waits_over_any_number_of_deploys(keyed):
    keyed.unpublished = True
    for number in range(5):
        tags = [{"Key": "deploy", "Value": str(number)}]
        data = keyed.deploy(Approval=APPROVAL, Tags=tags)["Data"]
        assert data["Status"] == "AwaitingApproval"
        assert "could not be published" in data["Quote"]
        keyed.settle()
    assert spent(keyed) == []


def test_a06_without_a_topic_nobody_approves(keyed):
    assert keyed.deploy(Approval={"Required": "true"})["Data"]["Status"] == "AwaitingApproval"
    keyed.settle()
    assert spent(keyed) == []


# A07: waiting longer than the framework allows
def test_a07_a_pending_plan_succeeds_at_once(make_world, purchase_key):
    world = make_world(Purchase=purchase_key(), payment={"takes": "12h"})
    before = world.clock.now()
    assert world.deploy()["Data"]["Status"] == "Pending"
    assert world.clock.now() - before < 60
    world.clock.sleep(3700)
    world.watch().finish()
    (line,) = [json.loads(line) for line in world.lines]
    assert line["PendingPayment"] == 1
    assert "still not Scheduled" in world.events[-1]["Detail"]


# A08: the identity is not lost on failure
def test_a08_a_defect_after_the_purchase_still_names_the_arn(keyed, monkeypatch):
    from constructs_lib.runtime.services.buying import Buying  # noqa: PLC0415  beside the defect that is planted in it

    def broken(self, ask, bought):
        raise RuntimeError("a defect")

    monkeypatch.setattr(Buying, "_just_bought", broken)
    answer = keyed.deploy()
    assert (answer["Status"], answer["PhysicalResourceId"]) == ("SUCCESS", ARN)
    assert "a defect" in answer["Data"]["Quote"]
    assert len(keyed.bought) == 1


# A09: update semantics of an immutable purchase
def test_a09_changed_tags_are_added_and_nothing_else(keyed):
    keyed.deploy()
    answer = keyed.deploy(Tags=TAG)
    assert answer["PhysicalResourceId"] == ARN
    changed = [name for _, name, _ in keyed.sagemaker.requests if not name.startswith(("Describe", "List", "Search"))]
    assert changed == ["CreateTrainingPlan", "AddTags"]


def test_a09_another_count_is_refused_and_its_rollback_is_quiet(keyed):
    keyed.deploy()
    answer = keyed.deploy(InstanceCount="8")
    assert answer["Status"] == "FAILED"
    assert answer["PhysicalResourceId"] == ARN
    assert "this would be a second purchase" in answer["Reason"]
    assert "raise generation" in answer["Reason"]
    rollback, quiet = keyed.answers[-1]
    assert rollback["OldResourceProperties"]["InstanceCount"] == "8"
    assert (quiet["Status"], quiet["PhysicalResourceId"]) == ("SUCCESS", ARN)
    assert keyed.stack().phase == "idle"
    assert spent(keyed) == ["CreateTrainingPlan"]


# A10: no capacity is no transient
def test_a10_nothing_on_offer_fails_soon_with_the_filters_and_near_misses(make_world, purchase_key):
    world = make_world(Purchase=purchase_key(), days=[2, 4])
    before = world.clock.now()
    answer = world.deploy()
    assert world.clock.now() - before < 60
    assert answer["Status"] == "FAILED"
    assert "no capacity: nothing is offered for 4 x ml.p5.48xlarge for 72 hours" in answer["Reason"]
    assert "after 2026-12-08T00:00:00Z and before 2026-12-20T00:00:00Z" in answer["Reason"]
    assert "shorter: 4 x ml.p5.48xlarge for 48 hours in us-east-1a" in answer["Reason"]
    searches = [name for _, name, _ in world.sagemaker.requests if name == "SearchTrainingPlanOfferings"]
    assert len(searches) <= 6


def test_a10_a_quota_in_the_sweep_is_a_quota(make_world, purchase_key, refused):
    world = make_world(Purchase=purchase_key(), days=[9])
    world.stack().deploy()
    run = world.deliver().until(SEARCH).step()
    world.refuse["SearchTrainingPlanOfferings"] = refused("ResourceLimitExceeded", "reserved-capacity is 0 Instances")
    run.finish()
    assert "quota is too low" in run.result["Reason"]
    assert "no capacity:" not in run.result["Reason"]


# A14 (preflight), A18: a plan that is over
def test_a14_a18_a_plan_that_ended_does_not_block_a_deploy_and_is_said_to_have_ended(keyed):
    keyed.deploy()
    keyed.clock.sleep(30 * 86400)
    answer = keyed.deploy(Tags=TAG)
    assert (answer["Status"], answer["Data"]["Status"]) == ("SUCCESS", "Expired")
    assert "raise generation" in answer["Data"]["Quote"]
    assert answer["Data"]["EndTime"] == "2026-12-11T11:30:00Z"


# A17: the usable end is not the end
def test_a17_instances_go_before_the_end():
    assert plan_targets()["training-job"].early_end_minutes == 30
    assert plan_targets()["hyperpod-cluster"].early_end_minutes == 60


def test_a17_the_end_in_a_job_s_environment_is_in_milliseconds_and_zero_is_none():
    name = "SAGEMAKER_CURRENT_CAPACITY_BLOCK_EXPIRATION_TIMESTAMP"
    assert capacity_block_end({name: "1797247800000"}) == datetime(2026, 12, 14, 11, 30, tzinfo=UTC)
    assert capacity_block_end({name: "0"}) is None
    assert capacity_block_end({}) is None


# A26: a grant that is discovered at the purchase
def test_a26_a_denied_second_action_is_named_with_a_hint_and_not_repeated(keyed, refused):
    words = (
        "User: arn:aws:sts::123456789012:assumed-role/buyer is not authorized to perform: "
        "sagemaker:CreateReservedCapacity on resource: * with an explicit deny in a service control policy"
    )
    keyed.refuse["CreateTrainingPlan"] = refused("AccessDeniedException", words)
    keyed.stack().deploy()
    order, run = [], keyed.deliver()
    while not run.done:
        order.append(run.at)
        run.step()
    assert run.result["Status"] == "FAILED"
    assert "permission denied for sagemaker:CreateReservedCapacity" in run.result["Reason"]
    assert "service control policy (SCP)" in run.result["Reason"]
    assert order.count(CREATE) == 1
    keyed.settle()
    assert spent(keyed) == []


# A40: an unused purchase is seen
def test_a40_unused_reserved_hours_are_counted_while_the_plan_is_active(keyed):
    keyed.deploy()
    keyed.clock.sleep(3600)
    keyed.watch().finish()
    assert json.loads(keyed.lines[-1])["UnusedReservedInstanceHours"] == 0  # Scheduled is not idle
    keyed.clock.sleep(7 * 86400 + 12 * 3600)
    keyed.watch().finish()
    start = len(keyed.lines)
    for _ in range(6):
        keyed.clock.sleep(300)
        keyed.watch().finish()
    lines = [json.loads(line) for line in keyed.lines[start:]]
    assert sum(line["UnusedReservedInstanceHours"] for line in lines) == pytest.approx(4 * 0.5)
    assert {line["AvailableInstances"] for line in lines} == {4}


# A41: an SDK that is older than the API
def test_a41_a_model_without_plans_is_refused_with_both_versions(monkeypatch):
    client = botocore.session.get_session().create_client("sagemaker", region_name="us-east-1")
    require_plan_model(client)
    monkeypatch.setattr(clients.botocore, "__version__", "1.34.0")
    monkeypatch.setitem(clients._PLAN_MEMBERS, "CreateTrainingPlan", ("TrainingPlanName", "Invented"))
    monkeypatch.setitem(clients._PLAN_MEMBERS, "ExtendTrainingPlanTwice", ())
    with pytest.raises(ServiceModelError, match=r"1\.34\.0 lacks .*CreateTrainingPlan.Invented.*; that of 1\.44\.8"):
        require_plan_model(client)
