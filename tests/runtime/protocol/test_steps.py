"""Steps of one launch: what goes on and what stops, one job at a time, and nothing is forgotten on the way."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.slow

CREATE = "sagemaker.create_training_job"
SUCCESS = "stepfunctions.send_task_success"
SCARCE = "CapacityError: Unable to provision requested ML compute capacity"


def run_all(world):
    """Let the launchers that were invoked go to their ends."""
    while world.runs:
        world.runs[0].finish()


def end(world, *how):
    world.end_job(*world.sagemaker.live(), *how)
    world.settle()
    world.check_settled()


@pytest.fixture
def machine(world):
    return world.machine(steps=3)


def launched(world, machine):
    machine.start().finish()
    world.show()
    return machine


@pytest.mark.parametrize(
    ("how", "end_name"),
    [
        (("Failed", "AlgorithmError: exit code 1"), "AlgorithmError"),
        (("Failed", "ClientError: no such bucket"), "InvalidRequest"),
        (("Failed", "AccessDenied: not authorized to perform s3:GetObject"), "PermissionDenied"),
        (("Failed", "InternalServerError: We encountered an internal error. Please try again."), "ServiceError"),
        (("Failed", ""), "Unknown"),
        (("Stopped", ""), "Stopped"),
        (("Stopped", "", "MaxRuntimeExceeded"), "MaxRuntimeExceeded"),
        (("Completed", ""), "Completed"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_only_scarcity_goes_on_and_every_other_end_is_the_launchs(world, machine, how, end_name):
    launched(world, machine)
    end(world, *how)
    assert [answer.record["end"] for answer in machine.answers] == [end_name]
    assert not machine.went_on
    assert (machine.answers[0].record["step"], len(world.sagemaker.jobs)) == (1, 1)


@pytest.mark.parametrize(
    "how", [("Failed", SCARCE), ("Stopped", "", "MaxWaitTimeExceeded")], ids=["no capacity", "spot waited in vain"]
)
def test_scarcity_goes_on_with_the_next_step_under_a_name_of_its_own(world, machine, how):
    launched(world, machine)
    end(world, *how)
    assert (machine.step, machine.status, len(world.sagemaker.live())) == (2, "RUNNING", 1)
    end(world, "Completed")
    record = machine.answers[0].record
    assert (record["end"], record["step"]) == ("Completed", 2)
    (earlier,) = record["earlier"]
    assert (earlier["end"], earlier["step"], earlier["failure"]) == ("InsufficientCapacity", 1, "capacity")
    assert [name.rpartition("-")[2] for name in world.sagemaker.jobs] == ["1", "2"]


def test_the_last_steps_end_is_the_launchs_and_says_all_steps(world, machine):
    launched(world, machine)
    for _ in range(3):
        end(world, "Failed", SCARCE)
    (answer,) = machine.answers
    assert answer.record["end"] == "InsufficientCapacity"
    assert [earlier["step"] for earlier in answer.record["earlier"]] == [1, 2]
    assert machine.status == "FAILED"


def test_a_step_asks_for_what_it_declares_and_goes_on_with_its_own_time(world, training_request):
    training_request["Environment"] = {"DEVICE": "trainium"}
    training_request["ResourceConfig"] = {
        "InstancePreferences": [{"InstanceType": "ml.trn1.32xlarge", "InstanceCount": 2}]
    }
    machine = world.machine(then=[{"request": training_request, "seconds": 777, "reasons": ["cheap"]}])
    launched(world, machine)
    end(world, "Failed", SCARCE)
    assert machine.seconds == 777
    second = list(world.sagemaker.jobs.values())[1]
    assert second.request["Environment"] == {"DEVICE": "trainium"}
    second.start(world.clock.now, "ml.trn1.32xlarge", 2)
    end(world, "Completed")
    assert machine.answers[0].record["reason"] == "cheap"


def test_scarcity_that_the_create_call_says_goes_on_at_once(world, machine):
    world.sagemaker.refusals = [world.refused("ValidationException", "CapacityError: there is no capacity available")]
    machine.start().finish()
    run_all(world)
    # ValidationException is a wrong request, whatever else it says: only words that AWS uses for scarcity count.
    assert [answer.record["end"] for answer in machine.answers] == ["InvalidRequest"]


def test_a_throttled_create_waits_under_the_same_name_and_uses_up_no_step(world, machine):
    world.sagemaker.refusals = [world.refused("ThrottlingException", "Rate exceeded")] * 3
    machine.start().finish()
    run_all(world)
    assert (machine.step, len(world.sagemaker.jobs)) == (1, 1)


@pytest.mark.parametrize(("on_quota", "steps_used"), [("stop", 1), ("drop", 2)])
def test_a_missing_quota_stops_or_passes_the_step_over_as_declared(world, on_quota, steps_used):
    machine = world.machine(steps=2, limits={} if on_quota == "stop" else {"on_quota": "drop"})
    world.sagemaker.refusals = [world.refused("ResourceLimitExceeded", "is 0 Instances")]
    machine.start().finish()
    run_all(world)
    assert machine.step == steps_used
    assert machine.status == ("FAILED" if on_quota == "stop" else "RUNNING")


def test_a_log_line_counts_a_step_that_goes_on_apart_from_the_launchs_end(world, machine):
    launched(world, machine)
    end(world, "Failed", SCARCE)
    end(world, "Completed")
    first, second = world.lines
    assert (first["StepEnded"], "Ended" in first) == (1, False)
    assert (second["Ended"], "StepEnded" in second) == (1, False)


# --- what may go wrong between two steps


@pytest.mark.parametrize("fault", ["die-before", "die-after", "lost-before", "lost-after"])
@pytest.mark.parametrize("call", [SUCCESS, "dynamodb.update_item"])
def test_a_step_that_was_answered_halfway_is_followed_once(world, machine, call, fault):
    launched(world, machine)
    world.end_job(*world.sagemaker.live(), "Failed", SCARCE)
    world.deliver(world.events.pop()).until(call).step(fault).finish()
    world.check()
    world.settle()
    world.check_settled()
    assert (machine.step, len(machine.went_on), len(world.sagemaker.jobs)) == (2, 1, 2)


def test_a_step_that_three_events_end_is_followed_once(world, machine):
    launched(world, machine)
    world.end_job(*world.sagemaker.live(), "Failed", SCARCE)
    event = world.events.pop()
    runs = [world.deliver(event).until(SUCCESS) for _ in range(3)]
    for run in runs:
        run.finish()
    world.settle()
    world.check_settled()
    assert len(machine.went_on) == 1


def test_a_late_launcher_of_a_step_that_is_over_does_nothing_to_the_next(world, machine):
    late = machine.start()  # it has not written its row
    machine.lose_launcher().finish()
    world.show()
    world.end_job(*world.sagemaker.live(), "Failed", SCARCE)
    world.deliver(world.events.pop()).finish()
    late.finish()
    run_all(world)
    world.settle()
    world.check_settled()
    assert (machine.step, len(world.sagemaker.jobs)) == (2, 2)


def test_a_try_that_finds_its_step_over_sends_the_machine_on_as_well(world, machine):
    machine.start().finish()
    world.show()
    world.end_job(*world.sagemaker.live(), "Failed", SCARCE)
    hears = world.deliver(world.events.pop()).until(SUCCESS)
    retry = machine.lose_launcher()  # a new token, written after the row was read
    hears.finish()  # answers the dead token, closes the row
    retry.finish()
    run_all(world)
    assert (machine.step, machine.status) == (2, "RUNNING")
    world.settle()
    world.check_settled()


def test_an_abort_between_two_steps_leaves_nothing_running(world, machine):
    launched(world, machine)
    world.end_job(*world.sagemaker.live(), "Failed", SCARCE)
    world.deliver(world.events.pop()).finish()
    (launcher,) = world.runs
    launcher.until(CREATE)
    machine.aborted()
    launcher.finish()
    world.settle()
    world.check_settled()
    assert not world.sagemaker.live()


def test_the_state_of_a_later_step_that_times_out_stops_that_steps_job(world, machine):
    launched(world, machine)
    end(world, "Failed", SCARCE)
    machine.limit_fires().finish()
    world.settle()
    world.check_settled()
    (answer,) = machine.answers
    assert (answer.record["end"], answer.record["step"]) == ("TimedOut", 2)


# --- a redrive


def test_a_redrive_begins_the_strategy_anew_whatever_step_had_failed(world, machine):
    launched(world, machine)
    end(world, "Failed", SCARCE)
    end(world, "Failed", "AlgorithmError: exit code 1")
    assert machine.redriven().finish().result["did"] == "sent back to the first step"
    assert machine.seconds == 9000
    run_all(world)
    assert machine.step == 1
    end(world, "Failed", SCARCE)
    end(world, "Completed")
    record = machine.answers[-1].record
    assert (record["end"], record["step"], len(record["earlier"])) == ("Completed", 2, 1)
    assert [name.rpartition("-")[2] for name in world.sagemaker.jobs] == ["1", "2", "1", "2"]


def test_a_redrive_first_ends_the_job_of_any_step_from_before_it(world, machine):
    launched(world, machine)
    end(world, "Failed", SCARCE)
    machine.aborted()
    machine.redriven().finish()
    world.runs[0].finish()  # at step 1 again: it stops what runs, and is repeated
    (old,) = world.sagemaker.live()
    assert (world.sagemaker.jobs[old].status, old.rpartition("-")[2]) == ("Stopping", "2")
    world.end_job(old, "Stopped")
    world.settle()
    world.check_settled()
    assert machine.status == "RUNNING"


def test_a_limit_of_a_redriven_launch_stops_its_job_and_launches_nothing(world, machine):
    launched(world, machine)
    end(world, "Failed", "AlgorithmError: exit code 1")
    machine.redriven().finish()
    world.show()
    machine.limit_fires().finish()
    world.settle()
    world.check_settled()
    assert machine.answers[-1].record["end"] == "TimedOut"
    assert len(world.sagemaker.jobs) == 2
