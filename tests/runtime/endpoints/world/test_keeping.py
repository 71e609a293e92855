"""The life of one endpoint, as people see it."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.slow

HOUR, MINUTE, PERIOD, MARGIN = 3600.0, 60.0, 300.0, 2700.0


@pytest.fixture
def served(world, plan):
    """A world in which the endpoint is in service on its plan, with two of four instances."""

    def make(**declared):
        world.deploy(world.declaration(plan, **declared))
        world.go(plan.segments[0][0] + 14 * PERIOD)
        assert world.endpoint.status == "InService"
        assert not world.sagemaker.broken
        return world

    return make


def cut(plan, segment=-1):
    return plan.segments[segment][1] - HOUR - MARGIN


def test_a_plan_that_starts_later_is_no_error_and_the_endpoint_comes_up_within_one_period(world, plan):
    answer = world.deploy(world.declaration(plan))
    assert answer["Status"] == "SUCCESS"
    assert answer["Data"]["Status"] == "WaitingForPlan"
    assert answer["Data"]["NextAction"] == "create the endpoint on the plan"
    assert answer["Data"]["NextActionAt"] == "2026-12-01T01:00:00Z"
    world.go(plan.segments[0][0] + PERIOD)
    assert world.endpoint.status == "Creating"
    assert world.happened("create")[0][0] <= plan.segments[0][0] + PERIOD


def test_the_endpoint_is_deleted_before_the_capacity_goes(served, plan):
    world = served()
    world.go(cut(plan) - MINUTE)
    assert world.endpoint.status == "InService"
    world.go(cut(plan) + 3 * PERIOD)
    assert world.endpoint is None
    assert not world.sagemaker.configs
    world.go(plan.segments[0][1] + HOUR)
    assert not world.happened("expired")
    assert world.item.state == "Deleted"


def test_the_endpoint_moves_to_on_demand_before_the_capacity_goes_and_never_stops(served, plan, world):
    served(on_expiry=world.to_on_demand())
    world.go(plan.segments[0][1] + HOUR)
    assert world.endpoint.live.plan == ""
    assert world.item.state == "OnDemand"
    assert not world.happened("delete") + world.happened("expired")
    assert len(world.sagemaker.configs) == 1


def test_the_last_resort_is_taken_while_there_is_time_when_on_demand_has_no_capacity(served, plan, world):
    served(on_expiry=world.to_on_demand())
    world.sagemaker.on_demand = False
    world.go(plan.segments[0][1] - 61 * MINUTE)
    assert world.endpoint is None
    assert not world.happened("expired")
    assert any("could not move" in words for _, words in world.published)
    world.sagemaker.on_demand = True
    world.go(plan.segments[0][1] + HOUR)
    assert world.endpoint.status == "InService"


def test_a_new_model_comes_into_service_without_leaving_the_plan(served, world, plan):
    served()
    world.deploy(world.declaration(plan, model="m2"))
    world.settle()
    assert world.sagemaker.configs[world.endpoint.live.config]["ProductionVariants"][0]["ModelName"] == "m2"
    assert len(world.sagemaker.configs) == 1
    assert not world.happened("delete")
    assert not world.sagemaker.broken


@pytest.mark.parametrize(("count", "scales"), [(2, 0), (3, 0), (4, 2)])
def test_an_update_takes_the_way_that_fits_what_is_free(served, world, plan, count, scales):
    served(count=count)
    world.deploy(world.declaration(plan, count=count, model="m2"))
    world.settle(30)
    assert world.endpoint.live.counts == {"AllTraffic": count}
    assert len(world.happened("scale")) == scales
    assert not world.happened("delete")
    assert not world.sagemaker.broken


def test_one_instance_on_a_full_plan_is_replaced_only_with_the_downtime_accepted(world, make_world, refused):
    for accepted in ("0", "1200"):
        world = make_world()
        plan = world.sagemaker.plan("nightly", (world.clock.now, world.clock.now + 48 * HOUR), total=1)
        world.deploy(world.declaration(plan, count=1, AcceptDowntimeSeconds=accepted))
        world.settle()
        world.deploy(world.declaration(plan, count=1, model="m2", AcceptDowntimeSeconds=accepted))
        world.settle()
        model = world.sagemaker.configs[world.endpoint.live.config]["ProductionVariants"][0]["ModelName"]
        assert model == ("m1" if accepted == "0" else "m2")
        assert world.item.state == ("NoHeadRoom" if accepted == "0" else "InService")
        assert not world.sagemaker.broken


def test_a_silent_rollback_is_told_once_and_not_repeated_until_something_changes(served, world, plan):
    served()
    world.sagemaker.bad.add("m2")
    world.deploy(world.declaration(plan, model="m2"))
    world.settle(40)
    assert len(world.happened("update")) == 1
    assert world.item.state == "RolledBack"
    assert len([words for _, words in world.published if "rolled back" in words]) == 1
    world.deploy(world.declaration(plan, model="m3"))
    world.settle()
    assert world.item.state == "InService"
    assert world.item.rolled_back is None
    assert len(world.sagemaker.configs) == 1


def test_between_two_segments_the_endpoint_is_what_on_expiry_says_and_then_comes_back(world):
    start = world.clock.now
    plan = world.sagemaker.plan("nightly", (start, start + 24 * HOUR), (start + 30 * HOUR, start + 60 * HOUR))
    world.deploy(world.declaration(plan, on_expiry=world.to_on_demand()))
    world.go(start + 26 * HOUR)
    assert world.item.state == "OnDemand"
    world.go(start + 32 * HOUR)
    assert world.item.state == "InService"
    assert world.endpoint.live.plan == plan.arn
    assert not world.happened("expired") + world.happened("delete")


def test_the_endpoint_moves_to_the_next_plan_while_both_are_active(served, world, plan):
    start = plan.segments[0][1] - 5 * HOUR
    following = world.sagemaker.plan("next", (start, start + 48 * HOUR))
    served(on_expiry=world.to_plan(following))
    world.go(plan.segments[0][1] + HOUR)
    assert world.endpoint.live.plan == following.arn
    assert not world.happened("expired") + world.happened("delete")
    world.go(following.segments[0][1])
    assert world.endpoint is None
    assert not world.happened("expired")


def test_a_kept_endpoint_stays_and_is_started_again_in_the_next_segment(world):
    start = world.clock.now
    plan = world.sagemaker.plan("nightly", (start, start + 24 * HOUR), (start + 30 * HOUR, start + 60 * HOUR))
    keep = {"Action": "keep", "Acknowledge": "a batch client retries"}
    world.deploy(world.declaration(plan, on_expiry=keep))
    world.go(start + 26 * HOUR)
    assert world.item.state == "KeptPastEnd"
    assert world.endpoint is not None
    world.go(start + 32 * HOUR)
    assert world.item.state == "InService"
    assert not world.endpoint.live.dead


def test_deleting_the_stack_takes_the_endpoint_and_its_configurations_down(served, world):
    served(on_expiry=world.to_on_demand())
    assert world.delete()["Status"] == "SUCCESS"
    assert world.endpoint is None
    assert not world.sagemaker.configs
    assert world.item is None


def test_an_endpoint_of_somebody_else_is_never_touched(world, plan):
    world.pass_time(2 * HOUR)
    world.sagemaker.handle("CreateEndpointConfig", {"EndpointConfigName": "mine", **_numbers(world, plan)})
    world.sagemaker.handle("CreateEndpoint", {"EndpointName": "chat", "EndpointConfigName": "mine"})
    world.settle()
    answer = world.deploy(world.declaration(plan))
    world.settle()
    assert answer["Status"] == "SUCCESS"
    assert world.item.state == "NotOurs"
    assert world.endpoint.live.config == "mine"
    assert world.delete()["Status"] == "SUCCESS"
    assert world.endpoint.status == "InService"
    assert not world.sagemaker.broken


def test_an_adopted_endpoint_is_taken_over_without_downtime_and_its_own_configuration_is_spared(world, plan):
    world.pass_time(2 * HOUR)
    world.sagemaker.handle("CreateEndpointConfig", {"EndpointConfigName": "mine", **_numbers(world, plan)})
    world.sagemaker.handle("CreateEndpoint", {"EndpointName": "chat", "EndpointConfigName": "mine"})
    world.settle()
    world.deploy(world.declaration(plan))
    world.override(adopted=True)
    world.settle()
    assert world.item.state == "InService"
    assert world.endpoint.live.config == world.item.served["config"]
    assert "mine" in world.sagemaker.configs
    assert not world.happened("delete")
    world.deploy(world.declaration(plan, model="m2"))  # drops the override, not the ownership
    world.settle()
    assert world.item.state == "InService"


def _numbers(world, plan):
    made = world.declaration(plan)["EndpointConfig"]["ProductionVariants"][0]
    return {"ProductionVariants": [made | {"InitialInstanceCount": 2}]}


def test_people_set_the_count_until_the_next_declaration(served, world, plan):
    served()
    world.override(instance_count=9)
    world.settle()
    assert world.endpoint.live.counts == {"AllTraffic": 4}  # never above the plan's total
    plan.others = 1
    world.settle()
    world.deploy(world.declaration(plan))  # the same declaration
    assert world.item.overrides == {"instance_count": 9}
    world.deploy(world.declaration(plan, model="m2"))
    assert not world.item.overrides
    world.settle(30)
    assert world.endpoint.live.counts == {"AllTraffic": 2}
    assert not world.sagemaker.broken


def test_an_endpoint_that_people_took_off_its_plan_is_not_said_to_wait_for_it(served, world):
    served()
    world.override(on_expiry_now="delete")
    world.settle()
    assert world.endpoint is None
    assert (world.item.state, world.item.next_action, world.item.next_at) == ("Deleted", "", "")
    world.override(on_expiry_now=None)
    world.settle()
    assert world.item.state == "InService"
    assert world.item.next_action == "delete"


def test_people_move_an_endpoint_now(served, world, plan):
    served(on_expiry=world.to_on_demand())
    world.override(on_expiry_now="to_on_demand")
    world.settle()
    assert world.item.state == "OnDemand"
    assert not world.happened("delete")


def test_autoscaling_is_registered_within_the_plan_and_taken_away_before_the_endpoint_leaves_it(served, world, plan):
    policy = {"TargetValue": "70", "PredefinedMetricSpecification": {"PredefinedMetricType": "X"}}
    scaling = {"VariantName": "AllTraffic", "MinCapacity": "1", "MaxCapacity": "8", "PolicyConfig": policy}
    served(Scaling=scaling, on_expiry=world.to_on_demand())
    (target,) = world.sagemaker.targets.values()
    assert (target["MinCapacity"], target["MaxCapacity"]) == (1, 4)
    world.go(plan.segments[0][1] + HOUR)
    assert not world.sagemaker.targets
    assert world.item.state == "OnDemand"


def test_every_run_makes_few_changes_and_says_how_it_is(served, world):
    served()
    assert world.most_calls <= 4
    lines = [line for line in world.lines if "EndpointState" in line]
    assert '"EndpointState":1' in lines[-1]
    assert '"SecondsToCut":' in lines[-1]
