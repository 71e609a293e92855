"""Every way to leave a plan, before its capacity goes, and back onto its next segment.

The tests of this file share a sandbox and go forward in time, each on plans of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from constructs_lib import OnExpiry

pytestmark = pytest.mark.slow
MINUTE, HOUR = 60.0, 3600.0
MARGIN = 12 * MINUTE
PERIOD = 3 * MINUTE
COMES_UP = 5 * MINUTE
G5 = "ml.g5.48xlarge"


def arn(name: str) -> str:
    return f"arn:aws:sagemaker:us-east-1:123456789012:training-plan/{name}"


@pytest.fixture(scope="module")
def site(open_site: Callable[..., Any], plan: Callable[..., Any]) -> Any:
    parts = [{"start": "240h", "end": "264h"}, {"start": "266h", "end": "290h"}]
    plans = [
        plan("first", start="1h", end="1d"),
        plan("second", start="20h", end="2d"),
        plan("third", start="3d", end="4d"),
        plan("late", start="95h", end="5d", late="3h"),
        plan("nowhere", start="6d", end="7d"),
        plan("kept", start="8d", end="9d"),
        plan("parted", segments=parts),
        plan("wished", start="13d", end="14d"),
    ]
    return open_site(plans)


def near_the_cut(site: Any, name: str, before: float = 3 * MINUTE) -> float:
    """Go to shortly before the cut of a plan's first segment; return its usable end."""
    usable = float(site.end(name, 0)) - HOUR
    site.go_to(usable - MARGIN - before)
    return usable


def test_onto_the_next_plan_while_both_are_active_no_request_fails(site: Any) -> None:
    site.begin("first")
    site.deploy({"plan": "first", "on_expiry": OnExpiry.to_plan(arn("second"))})
    site.until(lambda: site.state() == "InService")
    usable = near_the_cut(site, "first")
    with site.caller() as caller:
        site.until(lambda: site.serves(on="second"), within=MARGIN + 3 * MINUTE)
        assert site.now < usable
        site.until(lambda: len(caller.seen.configs) == 2)
    assert caller.seen.failed == 0
    near_the_cut(site, "second")
    site.until(lambda: site.log("deleted"), within=MARGIN)
    assert site.ended() == []


def test_a_next_plan_that_is_late_is_the_last_resort_at_the_cut_and_the_place_to_come_up_later(site: Any) -> None:
    site.begin("third")
    site.deploy({"plan": "third", "on_expiry": OnExpiry.to_plan(arn("late"))})
    site.until(lambda: site.state() == "InService")
    usable = near_the_cut(site, "third")
    site.until(lambda: site.log("deleted"), within=MARGIN)
    assert site.now < usable
    active = site.segments("late")[0][0] + 3 * HOUR
    site.go_to(active - 2 * MINUTE)
    site.runs(1)
    assert site.endpoint() is None
    site.until(lambda: site.serves(on="late"), within=2 * MINUTE + PERIOD + COMES_UP)
    assert site.ended() == []


def test_without_on_demand_capacity_the_endpoint_is_deleted_before_the_capacity_goes(site: Any) -> None:
    site.begin("nowhere")
    site.sandbox.sagemaker.set_free(G5, 0)
    leaving = OnExpiry.to_on_demand(G5, last_resort=OnExpiry.delete())
    site.deploy({"plan": "nowhere", "on_expiry": leaving})
    site.until(lambda: site.state() == "InService")
    usable = near_the_cut(site, "nowhere")
    with site.caller() as caller:
        site.until(lambda: site.log("deleted"), within=MARGIN + 3 * MINUTE)
    assert site.now < usable
    assert caller.seen.answered > 0
    assert any("could not move" in words for words in site.notices())
    site.go_to(site.end("nowhere") + MINUTE)
    assert site.ended() == []
    site.sandbox.sagemaker.set_free(G5, 8)


def test_a_kept_endpoint_stays_and_answers_with_a_model_error(site: Any, gpucap: Callable[..., Any]) -> None:
    site.begin("kept")
    site.deploy({"plan": "kept", "on_expiry": OnExpiry.keep(acknowledge="its caller retries elsewhere")})
    site.until(lambda: site.state() == "InService")
    site.go_to(site.end("kept") + MINUTE)
    with site.caller() as caller:
        site.until(lambda: site.state() == "KeptPastEnd", within=10 * MINUTE)
        site.until(lambda: caller.seen.failed > 0)
    errors = {row["error"] for row in site.sandbox.sagemaker.endpoints.invocations("chat")}
    assert "ModelError" in errors
    code, text = gpucap(site, "endpoint", "status", "chat")
    assert (code, "its caller retries elsewhere" in " ".join(text.split())) == (1, True), text
    assert site.past_the_usable_end()
    assert site.ended(kept=True) == []


def test_after_a_gap_the_endpoint_comes_back_with_the_model_that_was_declared_meanwhile(site: Any) -> None:
    site.begin("parted")
    site.deploy({"plan": "parted"})
    site.until(lambda: site.state() == "InService")
    usable = near_the_cut(site, "parted")
    site.until(lambda: site.log("deleted"), within=MARGIN)
    assert site.now < usable
    site.deploy({"plan": "parted", "model_name": "m2"})
    site.runs(2)
    assert site.endpoint() is None
    start = site.segments("parted")[1][0]
    site.go_to(start - MINUTE)
    site.until(lambda: site.serves(model="m2"), within=MINUTE + PERIOD + COMES_UP)
    assert site.log("Creating")[-1]["time"] - start <= PERIOD + MINUTE / 2
    assert site.ended() == []


def test_a_person_can_leave_the_plan_now_and_come_back(site: Any, gpucap: Callable[..., Any]) -> None:
    site.begin("wished")
    site.deploy({"plan": "wished"})
    site.until(lambda: site.state() == "InService")
    code, text = gpucap(site, "endpoint", "migrate", "chat", "--to", "delete", "--yes")
    assert (code, "its plan stays paid" in text) == (0, True), text
    site.until(lambda: site.state() == "Deleted", within=10 * MINUTE)
    code, text = gpucap(site, "endpoint", "status", "chat")
    assert (code, "wishes besides its declaration: on_expiry_now delete" in text) == (0, True), text
    assert gpucap(site, "endpoint", "migrate", "chat", "--to", "declared", "--yes")[0] == 0
    site.until(lambda: site.state() == "InService", within=10 * MINUTE)
    code, text = gpucap(site, "endpoint", "plan", "chat")
    assert (code, "the next look would change nothing: InService" in text) == (0, True), text
    assert site.ended() == []
