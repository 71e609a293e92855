"""The watcher on virtual time: what it puts, says and counts, each once; and that it never buys."""

from __future__ import annotations

import json

import pytest

from constructs_lib.model.purchase_names import PLAN_METRICS
from constructs_lib.runtime.errors import WatchError

DAY, HOUR = 86400, 3600
ARN = "arn:aws:sagemaker:us-east-1:123456789012:training-plan/nightly"


@pytest.fixture
def watched(make_world, purchase_key):
    """A world with a plan that was bought three weeks ahead of its start."""

    def make(**sold):
        window = {"StartTimeAfter": "2026-12-21T12:00:00Z", "EndTimeBefore": "2026-12-31T12:00:00Z"}
        world = make_world(Purchase=purchase_key(), **window, **sold)
        answer = world.deploy()
        assert answer["Status"] == "SUCCESS"
        return world

    return make


def follow(world, seconds, every=HOUR):
    for _ in range(int(seconds // every)):
        world.clock.sleep(every)
        world.watch().finish()


def details(world, kind):
    return [json.loads(event["Detail"]) for event in world.events if event["DetailType"] == kind]


def statuses(world):
    return [(d["PreviousStatus"], d["Status"]) for d in details(world, "Training Plan Status Change")]


def notices(world):
    return [detail["Notice"] for detail in details(world, "Training Plan Notice")]


def test_a_plan_that_starts_in_three_weeks_gets_every_event_and_notice_once(watched):
    world = watched(payment={"takes": "0s"})
    assert world.answers[-1][1]["Data"]["Status"] == "Scheduled"
    before = len(world.bought)
    follow(world, 25 * DAY)
    assert statuses(world) == [("", "Scheduled"), ("Scheduled", "Active"), ("Active", "Expired")]
    assert notices(world) == ["7d", "24h", "1h"]
    first = details(world, "Training Plan Notice")[0]
    assert first["Message"] == "the plan ends at 2026-12-25T11:30:00Z, in less than 7d"
    event = world.events[0]
    assert (event["Source"], event["Resources"]) == ("gpu-capacity", [ARN])
    assert len(world.bought) == before


def test_a_plan_bought_shortly_before_its_end_is_told_of_the_nearest_moment_only(watched):
    world = watched(payment={"takes": "0s"})
    world.clock.sleep(23 * DAY + 12 * HOUR)
    world.watch().finish()
    assert notices(world) == ["24h"]


def test_a_plan_that_is_over_is_not_looked_at_any_more(watched):
    world = watched()
    follow(world, 26 * DAY, every=DAY)
    seen = len(world.sagemaker.requests)
    follow(world, 2 * DAY, every=DAY)
    assert len(world.sagemaker.requests) == seen


def test_a_payment_that_takes_long_and_then_fails_is_told_once_each(watched):
    world = watched(payment={"takes": "5h", "fail": "card declined"})
    follow(world, 10 * HOUR)
    assert statuses(world) == [("", "Pending"), ("Pending", "Failed")]
    assert notices(world) == ["pending", "failed"]
    assert "card declined" in details(world, "Training Plan Notice")[-1]["Message"]


def test_a_late_start_is_counted_in_minutes_and_told_once(watched):
    world = watched(late="2h", payment={"takes": "0s"})
    world.clock.sleep(21 * DAY + 11 * HOUR + 1800)
    for _ in range(3):
        world.clock.sleep(600)
        world.watch().finish()
    lines = [json.loads(line) for line in world.lines]
    assert [round(line["StartDelayMinutes"]) for line in lines[-3:]] == [10, 20, 30]
    assert notices(world).count("late") == 1


def test_metrics_have_the_plan_s_name_and_all_are_there(watched):
    world = watched(payment={"takes": "0s"})
    follow(world, HOUR)
    (line,) = [json.loads(line) for line in world.lines]
    (directive,) = line["_aws"]["CloudWatchMetrics"]
    assert (directive["Namespace"], directive["Dimensions"]) == ("GpuCapacity", [["TrainingPlanName"]])
    names = {metric["Name"] for metric in directive["Metrics"]}
    assert names == set(PLAN_METRICS)
    assert all(isinstance(line[name], int | float) for name in names)
    assert line["TrainingPlanName"] == "nightly"
    assert line["HoursToEnd"] == pytest.approx(24 * 24 + 11.5 - 1)


def test_the_watcher_settles_what_a_dead_buyer_left_open_and_buys_nothing(watched, make_world, purchase_key):
    world = make_world(Purchase=purchase_key())
    world.stack().deploy()
    world.deliver().until("sagemaker.create_training_plan").step("die-before")
    world.queue.clear()
    world.watch().finish()
    assert not world.record().purchases["1"].bought
    world.clock.sleep(900)
    world.watch().finish()
    assert world.record().purchases == {}
    assert not world.bought


def test_the_watcher_records_what_a_dead_buyer_bought(make_world, purchase_key):
    world = make_world(Purchase=purchase_key())
    world.stack().deploy()
    world.deliver().until("sagemaker.create_training_plan").step("die-after")
    world.watch().finish()
    assert world.record().purchases["1"].arn == ARN


def test_the_watcher_records_an_extension_whose_answer_was_lost(make_world, purchase_key):
    world = make_world(Purchase=f"{purchase_key()},{purchase_key('nightly#1+2026-12-14')}")
    world.deploy()
    world.clock.sleep(600)
    world.planned["sagemaker.extend_training_plan"] = "die-after"
    world.stack().deploy(ExtendUntil="2026-12-14T11:30:00Z", MaxExtensionFee="40000")
    world.deliver().until("sagemaker.extend_training_plan").step()
    world.watch().finish()
    assert world.record().purchases["1+2026-12-14"].bought
    assert len(world.extended) == 1


def test_one_plan_that_cannot_be_looked_at_does_not_keep_the_others_waiting(make_world, purchase_key):
    world = make_world(Purchase=f"{purchase_key()},{purchase_key('nightly#2')}")
    world.deploy()
    world.deploy(Generation="2")
    world.planned["sagemaker.describe_training_plan"] = "throttled-before"
    run = world.watch()
    run.finish()
    assert isinstance(run.error, WatchError)
    assert "nightly#1" in str(run.error)
    assert [detail["Generation"] for detail in details(world, "Training Plan Status Change")] == [2]


def test_a_watcher_follows_only_the_identities_it_is_given(watched):
    world = watched(payment={"takes": "0s"})
    assert world.watch(("weekly",)).finish().result == 0
    assert (notices(world), statuses(world)) == ([], [])
    assert world.watch(("weekly", "nightly")).finish().result == 1
    assert statuses(world) == [("", "Scheduled")]
