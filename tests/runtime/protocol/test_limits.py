"""Limits: nothing is launched past one, what runs past one is stopped once, and the end says which it was."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

pytestmark = pytest.mark.slow

SWEEP = 300
HOUR = 3600
PRICES = {
    "currency": "USD",
    "as_of": "2026-11-29",
    "source": "the test",
    "per_hour": {"ml.p5.48xlarge": "100", "ml.g5.48xlarge": "20"},
}
PLAN = "arn:aws:sagemaker:us-east-1:123456789012:training-plan/nightly"


def iso(seconds):
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def sweep_until_over(world, machine, seconds=86_400):
    """Let time pass, a sweep every five minutes, until the execution has ended; return how long that took."""
    began = world.clock.now
    while machine.status == "RUNNING" and world.clock.now - began < seconds:
        for name, job in world.sagemaker.jobs.items():
            if job.status == "Stopping":
                world.end_job(name, "Stopped")
        world.clock.sleep(SWEEP)
        world.sweep().finish()
        while world.runs:
            world.runs[0].finish()
        world.show()
        world.check()
    return world.clock.now - began


def launch(world, *, steps=1, started=True, **more):
    machine = world.machine(steps=steps, began=iso(world.clock.now), **more)
    machine.start().finish()
    world.show()
    if started:
        for name in world.sagemaker.live():
            world.sagemaker.jobs[name].start(world.clock.now)
    return machine


def the_end(world, machine):
    world.settle()
    world.check_settled()
    (answer,) = machine.answers
    return answer.record


@pytest.mark.parametrize(
    ("limits", "started", "end", "bound"),
    [
        ({"start_by": HOUR}, False, "StartByPassed", HOUR),
        ({"finish_by": 2 * HOUR}, False, "FinishByPassed", 2 * HOUR),
        ({"finish_by": 2 * HOUR}, True, "FinishByPassed", 2 * HOUR),
        ({"max_cost": {"amount": "80", "currency": "USD"}, "prices": PRICES}, True, "CostLimitReached", HOUR),
    ],
    ids=["start_by", "finish_by waiting", "finish_by running", "max_cost"],
)
def test_a_limit_that_fires_stops_the_job_once_and_the_end_names_it(world, limits, started, end, bound):
    machine = launch(world, limits=limits, started=started)
    took = sweep_until_over(world, machine)
    assert the_end(world, machine)["end"] == end
    assert len(world.sagemaker.stops) == 1
    # Reached within one sweep; one more sees that the job has stopped.
    assert bound - SWEEP <= took <= bound + 2 * SWEEP


def test_a_limit_as_a_moment_is_the_same_as_one_as_a_duration(world):
    machine = launch(world, limits={"finish_by": iso(world.clock.now + 2 * HOUR)})
    assert 2 * HOUR <= sweep_until_over(world, machine) <= 2 * HOUR + 2 * SWEEP


def test_a_job_that_has_started_keeps_start_by(world):
    machine = launch(world, limits={"start_by": HOUR})
    sweep_until_over(world, machine, 3 * HOUR)
    assert machine.status == "RUNNING"
    assert not world.sagemaker.stops


def test_a_launch_past_its_limit_creates_nothing(world):
    for limits, end in (({"start_by": 60}, "StartByPassed"), ({"finish_by": 60}, "FinishByPassed")):
        machine = world.machine(began=iso(world.clock.now), limits=limits)
        world.clock.sleep(61)
        machine.start().finish()
        assert machine.answers[0].record["end"] == end
        assert machine.answers[0].record["status"] == "NotCreated"
        assert "passed before a job was created" in machine.answers[0].record["cause"]
    assert not world.sagemaker.jobs


def test_a_limit_keeps_the_runtime_from_passing_it_and_the_end_names_the_limit(world):
    world.request["StoppingCondition"]["MaxRuntimeInSeconds"] = 30 * HOUR
    machine = launch(world, limits={"finish_by": 2 * HOUR})
    (job,) = world.sagemaker.jobs.values()
    assert job.request["StoppingCondition"]["MaxRuntimeInSeconds"] == 2 * HOUR
    world.end_job(job.name, "Stopped", "", "MaxRuntimeExceeded")
    assert the_end(world, machine)["end"] == "FinishByPassed"


def test_a_shorter_runtime_than_the_limits_is_kept_with_its_own_end(world):
    machine = launch(world, limits={"finish_by": 20 * HOUR})
    (job,) = world.sagemaker.jobs.values()
    assert job.request["StoppingCondition"]["MaxRuntimeInSeconds"] == 3600
    world.end_job(job.name, "Stopped", "", "MaxRuntimeExceeded")
    assert the_end(world, machine)["end"] == "MaxRuntimeExceeded"


def test_the_budget_bounds_the_runtime_by_the_cheapest_entry(world):
    world.request["StoppingCondition"]["MaxRuntimeInSeconds"] = 30 * HOUR
    launch(world, limits={"max_cost": {"amount": "160", "currency": "USD"}, "prices": PRICES})
    (job,) = world.sagemaker.jobs.values()
    assert job.request["StoppingCondition"]["MaxRuntimeInSeconds"] == 2 * HOUR  # 4 x 20 USD an hour


def test_a_limit_ends_the_strategy_and_no_further_step_is_tried(world):
    machine = launch(world, steps=3, limits={"start_by": HOUR}, started=False)
    sweep_until_over(world, machine)
    assert the_end(world, machine)["end"] == "StartByPassed"
    assert len(world.sagemaker.jobs) == 1


def test_start_by_spans_the_steps_unless_one_of_them_had_started(world):
    scarce = ("Failed", "CapacityError")
    waiting = launch(world, steps=2, limits={"start_by": HOUR}, started=False)
    world.clock.sleep(HOUR)
    world.end_job(*world.sagemaker.live(), *scarce)
    world.deliver(world.events.pop()).finish()
    world.runs[0].finish()
    assert waiting.answers[0].record["end"] == "StartByPassed"
    assert waiting.answers[0].record["step"] == 2
    started = launch(world, steps=2, limits={"start_by": HOUR})
    world.clock.sleep(HOUR)
    world.end_job(*world.sagemaker.live(), "Stopped", "", "MaxWaitTimeExceeded")
    world.deliver(world.events.pop()).finish()
    world.runs[0].finish()
    assert (started.step, started.status) == (2, "RUNNING")


def test_what_earlier_steps_cost_counts_against_the_budget(world):
    limits = {"max_cost": {"amount": "100", "currency": "USD"}, "prices": PRICES}
    machine = launch(world, steps=2, limits=limits)
    world.clock.sleep(HOUR)
    world.end_job(*world.sagemaker.live(), "Stopped", "", "MaxWaitTimeExceeded")
    world.deliver(world.events.pop()).finish()
    world.runs[0].finish()
    second = list(world.sagemaker.jobs.values())[1]
    assert machine.earlier[0]["cost"] == "80.0000"
    assert second.request["StoppingCondition"]["MaxRuntimeInSeconds"] == 900  # 20 USD at 80 USD an hour
    second.start(world.clock.now)
    sweep_until_over(world, machine)
    assert the_end(world, machine)["end"] == "CostLimitReached"


def test_a_budget_that_is_used_up_lets_no_further_step_begin(world):
    limits = {"max_cost": {"amount": "80", "currency": "USD"}, "prices": PRICES}
    machine = launch(world, steps=2, limits=limits)
    world.clock.sleep(HOUR)
    world.end_job(*world.sagemaker.live(), "Stopped", "", "MaxWaitTimeExceeded")
    world.deliver(world.events.pop()).finish()
    world.runs[0].finish()
    assert machine.answers[0].record["end"] == "CostLimitReached"
    assert len(world.sagemaker.jobs) == 1


def test_a_type_without_a_price_is_refused_within_a_budget_before_anything_is_created(world):
    prices = PRICES | {"per_hour": {"ml.p5.48xlarge": "100"}}
    machine = launch(world, limits={"max_cost": {"amount": "80", "currency": "USD"}, "prices": prices})
    (answer,) = machine.answers
    assert answer.record["end"] == "InvalidRequest"
    assert "no price is known of ml.g5.48xlarge" in answer.record["cause"]
    assert not world.sagemaker.jobs


def test_a_record_says_what_its_job_cost_or_that_nobody_knows(world):
    machine = launch(world, limits={"prices": PRICES})
    world.clock.sleep(HOUR)
    world.end_job(*world.sagemaker.live(), "Completed")
    record = the_end(world, machine)
    assert (record["cost"], record["currency"], record["price_as_of"]) == ("80.0000", "USD", "2026-11-29")
    assert world.lines[0]["Cost"] == 80.0
    unpriced = launch(world, limits={"prices": PRICES | {"per_hour": {}}})
    world.end_job(*world.sagemaker.live(), "Completed")
    record = the_end(world, unpriced)
    assert (record["cost_unknown"], "cost" in record) == (["ml.g5.48xlarge"], False)


@pytest.fixture
def on_a_plan(world):
    world.sagemaker.plans["nightly"] = {
        "TrainingPlanArn": PLAN,
        "Status": "Active",
        "TargetResources": ["training-job"],
        "TotalInstanceCount": 4,
        "ReservedCapacitySummaries": [{"InstanceType": "ml.g5.48xlarge"}],
    }
    entry = {"InstanceType": "ml.g5.48xlarge", "InstanceCount": 4, "TrainingPlanArns": [PLAN]}
    world.request["ResourceConfig"]["InstancePreferences"] = [entry]
    return world


def test_reserved_capacity_costs_nothing_at_the_margin(on_a_plan):
    world = on_a_plan
    limits = {"max_cost": {"amount": "1", "currency": "USD"}, "prices": PRICES, "reserved_only": True}
    machine = launch(world, limits=limits)
    sweep_until_over(world, machine, 3 * HOUR)
    world.end_job(*world.sagemaker.live(), "Completed")
    record = the_end(world, machine)
    assert (record["end"], record["cost"], record["reserved"]) == ("Completed", "0", True)


def test_reserved_only_refuses_what_could_run_outside_of_a_plan(on_a_plan):
    world = on_a_plan
    entries = world.request["ResourceConfig"]["InstancePreferences"]
    entries.append({"InstanceType": "ml.p5.48xlarge", "InstanceCount": 2})
    machine = launch(world, limits={"reserved_only": True})
    (answer,) = machine.answers
    assert answer.record["end"] == "InvalidRequest"
    assert "reserved_only: ml.p5.48xlarge would run outside of a training plan" in answer.record["cause"]
    assert not world.sagemaker.jobs


def test_after_a_redrive_a_duration_counts_from_the_redriven_launch(world):
    machine = launch(world, steps=2, limits={"finish_by": HOUR}, started=False)
    world.end_job(*world.sagemaker.live(), "Failed", "AlgorithmError")
    world.settle()
    world.clock.sleep(5 * HOUR)
    machine.answers.clear()
    again = world.clock.now
    machine.redriven().finish()
    world.clock.sleep(HOUR // 2)
    world.show()
    world.end_job(*world.sagemaker.live(), "Failed", "CapacityError")
    world.sweep().finish()
    while world.runs:
        world.runs[0].finish()
    assert (machine.step, machine.status) == (2, "RUNNING")
    sweep_until_over(world, machine)
    assert world.clock.now - again <= HOUR + 3 * SWEEP
    assert the_end(world, machine)["end"] == "FinishByPassed"


def test_a_sweep_that_dies_after_the_stop_leaves_a_job_whose_reason_is_known(world):
    machine = launch(world, limits={"finish_by": HOUR})
    world.clock.sleep(HOUR + 1)
    world.sweep().until("sagemaker.stop_training_job").step("die-after")
    assert the_end(world, machine)["end"] == "FinishByPassed"
    assert len(world.sagemaker.stops) == 1


def test_a_limit_does_not_replace_the_reason_for_which_a_job_stops_already(world):
    machine = launch(world, limits={"finish_by": HOUR})
    machine.limit_fires().finish()
    world.clock.sleep(HOUR + 1)
    world.sweep().finish()
    assert the_end(world, machine)["end"] == "TimedOut"


def test_a_job_that_completes_before_its_stop_arrives_has_completed(world):
    machine = launch(world, limits={"finish_by": HOUR})
    world.clock.sleep(HOUR + 1)
    sweep = world.sweep().until("sagemaker.stop_training_job")
    world.end_job(*world.sagemaker.live(), "Completed")
    sweep.finish()
    assert the_end(world, machine)["end"] == "Completed"
