"""What one run's input may change: validated before anything is created, and said in words when it is wrong."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

pytestmark = pytest.mark.slow

PLAN = "arn:aws:sagemaker:us-east-1:123456789012:training-plan/nightly"


def launch(world, given, overrides=(), **more):
    machine = world.machine(input=given, overrides=list(overrides), **more)
    machine.start().finish()
    world.show()
    return machine


def refused(world, given, overrides=(), **more):
    machine = launch(world, given, overrides, **more)
    (answer,) = machine.answers
    assert (answer.record["end"], answer.record["status"]) == ("InvalidRequest", "NotCreated")
    assert not world.sagemaker.jobs
    return answer.record["cause"]


def job(world):
    (found,) = world.sagemaker.jobs.values()
    return found


def test_an_allowed_override_is_in_the_request_of_that_run_only(world):
    given = {"overrides": {"hyperparameters": {"epochs": "3"}, "instance_count": 2}}
    launch(world, given, ["hyperparameters", "instance_count"])
    request = job(world).request
    assert request["HyperParameters"] == {"epochs": "3"}
    assert {one["InstanceCount"] for one in request["ResourceConfig"]["InstancePreferences"]} == {2}
    assert "HyperParameters" not in world.request


@pytest.mark.parametrize(
    "given", [{"detail": {"bucket": "b"}, "source": "aws.s3", "detail-type": "Object Created"}, {}, [1], "text", None]
)
def test_whatever_else_the_input_holds_is_not_looked_at(world, given):
    launch(world, given)
    assert len(world.sagemaker.live()) == 1


@pytest.mark.parametrize(
    ("overrides", "allowed", "words"),
    [
        ({"epochs": 3}, ["hyperparameters"], "epochs is not known; the names are hyperparameters, environment"),
        ({"output": "s3://b/x"}, ["inputs"], "output may not be given for this job; it allows inputs"),
        ({"output": "s3://b/x"}, [], 'allows none; to allow it, declare run_overrides=("output",)'),
        ({"hyperparameters": {"epochs": 3}}, ["hyperparameters"], "AWS takes texts only: write '3'"),
        ({"hyperparameters": {"fast": True}}, ["hyperparameters"], "write 'true'"),
        ({"hyperparameters": "epochs=3"}, ["hyperparameters"], "an object of texts is needed"),
        ({"instance_count": 0}, ["instance_count"], "a number of instances, from 1, is needed"),
        ({"instance_count": True}, ["instance_count"], "True was given"),
        ({"inputs": {"test": "s3://b/x"}}, ["inputs"], "the job has no such input from S3; it has train"),
        ({"inputs": {"train": "/local"}}, ["inputs"], "a text such as 's3://bucket/prefix' is needed"),
        ({"max_runtime": "1h"}, ["max_runtime"], "a number of seconds"),
        ({"start_by": "tomorrow"}, ["start_by"], "overrides.start_by 'tomorrow' is no moment"),
        ({"start_by": 60, "finish_by": 30}, ["start_by", "finish_by"], "nothing could ever run"),
        ("all", ["inputs"], "an object is needed"),
    ],
    ids=str,
)
def test_a_wrong_override_ends_the_run_in_words_and_creates_nothing(world, overrides, allowed, words):
    world.request["InputDataConfig"] = [
        {"ChannelName": "train", "DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": "s3://b/train"}}}
    ]
    assert words in refused(world, {"overrides": overrides}, allowed)


def test_an_override_that_breaks_a_rule_is_refused_in_the_rules_words(world):
    words = refused(world, {"overrides": {"max_runtime": 10**8}}, ["max_runtime"])
    assert "GPU-" in words
    assert "MaxRuntimeInSeconds" in words


def test_a_limit_of_one_run_holds_for_it(world):
    machine = launch(world, {"overrides": {"finish_by": 3600}}, ["finish_by"])
    world.clock.sleep(3601)
    world.sweep().finish()
    world.settle()
    assert machine.answers[0].record["end"] == "FinishByPassed"


def test_overrides_hold_for_every_step(world):
    machine = launch(world, {"overrides": {"environment": {"RUN": "7"}}}, ["environment"], steps=2)
    world.end_job(*world.sagemaker.live(), "Failed", "CapacityError")
    world.settle()
    assert machine.step == 2
    assert [one.request["Environment"] for one in world.sagemaker.jobs.values()] == [{"RUN": "7"}] * 2


# --- windows


@pytest.fixture
def plan(world):
    segment = {"InstanceType": "ml.g5.48xlarge"}
    world.sagemaker.plans["nightly"] = {"Status": "Active", "ReservedCapacitySummaries": [segment]}
    world.request["ResourceConfig"]["InstancePreferences"][1]["TrainingPlanArns"] = [PLAN]
    return world


def window(world, seconds):
    moment = datetime.fromtimestamp(world.clock.now + seconds, UTC)
    return {"window": {"plan": PLAN, "usable_until": moment.isoformat()}}


def test_a_run_on_a_plan_may_run_as_long_as_the_plan_is_usable_and_its_container_knows(plan):
    given = window(plan, 1800)
    launch(plan, given)
    request = job(plan).request
    assert request["StoppingCondition"]["MaxRuntimeInSeconds"] == 1800
    milliseconds = int(datetime.fromisoformat(given["window"]["usable_until"]).timestamp() * 1000)
    assert request["Environment"] == {"GPUCAP_CAPACITY_USABLE_UNTIL": str(milliseconds)}


def test_a_plan_that_is_usable_for_longer_than_the_job_shortens_nothing(plan):
    launch(plan, window(plan, 86_400))
    assert job(plan).request["StoppingCondition"]["MaxRuntimeInSeconds"] == 3600


def test_with_less_than_five_minutes_left_nothing_is_created(plan):
    machine = launch(plan, window(plan, 299))
    assert machine.answers[0].record["end"] == "PlanNotUsable"
    assert "a job needs at least 300" in machine.answers[0].record["cause"]


def test_a_step_that_does_not_run_on_the_plan_is_not_cut(world):
    launch(world, window(world, 600))
    request = job(world).request
    assert request["StoppingCondition"]["MaxRuntimeInSeconds"] == 3600
    assert "Environment" not in request


@pytest.mark.parametrize("given", [1, {}, {"plan": PLAN}, {"plan": PLAN, "usable_until": "soon"}], ids=str)
def test_a_window_that_is_none_is_refused_in_words(world, given):
    assert "window" in refused(world, {"window": given})
