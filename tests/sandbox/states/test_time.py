"""Waits, retries and time limits pass in virtual time."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from constructs_lib.sandbox import Sandbox

pytestmark = pytest.mark.slow

LOSE = {"Type": "Fail", "Error": "Lost", "Cause": "on purpose"}


def _took(found: dict[str, Any]) -> float:
    return (found["stopDate"] - found["startDate"]).total_seconds()


@pytest.mark.parametrize(
    ("wait", "given", "top"),
    [
        ({"Seconds": 600}, {}, {}),
        ({"SecondsPath": "$.wait"}, {"wait": 600}, {}),
        ({"Seconds": "{% $states.input.wait * 2 %}"}, {"wait": 300}, {"QueryLanguage": "JSONata"}),
    ],
)
def test_a_wait_ends_when_its_virtual_seconds_have_passed(
    slow: Any, start: Any, end: Any, reaches: Any, sfn: Any, wait: Any, given: Any, top: Any
) -> None:
    arn = start({"W": {"Type": "Wait", **wait, "End": True}}, given, **top)
    reaches(arn, "WaitStateEntered")
    slow.jump(580)
    assert sfn.describe_execution(executionArn=arn)["status"] == "RUNNING"
    slow.jump(30)
    assert 610 <= _took(end(arn)) < 630


def test_a_wait_until_a_timestamp_ends_at_that_virtual_moment(slow: Any, start: Any, end: Any, reaches: Any) -> None:
    moment = slow.iso(slow.now() + 7200)
    arn = start({"W": {"Type": "Wait", "TimestampPath": "$.at", "End": True}}, {"at": moment})
    reaches(arn, "WaitStateEntered")
    slow.jump(7300)
    found = end(arn)
    assert found["status"] == "SUCCEEDED"
    assert 7300 <= _took(found) < 7320


def test_a_wait_until_a_timestamp_in_the_past_does_not_wait(slow: Any, run: Any) -> None:
    found = run({"W": {"Type": "Wait", "Timestamp": "2020-01-01T00:00:00+02:00", "End": True}})
    assert _took(found) < 10


def test_a_timestamp_that_is_none_fails_the_execution_with_states_runtime(run: Any) -> None:
    found = run({"W": {"Type": "Wait", "TimestampPath": "$.at", "End": True}}, {"at": "tomorrow"})
    assert (found["status"], found["error"]) == ("FAILED", "States.Runtime")
    assert "tomorrow" in found["cause"]


def test_retries_wait_in_virtual_time_with_backoff_and_a_longest_delay(
    slow: Any, start: Any, end: Any, reaches: Any, events_of: Any, sfn: Any
) -> None:
    retry = {
        "ErrorEquals": ["Lost"],
        "IntervalSeconds": 100,
        "BackoffRate": 3,
        "MaxDelaySeconds": 250,
        "MaxAttempts": 3,
    }
    branch = {"StartAt": "Lose", "States": {"Lose": LOSE}}
    arn = start({"P": {"Type": "Parallel", "Branches": [branch], "Retry": [retry], "End": True}})
    for tries, delay in enumerate((100, 250, 250), start=1):  # 100, 300 and 900 without the longest delay
        reaches(arn, "FailStateEntered", tries)
        slow.jump(delay - 15)
        assert [e["type"] for e in events_of(arn)].count("FailStateEntered") == tries
        slow.jump(30)
    found = end(arn)
    assert (found["status"], found["error"]) == ("FAILED", "Lost")


def test_full_jitter_waits_no_longer_than_the_interval(slow: Any, start: Any, end: Any, reaches: Any) -> None:
    retry = {"ErrorEquals": ["Lost"], "IntervalSeconds": 100, "MaxAttempts": 1, "JitterStrategy": "FULL"}
    branch = {"StartAt": "Lose", "States": {"Lose": LOSE}}
    arn = start({"P": {"Type": "Parallel", "Branches": [branch], "Retry": [retry], "End": True}})
    reaches(arn, "FailStateEntered")
    slow.jump(101)
    assert end(arn)["error"] == "Lost"


def test_a_machine_that_runs_too_long_is_timed_out_at_once(slow: Any, start: Any, end: Any, reaches: Any) -> None:
    arn = start({"W": {"Type": "Wait", "Seconds": 9999, "End": True}}, TimeoutSeconds=900)
    reaches(arn, "WaitStateEntered")
    slow.jump(950)
    found = end(arn)
    assert found["status"] == "TIMED_OUT"
    assert 950 <= _took(found) < 970
    assert "output" not in found


def test_a_task_that_runs_too_long_fails_with_states_timeout_while_its_function_still_runs(
    sandbox: Sandbox, make_function: Any, run: Any
) -> None:
    function = make_function("import time\ndef handler(event, context):\n    time.sleep(3000)\n", Timeout=900)
    task = {
        "Type": "Task",
        "Resource": "arn:aws:states:::lambda:invoke",
        "Parameters": {"FunctionName": function},
        "TimeoutSeconds": 300,
        "Catch": [{"ErrorEquals": ["States.Timeout"], "Next": "Late"}],
        "End": True,
    }
    found = run({"T": task, "Late": {"Type": "Pass", "End": True}})
    assert found["output"] == {"Error": "States.Timeout", "Cause": ""}
    assert 300 <= _took(found) < 600


def test_a_change_of_the_clocks_rate_during_a_wait_does_not_change_its_length(
    sandbox: Sandbox, start: Any, end: Any, reaches: Any
) -> None:
    arn = start({"W": {"Type": "Wait", "Seconds": 3000, "End": True}})
    reaches(arn, "WaitStateEntered")
    with sandbox.clock.held():  # a wait turned into real seconds at its beginning would go on running now
        sandbox.clock.jump(1000)
    assert 3000 <= _took(end(arn)) < 3900


def test_dates_and_events_are_virtual(sandbox: Sandbox, run: Any, events_of: Any) -> None:
    before = sandbox.clock.now()
    found = run({"W": {"Type": "Wait", "Seconds": 1200, "End": True}})
    assert found["startDate"].timestamp() >= before - 1
    stamps = [event["timestamp"] for event in events_of(found["executionArn"])]
    assert stamps == sorted(stamps)
    assert stamps[-1] - stamps[0] > timedelta(seconds=1200)
