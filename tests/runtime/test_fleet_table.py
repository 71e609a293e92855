"""Slots and marks in DynamoDB: all types or none, never above a limit, and nothing that a late writer could undo."""

import pytest

from constructs_lib.model import RunEnd, RunRecord
from constructs_lib.runtime.fleet_table import FleetTable

FLEET = "Lab-Sweep-0011aabb"
BOTH = {"ml.p4d.24xlarge": 2, "ml.p5.48xlarge": 1}


class Clock:
    def time(self):
        return 1_700_000_000.0


@pytest.fixture
def fleets(dynamodb, table):
    return FleetTable(dynamodb, table, Clock())


def record(end, job="j1", cause=""):
    return RunRecord(job_name=job, status="Completed", end=end, cause=cause)


def claim(fleets, job, digest="d1", **given):
    return fleets.claim(FLEET, "lr-1", job=job, digest=digest, file="f1", run="r1", **given)


def test_a_job_gets_a_slot_of_every_type_or_of_none(fleets):
    assert fleets.take_slots(FLEET, "j1", BOTH)
    assert not fleets.take_slots(FLEET, "j2", BOTH)
    assert fleets.slots(FLEET).holders == {kind: {"j1"} for kind in BOTH}


def test_taking_twice_is_taking_once(fleets):
    assert fleets.take_slots(FLEET, "j1", BOTH)
    assert fleets.take_slots(FLEET, "j1", BOTH)
    assert fleets.take_slots(FLEET, "j2", {"ml.p4d.24xlarge": 2})
    assert not fleets.take_slots(FLEET, "j3", {"ml.p4d.24xlarge": 2})


def test_a_slot_given_back_is_free_and_giving_back_twice_changes_nothing(fleets):
    fleets.take_slots(FLEET, "j1", BOTH)
    for _ in range(2):
        fleets.free_slots(FLEET, "j1", list(BOTH))
    assert fleets.slots(FLEET).holders == {}
    assert fleets.take_slots(FLEET, "j2", BOTH)


def test_giving_back_to_a_fleet_that_never_had_slots_makes_none(fleets):
    fleets.free_slots(FLEET, "j1", ["ml.p5.48xlarge"])
    assert list(fleets.all_slots()) == []


def test_a_limit_that_a_deploy_lowered_lets_nobody_in_and_throws_nobody_out(fleets):
    for job in ("j1", "j2"):
        assert fleets.take_slots(FLEET, job, {"ml.p4d.24xlarge": 2})
    assert fleets.take_slots(FLEET, "j2", {"ml.p4d.24xlarge": 1})
    fleets.free_slots(FLEET, "j1", ["ml.p4d.24xlarge"])
    assert not fleets.take_slots(FLEET, "j3", {"ml.p4d.24xlarge": 1})


def test_fleets_do_not_share_slots(fleets):
    assert fleets.take_slots(FLEET, "j1", BOTH)
    assert fleets.take_slots(f"{FLEET}-2", "j1", BOTH)
    assert {slots.fleet for slots in fleets.all_slots()} == {FLEET, f"{FLEET}-2"}


def test_full_says_which_types_are_taken_by_others(fleets):
    fleets.take_slots(FLEET, "j1", BOTH)
    assert fleets.slots(FLEET).full("j2", BOTH) == ["ml.p5.48xlarge"]
    assert fleets.slots(FLEET).full("j1", BOTH) == []


def test_an_item_is_one_jobs_at_a_time(fleets):
    assert claim(fleets, "j1")
    assert claim(fleets, "j1")
    assert not claim(fleets, "j2")
    assert not claim(fleets, "j2", over="j0")
    assert claim(fleets, "j2", over="j1")


def test_an_item_that_completed_is_not_claimed_again_unless_its_content_changed(fleets):
    claim(fleets, "j1")
    fleets.end(FLEET, "lr-1", job="j1", digest="d1", record=record(RunEnd.COMPLETED))
    assert fleets.mark(FLEET, "lr-1").done == "d1"
    assert not claim(fleets, "j2")
    assert claim(fleets, "j2", digest="d2")


def test_an_item_that_failed_is_claimed_again_and_its_old_end_is_gone(fleets):
    claim(fleets, "j1")
    fleets.end(FLEET, "lr-1", job="j1", digest="d1", record=record(RunEnd.ALGORITHM_ERROR, cause="x" * 2000))
    mark = fleets.mark(FLEET, "lr-1")
    assert (mark.end, len(mark.cause), mark.holder, mark.done) == ("AlgorithmError", 300, None, None)
    assert claim(fleets, "j2")
    assert fleets.mark(FLEET, "lr-1").end is None


def test_the_end_of_a_job_that_lost_the_item_is_not_noted(fleets):
    claim(fleets, "j1")
    claim(fleets, "j2", over="j1")
    fleets.end(FLEET, "lr-1", job="j1", digest="d1", record=record(RunEnd.COMPLETED))
    mark = fleets.mark(FLEET, "lr-1")
    assert (mark.holder, mark.done, mark.end) == ("j2", None, None)


def test_marks_and_slots_are_no_rows_of_the_sweep(fleets, dynamodb, table):
    claim(fleets, "j1")
    fleets.take_slots(FLEET, "j1", BOTH)
    assert dynamodb.scan(TableName=table, IndexName="open")["Items"] == []
    assert [mark.item for mark in fleets.marks(FLEET)] == ["lr-1"]
