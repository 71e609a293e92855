"""The shortest histories in which the protocol's first text failed, and what else exploring it showed."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytestmark = pytest.mark.slow

HOUR, MINUTE, PERIOD = 3600.0, 60.0, 300.0


@pytest.fixture
def two_segments(world):
    start = world.clock.now + HOUR
    return world.sagemaker.plan("nightly", (start, start + 24 * HOUR), (start + 30 * HOUR, start + 54 * HOUR))


@pytest.fixture
def served(world, two_segments):
    world.deploy(world.declaration(two_segments, on_expiry=world.to_on_demand()))
    world.go(two_segments.segments[0][0] + 10 * PERIOD)
    assert world.item.state == "InService"
    return world


def test_a_run_that_was_overtaken_calls_nothing(served, two_segments):
    """Two runs overlap; the first acts on an old reading, and would delete what the second took into use."""
    world = served
    old = world.item
    view = world.to.reconciling.look(old)
    world.deploy(world.declaration(two_segments, model="m2", on_expiry=world.to_on_demand()))
    world.settle(4)
    before = dict(world.sagemaker.calls)
    stale = replace(world.to.reconciling)
    object.__setattr__(stale, "means", replace(stale.means, table=_Old(stale.means.table, old)))
    assert stale.run() == 0
    after = dict(world.sagemaker.calls)
    assert {
        name for name in after if after[name] != before.get(name) and not name.startswith(("Describe", "List"))
    } == set()
    assert view.item == old


class _Old:
    """A table that shows what was read long ago."""

    def __init__(self, table, old):
        self._table, self._old = table, old

    def all(self):
        return [self._old]

    def read(self, name):
        return self._old

    def store(self, old, new):
        return self._table.store(old, new)


def test_an_endpoint_call_that_arrives_after_the_stack_was_deleted_leaves_nothing(world, two_segments):
    """The stack is deleted while a run is between reading and calling: nobody would be left to remove the endpoint."""
    _late(world, two_segments, "sagemaker.CreateEndpoint", 100)
    answer = world.delete()
    assert answer["Status"] == "SUCCESS"
    assert world.happened("create")
    assert world.endpoint is None
    assert not world.sagemaker.configs


def test_a_configuration_that_arrives_after_it_was_deleted_is_deleted_again(world, two_segments):
    _late(world, two_segments, "sagemaker.CreateEndpointConfig", 60)
    world.faults["sagemaker.CreateEndpoint"] = "throttled"
    world.pass_time(1)
    world.run()
    assert world.sagemaker.configs
    assert world.delete()["Status"] == "SUCCESS"
    assert world.sagemaker.calls["CreateEndpointConfig"] == 2
    assert not world.sagemaker.configs


def _late(world, plan, call, seconds):
    """Let a call be under way that arrives so many seconds after the tear-down began."""
    world.deploy(world.declaration(plan))
    world.pass_time(2 * HOUR)
    world.faults[call] = "late"
    world.run()
    assert world.under_way
    begun = world.clock.now
    original, world.clock.sleep = world.clock.sleep, None

    def sleep(pause):
        original(pause)
        if world.clock.now - begun > seconds:
            world.arrive()

    world.clock.sleep = sleep


def test_the_endpoint_leaves_at_the_end_of_every_segment(served, two_segments):
    """Only the plan's end was watched: it was still on the plan at the end of segment 1."""
    served.go(two_segments.segments[0][1])
    assert served.endpoint.live.plan == ""
    assert not served.happened("expired")


def test_a_silent_rollback_is_not_repeated_for_ever(served, two_segments):
    served.sagemaker.bad.add("m2")
    served.deploy(served.declaration(two_segments, model="m2", on_expiry=served.to_on_demand()))
    served.settle(60)
    assert len(served.happened("update")) == 1
    assert served.item.rolled_back.reason == "no capacity"


@pytest.mark.parametrize("fault", ["die-before", "timeout-before", "throttled"])
def test_an_update_that_never_arrived_is_no_rollback(served, two_segments, fault):
    served.faults["sagemaker.UpdateEndpoint"] = fault
    served.deploy(served.declaration(two_segments, model="m2", on_expiry=served.to_on_demand()))
    served.settle(6)
    assert served.item.state == "InService"
    assert served.item.served["config"] == served.endpoint.live.config
    assert len(served.happened("update")) == 1


def test_on_demand_without_capacity_inside_the_margin_does_not_keep_the_endpoint_on_the_plan(served, two_segments):
    served.sagemaker.on_demand = False
    served.go(two_segments.segments[0][1] - HOUR)
    assert served.endpoint is None
    assert not served.happened("expired")


def test_a_configuration_whose_deletion_may_still_arrive_is_not_taken_into_use(served, two_segments):
    world = served
    first = world.endpoint.live.config
    declared = {model: world.declaration(two_segments, model=model) for model in ("m1", "m2")}
    world.deploy(declared["m2"])
    world.faults["sagemaker.DeleteEndpointConfig"] = "late"
    while not world.under_way:
        world.pass_time(PERIOD)
        world.run()
    assert world.under_way[0][2] == {"EndpointConfigName": first} or world.under_way
    world.deploy(declared["m1"])
    world.pass_time(20)
    world.run()
    world.pass_time(60)
    world.arrive()
    world.settle()
    assert not world.sagemaker.broken
    assert world.item.state == "InService"


def test_a_call_on_a_late_reading_is_no_update_that_failed(served, two_segments):
    """SageMaker says in-progress: nothing happened, and it is no reason to give the plan up."""
    world = served
    world.go(two_segments.segments[0][1] - HOUR - 45 * MINUTE - PERIOD)
    original = world.sagemaker.handle

    def handle(operation, request):
        if operation == "UpdateEndpoint" and not refused:
            refused.append(request)
            raise world.refused("ValidationException", 'Cannot update in-progress endpoint "arn".')
        return original(operation, request)

    refused = []
    world.sagemaker.handle = handle
    world.go(two_segments.segments[0][1])
    assert refused
    assert world.item.state == "OnDemand"
    assert not world.happened("delete")


def test_a_plan_that_cannot_be_read_is_left_at_the_edges_that_are_known(served, two_segments):
    world = served
    original = world.sagemaker.handle

    def handle(operation, request):
        if operation == "DescribeTrainingPlan":
            raise world.refused("AccessDeniedException", "not allowed")
        return original(operation, request)

    world.sagemaker.handle = handle
    world.go(two_segments.segments[0][1])
    assert world.item.state == "OnDemand"
    assert not world.happened("expired") + world.happened("delete")


def test_what_was_extended_stays_and_is_started_again_if_its_capacity_went_all_the_same(make_world):
    for reading in ("keeps", "ends"):
        world = make_world()
        world.sagemaker.extension = reading
        start = world.clock.now
        plan = world.sagemaker.plan("nightly", (start, start + 24 * HOUR))
        world.deploy(world.declaration(plan))
        world.go(start + 12 * HOUR)
        plan.segments[0][1] += 24 * HOUR
        world.go(start + 26 * HOUR)
        assert world.item.state == "InService"
        assert not world.endpoint.live.dead
        assert bool(world.happened("delete")) == (reading == "ends")
