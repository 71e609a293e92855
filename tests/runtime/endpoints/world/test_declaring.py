"""What CloudFormation is told: at once, in words, and never so that a rollback hangs."""

from __future__ import annotations

import json

import pytest

from constructs_lib.model import InvalidInputError
from constructs_lib.runtime.handlers.endpoint_keeper import route

HOUR, PERIOD = 3600.0, 300.0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"OnExpiry": {}}, "say what becomes of the endpoint"),
        ({"OnExpiry": {"Action": "keep"}}, "Acknowledge is missing"),
        ({"OnExpiry": {"Action": "to_on_demand"}}, "OnExpiry.EndpointConfig is missing"),
        ({"MarginSeconds": "500"}, "at least two periods"),
        ({"MarginSeconds": "soon"}, "'soon': a whole number is needed"),
        ({"MarginSeconds": str(30 * 3600)}, "choose a shorter margin"),
        ({"EndpointConfig": {"ProductionVariants": []}}, "at least one is needed"),
        ({"EndpointConfig": {"Variants": []}}, "Variants, which the API does not know"),
        ({"TrainingPlanArn": "arn:aws:sagemaker:us-east-1:1:training-plan/other"}, "runs on exactly one plan"),
        ({"Scaling": {"MinCapacity": "3", "MaxCapacity": "2"}}, "from 3 to 2 instances"),
    ],
)
def test_a_declaration_that_cannot_work_is_refused_before_anything_is_made(world, plan, change, words):
    answer = world.deploy(world.declaration(plan) | change)
    assert answer["Status"] == "FAILED"
    assert words in answer["Reason"]
    assert world.item is None
    assert not {name for name in world.sagemaker.calls if not name.startswith("Describe")}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"count": "5"}, "5 instances are declared, and the plan has 4"),
        ({"instance_type": "ml.p4d.24xlarge"}, "the plan has ml.p5.48xlarge"),
        ({"EndpointConfigName": "fixed"}, "fixed name"),
        ({"InstancePools": [{"InstanceType": "ml.p5.48xlarge", "Priority": "1"}]}, "a plan holds one type"),
        ({"count": "two"}, "InitialInstanceCount is 'two': a number is needed"),
    ],
)
def test_a_configuration_that_the_plan_cannot_carry_is_refused(world, plan, change, words):
    declared = world.declaration(plan)
    config = declared["EndpointConfig"]
    if "EndpointConfigName" in change:
        config |= change
    else:
        rows = {"count": "InitialInstanceCount", "instance_type": "InstanceType"}
        config["ProductionVariants"][0] |= {rows.get(name, name): value for name, value in change.items()}
    answer = world.deploy(declared)
    assert answer["Status"] == "FAILED"
    assert words in answer["Reason"]


def test_a_plan_for_training_jobs_is_refused_and_so_is_the_same_plan_as_the_next_one(world, plan):
    plan.target = "training-job"
    assert "bought with target endpoint" in world.deploy(world.declaration(plan))["Reason"]
    plan.target = "endpoint"
    answer = world.deploy(world.declaration(plan, on_expiry=world.to_plan(plan)))
    assert "name the next plan" in answer["Reason"]


@pytest.mark.parametrize("status", ["Expired", "Failed"])
def test_a_plan_that_is_over_stops_a_new_endpoint_but_no_update_of_one_that_outlived_it(world, plan, status):
    plan.said = status
    assert f"the plan is {status}" in world.deploy(world.declaration(plan))["Reason"]
    plan.said = ""
    world.deploy(world.declaration(plan))
    plan.said = status
    assert world.deploy(world.declaration(plan, model="m2"))["Status"] == "SUCCESS"


def test_a_plan_that_nobody_knows_yet_is_no_error(world, plan):
    del world.sagemaker.plans[plan.arn]
    answer = world.deploy(world.declaration(plan))
    assert answer["Status"] == "SUCCESS"
    assert answer["PhysicalResourceId"] == "chat"


def test_a_rollback_is_never_refused(world, plan):
    world.deploy(world.declaration(plan))
    world.stack_status = "UPDATE_ROLLBACK_IN_PROGRESS"
    bad = world.declaration(plan, count=9)
    answer = world.event("Update", bad, world.properties)
    assert answer["Status"] == "SUCCESS"
    worse = world.declaration(plan) | {"MarginSeconds": "1"}
    answer = world.event("Update", worse, world.properties)
    assert answer["Status"] == "SUCCESS"
    assert "at least two periods" in answer["Reason"]


def test_the_delete_of_an_older_owner_does_nothing(world, plan):
    world.deploy(world.declaration(plan))
    world.go(plan.segments[0][0] + 10 * PERIOD)
    old = world.properties
    world.properties = None
    world.deploy(world.declaration(plan) | {"Owner": "lab/Moved"})
    assert world.delete(old)["Status"] == "SUCCESS"
    world.settle()
    assert world.endpoint.status == "InService"
    assert world.endpoint.tags["gpucap:owner"] == "lab/Moved"
    assert not world.sagemaker.broken


def test_the_delete_of_what_was_never_declared_succeeds_without_a_call(world, plan):
    assert world.delete(world.declaration(plan))["Status"] == "SUCCESS"
    assert not world.sagemaker.calls


def test_what_cannot_be_taken_down_in_time_is_named(world, plan):
    world.deploy(world.declaration(plan))
    world.go(plan.segments[0][0] + 10 * PERIOD)
    world.endpoint.status = "SystemUpdating"
    answer = world.delete()
    assert answer["Status"] == "FAILED"
    assert "endpoint chat and configurations chat-" in answer["Reason"]
    world.endpoint.status = "InService"
    assert world.delete()["Status"] == "SUCCESS"
    assert not world.sagemaker.configs


def test_a_notice_that_could_not_be_published_is_told_by_the_next_run(world, plan):
    world.deploy(world.declaration(plan))
    world.faults["sns.Publish"] = "throttled"
    world.go(plan.segments[0][1])
    words = [text for _, text in world.published]
    assert len([text for text in words if "leaves its plan" in text]) == 1
    assert len(words) == len(set(words))


def test_the_figures_are_lines_of_their_own(world, plan):
    world.deploy(world.declaration(plan))
    world.go(plan.segments[0][0] + 10 * PERIOD)
    line = json.loads([line for line in world.lines if "EndpointState" in line][-1])
    (directive,) = line["_aws"]["CloudWatchMetrics"]
    assert directive["Namespace"] == "GpuCapacity"
    assert directive["Dimensions"] == [["Endpoint"]]
    assert line["Endpoint"] == "chat"
    assert line["PlanInstancesUsed"] == 2
    assert line["SecondsToCut"] > 0


def test_an_event_of_another_kind_is_refused_in_words(world):
    assert route({"source": "aws.sagemaker", "detail": {"EndpointName": "other"}}, world.to) == {"calls": 0}
    with pytest.raises(InvalidInputError, match="takes the action reconcile"):
        route({"action": "sweep"}, world.to)
