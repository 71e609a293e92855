"""Task states: SDK integrations, Lambda functions, error names and what a retry sees."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from botocore.exceptions import ClientError

from constructs_lib.sandbox import Sandbox

pytestmark = pytest.mark.slow

SDK = "arn:aws:states:::aws-sdk:"
INVOKE = "arn:aws:states:::lambda:invoke"


def _task(resource: str, parameters: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"T": {"Type": "Task", "Resource": resource, "Parameters": parameters, "End": True, **fields}}


class TestSdk:
    def test_fields_are_pascal_case_whatever_the_service_calls_them(self, run: Any, start: Any) -> None:
        other = start({"W": {"Type": "Wait", "Seconds": 9999, "End": True}})
        found = run(_task(SDK + "sfn:describeExecution", {"ExecutionArn": other}))
        assert (found["output"]["Status"], found["output"]["ExecutionArn"]) == ("RUNNING", other)
        assert found["output"]["StartDate"].endswith("Z")
        assert "ResponseMetadata" not in found["output"]

    def test_a_service_is_found_under_the_java_sdks_name(self, sandbox: Sandbox, run: Any) -> None:
        found = run(_task(SDK + "eventbridge:listEventBuses", {}))
        assert found["output"]["EventBuses"][0]["Name"] == "default"

    def test_a_map_of_structures_reaches_the_service_as_it_should(self, sandbox: Sandbox, run: Any) -> None:
        key = {"AttributeName": "id", "KeyType": "HASH"}
        sandbox.client("dynamodb").create_table(
            TableName="jobs",
            KeySchema=[key],
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
        item = {"id": {"S": "1"}, "open": {"BOOL": True}}
        put = run(_task("arn:aws:states:::dynamodb:putItem", {"TableName": "jobs", "Item": item}))
        assert put["status"] == "SUCCEEDED"
        got = run(_task(SDK + "dynamodb:getItem", {"TableName": "jobs", "Key": {"id": {"S": "1"}}}))
        assert got["output"] == {"Item": {"id": {"S": "1"}, "open": {"Bool": True}}}

    def test_a_field_the_service_does_not_have_fails_at_run_time_and_nothing_catches_it(self, run: Any) -> None:
        task = _task(SDK + "sfn:describeExecution", {"ExecutionArnn": "x"})
        task["T"] |= {"Catch": [{"ErrorEquals": ["States.ALL"], "Next": "Caught"}]}
        found = run(task | {"Caught": {"Type": "Succeed"}})
        assert (found["status"], found["error"]) == ("FAILED", "States.Runtime")
        assert "The field 'ExecutionArnn' is not supported by Step Functions" in found["cause"]

    def test_an_operation_that_does_not_exist_is_refused_when_the_machine_is_made(self, machine: Any) -> None:
        with pytest.raises(ClientError, match="not recognized") as refused:
            machine(_task(SDK + "sagemaker:createTrainingJobs", {}))
        assert refused.value.response["Error"]["Code"] == "InvalidDefinition"

    @pytest.mark.parametrize(
        ("resource", "parameters", "error"),
        [
            ("sfn:describeExecution", {"ExecutionArn": "arn:aws:states:us-east-1:123456789012:execution:a:b"},
             "Sfn.ExecutionDoesNotExistException"),
            ("sagemaker:describeTrainingPlan", {"TrainingPlanName": "nothing"}, "SageMaker.ResourceNotFoundException"),
            ("ec2:describeInstances", {"InstanceIds": ["i-00000000000000000"]}, "Ec2.Ec2Exception"),
            ("dynamodb:describeTable", {"TableName": "nothing"}, "DynamoDb.ResourceNotFoundException"),
        ],
    )  # fmt: skip
    def test_an_error_is_named_as_the_java_sdk_names_it(
        self, run: Any, resource: str, parameters: Any, error: str
    ) -> None:
        catch = [{"ErrorEquals": [error], "Next": "Caught"}]
        found = run(_task(SDK + resource, parameters, Catch=catch) | {"Caught": {"Type": "Succeed"}})
        assert found["output"]["Error"] == error

    def test_an_answer_that_never_comes_is_an_sdk_client_exception(self, sandbox: Sandbox, run: Any) -> None:
        sandbox.faults.add("sagemaker", "ListTrainingJobs", error="drop")
        assert run(_task(SDK + "sagemaker:listTrainingJobs", {}))["error"] == "SageMaker.SdkClientException"

    def test_throttling_can_be_retried_by_name(self, sandbox: Sandbox, run: Any) -> None:
        sandbox.faults.add(
            "sagemaker", "ListTrainingJobs", error=("ThrottlingException", "Rate exceeded", 400), times=2
        )
        retry = [{"ErrorEquals": ["SageMaker.SageMakerException"], "IntervalSeconds": 1}]
        found = run(_task(SDK + "sagemaker:listTrainingJobs", {}, Retry=retry))
        assert found["output"] == {"TrainingJobSummaries": []}


class TestLambda:
    def test_the_invoke_is_synchronous_and_gives_the_payload(self, make_function: Any, run: Any) -> None:
        function = make_function("def handler(event, context): return {'twice': event['n'] * 2}")
        parameters = {"FunctionName": function, "Payload": {"n.$": "$.n"}}
        found = run(_task(INVOKE, parameters, OutputPath="$.Payload"), {"n": 21})
        assert found["output"] == {"twice": 42}

    def test_a_function_named_by_its_arn_gives_only_its_payload(
        self, sandbox: Sandbox, make_function: Any, run: Any
    ) -> None:
        function = make_function("def handler(event, context): return event")
        arn = sandbox.client("lambda").get_function(FunctionName=function)["Configuration"]["FunctionArn"]
        assert run({"T": {"Type": "Task", "Resource": arn, "End": True}}, {"a": 1})["output"] == {"a": 1}

    @pytest.mark.parametrize(
        ("code", "error"),
        [
            ("class Quota(Exception): pass\ndef handler(event, context): raise Quota('no')", "Quota"),
            ("import time\ndef handler(event, context): time.sleep(100)", "Sandbox.Timedout"),
            ("import os\ndef handler(event, context): os._exit(3)", "Runtime.ExitError"),
        ],
    )  # fmt: skip
    @pytest.mark.parametrize("bare", [False, True])
    def test_a_function_that_fails_fails_the_task_with_its_error_type(
        self, sandbox: Sandbox, make_function: Any, run: Any, code: str, error: str, bare: bool
    ) -> None:
        function = make_function(code, Timeout=3)
        arn = sandbox.client("lambda").get_function(FunctionName=function)["Configuration"]["FunctionArn"]
        catch = [{"ErrorEquals": [error], "Next": "Caught"}]
        task = _task(arn if bare else INVOKE, {"FunctionName": function}, Catch=catch)
        found = run(task | {"Caught": {"Type": "Succeed"}})
        assert found["output"]["Error"] == error
        assert json.loads(found["output"]["Cause"])["errorType"] == error

    def test_a_result_of_more_than_256_kib_ends_the_execution(self, make_function: Any, run: Any) -> None:
        function = make_function("def handler(event, context): return 'x' * 300_000")
        catch = [{"ErrorEquals": ["States.ALL"], "Next": "Caught"}]
        task = _task(INVOKE, {"FunctionName": function}, Catch=catch)
        assert run(task | {"Caught": {"Type": "Succeed"}})["error"] == "States.DataLimitExceeded"

    def test_too_many_requests_have_their_own_error_that_a_retry_outlives(
        self, sandbox: Sandbox, make_function: Any, run: Any, events_of: Any
    ) -> None:
        function = make_function("def handler(event, context): return 1")
        sandbox.faults.add("lambda", "Invoke", error=("TooManyRequestsException", "Rate Exceeded.", 429), times=2)
        retry = [{"ErrorEquals": ["Lambda.TooManyRequestsException"], "IntervalSeconds": 1}]
        found = run(_task(INVOKE, {"FunctionName": function}, Retry=retry, OutputPath="$.Payload"))
        assert found["output"] == 1
        assert [event["type"] for event in events_of(found["executionArn"])].count("TaskFailed") == 2

    def test_a_lost_answer_is_an_sdk_client_exception_and_the_function_ran(
        self, sandbox: Sandbox, recorder: Any, run: Any
    ) -> None:
        arn, received = recorder()
        sandbox.faults.add("lambda", "Invoke", when="after", error="drop")
        found = run(_task(INVOKE, {"FunctionName": arn, "Payload": {"n": 1}}))
        assert found["error"] == "Lambda.SdkClientException"
        assert received() == [{"n": 1}]

    @pytest.mark.parametrize(("switch", "same"), [(None, True), ("same", True), ("new", False)])
    def test_a_retried_task_sees_its_retry_count_and_either_reading_of_its_entered_time(
        self, sandbox: Sandbox, make_function: Any, run: Any, switch: str | None, same: bool
    ) -> None:
        if switch is not None:
            sandbox.faults.switch("states.entered-time-on-retry", switch)
        function = make_function(
            "seen = []\n"
            "def handler(event, context):\n"
            "    seen.append(event)\n"
            "    if len(seen) < 3: raise ValueError\n"
            "    return seen\n"
        )
        payload = {"tries.$": "$$.State.RetryCount", "entered.$": "$$.State.EnteredTime", "name.$": "$$.State.Name"}
        retry = [{"ErrorEquals": ["ValueError"], "IntervalSeconds": 5}]
        task = _task(INVOKE, {"FunctionName": function, "Payload": payload}, Retry=retry, OutputPath="$.Payload")
        seen = run(task)["output"]
        assert [event["tries"] for event in seen] == [0, 1, 2]
        assert {event["name"] for event in seen} == {"T"}
        assert (len({event["entered"] for event in seen}) == 1) == same

    def test_a_state_entered_again_has_a_new_entered_time_and_no_retries(self, make_function: Any, run: Any) -> None:
        function = make_function("def handler(event, context): return event")
        payload = {"tries.$": "$$.State.RetryCount", "entered.$": "$$.State.EnteredTime", "before.$": "$.before"}
        result = {"before.$": "States.Array($.Payload)"}
        again = {"Variable": "$.before[0].before[0]", "IsPresent": True, "Next": "Done"}
        found = run(
            {
                "T": {
                    "Type": "Task",
                    "Resource": INVOKE,
                    "Parameters": {"FunctionName": function, "Payload": payload},
                    "ResultSelector": result,
                    "Next": "Loop",
                },
                "Loop": {"Type": "Choice", "Choices": [again], "Default": "T"},
                "Done": {"Type": "Succeed"},
            },
            {"before": []},
        )
        second = found["output"]["before"][0]
        first = second["before"][0]
        assert (first["tries"], second["tries"]) == (0, 0)
        assert first["entered"] < second["entered"]


def test_a_stopped_execution_ends_at_once_though_its_function_still_runs(
    sandbox: Sandbox, slow: Any, make_function: Any, start: Any, reaches: Any, sfn: Any, eventually: Any
) -> None:
    function = make_function("import time\ndef handler(event, context): time.sleep(50)", Timeout=60)
    arn = start(_task(INVOKE, {"FunctionName": function}))
    reaches(arn, "TaskStarted")
    sfn.stop_execution(executionArn=arn, error="Mine", cause="enough")
    found = sfn.describe_execution(executionArn=arn)
    assert (found["status"], found["error"], found["cause"]) == ("ABORTED", "Mine", "enough")

    def unwound() -> bool:
        slow.jump(60)
        return f"states-{found['name']}" not in {thread.name for thread in threading.enumerate()}

    eventually(unwound)


def test_events_can_be_put_and_machines_nested(run: Any, machine: Any) -> None:
    child = machine({"P": {"Type": "Pass", "Parameters": {"got.$": "$.n"}, "End": True}})
    nested = _task("arn:aws:states:::states:startExecution.sync:2", {"StateMachineArn": child, "Input": {"n": 5}})
    assert run(nested)["output"]["Output"] == {"got": 5}
    entries = [{"Source": "test", "DetailType": "Something", "Detail": {"a": 1}}]
    assert run(_task("arn:aws:states:::events:putEvents", {"Entries": entries}))["output"]["FailedEntryCount"] == 0


def test_a_nested_execution_that_fails_fails_the_task(run: Any, machine: Any) -> None:
    child = machine({"F": {"Type": "Fail", "Error": "Inner"}})
    found = run(_task("arn:aws:states:::states:startExecution.sync:2", {"StateMachineArn": child}))
    assert found["error"] == "States.TaskFailed"
    assert json.loads(found["cause"])["Error"] == "Inner"


def test_a_stopped_parent_stops_the_execution_it_waits_for(
    start: Any, machine: Any, sfn: Any, end: Any, eventually: Any
) -> None:
    child = machine({"W": {"Type": "Wait", "Seconds": 99999, "End": True}})
    arn = start(_task("arn:aws:states:::states:startExecution.sync:2", {"StateMachineArn": child}))
    inner = eventually(lambda: sfn.list_executions(stateMachineArn=child)["executions"])[0]["executionArn"]
    sfn.stop_execution(executionArn=arn)
    assert end(inner)["status"] == "ABORTED"
