"""A new model on a plan that is full, or not, and an update that SageMaker rolls back without a word.

The tests of this file share a sandbox and go forward in time, each on a plan of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from constructs_lib import OnExpiry

pytestmark = pytest.mark.slow
MINUTE = 60.0
G5, G6 = "ml.g5.48xlarge", "ml.g6e.48xlarge"


@pytest.fixture(scope="module")
def site(open_site: Callable[..., Any], plan: Callable[..., Any]) -> Any:
    plans = [
        plan("two-of-two", count=2, start="1h", end="1d"),
        plan("one-of-one", count=1, start="2d", end="3d"),
        plan("two-of-four", count=4, start="4d", end="5d"),
        plan("elsewhere", count=1, start="6d", end="7d"),
    ]
    return open_site(plans)


def test_on_a_full_plan_of_two_one_instance_makes_room_and_no_request_fails(site: Any) -> None:
    site.begin("two-of-two")
    site.deploy({"plan": "two-of-two"})
    site.until(lambda: site.state() == "InService")
    with site.caller() as caller:
        site.deploy({"plan": "two-of-two", "model_name": "m2"})
        site.until(lambda: site.serves(model="m2") and site.count() == 2)
        site.until(lambda: len(caller.seen.configs) == 2)
    assert caller.seen.failed == 0
    wishes = [r["DesiredWeightsAndCapacities"][0] for r in site.calls("UpdateEndpointWeightsAndCapacities")]
    assert [wish["DesiredInstanceCount"] for wish in wishes] == [1, 2]
    assert not site.calls("DeleteEndpoint")
    assert site.ended() == []


def test_on_a_full_plan_of_one_the_old_model_serves_until_downtime_is_accepted(site: Any) -> None:
    begun = site.begin("one-of-one")
    one = {"plan": "one-of-one", "instance_count": 1}
    site.deploy(one)
    site.until(lambda: site.state() == "InService")
    with site.caller() as caller:
        site.deploy(one | {"model_name": "m2"})
        site.until(lambda: site.alarm("NoHeadRoomAlarm") == "ALARM", within=20 * MINUTE)
        site.runs(2)
    assert site.state() == "NoHeadRoom"
    assert site.serves(model="m1")
    assert caller.seen.failed == 0
    accepted = 10 * MINUTE
    with site.caller() as caller:
        site.deploy(one | {"model_name": "m2", "accept_downtime": accepted})
        site.until(lambda: site.serves(model="m2"))
        site.until(lambda: len(caller.seen.configs) == 2)
    assert caller.seen.failed > 0
    assert 0 < caller.seen.gap <= accepted
    assert not site.calls("UpdateEndpoint", begun)
    assert site.ended() == []


def test_a_plan_with_room_takes_the_new_fleet_beside_the_old_one(site: Any) -> None:
    begun = site.begin("two-of-four")
    site.deploy({"plan": "two-of-four"})
    site.until(lambda: site.state() == "InService")
    with site.caller() as caller:
        site.deploy({"plan": "two-of-four", "model_name": "m2"})
        site.until(lambda: site.serves(model="m2"))
    assert caller.seen.failed == 0
    (update,) = site.calls("UpdateEndpoint", begun)
    assert "BlueGreenUpdatePolicy" in update["DeploymentConfig"]
    assert not site.calls("UpdateEndpointWeightsAndCapacities", begun)
    assert site.ended() == []


def test_a_silent_rollback_is_told_and_not_repeated_until_an_input_changes(
    site: Any, gpucap: Callable[..., Any]
) -> None:
    begun = site.begin("elsewhere")
    site.sandbox.sagemaker.set_free(G5, 0)

    def declared(instance_type: str) -> dict[str, Any]:
        leaving = OnExpiry.to_on_demand(instance_type, last_resort=OnExpiry.delete())
        return {"plan": "elsewhere", "instance_count": 1, "on_expiry": leaving}

    site.deploy(declared(G5))
    site.until(lambda: site.state() == "InService")
    with site.caller() as caller:
        assert gpucap(site, "endpoint", "migrate", "chat", "--to", "end", "--yes")[0] == 0
        site.until(lambda: site.state() == "RolledBack", within=20 * MINUTE)
        site.until(lambda: site.alarm("RolledBackAlarm") == "ALARM", within=15 * MINUTE)
        site.runs(5)
    assert caller.seen.failed == 0
    assert len(site.calls("UpdateEndpoint", begun)) == 1
    assert site.serves(on="elsewhere")
    assert site.item().served["config"] in site.configs()
    told = [words for words in site.notices() if "was rolled back" in words and "AlarmName" not in words]
    assert len(told) == 1
    assert "InsufficientInstanceCapacity" in told[0]
    code, text = gpucap(site, "endpoint", "status", "chat")
    assert (code, "RolledBack" in text, "InsufficientInstanceCapacity" in " ".join(text.split())) == (1, True, True), (
        text
    )
    with site.caller() as caller:
        site.deploy(declared(G6))
        site.until(lambda: site.state() == "InService")
        assert gpucap(site, "endpoint", "migrate", "chat", "--to", "end", "--yes")[0] == 0
        site.until(lambda: site.state() == "OnDemand")
    assert caller.seen.failed == 0
    assert site.serves(on="")
    assert site.ended() == []
