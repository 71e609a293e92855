"""Target tracking on the virtual clock."""

from dataclasses import replace

import pytest

from constructs_lib.sandbox.sagemaker.endpoint_scaling import ScalingPolicy, ScalingTarget

TARGET = ScalingTarget("chat", "all", 1, 4, (ScalingPolicy(5, out_cooldown=60, in_cooldown=600),))


@pytest.fixture
def scaled(hosting):
    """Return a running endpoint on a plan, and its registry."""

    def make(*targets, **plan):
        one = hosting(plan={"count": 3} | plan)
        one.running("blue", plan="plan", count=2)
        registry = list(targets)
        one.world.sagemaker.scaling.follow(lambda: registry)
        return one, registry, one.world.sagemaker.scaling

    return make


def load(one, minutes, requests):
    for _ in range(minutes):
        for _ in range(requests):
            one.invoke()
        one.go(minutes=1)


def tried(scaling):
    return [(row["from"], row["to"], row["status"]) for row in scaling.activities]


def test_load_brings_instances_and_quiet_takes_them_after_a_rest(scaled):
    one, _, scaling = scaled(TARGET)
    load(one, 3, 14)
    assert (tried(scaling), one.counts()) == ([(2, 3, "Successful")], {"all": (3, 3)})
    one.go(minutes=20)
    assert (tried(scaling)[1:], one.counts()) == ([(3, 1, "Successful")], {"all": (1, 1)})
    assert scaling.activities[1]["time"] - scaling.activities[0]["time"] >= 600


def test_a_number_above_the_plan_is_tried_and_refused(scaled):
    one, _, scaling = scaled(TARGET)
    load(one, 2, 40)
    assert (tried(scaling)[0], one.counts()) == ((2, 4, "Failed"), {"all": (2, 2)})
    assert scaling.activities[0]["cause"] == "Requested instance count (4) exceeds reserved capacity (3)"


@pytest.mark.parametrize(
    ("change", "requests", "count"),
    [
        ({"most": 2}, 40, 2),
        ({"least": 3, "policies": ()}, 0, 3),
        ({"most": 1, "policies": ()}, 0, 1),
        ({"may_grow": False}, 14, 2),
        ({"may_shrink": False}, 1, 2),
        ({"policies": (ScalingPolicy(5, scales_in=False),)}, 1, 2),
        ({"policies": (ScalingPolicy(5, 0, 0), ScalingPolicy(100, 0, 0))}, 14, 3),
    ],
)
def test_numbers_stay_within_what_is_registered(scaled, change, requests, count):
    one, _, _ = scaled(replace(TARGET, **change))
    load(one, 6, requests)
    assert one.counts() == {"all": (count, count)}


def test_what_is_not_registered_is_left_alone_and_registering_later_is_seen(scaled):
    one, registry, scaling = scaled()
    load(one, 3, 14)
    assert scaling.activities == []
    registry.append(TARGET)
    scaling.refresh()
    load(one, 2, 14)
    assert tried(scaling) == [(2, 3, "Successful")]
    registry.clear()
    one.go(hours=1)
    assert len(scaling.activities) == 1


def test_an_endpoint_that_is_busy_or_expired_is_not_scaled(scaled):
    one, _, scaling = scaled(TARGET)
    one.endpoints.set_status("chat", "SystemUpdating")
    load(one, 3, 14)
    assert scaling.activities == []
    one.endpoints.set_status("chat", "InService")
    one.go(hours=22, minutes=30)
    before = len(scaling.activities)
    load(one, 30, 14)
    assert (len(scaling.activities), one.invoke()) == (before, "ModelError")
