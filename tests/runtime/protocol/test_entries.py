"""A state in a user's machine: only the time of entry tells entries apart, and it may change over Retry."""

from __future__ import annotations

import pytest

CREATE = "sagemaker.create_training_job"
READINGS = {
    "the time of entry stays over Retry": lambda machine: f"entry {machine.entered}",
    "the time of entry changes over Retry": lambda machine: f"token {machine.tokens}",
}


@pytest.fixture(params=READINGS.values(), ids=READINGS)
def machine(world, request):
    def marks(machine):
        return {"redrive": machine.redrive, "entered": request.param(machine), "item": {"index": 3}}

    machine = world.machine(steps=1)
    machine.entry_marks = marks
    return machine


def complete(world, machine):
    world.end_job(*world.sagemaker.live(), "Completed")
    world.settle()
    world.check_settled()
    return machine.answers[-1].record["end"]


def test_a_retry_finds_the_job_of_the_first_try(world, machine):
    machine.start().until(CREATE).step("lost-after").finish()
    world.show()
    world.runs[0].finish()
    assert len(world.sagemaker.jobs) == len(world.rows()) == 1
    assert complete(world, machine) == "Completed"


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


def test_a_retry_after_a_first_try_that_wrote_nothing_launches(world, machine):
    machine.start().step("die-before")
    world.settle()
    world.check_settled()
    assert len(world.sagemaker.jobs) == 1


def test_a_limit_stops_the_job_of_the_launch_before_it(world, machine):
    machine.start().finish()
    world.show()
    machine.limit_fires().finish()
    world.settle()
    world.check_settled()
    assert [answer.record["end"] for answer in machine.answers] == ["TimedOut"]


def test_a_retry_that_cannot_tell_its_row_from_others_asks_for_an_item(world):
    machine = world.machine()
    machine.entry_marks = lambda machine: {"redrive": 0, "entered": f"token {machine.tokens}"}
    machine.start().until(CREATE)
    machine.enter()  # another item of a Map enters the same state of the same execution
    world.runs[1].until(CREATE)
    machine.lose_launcher().finish()
    (answer,) = machine.answers
    assert answer.record["end"] == "InvalidRequest"
    assert "an item that tells them apart" in answer.record["cause"]
