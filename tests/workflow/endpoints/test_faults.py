"""Calls that are throttled, functions that die in the middle, events that never come: the endpoint lives as declared.

The tests of this file share a sandbox and go forward in time, each on a plan of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from constructs_lib import OnExpiry

pytestmark = pytest.mark.slow
MINUTE, HOUR = 60.0, 3600.0
MARGIN = 30
CHANGES = (
    "CreateEndpointConfig",
    "CreateEndpoint",
    "UpdateEndpoint",
    "UpdateEndpointWeightsAndCapacities",
    "DeleteEndpointConfig",
    "DeleteEndpoint",
)
READS = ("DescribeEndpoint", "DescribeEndpointConfig", "DescribeTrainingPlan", "ListTags")
THROTTLED = ("ThrottlingException", "Rate exceeded", 400)


@pytest.fixture(scope="module")
def site(open_site: Callable[..., Any], plan: Callable[..., Any]) -> Any:
    return open_site([plan("throttled", start="1h", end="1d"), plan("killed", start="2d", end="3d")])


def throttle(site: Any) -> None:
    for operation in (*CHANGES, *READS):
        # The SDK repeats a reading twice; the third refusal reaches the keeper.
        site.sandbox.faults.add("sagemaker", operation, error=THROTTLED, times=3 if operation in READS else 1)
    site.sandbox.faults.switch("events.sagemaker", "lost")


def kill(site: Any) -> None:
    for operation in CHANGES:
        for when in ("before", "after"):
            site.sandbox.faults.add("sagemaker", operation, when=when, error="kill-caller")


@pytest.mark.parametrize(("name", "plant"), [("throttled", throttle), ("killed", kill)])
def test_a_life_in_which_every_call_fails_once_is_the_life_that_was_declared(
    site: Any, name: str, plant: Callable[[Any], None]
) -> None:
    leaving = OnExpiry.to_on_demand("ml.g5.48xlarge", last_resort=OnExpiry.delete())
    declared = {"plan": name, "on_expiry": leaving, "margin_minutes": MARGIN}
    site.begin(name, before=10 * MINUTE)
    assert site.deploy(declared).endswith("COMPLETE"), site.reasons
    plant(site)
    site.until(lambda: site.state() == "InService")
    with site.caller() as caller:
        site.deploy(declared | {"model_name": "m2"})
        site.until(lambda: site.serves(model="m2") and site.count() == 2)
    assert caller.seen.failed == 0
    site.until(lambda: site.state() == "InService")
    usable = site.end(name) - HOUR
    site.go_to(usable - MARGIN * MINUTE - 2 * MINUTE)
    with site.caller() as caller:
        site.until(lambda: site.serves(on=""))
    assert caller.seen.failed == 0
    assert site.now < usable
    assert site.ended() == []
    assert [(fault.operation, fault.when) for fault in site.sandbox.faults.pending()] == []
    assert site.sandbox.faults.hits.total() > 0
    site.sandbox.faults.clear()
