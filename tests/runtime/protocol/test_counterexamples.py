"""Each counterexample of the protocol as a schedule, and each rule taken away as a defect that its schedule catches."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from constructs_lib.model import FailureClass
from constructs_lib.model.limits import Bounds
from constructs_lib.runtime.adapters.executions import Executions
from constructs_lib.runtime.adapters.jobs import Job
from constructs_lib.runtime.identity import Identity
from constructs_lib.runtime.launch import Launch
from constructs_lib.runtime.run_table import RunTable, Taken
from constructs_lib.runtime.services.launching import Launching
from constructs_lib.runtime.services.patience import Patience
from constructs_lib.runtime.services.sweeping import Sweeping

pytestmark = pytest.mark.slow

CREATE = "sagemaker.create_training_job"
QUOTA = ("ResourceLimitExceeded", "The account-level service limit is 0 Instances")


def settled(world):
    world.settle()
    world.check_settled()


# --- the schedules


def an_abort_before_the_create_stops_the_job_that_comes(world):
    machine = world.machine()
    launcher = machine.start().until(CREATE)
    machine.aborted()
    world.deliver(world.events.pop()).finish()  # finds no job
    launcher.until("stepfunctions.describe_execution")
    world.show()
    launcher.finish()
    settled(world)


def an_abort_with_a_lost_answer_stops_the_job(world):
    machine = world.machine()
    launcher = machine.start().until(CREATE)
    machine.aborted()
    world.deliver(world.events.pop()).finish()
    launcher.step("lost-after").finish()
    settled(world)


def a_row_without_a_job_stays_open_while_a_create_can_arrive(world):
    machine = world.machine()
    launcher = machine.start().until(CREATE)
    machine.aborted()
    world.deliver(world.events.pop()).finish()
    launcher.step("late").finish()
    world.sweep().finish()
    world.arrive()
    settled(world)


def the_next_step_waits_until_the_stopped_job_is_terminal(world):
    machine = world.machine(steps=2, max_pending=600)
    machine.start().finish()
    world.show()
    world.clock.sleep(601)
    world.sweep().finish()
    for run in list(world.runs):  # the next step's launcher, if there is one already
        run.finish()
    world.check()
    settled(world)
    assert machine.step == 2
    assert machine.went_on[0]["earlier"][0]["end"] == "InsufficientCapacity"


def an_older_launcher_never_overwrites_the_token_of_a_later_one(world):
    machine = world.machine()
    older = machine.start()
    machine.lose_launcher().finish()
    older.finish()
    settled(world)
    world.end_job(*world.sagemaker.live(), "Completed")
    settled(world)
    assert machine.status == "SUCCEEDED"


def a_state_entered_again_runs_a_job_of_its_own(world):
    machine = world.machine()
    machine.start().finish()
    world.end_job(*world.sagemaker.live(), "Failed", "AlgorithmError: exit code 1")
    settled(world)
    assert machine.status == "FAILED"
    machine.redriven().finish()
    settled(world)
    world.end_job(*world.sagemaker.live(), "Completed")
    settled(world)
    assert [answer.record["end"] for answer in machine.answers] == ["AlgorithmError", "Completed"]


def a_redrive_waits_until_the_job_from_before_it_has_ended(world):
    machine = world.machine()
    machine.start().finish()
    world.show()
    machine.aborted()
    machine.redriven().finish()
    assert len(world.sagemaker.live()) == 1
    world.end_job(*world.sagemaker.live(), "Stopped")
    settled(world)
    world.end_job(*world.sagemaker.live(), "Completed")
    settled(world)
    assert machine.status == "SUCCEEDED"
    assert len(world.sagemaker.jobs) == 2


def a_launcher_from_before_a_redrive_creates_nothing(world):
    machine = world.machine()
    older = machine.start()  # it has not written its row
    machine.aborted()
    newer = machine.redriven().until(CREATE)
    older.finish()
    newer.finish()
    settled(world)
    assert len(world.sagemaker.jobs) == 1


def a_refusal_is_not_final_while_an_older_create_is_under_way(world):
    machine = world.machine()
    launcher = machine.start().until(CREATE)
    launcher.step("late").finish()
    (retry,) = world.runs
    world.sagemaker.refusals = [world.refused(*QUOTA)]
    retry.finish()
    world.arrive()
    settled(world)
    assert machine.status == "RUNNING"


def a_stop_is_later_than_every_try_of_the_launch(world):
    machine = world.machine()
    machine.start().step("die-before")
    (retry,) = world.runs
    retry.until(CREATE)
    stop = machine.limit_fires()
    stop.finish()
    retry.finish()
    settled(world)
    assert machine.answers[0].record["end"] == "TimedOut"


def a_try_that_finds_the_row_closed_gives_its_answer(world):
    machine = world.machine()
    world.sagemaker.refusals = [world.refused(*QUOTA)]
    launcher = machine.start().until("stepfunctions.send_task_failure")
    stop = machine.limit_fires()
    launcher.finish()  # answers a dead token and closes the row
    stop.finish()
    settled(world)
    assert machine.answers[0].record["end"] == "QuotaExceeded"


def a_step_that_ended_is_answered_alike_by_all_who_answer_for_it(world):
    machine = world.machine(steps=2)
    machine.start().finish()
    world.show()
    world.end_job(*world.sagemaker.live(), "Failed", "CapacityError")
    hears = world.deliver(world.events.pop()).until("stepfunctions.send_task_success")
    retry = machine.lose_launcher()
    hears.finish()
    retry.finish()
    settled(world)
    assert (machine.step, machine.status) == (2, "RUNNING")


def a_redrive_of_a_later_step_begins_at_the_first(world):
    machine = world.machine(steps=2)
    machine.start().finish()
    for reason in ("CapacityError", "AlgorithmError"):
        world.show()
        world.end_job(*world.sagemaker.live(), "Failed", reason)
        settled(world)
    machine.redriven().finish()
    settled(world)
    assert (machine.step, list(world.sagemaker.jobs)[-1][-2:]) == (1, "-1")


def a_sweep_that_dies_after_its_stop_has_noted_why(world):
    machine = world.machine(steps=2, max_pending=600)
    machine.start().finish()
    world.show()
    world.clock.sleep(601)
    world.sweep().until("sagemaker.stop_training_job").step("die-after")
    settled(world)
    assert (machine.step, machine.status) == (2, "RUNNING")


def a_job_that_stops_is_not_told_again(world):
    machine = world.machine(limits={"finish_by": 600})
    machine.start().finish()
    world.show()
    world.clock.sleep(601)
    for _ in range(3):
        world.sweep().finish()
    assert len(world.sagemaker.stops) == 1
    settled(world)
    assert machine.answers[0].record["end"] == "FinishByPassed"


def a_limit_is_looked_at_again_between_the_row_and_the_create(world):
    moment = datetime.fromtimestamp(world.clock.now + 600, UTC).isoformat()
    machine = world.machine(limits={"finish_by": moment})
    machine.start().until(CREATE).step("die-before")
    world.clock.sleep(601)
    world.runs[0].finish()  # the create may still be under way, so the sweep gives the answer
    settled(world)
    assert not world.sagemaker.jobs
    assert machine.answers[0].record["end"] == "FinishByPassed"


SCHEDULES = [
    an_abort_before_the_create_stops_the_job_that_comes,
    an_abort_with_a_lost_answer_stops_the_job,
    a_row_without_a_job_stays_open_while_a_create_can_arrive,
    the_next_step_waits_until_the_stopped_job_is_terminal,
    an_older_launcher_never_overwrites_the_token_of_a_later_one,
    a_state_entered_again_runs_a_job_of_its_own,
    a_redrive_waits_until_the_job_from_before_it_has_ended,
    a_launcher_from_before_a_redrive_creates_nothing,
    a_refusal_is_not_final_while_an_older_create_is_under_way,
    a_stop_is_later_than_every_try_of_the_launch,
    a_try_that_finds_the_row_closed_gives_its_answer,
    a_step_that_ended_is_answered_alike_by_all_who_answer_for_it,
    a_redrive_of_a_later_step_begins_at_the_first,
    a_sweep_that_dies_after_its_stop_has_noted_why,
    a_job_that_stops_is_not_told_again,
    a_limit_is_looked_at_again_between_the_row_and_the_create,
]


# --- the defects: one rule of the protocol each


def a_redrive_that_does_not_wait(patch):
    patch.setattr(Launching, "_end_what_was_redriven", lambda self, launch: None)


def a_create_without_a_look_at_the_execution(patch):
    patch.setattr(Launching, "_is_over", lambda self, launch: False)


def token_after_the_create(patch):
    def launch(self, launch):
        self.means.jobs.create(launch.kind, launch.named(launch.wish.request))
        self.means.table.take(launch)
        return "launched"

    patch.setattr(Launching, "launch", launch)


def tokens_in_any_order(patch):
    import constructs_lib.runtime.run_table as module  # noqa: PLC0415  its condition is replaced

    patch.setattr(module, "_TAKING", module._TAKING.replace("#try < :try", "#try <> :try"))


def a_sweep_that_looks_only_at_jobs(patch):
    patch.setattr(Executions, "runs", lambda self, identity: True)
    patch.setattr(Sweeping, "_stop", lambda self, row, job: None)


def rows_closed_early(patch):
    patch.setattr(Patience, "over", lambda self, row: True)


def a_stop_answered_at_once(patch):
    def stop(self, row, job):
        self.means.jobs.stop(row.identity.kind, row.name)
        scarce = {"end": row.limit, "failure": FailureClass.CAPACITY}
        self.completion.answer(row, replace(job.record(), **scarce))

    patch.setattr(Sweeping, "_stop", stop)


def names_without_the_entry(patch):
    name = Identity.name.fget
    patch.setattr(
        Identity, "name", property(lambda own: name(Identity(own.machine, own.execution, own.state, {}, own.step)))
    )


def refusals_final_at_once(patch):
    take = RunTable.take

    def alone(self, launch, began=None):
        taken = take(self, launch, began)
        return taken and Taken(taken.row, alone=launch.limit is None)

    patch.setattr(RunTable, "take", alone)


def stops_among_the_tries(patch):
    patch.setattr("constructs_lib.runtime.launch.STOP_TRIES", 0)


def closed_rows_that_give_no_answer(patch):
    patch.setattr(Launching, "_lost", lambda self, launch: "late")


def answers_that_forget_the_next_step(patch):
    answer = Launching._answer
    patch.setattr(Launching, "_answer", lambda self, launch, record, following=None: answer(self, launch, record))


def a_redrive_that_goes_on_where_it_failed(patch):
    from_payload = Launch.from_payload

    def as_it_failed(payload):
        return from_payload({**payload, "since": payload["entry"]["redrive"]})

    patch.setattr(Launch, "from_payload", as_it_failed)


def a_reason_that_is_noted_after_the_stop(patch):
    check = Sweeping.check

    def late(self, row):
        limit, self.means.table.limit = self.means.table.limit, lambda row, limit: None
        try:
            check(self, row)
        finally:
            self.means.table.limit = limit

    patch.setattr(Sweeping, "check", late)


def a_stop_that_is_repeated(patch):
    patch.setattr(Job, "runs", property(lambda job: not job.terminal))


def limits_that_only_the_sweep_knows(patch):
    patch.setattr(Bounds, "before", lambda bounds, now: None)


DEFECTS = {
    a_redrive_that_does_not_wait: a_redrive_waits_until_the_job_from_before_it_has_ended,
    a_create_without_a_look_at_the_execution: a_launcher_from_before_a_redrive_creates_nothing,
    token_after_the_create: an_abort_with_a_lost_answer_stops_the_job,
    tokens_in_any_order: an_older_launcher_never_overwrites_the_token_of_a_later_one,
    a_sweep_that_looks_only_at_jobs: an_abort_with_a_lost_answer_stops_the_job,
    rows_closed_early: a_row_without_a_job_stays_open_while_a_create_can_arrive,
    a_stop_answered_at_once: the_next_step_waits_until_the_stopped_job_is_terminal,
    names_without_the_entry: a_state_entered_again_runs_a_job_of_its_own,
    refusals_final_at_once: a_refusal_is_not_final_while_an_older_create_is_under_way,
    stops_among_the_tries: a_stop_is_later_than_every_try_of_the_launch,
    closed_rows_that_give_no_answer: a_try_that_finds_the_row_closed_gives_its_answer,
    answers_that_forget_the_next_step: a_step_that_ended_is_answered_alike_by_all_who_answer_for_it,
    a_redrive_that_goes_on_where_it_failed: a_redrive_of_a_later_step_begins_at_the_first,
    a_reason_that_is_noted_after_the_stop: a_sweep_that_dies_after_its_stop_has_noted_why,
    a_stop_that_is_repeated: a_job_that_stops_is_not_told_again,
    limits_that_only_the_sweep_knows: a_limit_is_looked_at_again_between_the_row_and_the_create,
}


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda schedule: schedule.__name__)
def test_the_protocol_holds_when(schedule, world):
    schedule(world)


@pytest.mark.parametrize(("defect", "schedule"), DEFECTS.items(), ids=[defect.__name__ for defect in DEFECTS])
def test_a_launcher_is_caught_with(defect, schedule, world, monkeypatch):
    defect(monkeypatch)
    with pytest.raises(AssertionError):
        schedule(world)


def test_every_schedule_has_a_defect_that_it_catches_or_is_about_cost():
    prompt = {an_abort_before_the_create_stops_the_job_that_comes}  # its rule only saves idle time
    assert set(SCHEDULES) - set(DEFECTS.values()) == prompt
