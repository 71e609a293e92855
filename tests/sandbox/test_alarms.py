"""Alarms on the virtual clock: what they read, when they change, and whom they tell."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from constructs_lib.sandbox import Sandbox

NAMESPACE = "GpuCapacity"
PERIOD = 6 * 3600  # so long that only a jump reaches its end


@pytest.fixture
def topic(sandbox: Sandbox) -> str:
    return str(sandbox.client("sns").create_topic(Name="people")["TopicArn"])


@pytest.fixture
def alarm(sandbox: Sandbox, topic: str, request: pytest.FixtureRequest) -> Callable[..., str]:
    """Make an alarm on a metric of its own, one period above 0, and return its name."""
    name = request.node.name[:80]

    def make(**settings: Any) -> str:
        given = {
            "AlarmName": name,
            "Namespace": NAMESPACE,
            "MetricName": name,
            "Dimensions": [{"Name": "TrainingPlanName", "Value": "nightly"}],
            "Statistic": "Maximum",
            "Period": PERIOD,
            "EvaluationPeriods": 1,
            "Threshold": 0,
            "ComparisonOperator": "GreaterThanThreshold",
            "TreatMissingData": "notBreaching",
            "AlarmActions": [topic],
            "OKActions": [topic],
        }
        given |= settings
        sandbox.client("cloudwatch").put_metric_alarm(**given)
        return str(given["AlarmName"])

    return make


def put(sandbox: Sandbox, name: str, value: float, plan: str = "nightly") -> None:
    row = {"MetricName": name, "Value": value, "Dimensions": [{"Name": "TrainingPlanName", "Value": plan}]}
    row["Timestamp"] = datetime.fromtimestamp(sandbox.clock.now(), UTC)
    sandbox.client("cloudwatch").put_metric_data(Namespace=NAMESPACE, MetricData=[row])


def state(sandbox: Sandbox, name: str) -> str:
    (row,) = sandbox.client("cloudwatch").describe_alarms(AlarmNames=[name])["MetricAlarms"]
    return str(row["StateValue"])


def go_on(sandbox: Sandbox) -> None:
    """Jump to the beginning of the next period."""
    sandbox.clock.jump(PERIOD - sandbox.clock.now() % PERIOD + 1)


def told(sandbox: Sandbox, name: str) -> list[str]:
    return [notice.subject for notice in sandbox.notices if f'"{name}"' in notice.subject]


def test_an_alarm_tells_its_topic_once_when_it_rings_and_once_when_it_is_over(
    sandbox: Sandbox, alarm: Any, topic: str, eventually: Any
) -> None:
    go_on(sandbox)
    name = alarm()
    assert state(sandbox, name) == "INSUFFICIENT_DATA"
    put(sandbox, name, 1)
    for expected in ("ALARM", "OK"):
        go_on(sandbox)
        eventually(lambda expected=expected: told(sandbox, name)[-1:] == [f'{expected}: "{name}"'])
        assert state(sandbox, name) == expected
    go_on(sandbox)
    go_on(sandbox)
    assert told(sandbox, name) == [f'ALARM: "{name}"', f'OK: "{name}"']
    notice = next(row for row in sandbox.notices if row.subject == f'ALARM: "{name}"')
    message = json.loads(notice.message)
    assert (notice.topic, message["NewStateValue"], message["OldStateValue"]) == (topic, "ALARM", "INSUFFICIENT_DATA")


def test_a_metric_embedded_in_a_log_line_rings_an_alarm(
    sandbox: Sandbox, alarm: Any, make_function: Any, invoke: Any, eventually: Any
) -> None:
    name = alarm(TreatMissingData="ignore")
    directive = {"Namespace": NAMESPACE, "Dimensions": [["TrainingPlanName"]], "Metrics": [{"Name": name}]}
    line = {"_aws": {"CloudWatchMetrics": [directive]}, "TrainingPlanName": "nightly", name: 3}
    code = f"""
        import json, time
        def handler(event, context):
            line = json.loads({json.dumps(line)!r})
            line["_aws"]["Timestamp"] = int(time.time() * 1000)
            print(json.dumps(line))
            print("no metric")
    """
    invoke(make_function(code))
    go_on(sandbox)
    eventually(lambda: state(sandbox, name) == "ALARM")


def test_data_of_another_plan_ring_nothing(sandbox: Sandbox, alarm: Any, eventually: Any) -> None:
    name = alarm()
    put(sandbox, name, 1, plan="weekly")
    go_on(sandbox)
    eventually(lambda: state(sandbox, name) == "OK")


@pytest.mark.parametrize(
    ("missing", "expected"), [("missing", "INSUFFICIENT_DATA"), ("breaching", "ALARM"), ("notBreaching", "OK")]
)
def test_without_data_an_alarm_does_as_it_is_told(
    sandbox: Sandbox, alarm: Any, missing: str, expected: str, eventually: Any
) -> None:
    name, other = alarm(TreatMissingData=missing), alarm(AlarmName=f"{missing}-evaluated")
    go_on(sandbox)
    eventually(lambda: state(sandbox, other) == "OK")
    eventually(lambda: state(sandbox, name) == expected)


def test_so_many_of_the_last_periods_must_breach(sandbox: Sandbox, alarm: Any, eventually: Any) -> None:
    name = alarm(EvaluationPeriods=4, DatapointsToAlarm=2, Statistic="Sum", Threshold=4)
    go_on(sandbox)
    for expected in ("OK", "ALARM"):  # 3 + 2 in one period, then in the next
        put(sandbox, name, 3)
        put(sandbox, name, 2)
        go_on(sandbox)
        eventually(lambda expected=expected: state(sandbox, name) == expected)


def test_a_period_that_the_clock_skipped_is_not_one_without_data(sandbox: Sandbox, alarm: Any, eventually: Any) -> None:
    name = alarm()
    put(sandbox, name, 1)
    go_on(sandbox)
    eventually(lambda: state(sandbox, name) == "ALARM")
    sandbox.clock.jump(5 * PERIOD)
    rings = sandbox.clock.now() + 60
    eventually(lambda: sandbox.clock.now() > rings)
    assert state(sandbox, name) == "ALARM"
    go_on(sandbox)
    eventually(lambda: told(sandbox, name) == [f'ALARM: "{name}"', f'OK: "{name}"'])


def test_a_deleted_alarm_says_nothing_more(sandbox: Sandbox, alarm: Any, eventually: Any) -> None:
    name, other = alarm(), alarm(AlarmName="kept")
    sandbox.client("cloudwatch").delete_alarms(AlarmNames=[name])
    put(sandbox, name, 1)
    go_on(sandbox)
    eventually(lambda: told(sandbox, other))
    assert told(sandbox, name) == []


def test_a_change_of_state_is_an_event(sandbox: Sandbox, alarm: Any, recorder: Any, eventually: Any) -> None:
    arn, received = recorder()
    pattern = {"source": ["aws.cloudwatch"], "detail-type": ["CloudWatch Alarm State Change"]}
    sandbox.client("events").put_rule(Name="alarms", EventPattern=json.dumps(pattern))
    sandbox.client("events").put_targets(Rule="alarms", Targets=[{"Id": "1", "Arn": arn}])
    name = alarm()
    go_on(sandbox)
    found = eventually(lambda: [event for event in received() if event["detail"]["alarmName"] == name])
    assert found[0]["detail"]["state"]["value"] == "OK"


def test_notices_of_programs_are_kept_too(sandbox: Sandbox, topic: str) -> None:
    before = sandbox.clock.now()
    sandbox.client("sns").publish(TopicArn=topic, Subject="hello", Message="text")
    notice = sandbox.notices[-1]
    assert (notice.topic, notice.subject, notice.message) == (topic, "hello", "text")
    assert before <= notice.time <= sandbox.clock.now()
