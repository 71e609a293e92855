"""Endpoints that exist already, and what somebody changes by hand.

The tests of this file share a sandbox and go forward in time, each on a plan of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.slow
MINUTE = 60.0


@pytest.fixture(scope="module")
def site(open_site: Callable[..., Any], plan: Callable[..., Any]) -> Any:
    plans = [plan("old", count=2, start="1h", end="1d"), plan("touched", count=2, start="2d", end="3d")]
    return open_site(plans)


def test_an_endpoint_of_somebody_else_is_left_alone_until_it_is_adopted(site: Any, gpucap: Callable[..., Any]) -> None:
    site.begin("old")
    site.by_hand("chat", "fixed-name", model="old", on="old")
    site.until(site.serves)
    with site.caller() as caller:
        assert site.deploy({"plan": "old", "model_name": "m1"}) == "CREATE_COMPLETE", site.reasons
        site.runs(3)
        assert site.state() == "NotOurs"
        assert site.serves(model="old")
        assert gpucap(site, "endpoint", "status", "chat")[0] == 1
        code, text = gpucap(site, "endpoint", "adopt", "chat")
        assert (code, "nobody is here to be asked; add --yes" in text) == (2, True), text
        site.runs(2)
        assert site.serves(model="old")
        code, text = gpucap(site, "endpoint", "adopt", "chat", "--yes")
        assert (code, "its old configuration is left alone" in text) == (0, True), text
        site.until(lambda: site.serves(model="m1") and site.count() == 2)
        site.until(lambda: site.state() == "InService")
        site.until(lambda: len(caller.seen.configs) == 2)
    assert caller.seen.failed == 0
    assert caller.seen.configs[0] == "fixed-name"
    assert len(site.calls("CreateEndpoint")) == 1
    assert not site.calls("DeleteEndpoint")
    assert gpucap(site, "endpoint", "status", "chat")[0] == 0
    assert site.ended() == []
    assert site.configs() == {"fixed-name"}


def test_what_is_adopted_already_is_not_adopted_again(site: Any, gpucap: Callable[..., Any]) -> None:
    site.begin("touched")
    site.deploy({"plan": "touched"})
    site.until(lambda: site.state() == "InService")
    code, text = gpucap(site, "endpoint", "adopt", "chat", "--yes")
    assert (code, "there is nothing to adopt" in text) == (2, True), text


def test_an_endpoint_that_was_deleted_by_hand_comes_back(site: Any) -> None:
    site.sandbox.client("sagemaker").delete_endpoint(EndpointName="chat")
    site.until(lambda: site.log("deleted"), within=5 * MINUTE)
    site.until(site.serves, within=10 * MINUTE)
    assert len(site.log("Creating")) == 2


def test_an_endpoint_whose_configuration_was_changed_by_hand_goes_back_to_what_is_declared(site: Any) -> None:
    with site.caller() as caller:
        capacity = {"VariantName": "AllTraffic", "DesiredInstanceCount": 1}
        client = site.sandbox.client("sagemaker")
        client.update_endpoint_weights_and_capacities(EndpointName="chat", DesiredWeightsAndCapacities=[capacity])
        site.until(lambda: site.serves() and site.count() == 1, within=5 * MINUTE)
        site.by_hand("chat", "by-hand", model="other", count=1, on="touched")
        site.until(lambda: site.serves(model="other"), within=10 * MINUTE)
        site.until(lambda: site.serves(model="m1") and site.count() == 2, within=30 * MINUTE)
    assert caller.seen.failed == 0
    assert "by-hand" in site.configs()
    assert site.ended() == []
