"""A training plan through the real CDK CLI: quoted, bought once, moved, kept; and watched until its end."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from constructs_lib.sandbox import Sandbox

pytestmark = pytest.mark.slow
ARN = "arn:aws:sagemaker:us-east-1:123456789012:training-plan/"
DAY, MINUTE = 86400.0, 60.0
WATCHED = ("later", "slow")
Gpucap = Callable[..., tuple[int, str]]


def test_without_a_key_a_deploy_is_a_quote(story: dict[str, Any]) -> None:
    quoted = story["quoted"]
    assert quoted.code == 0, quoted.said
    assert "training plan nightly: Quote. not bought: no purchase key is given; offered: 4 x ml.p5" in quoted.outputs
    assert "11520.00 USD" in quoted.said
    assert "SearchTrainingPlanOfferings" in quoted.calls
    assert (quoted.spent, quoted.purchases) == ([], [])


def test_with_the_key_the_same_resource_buys_in_place(story: dict[str, Any]) -> None:
    quoted, bought = story["quoted"], story["bought"]
    assert bought.code == 0, bought.said
    assert bought.spent == ["CreateTrainingPlan"]
    assert bought.resources == quoted.resources
    assert set(bought.resources.values()) == {f"{ARN}nightly"}
    (purchase,) = bought.purchases
    assert (purchase["plan"], purchase["fee"]) == (f"{ARN}nightly", "11520.00")
    assert purchase["tags"]["gpucap:identity"] == "nightly"
    assert "bought for 11520.00 USD" in bought.outputs


def test_deploying_again_spends_nothing(story: dict[str, Any]) -> None:
    again = story["again"]
    assert (again.code, again.spent, len(again.purchases)) == (0, [], 1), again.said


def test_a_construct_that_moves_and_gets_another_name_keeps_the_plan(story: dict[str, Any]) -> None:
    moved = story["moved"]
    assert moved.code == 0, moved.said
    assert moved.resources.keys().isdisjoint(story["bought"].resources)
    assert set(moved.resources.values()) == {f"{ARN}nightly"}
    assert (moved.spent, len(moved.purchases)) == ([], 1)


def test_a_stack_that_is_deleted_and_made_again_finds_the_plan(story: dict[str, Any]) -> None:
    deleted, again = story["deleted"], story["made again"]
    assert (deleted.code, deleted.status, deleted.spent) == (0, "", []), deleted.said
    assert again.code == 0, again.said
    assert set(again.resources.values()) == {f"{ARN}nightly"}
    assert (again.spent, len(again.purchases)) == ([], 1)


def test_more_instances_are_refused_in_words_and_the_rollback_is_clean(story: dict[str, Any]) -> None:
    more = story["more"]
    assert more.code == 1
    assert "this would be a second purchase" in more.said
    assert "raise generation" in more.said
    assert more.status == "UPDATE_ROLLBACK_COMPLETE"
    assert (more.spent, len(more.purchases)) == ([], 1)
    assert more.resources == story["made again"].resources


def test_a_raised_generation_buys_a_second_plan_on_purpose(story: dict[str, Any]) -> None:
    raised = story["raised"]
    assert raised.code == 0, raised.said
    assert raised.spent == ["CreateTrainingPlan"]
    assert [purchase["plan"] for purchase in raised.purchases] == [f"{ARN}nightly", f"{ARN}nightly-2"]
    assert set(raised.resources.values()) == {f"{ARN}nightly-2"}


def test_a_lowered_generation_is_refused(story: dict[str, Any]) -> None:
    lowered = story["lowered"]
    assert (lowered.code, lowered.spent, len(lowered.purchases)) == (1, [], 2)
    assert "generation 1 is asked for after generation 2" in lowered.said
    assert lowered.status == "UPDATE_ROLLBACK_COMPLETE"
    assert lowered.resources == story["raised"].resources


def test_destroying_keeps_the_plan_and_says_so(story: dict[str, Any], sandbox: Sandbox) -> None:
    destroyed = story["destroyed"]
    assert (destroyed.code, destroyed.status, destroyed.spent) == (0, "", []), destroyed.said
    assert "DELETE_SKIPPED" in destroyed.said
    assert "deleting this stack keeps it" in story["raised"].outputs
    plans = sandbox.client("sagemaker").list_training_plans()["TrainingPlanSummaries"]
    assert {"nightly", "nightly-2"} <= {plan["TrainingPlanName"] for plan in plans}


def test_what_was_destroyed_is_adopted_and_not_bought_when_it_is_deployed_again(story: dict[str, Any]) -> None:
    adopted = story["adopted"]
    assert adopted.code == 0, adopted.said
    assert set(adopted.resources.values()) == {f"{ARN}nightly-2"}
    assert (adopted.spent, len(adopted.purchases)) == ([], 2)


def test_the_roles_allow_every_call_that_the_functions_made(story: dict[str, Any], sandbox: Sandbox) -> None:
    """IAM is not enforced by the sandbox, so its log of calls is held against the deployed policies."""
    iam = sandbox.client("iam")
    for role in ("BuyerRole", "WatcherRole"):
        (name,) = (row["RoleName"] for row in iam.list_roles()["Roles"] if role in row["RoleName"])
        policy = iam.get_role_policy(RoleName=name, PolicyName="Purchases")["PolicyDocument"]
        allowed = {action for statement in policy["Statement"] for action in statement["Action"]}
        runs = [run for run in sandbox.lambdas.invocations if ("Watcher" in run.function) == (role == "WatcherRole")]
        workers = {run.worker for run in runs}
        made = {f"{call.service}:{call.operation}" for call in sandbox.requests if call.caller in workers}
        assert {call.partition(":")[0] for call in made} >= {"dynamodb", "sagemaker"}
        assert made <= allowed


@pytest.fixture
def shell(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `gpucap sandbox start` lets a person export."""
    for name, value in sandbox.environment().items():
        monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("shell")
def test_a_quote_on_the_command_line_shows_offerings_and_buys_nothing(sandbox: Sandbox, gpucap: Gpucap) -> None:
    before = len(sandbox.sagemaker.purchases())
    wanted = ("quote", "ml.p5.48xlarge", "--count", "4", "--days", "3")
    code, text = gpucap(*wanted)
    assert code == 0
    assert "40.0000 USD" in text
    assert "nothing was bought" in text
    code, text = gpucap(*wanted, "--format", "json")
    best, *_ = json.loads(text)["offerings"]
    assert (best["upfront_fee"], best["price_per_instance_hour"], best["hours"]) == ("11520.00", "40.0000", 72.0)
    assert best["segments"][0]["availability_zone"] == "us-east-1a"
    assert len(sandbox.sagemaker.purchases()) == before


@pytest.mark.usefixtures("shell")
def test_a_plan_that_needs_approval_is_bought_by_the_deploy_after_it_and_by_nothing_else(
    project: Any, sandbox: Sandbox, gpucap: Gpucap
) -> None:
    key = project.key("weekly#1")
    asked = project.deploy(stack="Asked", key=key)
    assert (asked.code, asked.spent) == (0, []), asked.said
    assert "training plan weekly: AwaitingApproval." in asked.outputs
    (notice,) = [row for row in sandbox.notices if "Approval needed" in row.subject]
    command = next(line.strip() for line in notice.message.splitlines() if "gpucap approve" in line)
    assert command == "gpucap approve weekly --max-fee 11520.00"
    before = len(sandbox.sagemaker.purchases())
    code, text = gpucap(*command.split()[1:], "--format", "json")
    assert (code, json.loads(text)["max_fee"]) == (0, "11520.00")
    assert len(sandbox.sagemaker.purchases()) == before
    bought = project.deploy(stack="Asked", key=key, again="monday")
    assert (bought.code, bought.spent) == (0, ["CreateTrainingPlan"]), bought.said
    assert "bought for 11520.00 USD" in bought.outputs
    code, text = gpucap(*command.split()[1:])
    assert (code, "weekly#1 is bought already" in text) == (2, True)


@pytest.mark.usefixtures("shell")
def test_a_quote_for_what_is_not_offered_shows_near_misses_and_ends_with_1(
    gpucap: Gpucap,
) -> None:
    wanted = ("quote", "ml.p5.48xlarge", "--count", "4", "--days", "2")
    code, text = gpucap(*wanted)
    assert code == 1
    assert "nothing is offered for 4 x ml.p5.48xlarge for 48 hours" in text
    assert "near misses" in text
    code, text = gpucap(*wanted, "--format", "json")
    assert (code, json.loads(text)["offerings"]) == (1, [])
    assert {row["hours"] for row in json.loads(text)["near"]} == {72.0}


@pytest.mark.usefixtures("shell")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("quote", "ml.c5.xlarge", "--count", "1", "--days", "1"), "no training plan holds ml.c5.xlarge"),
        (("quote", "ml.p5.48xlarge", "--count", "0", "--days", "1"), "--count 0: 1 to 256 is allowed"),
        (("quote", "ml.p5.48xlarge", "--count", "1", "--days", "1", "--after", "2027-01-01"), "has no time zone"),
        (("quote", "ml.p5.48xlarge", "--count", "1", "--days", "1", "--choice", "best"), "cheapest, earliest, longest"),
        (("approve", "nightly", "--max-fee", "60,000"), "'60,000' is no amount"),
        (("approve", "every night", "--max-fee", "1"), "letters, digits and hyphens"),
        (("approve", "nightly", "--max-fee", "1", "--days", "0"), "--days 0: 1 to 90 is allowed"),
        (("approve", "nightly", "--max-fee", "1", "--extend-until", "soon"), "a day such as 2027-02-12 is needed"),
        (("resolve", "nightly"), "look into CloudTrail and the console first"),
        (("resolve", "unheard-of", "--nothing-was-bought"), "unheard-of#1 was never begun"),
        (("approve", "x", "--max-fee", "1", "--endpoint-url", "http://127.0.0.1:9"), "nobody answers"),
        (("approve", "x", "--max-fee", "1", "--profile", "nobody"), "profiles stand in ~/.aws/config"),
    ],
)
def test_what_a_command_cannot_use_is_refused_in_words(gpucap: Gpucap, arguments: tuple[str, ...], words: str) -> None:
    code, text = gpucap(*arguments)
    assert code == 2
    assert words in text
    assert "Traceback" not in text


@dataclass
class Watch:
    """The stack whose plans start in weeks, and its watcher on virtual time."""

    sandbox: Sandbox
    begun: float

    def go_to(self, moment: float) -> None:
        """Jump close to a moment, then pass it with the watcher looking every five minutes."""
        self.sandbox.clock.jump(max(0.0, moment - 20 * MINUTE - self.sandbox.clock.now()))
        while self.sandbox.clock.now() <= moment + 15 * MINUTE:
            self.look()

    def look(self) -> None:
        """Go on by five minutes, and wait until the watcher has looked since."""
        self.sandbox.clock.jump(5 * MINUTE)
        now = self.sandbox.clock.now() - 1
        self.wait(lambda: any(run.time >= now and "Watcher" in run.function for run in self.runs()))

    def runs(self) -> list[Any]:
        """What the functions of this stack did."""
        return [run for run in list(self.sandbox.lambdas.invocations) if run.function.startswith("Later-")]

    def wait(self, seen: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 30
        while not seen():
            assert time.monotonic() < deadline, [run.log for run in self.runs()[-2:]]
            time.sleep(0.02)

    def told(self, name: str) -> list[str]:
        """What the topic was told of a plan by the watcher: the words, without the moments in them."""
        return [row.message for row in self.sandbox.notices if row.subject == f"Training plan {name}"]

    def rung(self, name: str) -> list[str]:
        """Which alarms of a plan went off, in order."""
        found = [row for row in self.sandbox.notices if row.subject.startswith("ALARM")]
        words = [json.loads(row.message)["AlarmDescription"] for row in found]
        return [text.partition(f"plan {name} ")[2] for text in words if f"plan {name} " in text]


@pytest.fixture(scope="module")
def watch(project: Any, story: dict[str, Any]) -> Watch:
    sandbox = project.sandbox
    begun = sandbox.clock.now()
    deployed = project.deploy(stack="Later", key=project.key("later#1", "slow#1"))
    assert deployed.code == 0, deployed.said
    assert "training plan later: Scheduled. bought for 9000.00 USD" in deployed.outputs
    assert "training plan slow: Pending. bought for 700.00 USD" in deployed.outputs
    watched = Watch(sandbox, begun)
    for _ in range(16):  # 80 minutes: the payment of the slow one takes two hours
        watched.look()
    plans = {name: sandbox.client("sagemaker").describe_training_plan(TrainingPlanName=name) for name in WATCHED}
    start, end = (plans["later"][time].timestamp() for time in ("StartTime", "EndTime"))
    assert start - begun > 20 * DAY
    watched.go_to(start)
    for _ in range(12):  # late by 20 minutes, then idle for more than half an hour
        watched.look()
    for before_end in (7 * DAY, DAY, 60 * MINUTE, 0.0):
        watched.go_to(end - before_end)
    return watched


def test_a_plan_that_starts_in_three_weeks_is_deployed_in_seconds(watch: Watch) -> None:
    buyer = [run for run in watch.runs() if "Watcher" not in run.function]
    assert [run.event["RequestType"] for run in buyer] == ["Create", "Create"]
    assert not any(run.error for run in watch.runs())


def test_every_notice_of_a_plans_life_is_given_once(watch: Watch) -> None:
    kinds = ["should have started", "in less than 7d", "in less than 24h", "in less than 1h"]
    assert [[kind in text for kind in kinds].index(True) for text in watch.told("later")] == [0, 1, 2, 3]
    (pending,) = [text for text in watch.told("slow") if "still not Scheduled" in text]
    assert pending


def test_every_alarm_of_a_plans_life_rings_once(watch: Watch) -> None:
    assert watch.rung("later") == [
        "should have started 15 minutes ago.",
        "has had unused instances for half an hour.",
        "ends in 7 days or less.",
        "ends in 24 hours or less.",
        "ends in 1 hour or less.",
    ]
    assert [text for text in watch.rung("slow") if "not Scheduled" in text] == [
        "was bought an hour ago and is not Scheduled yet."
    ]
