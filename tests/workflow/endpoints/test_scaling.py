"""Instances that follow the load, or a person's wish, within the plan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from constructs_lib import EndpointScaling, OnExpiry

pytestmark = pytest.mark.slow
MINUTE, HOUR = 60.0, 3600.0
MARGIN = 12 * MINUTE
G5 = "ml.g5.48xlarge"


@pytest.fixture(scope="module")
def site(open_site: Callable[..., Any], plan: Callable[..., Any]) -> Any:
    return open_site([plan("loaded", count=3, start="1h", end="1d"), plan("wished", count=3, start="2d", end="3d")])


def scaled(**more: Any) -> dict[str, Any]:
    minute = {"scale_out_cooldown": 60, "scale_in_cooldown": 60}
    scaling = EndpointScaling(min_capacity=1, max_capacity=8, invocations_per_instance=1, **minute)
    leaving = OnExpiry.to_on_demand(G5, last_resort=OnExpiry.delete())
    return {"plan": "loaded", "instance_count": 1, "scaling": scaling, "on_expiry": leaving} | more


def limits(site: Any) -> list[tuple[int, int]]:
    return [(target["MinCapacity"], target["MaxCapacity"]) for target in site.targets()]


def test_load_brings_as_many_instances_as_the_plan_has_and_no_more(site: Any) -> None:
    site.begin("loaded")
    assert site.deploy(scaled()) == "CREATE_COMPLETE", site.reasons
    site.until(site.targets, within=15 * MINUTE)
    assert limits(site) == [(1, 3)]
    with site.caller() as caller:
        site.until(lambda: site.count() == 3)
        site.runs(4)
        assert site.count() == 3
    assert caller.seen.failed == 0
    assert {row["to"] for row in site.sandbox.sagemaker.scaling.activities} <= {1, 2, 3}


def test_a_model_update_with_autoscaling_registers_it_again(site: Any) -> None:
    with site.caller() as caller:
        site.until(lambda: site.count() == 3)
        site.deploy(scaled(model_name="m2"))
        site.until(lambda: site.serves(model="m2"))
        site.until(lambda: limits(site) == [(1, 3)])
    assert caller.seen.failed == 0


def test_a_wish_for_a_count_is_refused_where_autoscaling_decides(site: Any, gpucap: Callable[..., Any]) -> None:
    code, text = gpucap(site, "endpoint", "scale", "chat", "2", "--yes")
    assert (code, "autoscaling" in text, "1 to 8" in text) == (2, True, True), text


def test_autoscaling_is_taken_away_before_the_endpoint_leaves_its_plan(site: Any) -> None:
    end = site.end("loaded")
    site.until(lambda: site.state() == "InService")
    site.go_to(end - HOUR - MARGIN - 2 * MINUTE)
    with site.caller() as caller:
        site.until(lambda: site.serves(on=""), within=MARGIN)
    assert caller.seen.failed == 0
    assert site.targets() == []
    order = [each.operation for each in site.sandbox.requests
             if each.time > end - HOUR - MARGIN and each.status == 200
             and each.operation in ("DeregisterScalableTarget", "UpdateEndpoint")]  # fmt: skip
    assert order == ["DeregisterScalableTarget", "UpdateEndpoint"]
    site.go_to(end + MINUTE)
    assert site.ended() == []


def test_a_wish_for_more_instances_is_fulfilled_within_the_plan_and_can_be_taken_back(
    site: Any, gpucap: Callable[..., Any]
) -> None:
    site.begin("wished")
    site.deploy({"plan": "wished", "instance_count": 1})
    site.until(lambda: site.state() == "InService")
    code, text = gpucap(site, "endpoint", "scale", "chat", "4", "--yes")
    assert (code, "more than the 3 that its plan holds" in text) == (2, True), text
    with site.caller() as caller:
        assert gpucap(site, "endpoint", "scale", "chat", "3", "--yes")[0] == 0
        site.until(lambda: site.count() == 3)
        assert gpucap(site, "endpoint", "scale", "chat", "--as-declared", "--yes")[0] == 0
        site.until(lambda: site.count() == 1)
    assert caller.seen.failed == 0
    assert site.ended() == []
