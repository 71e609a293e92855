"""Calls of functions: side by side, asynchronous, and killed half-way."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

from constructs_lib.sandbox import Sandbox

pytestmark = pytest.mark.slow

Make = Callable[..., str]
Invoke = Callable[..., Any]


def runs(sandbox: Sandbox, name: str) -> list[Any]:
    return [run for run in list(sandbox.lambdas.invocations) if run.function == name]


def queue(sandbox: Sandbox, name: str) -> tuple[str, Callable[[], list[Any]]]:
    """Make an SQS queue; return its ARN and what looks for the messages that arrived."""
    sqs, got = sandbox.client("sqs"), []
    url = sqs.create_queue(QueueName=name)["QueueUrl"]

    def look() -> list[Any]:
        for message in sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", []):
            got.append(json.loads(message["Body"]))
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        return got

    return f"arn:aws:sqs:us-east-1:123456789012:{name}", look


# ---------------------------------------------------------------------------------------------------------- concurrency

MEET = """
    import os, time
    def handler(event, context):
        open(f"{event['where']}/{context.aws_request_id}", "w").close()
        end = time.monotonic() + 5
        while len(os.listdir(event["where"])) < event["count"] and time.monotonic() < end: pass
        return len(os.listdir(event["where"]))
"""


def at_once(count: int, work: Callable[[], Any]) -> list[Any]:
    results: list[Any] = []
    threads = [threading.Thread(target=lambda: results.append(work())) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_several_workers_of_one_function_run_at_once(make_function: Make, invoke: Invoke, tmp_path: Any) -> None:
    name = make_function(MEET)
    assert at_once(3, lambda: invoke(name, {"where": str(tmp_path), "count": 3})) == [3, 3, 3]


def test_reserved_concurrency_throttles_whom_it_has_no_room_for(
    sandbox: Sandbox, make_function: Make, tmp_path: Any
) -> None:
    client, name = sandbox.client("lambda"), make_function(MEET)
    client.put_function_concurrency(FunctionName=name, ReservedConcurrentExecutions=1)

    def call() -> str:
        try:
            client.invoke(FunctionName=name, Payload=json.dumps({"where": str(tmp_path), "count": 2}))
        except ClientError as error:
            (tmp_path / "throttled").touch()
            return f"{error.response['Error']['Code']} {error.response['ResponseMetadata']['HTTPStatusCode']}"
        return "done"

    assert sorted(at_once(2, call)) == ["TooManyRequestsException 429", "done"]


def test_an_asynchronous_event_waits_for_reserved_concurrency(sandbox: Sandbox, recorder: Any, eventually: Any) -> None:
    client = sandbox.client("lambda")
    arn, events = recorder()
    client.put_function_concurrency(FunctionName=arn, ReservedConcurrentExecutions=0)
    client.invoke(FunctionName=arn, InvocationType="Event", Payload=b'"later"')
    sandbox.clock.sleep(30)
    assert events() == []
    client.delete_function_concurrency(FunctionName=arn)
    assert eventually(events) == ["later"]


# --------------------------------------------------------------------------------------------------------- asynchronous


def test_an_asynchronous_call_returns_before_the_handler_ends(
    sandbox: Sandbox, make_function: Make, eventually: Any
) -> None:
    name = make_function("import time\ndef handler(e, c): time.sleep(800); return 'done'", Timeout=900)
    answer = sandbox.client("lambda").invoke(FunctionName=name, InvocationType="Event")
    assert (answer["StatusCode"], answer["Payload"].read()) == (202, b"")
    assert runs(sandbox, name) == []
    assert eventually(lambda: runs(sandbox, name))[0].payload == '"done"'


def test_a_failing_asynchronous_event_is_tried_three_times_as_aws_does(
    sandbox: Sandbox, make_function: Make, eventually: Any
) -> None:
    name = make_function("def handler(e, c): raise ValueError(e)")
    sandbox.client("lambda").invoke(FunctionName=name, InvocationType="Event", Payload=b'"x"')
    eventually(lambda: len(runs(sandbox, name)) == 3)
    sandbox.clock.sleep(600)
    tried = runs(sandbox, name)
    assert [(run.attempt, run.event) for run in tried] == [(1, "x"), (2, "x"), (3, "x")]
    assert len({run.request_id for run in tried}) == 1
    assert tried[1].time - tried[0].time == pytest.approx(60, abs=20)
    assert tried[2].time - tried[1].time == pytest.approx(120, abs=20)


def test_an_asynchronous_event_that_succeeds_the_second_time_is_not_tried_again(
    sandbox: Sandbox, make_function: Make, eventually: Any
) -> None:
    name = make_function("count = 0\ndef handler(e, c):\n    global count; count += 1; assert count > 1")
    sandbox.client("lambda").invoke(FunctionName=name, InvocationType="Event")
    eventually(lambda: len(runs(sandbox, name)) == 2)
    sandbox.clock.sleep(600)
    assert [run.error for run in runs(sandbox, name)] == [True, False]


def test_retries_destinations_and_dead_letters_are_as_configured(
    sandbox: Sandbox, make_function: Make, eventually: Any
) -> None:
    failed, failures = queue(sandbox, "failed")
    dead, letters = queue(sandbox, "dead")
    name = make_function("def handler(e, c): 1 / 0", DeadLetterConfig={"TargetArn": dead})
    sandbox.client("lambda").put_function_event_invoke_config(
        FunctionName=name, MaximumRetryAttempts=0, DestinationConfig={"OnFailure": {"Destination": failed}}
    )
    sandbox.client("lambda").invoke(FunctionName=name, InvocationType="Event", Payload=b'{"n": 1}')
    (record,) = eventually(failures)
    assert record["requestContext"]["condition"] == "RetriesExhausted"
    assert record["requestContext"]["approximateInvokeCount"] == 1
    assert record["requestPayload"] == {"n": 1}
    assert record["responsePayload"]["errorType"] == "ZeroDivisionError"
    assert eventually(letters) == [{"n": 1}]
    assert len(runs(sandbox, name)) == 1


def test_a_topic_invokes_its_functions_and_does_not_wait_for_them(
    sandbox: Sandbox, make_function: Make, eventually: Any
) -> None:
    code = "import time\ndef handler(e, c): time.sleep(800); return e['Records'][0]['Sns']['Message']"
    name = make_function(code, Timeout=900)
    sns = sandbox.client("sns")
    topic = sns.create_topic(Name="alarms")["TopicArn"]
    sns.subscribe(TopicArn=topic, Protocol="lambda", Endpoint=f"arn:aws:lambda:us-east-1:123456789012:function:{name}")
    sns.publish(TopicArn=topic, Message="fire")
    assert runs(sandbox, name) == []
    assert eventually(lambda: runs(sandbox, name))[0].payload == '"fire"'


# --------------------------------------------------------------------------------------------------------------- faults

CALLER = """
    import boto3
    from botocore.config import Config
    def handler(event, context):
        client = boto3.client("sns", config=Config(retries={"total_max_attempts": 1}))
        client.create_topic(Name=event["topic"])
        client.create_topic(Name=event["topic"] + "-second")
"""


def topics(sandbox: Sandbox) -> set[str]:
    return {topic["TopicArn"].rpartition(":")[2] for topic in sandbox.client("sns").list_topics()["Topics"]}


@pytest.mark.parametrize(("when", "made"), [("before", set()), ("after", {"kill-after"})])
def test_a_worker_can_be_killed_right_at_a_call_it_makes(
    sandbox: Sandbox, make_function: Make, invoke: Invoke, when: Any, made: set[str]
) -> None:
    name, topic = make_function(CALLER), f"kill-{when}"
    sandbox.faults.add("sns", "CreateTopic", when=when, error="kill-caller")
    error = invoke(name, {"topic": topic})
    assert error["errorType"] == "Runtime.ExitError"
    assert "signal: killed" in error["errorMessage"]
    assert {topic for topic in topics(sandbox) if topic.startswith(f"kill-{when}")} == made
    assert invoke(name, {"topic": topic}) is None


def test_killing_the_caller_spares_everybody_else(sandbox: Sandbox, make_function: Make, invoke: Invoke) -> None:
    name = make_function(CALLER)
    sandbox.faults.add("sns", "CreateTopic", when="after", error="kill-caller")
    sandbox.client("sns").create_topic(Name="by-a-test")
    assert invoke(name, {"topic": "by-a-function"})["errorType"] == "Runtime.ExitError"


@pytest.mark.parametrize(("when", "ran"), [("before", []), ("after", ["ran"])])
def test_a_function_can_be_crashed_before_or_after_its_handler(
    sandbox: Sandbox, make_function: Make, invoke: Invoke, when: Any, ran: list[str]
) -> None:
    name = make_function("def handler(e, c): print('ran'); return 'ok'")
    sandbox.faults.add("lambda", name, when=when, error="crash", match=lambda event: event == "this one")
    assert invoke(name, "another") == "ok"
    assert invoke(name, "this one")["errorType"] == "Runtime.ExitError"
    assert [line for line in runs(sandbox, name)[-1].log.splitlines() if line == "ran"] == ran
    assert invoke(name, "this one") == "ok"


def test_a_crashed_asynchronous_event_is_tried_again(sandbox: Sandbox, recorder: Any, eventually: Any) -> None:
    arn, events = recorder()
    sandbox.faults.add("lambda", arn.rpartition(":")[2], when="after", error="crash")
    sandbox.client("lambda").invoke(FunctionName=arn, InvocationType="Event", Payload=b"1")
    eventually(lambda: len(events()) == 2)
    assert events() == [1, 1]


def test_a_delayed_call_eats_the_functions_time(sandbox: Sandbox, make_function: Make, invoke: Invoke) -> None:
    name = make_function(CALLER, Timeout=30)
    invoke(name, {"topic": "warm"})
    sandbox.faults.add("sns", "CreateTopic", error=40)
    start = time.monotonic()
    assert invoke(name, {"topic": "late"})["errorType"] == "Sandbox.Timedout"
    assert time.monotonic() - start < 5


def test_a_warm_call_takes_milliseconds(make_function: Make, invoke: Invoke) -> None:
    name = make_function("def handler(e, c): return e")
    invoke(name)
    times = []
    for _ in range(20):
        start = time.perf_counter()
        invoke(name)
        times.append(time.perf_counter() - start)
    print(f"warm invoke: median {sorted(times)[10] * 1000:.1f} ms")
    assert sorted(times)[10] < 0.1
