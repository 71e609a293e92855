"""Field cases: what went wrong for others who ran endpoints, each with the behaviour that is right."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.slow

HOUR, PERIOD, MARGIN = 3600.0, 300.0, 2700.0


@pytest.fixture
def running(world, plan):
    world.deploy(world.declaration(plan))
    world.go(plan.segments[0][0] + 10 * PERIOD)
    assert world.item.state == "InService"
    return world


def test_work_begins_when_the_capacity_does_even_if_that_is_late(world, plan):
    plan.late = HOUR
    world.deploy(world.declaration(plan))
    world.go(plan.segments[0][0] + HOUR - PERIOD)
    assert world.item.state == "WaitingForPlan"
    world.go(plan.segments[0][0] + HOUR + PERIOD)
    assert world.endpoint.status == "Creating"


@pytest.mark.parametrize("said", ["Pending", "Failed"])
def test_a_plan_that_is_not_paid_is_waited_for_and_one_that_never_will_be_is_said_to_be_of_no_use(world, plan, said):
    world.deploy(world.declaration(plan, on_expiry=world.to_on_demand()))
    plan.said = said
    world.go(plan.segments[0][0] + 5 * HOUR)
    assert world.endpoint is None
    assert world.item.state == ("WaitingForPlan" if said == "Pending" else "PlanNotUsable")


def test_a_plan_that_turns_out_to_be_of_another_type_is_said_to_be_of_no_use(world, plan):
    del world.sagemaker.plans[plan.arn]
    world.deploy(world.declaration(plan))
    plan.instance_type = "ml.p4d.24xlarge"
    world.sagemaker.plans[plan.arn] = plan
    world.go(plan.segments[0][0] + 2 * PERIOD)
    assert world.item.state == "PlanNotUsable"
    assert "the plan has ml.p4d.24xlarge" in world.item.reason
    assert not world.sagemaker.configs


def test_a_plan_that_is_gone_is_left_at_the_edges_that_are_remembered(running, plan):
    del running.sagemaker.plans[plan.arn]
    running.settle()
    assert running.endpoint is None


def test_the_next_plan_that_is_not_active_at_the_cut_is_not_waited_for_on_capacity_that_goes(world, plan):
    start = plan.segments[0][1] + 2 * HOUR
    following = world.sagemaker.plan("next", (start, start + 24 * HOUR))
    world.deploy(world.declaration(plan, on_expiry=world.to_plan(following)))
    world.go(plan.segments[0][1])
    assert world.endpoint is None
    assert not world.happened("expired")
    world.go(start + 5 * PERIOD)
    assert world.endpoint.live.plan == following.arn


def test_another_count_is_another_configuration_and_the_old_one_goes_after_it(running, plan):
    old = running.endpoint.live.config
    running.deploy(running.declaration(plan, count=1))
    while running.endpoint.live.config == old:
        assert old in running.sagemaker.configs
        running.pass_time(60)
        running.run()
    running.settle()
    assert old not in running.sagemaker.configs
    assert running.endpoint.live.counts == {"AllTraffic": 1}


def test_tags_alone_make_no_configuration(running, plan):
    before = running.sagemaker.calls["CreateEndpointConfig"]
    running.deploy(running.declaration(plan, Tags=[{"Key": "team", "Value": "lab"}]))
    running.settle()
    assert running.sagemaker.calls["CreateEndpointConfig"] == before


def test_an_endpoint_deleted_by_hand_is_made_again_and_one_changed_by_hand_is_changed_back(running):
    running.sagemaker.endpoints.pop("chat")
    running.settle()
    assert running.item.state == "InService"
    ours = running.endpoint.live.config
    running.sagemaker.configs["hand"] = running.sagemaker.configs[ours]
    running.endpoint.live.config = "hand"
    running.settle()
    assert running.endpoint.live.config == ours
    assert "hand" in running.sagemaker.configs
    assert running.item.rolled_back is None


@pytest.mark.parametrize("status", ["Failed", "OutOfService", "UpdateRollbackFailed"])
def test_a_broken_endpoint_is_deleted_and_started_again(running, status):
    running.endpoint.status = status
    running.settle()
    assert running.item.state == "InService"
    assert len(running.happened("create")) == 2


def test_an_endpoint_waits_for_room_on_a_plan_that_others_use_and_grows_when_they_leave(world, plan):
    plan.others = 4
    world.deploy(world.declaration(plan))
    world.go(plan.segments[0][0] + 5 * PERIOD)
    assert world.item.state == "NoHeadRoom"
    plan.others = 3
    world.settle()
    assert world.endpoint.live.counts == {"AllTraffic": 1}
    plan.others = 0
    world.settle()
    assert world.endpoint.live.counts == {"AllTraffic": 2}
    assert not world.sagemaker.broken


def test_a_plan_that_shrank_is_not_exceeded(running, plan):
    plan.total = 1
    running.settle()
    assert running.endpoint.live.counts == {"AllTraffic": 1}
    assert not running.sagemaker.broken


def test_another_plan_of_next_week_does_not_take_down_what_serves_today(running, plan):
    start = plan.segments[0][1] + 24 * HOUR
    other = running.sagemaker.plan("other", (start, start + 24 * HOUR))
    running.deploy(running.declaration(other))
    running.go(plan.segments[0][1] - 2 * HOUR)
    assert running.endpoint.status == "InService"
    running.go(plan.segments[0][1])
    assert running.endpoint is None
    assert not running.happened("expired")
    running.go(start + 5 * PERIOD)
    assert running.endpoint.live.plan == other.arn


def test_moving_to_a_smaller_plan_never_asks_for_more_than_it_has(world, plan):
    start = plan.segments[0][1] - 5 * HOUR
    smaller = world.sagemaker.plan("next", (start, start + 24 * HOUR), total=1)
    world.deploy(world.declaration(plan, count=3, on_expiry=world.to_plan(smaller, count=1)))
    world.go(plan.segments[0][1])
    assert world.endpoint.live.plan == smaller.arn
    assert world.endpoint.live.counts == {"AllTraffic": 1}
    assert not world.sagemaker.broken
