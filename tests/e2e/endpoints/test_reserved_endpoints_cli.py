"""The published steps of inference on reserved capacity: search, reserve, config, deploy, invoke, expiry, move, scale.

The tests of this file are one story on one clock, in the order of the file.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.slow
MINUTE, DAY = 60.0, 86400.0
PERIOD = 5 * MINUTE
Gpucap = Callable[..., tuple[int, str]]


def test_search_shows_what_is_offered_for_endpoints(gpucap: Gpucap) -> None:
    wanted = ("quote", "ml.p5.48xlarge", "--count", "3", "--days", "3", "--target", "endpoint", "--format", "json")
    code, text = gpucap(*wanted)
    (offered,) = json.loads(text)["offerings"]
    assert (code, offered["upfront_fee"], offered["targets"]) == (0, "9000.00", ["endpoint"])


def test_a_configuration_on_an_active_plan_serves(serving: Any) -> None:
    deployed = serving.deploy("Plain")
    assert deployed.returncode == 0, deployed.stdout + deployed.stderr
    assert serving.described("echo")["EndpointStatus"] == "InService"
    assert serving.ask("echo") == "hello"


def test_more_than_the_plan_holds_is_refused(serving: Any) -> None:
    deployed = serving.deploy("Plain", **{"plain count": 3})
    assert deployed.returncode == 1
    assert "exceeds reserved capacity (2)" in deployed.stdout + deployed.stderr
    assert serving.ask("echo") == "hello"
    serving.said["plain count"] = 2


def test_a_plan_for_next_week_and_its_endpoint_are_deployed_together_and_wait(serving: Any, gpucap: Gpucap) -> None:
    deployed = serving.deploy("Serving")
    assert deployed.returncode == 0, deployed.stdout + deployed.stderr
    assert [row["plan"].rpartition("/")[2] for row in serving.sandbox.sagemaker.purchases()] == ["serving"]
    assert serving.described("chat") is None
    code, text = gpucap("endpoint", "status", "chat", "--format", "json")
    (row,) = json.loads(text)["endpoints"]
    assert (code, row["state"], row["plan"]["on_expiry"]) == (0, "WaitingForPlan", "to_on_demand")
    assert row["next_action"] == "create the endpoint on the plan"


def test_after_the_plans_end_the_plain_endpoint_answers_no_more_until_it_is_moved(serving: Any) -> None:
    serving.go_to(serving.sandbox.clock.now() + DAY)
    assert "Endpoint capacity reservation has expired" in serving.ask("echo")
    moved = serving.deploy("Plain", expired=True)
    assert moved.returncode == 0, moved.stdout + moved.stderr
    assert serving.ask("echo") == "hello"
    assert serving.config("echo")["InstanceType"] == "ml.g5.48xlarge"
    destroyed = serving.run("destroy", "Plain", "--force")
    assert destroyed.returncode == 0, destroyed.stdout + destroyed.stderr
    assert serving.described("echo") is None


def test_the_endpoint_comes_up_within_a_period_of_the_plans_start(serving: Any, gpucap: Gpucap) -> None:
    plan = serving.sandbox.client("sagemaker").describe_training_plan(TrainingPlanName="serving")
    serving.go_to(plan["StartTime"].timestamp())
    begun = serving.wait(lambda: serving.described("chat"), within=PERIOD + MINUTE)
    assert begun <= PERIOD + MINUTE
    serving.wait(lambda: serving.described("chat")["EndpointStatus"] == "InService", within=30 * MINUTE)
    assert serving.ask("chat") == "hello"
    variant = serving.config()
    assert variant["CapacityReservationConfig"]["MlReservationArn"] == plan["TrainingPlanArn"]
    code, text = gpucap("endpoint", "plan", "chat", "--format", "json")
    row = json.loads(text)
    assert (code, row["now"]["state"], row["plan"]["total"] - row["plan"]["available"]) == (0, "InService", 2), text
    assert (
        row["plan"]["segments"][0]["cut"]
        == serving.sandbox.clock.iso(plan["EndTime"].timestamp() - 90 * MINUTE)[:19] + "Z"
    )
    code, text = gpucap("endpoint", "plan", "chat")
    assert (code, "2 of 3" in text, "the next look would" in text) == (0, True, True), text


def test_a_new_model_is_served_without_a_failed_request(serving: Any) -> None:
    with serving.caller("chat") as caller:
        deployed = serving.deploy("Serving", model="chat-2")
        assert deployed.returncode == 0, deployed.stdout + deployed.stderr
        serving.wait(lambda: serving.config()["ModelName"] == "chat-2", within=90 * MINUTE)
    assert caller.failed == []
    assert caller.answered > 20


def test_scaling_stays_within_the_plan(serving: Any, gpucap: Gpucap) -> None:
    code, text = gpucap("endpoint", "scale", "chat", "4", "--yes")
    assert (code, "more than the 3 that its plan holds" in text) == (2, True)
    code, text = gpucap("endpoint", "scale", "chat", "3")
    assert (code, "nobody is here to be asked; add --yes" in text) == (2, True)
    with serving.caller("chat") as caller:
        assert gpucap("endpoint", "scale", "chat", "3", "--yes")[0] == 0
        serving.wait(lambda: count(serving) == 3, within=60 * MINUTE)
    assert caller.failed == []
    assert gpucap("endpoint", "scale", "chat", "--as-declared", "--yes")[0] == 0
    serving.wait(lambda: count(serving) == 2, within=60 * MINUTE)


def count(serving: Any) -> int:
    (variant,) = serving.described("chat")["ProductionVariants"]
    return int(variant["CurrentInstanceCount"])


def test_before_the_cut_the_endpoint_moves_to_on_demand_without_a_failed_request(serving: Any, gpucap: Gpucap) -> None:
    plan = serving.sandbox.client("sagemaker").describe_training_plan(TrainingPlanName="serving")
    cut = plan["EndTime"].timestamp() - 60 * MINUTE
    serving.go_to(cut - 40 * MINUTE)
    with serving.caller("chat") as caller:
        serving.wait(lambda: "InstancePools" in serving.config(), within=60 * MINUTE)
        serving.go_to(plan["EndTime"].timestamp() + MINUTE)
        serving.wait(lambda: caller.answered > 40, within=DAY)
    assert caller.failed == []
    serving.wait(
        lambda: '"state": "OnDemand"' in gpucap("endpoint", "status", "chat", "--format", "json")[1], within=DAY
    )
    assert gpucap("endpoint", "status", "chat")[0] == 0


def test_clean_up_leaves_no_endpoint_and_no_configuration(serving: Any, gpucap: Gpucap) -> None:
    destroyed = serving.run("destroy", "Serving", "--force")
    assert destroyed.returncode == 0, destroyed.stdout + destroyed.stderr
    client = serving.sandbox.client("sagemaker")
    assert client.list_endpoints()["Endpoints"] == []
    assert client.list_endpoint_configs()["EndpointConfigs"] == []
    assert gpucap("endpoint", "status")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("endpoint", "scale", "chat", "2"), "no stack here declares an endpoint 'chat'"),
        (("endpoint", "plan", "chat", "--table", "nowhere"), "AWS refused"),
        (("endpoint", "adopt", "chat", "--endpoint-url", "http://127.0.0.1:9"), "nobody answers"),
    ],
)
def test_what_a_command_cannot_use_is_refused_in_words(gpucap: Gpucap, arguments: tuple[str, ...], words: str) -> None:
    code, text = gpucap(*arguments)
    assert (code, words in text, "Traceback" in text) == (2, True, False), text
