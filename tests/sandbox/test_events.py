"""Rules and schedules really fire, on virtual time."""

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

from constructs_lib.sandbox import Sandbox, ServiceError
from constructs_lib.sandbox.events.inputs import rule_input
from constructs_lib.sandbox.events.rates import parse

slow = pytest.mark.slow
Recorder = Callable[..., tuple[str, Callable[[], list[Any]]]]
PASS = json.dumps({"StartAt": "Only", "States": {"Only": {"Type": "Pass", "End": True}}})
OFF = {"Mode": "OFF"}


# --------------------------------------------------------------------------------------------------------- expressions


def moments(text: str, start: str, count: int, zone: str = "UTC") -> list[str]:
    where = ZoneInfo(zone)
    t = datetime.fromisoformat(start).replace(tzinfo=where).timestamp()
    expression, found = parse(text, zone), []
    for _ in range(count):
        t = expression.next_after(t, 0.0)
        if t is None:
            break
        found.append(datetime.fromtimestamp(t, where).strftime("%Y-%m-%dT%H:%M"))
    return found


@pytest.mark.parametrize(
    ("text", "start", "expected"),
    [
        ("cron(0 10 * * ? *)", "2026-11-29T12:00", ["2026-11-30T10:00", "2026-12-01T10:00"]),
        ("cron(15 12 * * ? *)", "2026-11-29T12:14", ["2026-11-29T12:15", "2026-11-30T12:15"]),
        ("cron(0 18 ? * MON-FRI *)", "2026-11-27T18:00", ["2026-11-30T18:00", "2026-12-01T18:00"]),
        ("cron(0 8 1 * ? *)", "2026-11-29T00:00", ["2026-12-01T08:00", "2027-01-01T08:00"]),
        ("cron(0/15 * * * ? *)", "2026-11-29T12:20", ["2026-11-29T12:30", "2026-11-29T12:45", "2026-11-29T13:00"]),
        ("cron(0/30 20-2 ? * SAT,SUN *)", "2026-11-28T23:40", ["2026-11-29T00:00", "2026-11-29T00:30"]),
        ("cron(0 0 L * ? *)", "2027-02-01T00:00", ["2027-02-28T00:00", "2027-03-31T00:00"]),
        ("cron(0 0 LW * ? *)", "2026-10-01T00:00", ["2026-10-30T00:00", "2026-11-30T00:00"]),
        ("cron(0 0 1W * ? *)", "2026-08-02T00:00", ["2026-08-03T00:00", "2026-09-01T00:00"]),
        ("cron(0 0 15W * ? *)", "2026-08-01T00:00", ["2026-08-14T00:00", "2026-09-15T00:00"]),
        ("cron(0 0 ? * 2#1 *)", "2026-11-01T00:00", ["2026-11-02T00:00", "2026-12-07T00:00"]),
        ("cron(0 0 ? * 6L *)", "2026-11-01T00:00", ["2026-11-27T00:00", "2026-12-25T00:00"]),
        ("cron(0 0 ? * L *)", "2026-11-29T00:00", ["2026-12-05T00:00"]),
        ("cron(0 0 29 FEB ? *)", "2026-11-01T00:00", ["2028-02-29T00:00", "2032-02-29T00:00"]),
        ("cron(0 0 1 1 ? 2026-2027)", "2026-06-01T00:00", ["2027-01-01T00:00"]),
        ("cron(0 0 1 1 ? 2025)", "2026-06-01T00:00", []),
        ("at(2026-12-01T08:30:00)", "2026-11-29T00:00", ["2026-12-01T08:30"]),
        ("at(2026-11-01T08:30:00)", "2026-11-29T00:00", []),
    ],
)
def test_an_expression_fires_when_aws_says(text: str, start: str, expected: list[str]) -> None:
    assert moments(text, start, max(len(expected), 1) if len(expected) < 2 else len(expected)) == expected


def test_a_cron_in_a_time_zone_follows_its_clocks() -> None:
    # In New York the clock goes forward on 2027-03-14 and back on 2026-11-01, each at 02:00.
    assert moments("cron(30 2 * * ? *)", "2027-03-12T12:00", 2, "America/New_York") == [
        "2027-03-13T02:30", "2027-03-15T02:30",
    ]  # fmt: skip
    assert moments("cron(30 1 * * ? *)", "2026-10-31T12:00", 2, "America/New_York") == [
        "2026-11-01T01:30", "2026-11-02T01:30",
    ]  # fmt: skip
    eight = parse("cron(0 8 * * ? *)", "Europe/Berlin").next_after(datetime(2026, 7, 1, tzinfo=UTC).timestamp(), 0.0)
    assert datetime.fromtimestamp(eight, UTC).hour == 6


def test_a_rate_counts_from_when_the_schedule_began_and_begins_at_once() -> None:
    rate = parse("rate(5 minutes)")
    assert rate.next_after(99.0, 100.0) == 100.0
    assert rate.next_after(100.0, 100.0) == 400.0
    assert rate.next_after(1234.0, 100.0) == 1300.0
    assert [parse(f"rate({text})").next_after(0, 0) for text in ("1 hour", "2 days")] == [3600, 172800]


def test_a_cron_does_not_fire_before_its_schedule_began() -> None:
    assert parse("cron(0 * * * ? *)").next_after(0.0, 7201.0) == 10800.0


@pytest.mark.parametrize(
    "text",
    ["rate(0 minutes)", "rate(5 weeks)", "rate(minutes)", "every 5 minutes", "cron(0 10 * * *)", "cron(0 10 * * * *)",
     "cron(0 10 ? * ? *)", "cron(61 10 * * ? *)", "cron(0 10 32 * ? *)", "cron(0 10 ? * XYZ *)", "cron(0 10 * 13 ? *)",
     "cron(0/0 * * * ? *)", "cron(a * * * ? *)", "at(tomorrow)", "at(2026-12-01)"],
)  # fmt: skip
def test_a_bad_expression_is_refused_in_words(text: str) -> None:
    with pytest.raises(ServiceError, match="ValidationException: Invalid Schedule Expression"):
        parse(text)


def test_an_unknown_time_zone_is_refused() -> None:
    with pytest.raises(ServiceError, match="Invalid Schedule Expression Timezone: Mars/Olympus"):
        parse("cron(0 8 * * ? *)", "Mars/Olympus")


# -------------------------------------------------------------------------------------------------------------- inputs

EVENT = {
    "version": "0", "id": "e-1", "detail-type": "Job State", "source": "my.jobs", "account": "123456789012",
    "time": "2026-11-29T12:00:00Z", "region": "us-east-1", "resources": ["arn:a", "arn:b"],
    "detail": {"name": 'a "quoted" one', "count": 3, "tags": ["x"], "nested": {"deep": True}},
}  # fmt: skip


def given(**target: Any) -> str:
    return rule_input(target, EVENT, "arn:aws:events:us-east-1:123456789012:rule/mine", "2026-11-29T12:00:01.000Z")


def transform(template: str, **paths: str) -> str:
    return given(InputTransformer={"InputPathsMap": paths, "InputTemplate": template})


def test_a_target_gets_the_event_a_part_of_it_or_a_constant() -> None:
    assert json.loads(given()) == EVENT
    assert json.loads(given(InputPath="$.detail.nested")) == {"deep": True}
    assert json.loads(given(InputPath="$.resources[1]")) == "arn:b"
    assert json.loads(given(InputPath="$.detail-type")) == "Job State"
    assert given(Input='{"a": 1}') == '{"a": 1}'


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ('{"a": <name>, "b": <count>, "c": <tags>, "d": <nested>}',
         {"a": 'a "quoted" one', "b": 3, "c": ["x"], "d": {"deep": True}}),
        ('"job <name> took <count>"', 'job a "quoted" one took 3'),
        ('{"text": "it is \\"<name>\\" here"}', {"text": 'it is "a "quoted" one" here'}),
        ('{"id": <id>, "rule": "<aws.events.rule-name>"}', {"id": "e-1", "rule": "mine"}),
        ('{"all": <aws.events.event.json>}', {"all": EVENT}),
        ('{"head": <aws.events.event>}', {"head": {key: value for key, value in EVENT.items() if key != "detail"}}),
        ('{"arn": <aws.events.rule-arn>}', {"arn": "arn:aws:events:us-east-1:123456789012:rule/mine"}),
        ('"at <aws.events.event.ingestion-time>"', "at 2026-11-29T12:00:01.000Z"),
        ('{"none": "x<none>y"}', {"none": "xy"}),
        ('"<unknown> stays"', "<unknown> stays"),
    ],
)  # fmt: skip
def test_a_transformer_fills_its_template(template: str, expected: Any) -> None:
    paths = {name: f"$.detail.{name}" for name in ("name", "count", "tags", "nested", "none")} | {"id": "$.id"}
    assert json.loads(transform(template, **paths)) == expected


def test_what_stands_for_a_missing_path_is_unknown_and_can_be_either() -> None:
    transformer = {"InputPathsMap": {"none": "$.detail.none"}, "InputTemplate": '{"a": <none>}'}
    assert json.loads(given(InputTransformer=transformer)) == {"a": ""}
    assert rule_input({"InputTransformer": transformer}, EVENT, "arn", "now", missing="") == '{"a": }'


# --------------------------------------------------------------------------------------------------------------- rules


@pytest.fixture
def rule(sandbox: Sandbox) -> Any:
    """Make a rule with one target; all of them are disabled after the test."""
    events, names = sandbox.client("events"), []

    def make(pattern: Any, arn: str, bus: str = "default", state: str = "ENABLED", **target: Any) -> str:
        name = f"rule-{uuid.uuid4().hex[:8]}"
        when = {"ScheduleExpression": pattern} if isinstance(pattern, str) else {"EventPattern": json.dumps(pattern)}
        events.put_rule(Name=name, EventBusName=bus, State=state, **when)
        events.put_targets(Rule=name, EventBusName=bus, Targets=[{"Id": "1", "Arn": arn, **target}])
        names.append((name, bus))
        return name

    yield make
    for name, bus in names:
        events.disable_rule(Name=name, EventBusName=bus)


def put(
    sandbox: Sandbox, detail: dict[str, Any], source: str = "my.jobs", kind: str = "Job State", **entry: Any
) -> None:
    entry = {"Source": source, "DetailType": kind, "Detail": json.dumps(detail), **entry}
    answer = sandbox.client("events").put_events(Entries=[entry])
    assert answer["FailedEntryCount"] == 0, answer


@slow
def test_a_rule_invokes_a_function_with_the_event(
    sandbox: Sandbox, rule: Any, recorder: Recorder, eventually: Any
) -> None:
    arn, events = recorder()
    rule({"source": ["my.jobs"]}, arn)
    before = sandbox.clock.now()
    put(sandbox, {"state": "Failed"}, Resources=["arn:x"])
    (event,) = eventually(events)
    moment = datetime.fromisoformat(event.pop("time")).timestamp()
    assert len(event.pop("id")) == 36
    assert event == {
        "version": "0", "detail-type": "Job State", "source": "my.jobs", "account": "123456789012",
        "region": "us-east-1", "resources": ["arn:x"], "detail": {"state": "Failed"},
    }  # fmt: skip
    assert int(before) <= moment <= sandbox.clock.now()


@slow
@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        ({"detail": {"job": {"name": [{"prefix": "mine-"}]}}}, {"job": {"name": "mine-1"}}, {"job": {"name": "other"}}),
        ({"detail": {"name": ["x", {"prefix": "mine-"}], "state": ["Failed", "Stopped"]}},
         {"name": "mine-1", "state": "Stopped"}, {"name": "mine-1", "state": "Completed"}),
        ({"detail": {"state": [{"anything-but": ["InProgress"]}]}}, {"state": "Failed"}, {"state": "InProgress"}),
        ({"detail": {"reason": [{"exists": True}]}}, {"reason": ""}, {"other": 1}),
        ({"detail": {"count": [{"numeric": [">", 3]}]}}, {"count": 4}, {"count": 3}),
        ({"detail": {"name": [{"wildcard": "*-gpu-*"}]}}, {"name": "a-gpu-b"}, {"name": "gpu"}),
        ({"$or": [{"detail": {"a": [1]}}, {"detail": {"b": [2]}}]}, {"a": 0, "b": 2}, {"a": 2, "b": 1}),
    ],
    ids=["prefix", "list", "anything-but", "exists", "numeric", "wildcard", "or"],
)  # fmt: skip
def test_a_pattern_lets_through_what_it_matches_and_nothing_else(
    sandbox: Sandbox, rule: Any, recorder: Recorder, eventually: Any, pattern: Any, matching: Any, other: Any
) -> None:
    arn, events = recorder()
    rule(pattern | {"source": ["pattern.test"]}, arn)
    put(sandbox, other, source="pattern.test")
    put(sandbox, matching, source="pattern.test")
    eventually(events)
    sandbox.clock.sleep(60)
    assert [event["detail"] for event in events()] == [matching]


@slow
def test_a_rule_starts_a_state_machine(sandbox: Sandbox, rule: Any, role_arn: str, eventually: Any) -> None:
    states = sandbox.client("stepfunctions")
    machine = states.create_state_machine(name="by-rule", definition=PASS, roleArn=role_arn)["stateMachineArn"]
    template = {"InputPathsMap": {"job": "$.detail.job"}, "InputTemplate": '{"name": <job>}'}
    rule({"source": ["machine.test"]}, machine, RoleArn=role_arn, InputTransformer=template)
    put(sandbox, {"job": "j1"}, source="machine.test")
    (execution,) = eventually(lambda: states.list_executions(stateMachineArn=machine)["executions"])
    started = states.describe_execution(executionArn=execution["executionArn"])
    assert json.loads(started["input"]) == {"name": "j1"}


@slow
def test_a_rule_reaches_queues_topics_log_groups_and_other_buses(
    sandbox: Sandbox, rule: Any, recorder: Recorder, eventually: Any
) -> None:
    sqs, logs, events = sandbox.client("sqs"), sandbox.client("logs"), sandbox.client("events")
    url = sqs.create_queue(QueueName="from-rules")["QueueUrl"]
    logs.create_log_group(logGroupName="/from/rules")
    bus = events.create_event_bus(Name="second")["EventBusArn"]
    topic = sandbox.client("sns").create_topic(Name="from-rules")["TopicArn"]
    sandbox.client("sns").subscribe(
        TopicArn=topic, Protocol="sqs", Endpoint="arn:aws:sqs:us-east-1:123456789012:from-rules"
    )
    pattern = {"source": ["all.targets"]}
    rule(pattern, "arn:aws:sqs:us-east-1:123456789012:from-rules", Input='"direct"')
    rule(pattern, topic, Input='"over the topic"')
    rule(pattern, "arn:aws:logs:us-east-1:123456789012:log-group:/from/rules:*", InputPath="$.detail")
    rule(pattern, bus)
    arn, second = recorder()
    rule(pattern, arn, bus="second")
    put(sandbox, {"n": 1}, source="all.targets")
    got: set[str] = set()  # a message that is not deleted within 30 virtual seconds comes again

    def both() -> bool:
        got.update(m["Body"] for m in sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", []))
        return len(got) == 2

    eventually(both)
    got.remove('"direct"')
    assert json.loads(got.pop())["Message"] == '"over the topic"'
    (line,) = eventually(lambda: logs.filter_log_events(logGroupName="/from/rules")["events"])
    assert json.loads(line["message"]) == {"n": 1}
    assert eventually(second)[0]["detail"] == {"n": 1}


@slow
def test_what_aws_services_put_reaches_rules_and_nobody_else_may_put_it(
    sandbox: Sandbox, rule: Any, recorder: Recorder, eventually: Any
) -> None:
    arn, events = recorder()
    rule({"source": ["aws.sagemaker"], "detail-type": ["Mine"]}, arn)
    sandbox.context.emit("aws.sagemaker", "Mine", {"n": 1}, ["arn:job"])
    (event,) = eventually(events)
    assert (event["resources"], event["detail"]) == (["arn:job"], {"n": 1})
    entries = [
        {"Source": "my.own", "DetailType": "Mine", "Detail": "{}"},
        {"Source": "aws.sagemaker", "DetailType": "Mine", "Detail": "{}"},
    ]
    answer = sandbox.client("events").put_events(Entries=entries)
    assert answer["FailedEntryCount"] == 1
    assert [entry.get("ErrorCode") for entry in answer["Entries"]] == [None, "NotAuthorizedForSourceException"]
    sandbox.clock.sleep(60)
    assert len(events()) == 1


@slow
def test_a_disabled_or_deleted_rule_is_silent(sandbox: Sandbox, rule: Any, recorder: Recorder, eventually: Any) -> None:
    client = sandbox.client("events")
    arn, events = recorder()
    pattern = {"source": ["off.test"]}
    disabled, deleted, live = rule(pattern, arn, state="DISABLED"), rule(pattern, arn), rule(pattern, arn, Input="1")
    client.remove_targets(Rule=deleted, Ids=["1"])
    client.delete_rule(Name=deleted)
    put(sandbox, {}, source="off.test")
    eventually(events)
    sandbox.clock.sleep(60)
    assert events() == [1]
    client.enable_rule(Name=disabled)
    client.disable_rule(Name=live)
    put(sandbox, {"on": True}, source="off.test")
    eventually(lambda: len(events()) == 2)
    assert events()[1]["detail"] == {"on": True}
    client.put_rule(Name=deleted, EventPattern=json.dumps(pattern))  # so that the fixture finds it


@slow
def test_a_target_the_sandbox_cannot_reach_is_refused_when_it_is_made(sandbox: Sandbox, rule: Any) -> None:
    with pytest.raises(ClientError, match="the sandbox delivers to lambda, states"):
        rule({"source": ["x"]}, "arn:aws:ecs:us-east-1:123456789012:cluster/c")


@slow
def test_a_delivery_that_fails_is_tried_again(sandbox: Sandbox, rule: Any, recorder: Recorder, eventually: Any) -> None:
    arn, events = recorder()
    rule({"source": ["retry.test"]}, arn)
    sandbox.faults.add("lambda", "Invoke", error=("ServiceException", "later", 500), times=2)
    put(sandbox, {"n": 1}, source="retry.test")
    assert len(eventually(events)) == 1
    assert sandbox.faults.hits["lambda.Invoke", "before"] >= 2


@slow
def test_a_delivery_that_cannot_succeed_goes_to_the_dead_letter_queue(
    sandbox: Sandbox, rule: Any, eventually: Any
) -> None:
    sqs = sandbox.client("sqs")
    url = sqs.create_queue(QueueName="undelivered")["QueueUrl"]
    nobody = "arn:aws:lambda:us-east-1:123456789012:function:nobody"
    queue = {"Arn": "arn:aws:sqs:us-east-1:123456789012:undelivered"}
    rule({"source": ["dead.test"]}, nobody, DeadLetterConfig=queue)
    put(sandbox, {"n": 1}, source="dead.test")
    (message,) = eventually(lambda: sqs.receive_message(QueueUrl=url).get("Messages"))
    assert json.loads(message["Body"])["detail"] == {"n": 1}


# -------------------------------------------------------------------------------------------------------------- faults


@slow
def test_lost_events_never_arrive_and_others_do(
    sandbox: Sandbox, rule: Any, recorder: Recorder, eventually: Any
) -> None:
    arn, events = recorder()
    rule({"source": ["aws.sagemaker", "aws.states"], "detail-type": ["Lossy"]}, arn)
    sandbox.faults.switch("events.sagemaker", "lost")
    sandbox.context.emit("aws.sagemaker", "Lossy", {}, [])
    sandbox.context.emit("aws.states", "Lossy", {}, [])
    eventually(events)
    sandbox.clock.sleep(300)
    assert [event["source"] for event in events()] == ["aws.states"]


@slow
def test_events_can_come_three_times_and_out_of_order(
    sandbox: Sandbox, rule: Any, recorder: Recorder, eventually: Any
) -> None:
    arn, events = recorder()
    rule({"source": ["aws.sagemaker"], "detail-type": ["Thrice"]}, arn)
    sandbox.faults.switch("events.sagemaker", "thrice")
    for number in range(4):
        sandbox.context.emit("aws.sagemaker", "Thrice", {"n": number}, [])
        sandbox.clock.sleep(10)
    eventually(lambda: len(events()) == 12)
    sandbox.clock.sleep(300)
    order = [event["detail"]["n"] for event in events()]
    # A consumer that counts, or that takes the latest event for the latest state, is found out.
    assert sorted(order) == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]
    first = [order.index(number) for number in range(4)]
    assert first != sorted(first)
    assert len({event["id"] for event in events()}) == 4


# ----------------------------------------------------------------------------------------------------------- schedules


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
    put(sandbox, {}, source="anything.at.all")
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
