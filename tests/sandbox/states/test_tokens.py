"""waitForTaskToken: answers, heartbeats, and tokens that are dead."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

from constructs_lib.sandbox import Sandbox

pytestmark = pytest.mark.slow


@pytest.fixture
def queue(sandbox: Sandbox) -> str:
    """A queue that task tokens are sent to: quicker than a function."""
    return str(sandbox.client("sqs").create_queue(QueueName="tokens")["QueueUrl"])


@pytest.fixture
def token(sandbox: Sandbox, queue: str, eventually: Any) -> Callable[[], str]:
    """Receive the next task token."""
    sqs = sandbox.client("sqs")

    def receive() -> str:
        message = eventually(lambda: sqs.receive_message(QueueUrl=queue).get("Messages"))[0]
        sqs.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])
        return str(json.loads(message["Body"])["token"])

    return receive


def _waiting(queue: str, **fields: Any) -> dict[str, Any]:
    body = {"token.$": "$$.Task.Token", "tries.$": "$$.State.RetryCount"}
    resource = "arn:aws:states:::sqs:sendMessage.waitForTaskToken"
    parameters = {"QueueUrl": queue, "MessageBody": body}
    return {"T": {"Type": "Task", "Resource": resource, "Parameters": parameters, "End": True, **fields}}


def _refusal(call: Callable[..., Any], **request: Any) -> tuple[str, str]:
    with pytest.raises(ClientError) as refused:
        call(**request)
    error = refused.value.response["Error"]
    return error["Code"], error["Message"]


def test_an_output_sent_with_the_token_is_the_tasks_result(
    sfn: Any, queue: str, token: Any, start: Any, end: Any
) -> None:
    arn = start(_waiting(queue))
    sfn.send_task_success(taskToken=token(), output='{"job": "done"}')
    assert end(arn)["output"] == {"job": "done"}


def test_a_failure_sent_with_the_token_fails_the_task_with_error_and_cause(
    sfn: Any, queue: str, token: Any, start: Any, end: Any
) -> None:
    arn = start(_waiting(queue, Catch=[{"ErrorEquals": ["Job.Capacity"], "Next": "C"}]) | {"C": {"Type": "Succeed"}})
    sfn.send_task_failure(taskToken=token(), error="Job.Capacity", cause="nothing free")
    assert end(arn)["output"] == {"Error": "Job.Capacity", "Cause": "nothing free"}


def test_every_try_has_a_token_of_its_own_and_the_one_before_is_dead(
    sfn: Any, queue: str, token: Any, start: Any, end: Any
) -> None:
    retry = [{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 1, "MaxAttempts": 1}]
    arn = start(_waiting(queue, Retry=retry))
    first = token()
    sfn.send_task_failure(taskToken=first, error="Once")
    second = token()
    assert first != second
    assert _refusal(sfn.send_task_success, taskToken=first, output="1")[0] == "TaskTimedOut"
    sfn.send_task_success(taskToken=second, output="2")
    assert end(arn)["output"] == 2


def test_a_token_is_too_long_for_a_tag(queue: str, token: Any, start: Any) -> None:
    start(_waiting(queue))
    assert len(token()) > 256


def test_a_wait_for_a_token_ends_with_the_tasks_time_limit_and_kills_the_token(
    slow: Any, sfn: Any, queue: str, token: Any, start: Any, end: Any
) -> None:
    arn = start(_waiting(queue, TimeoutSeconds=3600))
    mine = token()
    slow.jump(3590)
    assert sfn.describe_execution(executionArn=arn)["status"] == "RUNNING"
    slow.jump(20)
    assert end(arn)["error"] == "States.Timeout"
    code, words = _refusal(sfn.send_task_success, taskToken=mine, output="{}")
    assert (code, words) == ("TaskTimedOut", "Task Timed Out: 'Provided task does not exist anymore'")


@pytest.mark.parametrize("equals", ["States.HeartbeatTimeout", "States.Timeout"])
def test_heartbeats_keep_a_task_alive_and_their_absence_ends_it(
    slow: Any, sfn: Any, queue: str, token: Any, start: Any, end: Any, equals: str
) -> None:
    caught = {"C": {"Type": "Succeed"}}
    arn = start(_waiting(queue, HeartbeatSeconds=300, Catch=[{"ErrorEquals": [equals], "Next": "C"}]) | caught)
    mine = token()
    for _ in range(3):
        slow.jump(250)
        sfn.send_task_heartbeat(taskToken=mine)
    assert sfn.describe_execution(executionArn=arn)["status"] == "RUNNING"
    slow.jump(310)
    assert end(arn)["output"] == {"Error": "States.Timeout", "Cause": ""}  # the name that AWS reports
    assert _refusal(sfn.send_task_heartbeat, taskToken=mine)[0] == "TaskTimedOut"


def test_heartbeats_do_not_extend_the_time_limit(
    slow: Any, sfn: Any, queue: str, token: Any, start: Any, end: Any
) -> None:
    arn = start(_waiting(queue, HeartbeatSeconds=300, TimeoutSeconds=600))
    mine = token()
    slow.jump(290)
    sfn.send_task_heartbeat(taskToken=mine)
    slow.jump(290)
    sfn.send_task_heartbeat(taskToken=mine)
    slow.jump(30)
    assert end(arn)["error"] == "States.Timeout"


class TestDeadTokens:
    def test_a_second_answer_is_refused_and_changes_nothing(
        self, sfn: Any, queue: str, token: Any, start: Any, end: Any
    ) -> None:
        arn = start(_waiting(queue))
        mine = token()
        sfn.send_task_success(taskToken=mine, output="1")
        assert _refusal(sfn.send_task_success, taskToken=mine, output="2")[0] == "TaskTimedOut"
        assert _refusal(sfn.send_task_failure, taskToken=mine, error="No")[0] == "TaskTimedOut"
        assert end(arn)["output"] == 1

    def test_the_token_of_a_stopped_execution_is_dead_at_once(
        self, sfn: Any, queue: str, token: Any, start: Any
    ) -> None:
        arn = start(_waiting(queue))
        mine = token()
        sfn.stop_execution(executionArn=arn)
        assert _refusal(sfn.send_task_success, taskToken=mine, output="1")[0] == "TaskTimedOut"
        assert sfn.describe_execution(executionArn=arn)["status"] == "ABORTED"

    def test_the_token_of_a_failed_branchs_sibling_is_dead(
        self, sfn: Any, queue: str, token: Any, start: Any, end: Any
    ) -> None:
        lose = {"StartAt": "F", "States": {"W": {"Type": "Wait", "Seconds": 1, "Next": "F"}, "F": {"Type": "Fail"}}}
        branches = [{"StartAt": "T", "States": _waiting(queue)}, lose | {"StartAt": "W"}]
        arn = start({"P": {"Type": "Parallel", "Branches": branches, "End": True}})
        assert end(arn)["status"] == "FAILED"
        assert _refusal(sfn.send_task_success, taskToken=token(), output="1")[0] == "TaskTimedOut"

    def test_a_text_that_was_never_a_token_is_invalid(self, sfn: Any) -> None:
        assert _refusal(sfn.send_task_success, taskToken="AQB8AAAA", output="{}") == (
            "InvalidToken",
            "Invalid Token: 'Invalid token'",
        )

    def test_an_output_that_is_no_json_is_refused_and_the_token_lives_on(
        self, sfn: Any, queue: str, token: Any, start: Any, end: Any
    ) -> None:
        arn = start(_waiting(queue))
        mine = token()
        assert _refusal(sfn.send_task_success, taskToken=mine, output="{")[0] == "InvalidOutput"
        sfn.send_task_success(taskToken=mine, output='"fine"')
        assert end(arn)["output"] == "fine"

    def test_the_other_documented_error_can_be_rehearsed(
        self, sandbox: Sandbox, sfn: Any, queue: str, token: Any, start: Any
    ) -> None:
        sandbox.faults.switch("states.dead-token", "TaskDoesNotExist")
        arn = start(_waiting(queue))
        mine = token()
        sfn.stop_execution(executionArn=arn)
        assert _refusal(sfn.send_task_success, taskToken=mine, output="1")[0] == "TaskDoesNotExist"


def test_stopping_an_execution_that_waits_for_a_token_tells_of_the_abort(
    told: list[Any], sfn: Any, queue: str, token: Any, start: Any
) -> None:
    arn = start(_waiting(queue))
    token()
    sfn.stop_execution(executionArn=arn, error="Mine", cause="enough")
    source, kind, detail, resources = told[-1]
    assert (source, kind, resources) == ("aws.states", "Step Functions Execution Status Change", [arn])
    assert (detail["status"], detail["error"], detail["cause"]) == ("ABORTED", "Mine", "enough")


def test_a_function_is_invoked_once_and_its_task_waits_for_the_token(
    sandbox: Sandbox, sfn: Any, recorder: Any, start: Any, end: Any, eventually: Any, reaches: Any
) -> None:
    function, received = recorder()
    parameters = {"FunctionName": function, "Payload": {"token.$": "$$.Task.Token"}}
    resource = "arn:aws:states:::lambda:invoke.waitForTaskToken"
    arn = start({"T": {"Type": "Task", "Resource": resource, "Parameters": parameters, "End": True}})
    reaches(arn, "TaskSubmitted")
    assert sfn.describe_execution(executionArn=arn)["status"] == "RUNNING"
    (event,) = received()
    sfn.send_task_success(taskToken=event["token"], output="7")
    assert end(arn)["output"] == 7


def test_a_function_that_fails_fails_the_task_though_it_could_have_answered(
    sandbox: Sandbox, make_function: Any, run: Any
) -> None:
    function = make_function("class Refused(Exception): pass\ndef handler(event, context): raise Refused('quota')")
    parameters = {"FunctionName": function, "Payload": {"token.$": "$$.Task.Token"}}
    resource = "arn:aws:states:::lambda:invoke.waitForTaskToken"
    assert (
        run({"T": {"Type": "Task", "Resource": resource, "Parameters": parameters, "End": True}})["error"] == "Refused"
    )


def test_a_function_may_answer_before_it_returns(make_function: Any, run: Any) -> None:
    function = make_function(
        "import boto3, json\n"
        "def handler(event, context):\n"
        "    boto3.client('stepfunctions').send_task_success(taskToken=event['token'], output='\"early\"')\n"
    )
    parameters = {"FunctionName": function, "Payload": {"token.$": "$$.Task.Token"}}
    resource = "arn:aws:states:::lambda:invoke.waitForTaskToken"
    task = {"Type": "Task", "Resource": resource, "Parameters": parameters, "End": True, "TimeoutSeconds": 3000}
    assert run({"T": task})["output"] == "early"
