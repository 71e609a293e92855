"""What AWS does not document about endpoints, in every reading: the endpoint lives as declared.

The tests of this file share a sandbox and go forward in time, each on a plan of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from constructs_lib import OnExpiry
from constructs_lib.facts import unknowns

pytestmark = pytest.mark.slow
MINUTE, HOUR = 60.0, 3600.0
MARGIN = 12 * MINUTE
ROWS = [row for row in unknowns().values() if row.id.startswith("sagemaker.endpoint-")]
EXPIRED, EXTENSION = "sagemaker.endpoint-expired", "sagemaker.endpoint-extension"
# One life shows all defaults; these two questions come up in lives of their own.
LIVES = [("", "all defaults")] + [
    (row.id, reading) for row in ROWS for reading in row.readings
    if row.id not in (EXPIRED, EXTENSION) and reading != row.default
]  # fmt: skip
KEPT = [(EXPIRED, reading) for reading in unknowns()[EXPIRED].readings]
EXTENDED = [(EXTENSION, reading) for reading in unknowns()[EXTENSION].readings]
ORDER = [*LIVES, *KEPT, *EXTENDED]


@pytest.fixture(scope="module")
def site(open_site: Callable[..., Any], plan: Callable[..., Any]) -> Any:
    plans = []
    for number, life in enumerate(ORDER):
        first = 96 * number + 1
        parts = [(first, first + 24), (first + 26, first + 50)][: 1 if life in EXTENDED else 2]
        segments = [{"start": f"{a}h", "end": f"{b}h"} for a, b in parts]
        plans.append(plan(f"life-{number}", segments=segments, extension={"days": 1, "price": "9.00"}))
    return open_site(plans)


@pytest.fixture
def life(site: Any, request: pytest.FixtureRequest) -> Any:
    """Read AWS as the test says, and return the name of its plan."""
    switch, reading = request.param
    if switch:
        site.sandbox.faults.switch(switch, reading)
    yield f"life-{ORDER.index(request.param)}"
    site.sandbox.faults.clear()


def up(site: Any, name: str, **more: Any) -> dict[str, Any]:
    """Declare an endpoint before its plan starts, and wait until it serves."""
    declared = {"plan": name} | more
    start = site.begin(name, before=3 * MINUTE)
    site.deploy(declared)
    site.until(lambda: site.state() == "InService", within=15 * MINUTE)
    assert site.log("Creating")[0]["time"] - start < 5 * MINUTE
    return declared


@pytest.mark.parametrize("life", LIVES, indirect=True, ids=str)
def test_it_comes_up_changes_its_model_moves_away_and_comes_back(site: Any, life: str) -> None:
    declared = up(site, life, on_expiry=OnExpiry.to_on_demand("ml.g5.48xlarge", last_resort=OnExpiry.delete()))
    with site.caller() as caller:
        site.deploy(declared | {"model_name": "m2"})
        site.until(lambda: site.serves(model="m2") and site.count() == 2)
        site.until(lambda: site.state() == "InService")
        site.go_to(site.end(life, 0) - HOUR - MARGIN - MINUTE)
        site.until(lambda: site.serves(on=""), within=MARGIN)
        site.go_to(site.segments(life)[1][0] - MINUTE)
        site.until(lambda: site.serves(model="m2", on=life), within=15 * MINUTE)
    assert caller.seen.failed == 0
    assert caller.seen.answered > 0
    assert not site.log("reservation expired")
    assert site.ended() == []


@pytest.mark.parametrize("life", KEPT, indirect=True, ids=str)
def test_kept_past_its_end_it_is_started_again_in_the_next_segment(site: Any, life: str) -> None:
    up(site, life, on_expiry=OnExpiry.keep(acknowledge="its caller retries elsewhere"))
    site.go_to(site.end(life, 0) + MINUTE)
    site.until(lambda: site.log("reservation expired"), within=5 * MINUTE)
    site.go_to(site.segments(life)[1][0] - MINUTE)
    site.until(lambda: len(site.log("Creating")) == 2, within=15 * MINUTE)
    site.until(lambda: site.serves(on=life) and site.count() == 2, within=15 * MINUTE)
    with site.caller() as caller:
        site.until(lambda: caller.seen.answered)
    assert caller.seen.failed == 0
    assert site.ended(kept=True) == []


@pytest.mark.parametrize("life", EXTENDED, indirect=True, ids=str)
def test_on_a_plan_that_was_extended_it_serves_beyond_the_old_end(site: Any, life: str) -> None:
    up(site, life)
    end, client = site.end(life), site.sandbox.client("sagemaker")
    site.go_to(end - 5 * HOUR)
    wanted = {"TrainingPlanArn": site.ask("DescribeTrainingPlan", TrainingPlanName=life)["TrainingPlanArn"]}
    found = client.search_training_plan_offerings(**wanted, DurationHours=24, TargetResources=["endpoint"])
    offered = found["TrainingPlanExtensionOfferings"][0]["TrainingPlanExtensionOfferingId"]
    client.extend_training_plan(TrainingPlanExtensionOfferingId=offered)
    site.until(lambda: site.end(life) > end, within=HOUR)
    site.runs(1)
    site.go_to(end - 32 * MINUTE)
    with site.caller() as caller:
        site.until(lambda: site.now > end - 25 * MINUTE)
        site.until(lambda: site.serves(on=life) and site.count() == 2, within=15 * MINUTE)
        answered = caller.seen.answered
        site.until(lambda: caller.seen.answered > answered)
    assert caller.seen.gap <= 10 * MINUTE
    assert bool(caller.seen.failed) == bool(site.log("reservation expired"))
    assert bool(caller.seen.failed) == (site.sandbox.faults.state(EXTENSION, "keeps") == "ends")
    site.go_to(end + MINUTE)
    site.runs(2)
    assert site.serves(on=life)
    assert site.ended() == []
