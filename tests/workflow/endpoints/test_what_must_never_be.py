"""What the stories of this folder hold endpoints to, each shown a keeper with a defect that it has to catch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from constructs_lib import EndpointScaling, OnExpiry

pytestmark = pytest.mark.slow
MINUTE, HOUR = 60.0, 3600.0
MARGIN = 12 * MINUTE


@pytest.fixture(scope="module")
def site(open_site: Callable[..., Any], plan: Callable[..., Any]) -> Any:
    names = ("crowded", "replaced", "collected", "scaled", "overstayed", "forgotten")
    days = ((f"{48 * day + 1}h", f"{48 * day + 25}h") for day in range(len(names)))
    counts = {"crowded": 2, "scaled": 3}
    return open_site(
        [plan(n, count=counts.get(n, 1), start=a, end=b) for n, (a, b) in zip(names, days, strict=True)],
    )


def without(rule: str) -> dict[str, str]:
    return {f"{rule}: bool = True": f"{rule}: bool = False"}


def up(site: Any, name: str, defect: dict[str, str], **more: Any) -> dict[str, Any]:
    declared = {"plan": name, "instance_count": 1} | more
    site.begin(name)
    site.deploy(declared, defect=defect)
    site.until(lambda: site.state() == "InService")
    return declared


def test_more_instances_than_the_plan_has(site: Any) -> None:
    defect = without("head_room")
    declared = up(site, "crowded", defect, instance_count=2)
    assert site.beyond_the_plan() == []
    site.deploy(declared | {"model_name": "m2"}, defect=defect)
    site.until(site.beyond_the_plan)
    site.ended()


def test_requests_that_fail_although_no_downtime_was_accepted(site: Any) -> None:
    defect = {"STOP_AND_REPLACE if same_capacity and downtime else": "STOP_AND_REPLACE if same_capacity else"}
    declared = up(site, "replaced", defect)
    with site.caller() as caller:
        site.until(lambda: caller.seen.answered)
        site.deploy(declared | {"model_name": "m2"}, defect=defect)
        site.until(lambda: site.serves(model="m2"))
        site.until(lambda: len(caller.seen.configs) == 2)
    assert caller.seen.failed > 0
    assert caller.seen.gap > MINUTE
    assert site.ended() == []


def test_a_configuration_that_is_deleted_in_use(site: Any) -> None:
    defect = without("spare_used")
    declared = up(site, "collected", defect)
    assert site.deleted_in_use() == []
    site.deploy(declared | {"model_name": "m2"}, defect=defect)
    site.until(site.deleted_in_use)
    site.ended()


def test_autoscaling_beyond_the_plan(site: Any) -> None:
    minute = {"scale_out_cooldown": 60, "scale_in_cooldown": 60}
    scaling = EndpointScaling(min_capacity=1, max_capacity=8, invocations_per_instance=0.5, **minute)
    up(site, "scaled", without("within_plan"), scaling=scaling)
    site.until(site.targets)
    with site.caller():
        site.until(site.badly_scaled)
    site.ended()


def test_an_endpoint_that_stays_on_its_plan_past_the_usable_end(site: Any) -> None:
    site.sandbox.sagemaker.set_free("ml.g5.48xlarge", 0)
    leaving = OnExpiry.to_on_demand("ml.g5.48xlarge", last_resort=OnExpiry.delete())
    up(site, "overstayed", without("last_resort"), on_expiry=leaving)
    usable = site.end("overstayed") - HOUR
    site.go_to(usable - MARGIN - MINUTE)
    site.runs(3)
    assert site.past_the_usable_end() == []
    site.go_to(usable + MINUTE)
    site.until(site.past_the_usable_end)
    site.ended()


def test_a_configuration_that_is_left_behind(site: Any) -> None:
    defect = {"if not asking and (old := ": "if not going and not asking and (old := "}
    up(site, "forgotten", defect)
    assert site.left()
    assert site.deploy(held=False, defect=defect)
    assert any(name.startswith("chat-") for name in site.left())
