"""A state in a user's machine: what tells its entries apart is read before it and kept over its retries."""

from __future__ import annotations

import pytest

CREATE = "sagemaker.create_training_job"


@pytest.fixture
def machine(world):
    machine = world.machine()
    machine.entry_marks = lambda own: {"redrive": own.redrive, "entered": f"{own.entered}", "item": {"index": 3}}
    return machine


def complete(world, machine):
    world.end_job(*world.sagemaker.live(), "Completed")
    world.settle()
    world.check_settled()
    return machine.answers[-1].record["end"]


def test_every_retry_finds_the_job_of_the_first_try(world, machine):
    machine.start().until(CREATE).step("late").finish()
    for _ in range(3):
        world.runs[0].until(CREATE).step("lost-before").finish()
    world.arrive()
    world.show()
    world.runs[0].finish()
    assert len(world.sagemaker.jobs) == len(world.rows()) == 1
    assert complete(world, machine) == "Completed"


def test_the_state_entered_again_in_a_loop_runs_a_job_of_its_own(world, machine):
    machine.start().finish()
    assert complete(world, machine) == "Completed"
    machine.status = "RUNNING"
    machine.enter().finish()
    assert len(world.sagemaker.jobs) == 2
    assert complete(world, machine) == "Completed"
    assert len({answer.record["job_name"] for answer in machine.answers}) == 2


def test_a_limit_stops_the_job_of_the_launch_before_it(world, machine):
    machine.start().finish()
    world.show()
    machine.limit_fires().finish()
    world.settle()
    world.check_settled()
    assert [answer.record["end"] for answer in machine.answers] == ["TimedOut"]


def test_entries_that_nothing_tells_apart_are_refused_and_never_share_a_job(world, machine):
    machine.start().finish()
    world.show()
    before = world.rows()
    machine.entered -= 1
    machine.enter().finish()  # another item of a Map, entered at the same moment
    (answer,) = machine.answers
    assert answer.record["end"] == "InvalidRequest"
    assert "give as_step an item" in answer.record["cause"]
    assert world.rows() == before


def test_the_same_invocation_delivered_twice_makes_one_job(world, machine):
    first = machine.start().until(CREATE)
    machine.tokens, machine.entered = machine.tokens - 1, machine.entered - 1
    machine.enter().finish()
    first.finish()
    world.settle()
    world.check_settled()
    assert len(world.sagemaker.jobs) == len(world.rows()) == 1
