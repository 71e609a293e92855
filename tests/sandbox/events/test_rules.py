"""Rules match events, shape what a target gets, and deliver."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from botocore.exceptions import ClientError

from constructs_lib.sandbox import Sandbox
from constructs_lib.sandbox.events.inputs import rule_input

slow = pytest.mark.slow
Recorder = Callable[..., tuple[str, Callable[[], list[Any]]]]
PASS = json.dumps({"StartAt": "Only", "States": {"Only": {"Type": "Pass", "End": True}}})
OFF = {"Mode": "OFF"}


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
