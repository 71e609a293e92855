"""Schedules really fire, on virtual time."""

from __future__ import annotations

import itertools
import json
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from botocore.exceptions import ClientError

from constructs_lib.sandbox import Sandbox

slow = pytest.mark.slow
Recorder = Callable[..., tuple[str, Callable[[], list[Any]]]]
PASS = json.dumps({"StartAt": "Only", "States": {"Only": {"Type": "Pass", "End": True}}})
OFF = {"Mode": "OFF"}


def runs(sandbox: Sandbox, arn: str) -> list[Any]:
    return [run for run in list(sandbox.lambdas.invocations) if run.function == arn.rpartition(":")[2]]


def ticks(sandbox: Sandbox, arn: str) -> list[float]:
    """The moments a function was scheduled for; it ran then or, on a busy machine, a little later."""
    found = runs(sandbox, arn)
    moments = [datetime.fromisoformat(run.event.get("tick") or run.event["time"]).timestamp() for run in found]
    late = [run.time - moment for run, moment in zip(found, moments, strict=True)]
    assert all(-1 < seconds < 900 for seconds in late), late
    return moments


TICK = {"Input": '{"tick": "<aws.scheduler.scheduled-time>"}'}


@pytest.fixture
def schedule(sandbox: Sandbox, role_arn: str) -> Any:
    """Make a schedule with a target; all are deleted after the test."""
    client, names = sandbox.client("scheduler"), []

    def make(expression: str, arn: str, *, target: dict[str, Any] | None = None, **config: Any) -> str:
        name = f"schedule-{uuid.uuid4().hex[:8]}"
        client.create_schedule(
            Name=name, ScheduleExpression=expression, FlexibleTimeWindow=OFF,
            Target={"Arn": arn, "RoleArn": role_arn, **(target or {})}, **config,
        )  # fmt: skip
        names.append(name)
        return name

    yield make
    for name in {item["Name"] for item in client.list_schedules()["Schedules"]} & set(names):
        client.delete_schedule(Name=name)


def at(moment: float, zone: str = "UTC") -> str:
    return f"at({datetime.fromtimestamp(moment, ZoneInfo(zone)):%Y-%m-%dT%H:%M:%S})"


@slow
def test_a_rate_schedule_fires_at_once_and_then_at_its_rate(
    sandbox: Sandbox, schedule: Any, recorder: Recorder, eventually: Any
) -> None:
    arn, events = recorder()
    before = sandbox.clock.now()
    schedule("rate(30 minutes)", arn, target=TICK)
    after = sandbox.clock.now()
    eventually(lambda: len(events()) >= 3)
    first, *others = ticks(sandbox, arn)[:3]
    assert before - 1 <= first <= after
    assert others == [first + 1800, first + 3600]


@slow
def test_a_schedule_fires_no_more_often_than_its_handler_can_take(
    sandbox: Sandbox, schedule: Any, make_function: Any, eventually: Any
) -> None:
    code = """
        import time
        def handler(event, context):
            time.sleep(200)
            return context.log_stream_name
    """
    arn = f"arn:aws:lambda:us-east-1:123456789012:function:{make_function(code, Timeout=900)}"
    schedule("rate(1 minute)", arn)
    eventually(lambda: len(runs(sandbox, arn)) >= 4)
    found = runs(sandbox, arn)
    assert len({run.payload for run in found}) == 1, "two workers: two ran at once"
    gaps = [later.time - earlier.time for earlier, later in itertools.pairwise(found)]
    assert all(gap >= 200 for gap in gaps), gaps


@slow
def test_a_jump_over_many_ticks_fires_once(
    sandbox: Sandbox, schedule: Any, recorder: Recorder, eventually: Any
) -> None:
    arn, events = recorder()
    schedule("rate(1 day)", arn)
    eventually(events)
    # The tick counts as outstanding until the schedule has heard of its end; a jump before that is a tick missed.
    sandbox.clock.sleep(3600)
    sandbox.clock.jump(10 * 86400)
    eventually(lambda: len(events()) == 2)
    sandbox.clock.sleep(600)
    assert len(events()) == 2


@slow
def test_a_one_time_schedule_fires_once_and_may_delete_itself(
    sandbox: Sandbox, schedule: Any, recorder: Recorder, eventually: Any
) -> None:
    client = sandbox.client("scheduler")
    arn, events = recorder()
    with sandbox.clock.held():
        moment = int(sandbox.clock.now() + 300)
        kept = schedule(at(moment), arn, target=TICK)
        gone = schedule(at(moment), arn, target=TICK, ActionAfterCompletion="DELETE")
    assert events() == []
    eventually(lambda: len(events()) == 2)
    names = eventually(
        lambda: gone not in (found := [s["Name"] for s in client.list_schedules()["Schedules"]]) and found
    )
    assert kept in names
    sandbox.clock.sleep(600)
    assert ticks(sandbox, arn) == [moment, moment]


@slow
def test_a_one_time_schedule_reads_its_moment_in_its_time_zone(
    sandbox: Sandbox, schedule: Any, recorder: Recorder, eventually: Any
) -> None:
    arn, events = recorder()
    with sandbox.clock.held():
        moment = int(sandbox.clock.now() + 300)
        schedule(at(moment, "Asia/Tokyo"), arn, ScheduleExpressionTimezone="Asia/Tokyo", target=TICK)
    eventually(events)
    assert ticks(sandbox, arn) == [moment]


@slow
@pytest.mark.parametrize("reading", ["never", "at once"])
def test_whether_a_one_time_schedule_in_the_past_fires_is_unknown_and_can_be_either(
    sandbox: Sandbox, schedule: Any, recorder: Recorder, eventually: Any, reading: str
) -> None:
    sandbox.faults.switch("scheduler.past-moment", reading)
    arn, events = recorder()
    schedule(at(sandbox.clock.now() - 3600), arn, target={"Input": '"once"'})
    if reading == "at once":
        eventually(events)
    sandbox.clock.sleep(600)
    assert events() == ([] if reading == "never" else ["once"])


@slow
def test_a_cron_schedule_fires_on_the_minute(
    sandbox: Sandbox, schedule: Any, recorder: Recorder, eventually: Any
) -> None:
    arn, events = recorder()
    schedule("cron(0/20 * * * ? *)", arn, target=TICK)
    eventually(lambda: len(events()) >= 2)
    assert all(moment % 1200 == 0 for moment in ticks(sandbox, arn))


@slow
def test_a_schedule_that_is_changed_disabled_or_deleted_fires_accordingly(
    sandbox: Sandbox, schedule: Any, recorder: Recorder, role_arn: str, eventually: Any
) -> None:
    client = sandbox.client("scheduler")
    arn, events = recorder()
    name = schedule("rate(30 days)", arn, target={"Input": '"first"'})
    eventually(events)
    change = {"Name": name, "FlexibleTimeWindow": OFF, "ScheduleExpression": "rate(2 minutes)"}
    target = {"Arn": arn, "RoleArn": role_arn, "Input": '"second"'}
    client.update_schedule(**change, Target=target)
    eventually(lambda: events().count("second") >= 2)
    client.update_schedule(**change, Target=target, State="DISABLED")
    sandbox.clock.sleep(60)
    count = len(events())
    sandbox.clock.sleep(600)
    assert len(events()) == count
    client.update_schedule(**change, Target=target, State="ENABLED")
    eventually(lambda: len(events()) > count)
    client.delete_schedule(Name=name)
    sandbox.clock.sleep(60)
    count = len(events())
    sandbox.clock.sleep(600)
    assert len(events()) == count


@slow
def test_start_and_end_dates_bound_a_schedule(
    sandbox: Sandbox, schedule: Any, recorder: Recorder, eventually: Any
) -> None:
    arn, events = recorder()
    with sandbox.clock.held():
        now = int(sandbox.clock.now())
        start, end = (datetime.fromtimestamp(now + offset, UTC) for offset in (600, 3000))
        schedule("rate(15 minutes)", arn, StartDate=start, EndDate=end, target=TICK)
    eventually(lambda: len(events()) == 3)
    sandbox.clock.sleep(3000)
    assert [moment - now for moment in ticks(sandbox, arn)] == [600, 1500, 2400]


@slow
def test_a_schedule_starts_a_state_machine_and_calls_any_api(
    sandbox: Sandbox, schedule: Any, role_arn: str, eventually: Any
) -> None:
    states = sandbox.client("stepfunctions")
    machine = states.create_state_machine(name="by-schedule", definition=PASS, roleArn=role_arn)["stateMachineArn"]
    universal = "arn:aws:scheduler:::aws-sdk"
    start = {"StateMachineArn": machine, "Input": '{"universal": true}'}  # spelled as Java's SDK spells it
    topic = {"Name": "by-universal-target", "Tags": [{"Key": "a", "Value": "b"}]}
    with sandbox.clock.held():
        soon = at(sandbox.clock.now() + 300)
        schedule(soon, machine, target={"Input": '{"templated": true}'})
        schedule(soon, f"{universal}:sfn:startExecution", target={"Input": json.dumps(start)})
        schedule(soon, f"{universal}:sns:createTopic", target={"Input": json.dumps(topic)})
    eventually(lambda: len(states.list_executions(stateMachineArn=machine)["executions"]) == 2)
    inputs = [
        json.loads(states.describe_execution(executionArn=execution["executionArn"])["input"])
        for execution in states.list_executions(stateMachineArn=machine)["executions"]
    ]
    assert sorted(map(str, inputs)) == ["{'templated': True}", "{'universal': True}"]
    sns = sandbox.client("sns")
    eventually(lambda: any("by-universal-target" in t["TopicArn"] for t in sns.list_topics()["Topics"]))


@slow
@pytest.mark.parametrize(
    ("expression", "arn", "words"),
    [
        ("rate(5 parsecs)", "arn:aws:lambda:us-east-1:123456789012:function:f", "Invalid Schedule Expression"),
        ("rate(5 minutes)", "arn:aws:scheduler:::aws-sdk:sagemaker:createTrainingJobb", "no operation"),
        ("rate(5 minutes)", "arn:aws:ecs:us-east-1:123456789012:cluster/c", "the sandbox delivers to"),
    ],
)
def test_a_schedule_that_could_never_fire_is_refused_when_it_is_made(
    sandbox: Sandbox, schedule: Any, expression: str, arn: str, words: str
) -> None:
    with pytest.raises(ClientError, match=words) as raised:
        schedule(expression, arn)
    assert raised.value.response["Error"]["Code"] == "ValidationException"


@slow
def test_a_rule_with_a_rate_fires_and_hears_no_events(
    sandbox: Sandbox, rule: Any, recorder: Recorder, eventually: Any
) -> None:
    arn, events = recorder()
    name = rule("rate(5 minutes)", arn)
    entry = {"Source": "anything.at.all", "DetailType": "Job State", "Detail": "{}"}
    assert sandbox.client("events").put_events(Entries=[entry])["FailedEntryCount"] == 0
    eventually(lambda: len(events()) >= 2)
    first = events()[0]
    assert (first["source"], first["detail-type"], first["detail"]) == ("aws.events", "Scheduled Event", {})
    assert first["resources"] == [f"arn:aws:events:us-east-1:123456789012:rule/{name}"]
    assert {event["source"] for event in events()} == {"aws.events"}


@slow
@pytest.mark.parametrize(("reading", "wait"), [("at once", 0), ("after one interval", 86400)])
def test_when_a_rules_rate_first_fires_is_unknown_and_can_be_either(
    sandbox: Sandbox, rule: Any, recorder: Recorder, eventually: Any, reading: str, wait: float
) -> None:
    sandbox.faults.switch("events.first-tick", reading)
    arn, events = recorder()
    before = sandbox.clock.now()
    rule("rate(1 day)", arn)
    after = sandbox.clock.now()
    if wait:
        sandbox.clock.sleep(600)
        assert events() == []
        sandbox.clock.jump(wait)
    eventually(events)
    assert before - 1 <= ticks(sandbox, arn)[0] - wait <= after
