"""Deleting a stack: no job outlives the sweep that would have stopped it."""

from __future__ import annotations

import pytest

from constructs_lib.runtime.run_table import RunTable

pytestmark = pytest.mark.slow

CREATE = "sagemaker.create_training_job"
MARK = "dynamodb.get_item"
SCAN = "dynamodb.scan"


def read_rows(drain):
    """Let a drain go on until it has read the open rows once more."""
    return drain.until(SCAN).step()


def test_a_stack_without_jobs_is_drained_at_once(world):
    before = world.clock.now
    assert world.drain().finish().result == []
    assert world.clock.now == before


def test_a_running_job_is_stopped_and_waited_for(world):
    machine = world.machine()
    machine.start().finish()
    world.show()
    drain = read_rows(read_rows(world.drain()))
    (name,) = world.sagemaker.live()
    assert world.sagemaker.jobs[name].status == "Stopping"
    world.end_job(name, "Stopped")
    assert drain.finish().result == []
    assert [answer.record["end"] for answer in machine.answers] == ["StackDeleted"]
    assert machine.status == "FAILED"


def test_a_job_that_does_not_end_is_named_with_its_status(world):
    machine = world.machine()
    machine.start().finish()
    world.show()
    (left,) = world.drain().finish().result
    assert left == f"{world.sagemaker.live()[0]} (Pending)"
    assert world.clock.now > 1_700_000_000 + 780


def test_a_job_that_could_not_be_stopped_is_named_with_the_reason(world):
    machine = world.machine()
    machine.start().finish()
    world.show()
    drain = world.drain()
    while not drain.done:
        drain.step("lost-before" if drain.at == "sagemaker.stop_training_job" else "")
    (left,) = drain.result
    assert "Read timeout" in left


def a_launch_beside_a_drain(world, seen_first):
    machine = world.machine()
    launcher = machine.start()
    if seen_first == "mark":
        drain = world.drain().until(SCAN)  # the mark is set
        launcher.finish()
    else:
        launcher.until(MARK)  # the row is written
        drain = world.drain().until(SCAN)
        drain.step()
    drain.finish()
    launcher.finish()
    world.settle(rounds=1)
    assert drain.result == []
    assert not world.sagemaker.live()
    assert not world.open_rows()
    assert machine.answers[-1].record["end"] == "StackDeleted"


@pytest.mark.parametrize("seen_first", ["mark", "row"])
def test_a_launch_beside_a_drain_is_refused_or_stopped(world, seen_first):
    a_launch_beside_a_drain(world, seen_first)


def test_a_drain_that_sets_no_mark_is_caught(world, monkeypatch):
    monkeypatch.setattr(RunTable, "mark_draining", lambda self: None)
    with pytest.raises(AssertionError):
        a_launch_beside_a_drain(world, "mark")


def test_a_create_that_arrives_during_the_drain_is_stopped(world):
    machine = world.machine()
    launcher = machine.start().until(CREATE)  # it has read that there is no mark
    drain = read_rows(world.drain())
    launcher.step("late").finish()
    drain = read_rows(drain)
    world.arrive()
    world.show()
    drain = read_rows(read_rows(drain))
    (name,) = world.sagemaker.live()
    assert world.sagemaker.jobs[name].status == "Stopping"
    world.end_job(name, "Stopped")
    drain.finish()
    assert drain.result == []
    assert not world.open_rows()


def test_a_drain_that_is_delivered_again_after_a_death_goes_on(world):
    machine = world.machine()
    machine.start().finish()
    world.show()
    world.drain().until("sagemaker.stop_training_job").step("die-after")
    again = read_rows(world.drain())
    world.end_job(*world.sagemaker.live(), "Stopped")
    assert again.finish().result == []
    assert [answer.record["end"] for answer in machine.answers] == ["StackDeleted"]


def test_jobs_may_be_launched_again_once_the_stack_is_created_again(world):
    world.drain().finish()
    refused = world.machine()
    refused.start().finish()
    assert refused.answers[-1].record["end"] == "StackDeleted"
    world.allow().finish()
    machine = world.machine()
    machine.start().finish()
    assert len(world.sagemaker.live()) == 1
