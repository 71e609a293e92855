"""RedriveExecution: what goes on, with what, and what is refused."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from constructs_lib.sandbox import Sandbox

pytestmark = pytest.mark.slow


@pytest.fixture
def door(sandbox: Sandbox) -> Callable[..., None]:
    """Let Task states read a parameter that exists only once this has been called: they fail before."""

    def open_door(name: str, value: str = "open") -> None:
        sandbox.client("ssm").put_parameter(Name=name, Value=value, Type="String", Overwrite=True)

    return open_door


def _reads(name: str, **fields: Any) -> dict[str, Any]:
    resource = "arn:aws:states:::aws-sdk:ssm:getParameter"
    selector = {"value.$": "$.Parameter.Value"}
    return {"Type": "Task", "Resource": resource, "Parameters": {"Name": name}, "ResultSelector": selector, **fields}


def _refusal(call: Any, **request: Any) -> tuple[str, str]:
    with pytest.raises(ClientError) as refused:
        call(**request)
    return refused.value.response["Error"]["Code"], refused.value.response["Error"]["Message"]


def test_a_redrive_goes_on_with_the_failed_state_its_input_and_variables(
    sfn: Any, run: Any, end: Any, events_of: Any, door: Any
) -> None:
    context = {"count.$": "$$.Execution.RedriveCount", "time.$": "$$.Execution.RedriveTime", "id.$": "$$.Execution.Id"}
    states = {
        "First": {"Type": "Pass", "Parameters": {"n.$": "$.n", "kept": True}, "Assign": {"v.$": "$.n"}, "Next": "Read"},
        "Read": _reads("/go-on", ResultPath="$.read", Next="Last"),
        "Last": {"Type": "Pass", "Parameters": {"in.$": "$", "v.$": "$v", **context}, "End": True},
    }
    failed = run(states, {"n": 3})
    arn = failed["executionArn"]
    assert (failed["status"], failed["error"]) == ("FAILED", "Ssm.ParameterNotFoundException")
    assert (failed["redriveStatus"], failed["redriveCount"]) == ("REDRIVABLE", 0)
    door("/go-on")
    redriven = sfn.redrive_execution(executionArn=arn)["redriveDate"]
    found = end(arn)
    assert found["status"] == "SUCCEEDED"
    assert found["output"]["in"] == {"n": 3, "kept": True, "read": {"value": "open"}}
    assert found["output"]["v"] == 3
    assert (found["output"]["count"], found["output"]["id"]) == (1, arn)
    assert found["output"]["time"].endswith("Z")
    assert (found["redriveCount"], found["redriveDate"]) == (1, redriven)
    assert "error" not in found
    assert found["startDate"] == failed["startDate"]
    kinds = [event["type"] for event in events_of(arn)]
    assert (
        kinds.count("ExecutionStarted") == kinds.count("PassStateEntered") - 1 == kinds.count("TaskStateEntered") == 1
    )
    assert kinds[kinds.index("ExecutionFailed") :][:3] == ["ExecutionFailed", "ExecutionRedriven", "TaskScheduled"]
    ids = [event["id"] for event in events_of(arn)]
    assert ids == list(range(1, len(ids) + 1))
    (event,) = [event for event in events_of(arn) if event["type"] == "ExecutionRedriven"]
    assert event["executionRedrivenEventDetails"] == {"redriveCount": 1}


def test_a_redrive_gives_a_state_all_its_retries_again(sfn: Any, run: Any, end: Any, events_of: Any) -> None:
    retry = [{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 1, "MaxAttempts": 2}]
    arn = run({"Read": _reads("/never", Retry=retry, End=True)})["executionArn"]
    sfn.redrive_execution(executionArn=arn)
    assert end(arn)["redriveCount"] == 1
    assert [event["type"] for event in events_of(arn)].count("TaskFailed") == 6


@pytest.mark.parametrize(("switch", "same"), [(None, False), ("same", True)])
def test_both_readings_of_the_entered_time_after_a_redrive(
    sandbox: Sandbox, sfn: Any, start: Any, end: Any, reaches: Any, make_function: Any, switch: str | None, same: bool
) -> None:
    if switch:
        sandbox.faults.switch("states.entered-time-on-redrive", switch)
    function = make_function(
        "seen = []\n"
        "def handler(event, context):\n"
        "    seen.append(event['entered'])\n"
        "    if len(seen) < 2: raise ValueError\n"
        "    return seen\n"
    )
    parameters = {"FunctionName": function, "Payload": {"entered.$": "$$.State.EnteredTime"}}
    task = {"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke", "Parameters": parameters, "End": True}
    arn = end(start({"T": task | {"OutputPath": "$.Payload"}}))["executionArn"]
    sfn.redrive_execution(executionArn=arn)
    first, second = end(arn)["output"]
    assert (first == second) == same


def test_a_redrive_tells_the_bus_and_a_new_end_too(told: list[Any], sfn: Any, run: Any, end: Any, door: Any) -> None:
    arn = run({"Read": _reads("/told", End=True)})["executionArn"]
    door("/told")
    sfn.redrive_execution(executionArn=arn)
    end(arn)
    assert [event[2]["status"] for event in told] == ["RUNNING", "FAILED", "RUNNING", "SUCCEEDED"]
    assert [event[2]["redriveCount"] for event in told] == [0, 0, 1, 1]


def test_a_machine_that_timed_out_gets_its_whole_time_again(
    slow: Any, sfn: Any, start: Any, end: Any, reaches: Any
) -> None:
    arn = start({"W": {"Type": "Wait", "Seconds": 800, "End": True}}, TimeoutSeconds=600)
    reaches(arn, "WaitStateEntered")
    slow.jump(610)
    assert end(arn)["status"] == "TIMED_OUT"
    sfn.redrive_execution(executionArn=arn)
    slow.jump(590)
    assert sfn.describe_execution(executionArn=arn)["status"] == "RUNNING"
    slow.jump(20)
    found = end(arn)
    assert (found["status"], found["redriveCount"]) == ("TIMED_OUT", 1)


def test_an_aborted_wait_for_a_token_is_redriven_with_a_new_token(
    sandbox: Sandbox, sfn: Any, recorder: Any, start: Any, end: Any, eventually: Any
) -> None:
    function, received = recorder()
    payload = {"token.$": "$$.Task.Token", "redrives.$": "$$.Execution.RedriveCount"}
    resource = "arn:aws:states:::lambda:invoke.waitForTaskToken"
    parameters = {"FunctionName": function, "Payload": payload}
    arn = start({"T": {"Type": "Task", "Resource": resource, "Parameters": parameters, "End": True}})
    eventually(received)
    sfn.stop_execution(executionArn=arn)
    sfn.redrive_execution(executionArn=arn)
    first, second = eventually(lambda: received() if len(received()) == 2 else None)
    assert (first["redrives"], second["redrives"]) == (0, 1)
    assert _refusal(sfn.send_task_success, taskToken=first["token"], output="1")[0] == "TaskTimedOut"
    sfn.send_task_success(taskToken=second["token"], output="2")
    assert end(arn)["output"] == 2


def test_only_the_branches_and_iterations_that_did_not_succeed_run_again(
    sfn: Any, run: Any, end: Any, events_of: Any, door: Any
) -> None:
    inner = {
        "Note": {"Type": "Pass", "Next": "Which"},
        "Which": {
            "Type": "Choice",
            "Choices": [{"Variable": "$", "NumericEquals": 2, "Next": "Read"}],
            "Default": "Fine",
        },
        "Read": _reads("/inner", End=True),
        "Fine": {"Type": "Pass", "Result": "fine", "End": True},
    }
    items = {
        "Type": "Map",
        "ItemsPath": "$.items",
        "MaxConcurrency": 1,
        "ItemProcessor": {"StartAt": "Note", "States": inner},
        "End": True,
    }
    quick = {"Quick": {"Type": "Pass", "Result": "quick", "End": True}}
    branches = [{"StartAt": "Quick", "States": quick}, {"StartAt": "Items", "States": {"Items": items}}]
    failed = run({"Both": {"Type": "Parallel", "Branches": branches, "End": True}}, {"items": [1, 2, 3]})
    assert failed["error"] == "Ssm.ParameterNotFoundException"
    arn = failed["executionArn"]
    door("/inner", "found")
    sfn.redrive_execution(executionArn=arn)
    assert end(arn)["output"] == ["quick", ["fine", {"value": "found"}, "fine"]]
    entered = [e["stateEnteredEventDetails"]["name"] for e in events_of(arn) if e["type"] == "PassStateEntered"]
    assert sorted(entered) == [
        "Fine",
        "Fine",
        "Note",
        "Note",
        "Note",
        "Quick",
    ]  # each once: 1, 2 and 3 noted, 1 and 3 fine


def test_a_retry_of_a_parallel_after_a_redrive_runs_all_branches_again(
    sfn: Any, run: Any, end: Any, events_of: Any
) -> None:
    lose = {"Wait": {"Type": "Wait", "Seconds": 60, "Next": "Lose"}, "Lose": {"Type": "Fail", "Error": "Lost"}}
    branches = [
        {"StartAt": "Quick", "States": {"Quick": {"Type": "Pass", "End": True}}},
        {"StartAt": "Wait", "States": lose},
    ]
    retry = [{"ErrorEquals": ["Lost"], "IntervalSeconds": 1, "MaxAttempts": 1}]
    arn = run({"P": {"Type": "Parallel", "Branches": branches, "Retry": retry, "End": True}})["executionArn"]
    assert [event["type"] for event in events_of(arn)].count("PassStateEntered") == 2
    sfn.redrive_execution(executionArn=arn)
    end(arn)
    assert [event["type"] for event in events_of(arn)].count("PassStateEntered") == 3


class TestRefusals:
    def test_of_an_execution_that_runs_or_succeeded(self, sfn: Any, start: Any, run: Any) -> None:
        running = start({"W": {"Type": "Wait", "Seconds": 99999, "End": True}})
        code, words = _refusal(sfn.redrive_execution, executionArn=running)
        assert code == "ExecutionNotRedrivable"
        assert "Execution is RUNNING and cannot be redriven" in words
        done = run({"P": {"Type": "Pass", "End": True}})
        assert done["redriveStatusReason"] == "Execution is SUCCEEDED and cannot be redriven"
        assert _refusal(sfn.redrive_execution, executionArn=done["executionArn"])[0] == "ExecutionNotRedrivable"

    def test_of_an_execution_that_does_not_exist(self, sfn: Any) -> None:
        arn = "arn:aws:states:us-east-1:123456789012:execution:no:such"
        assert _refusal(sfn.redrive_execution, executionArn=arn)[0] == "ExecutionDoesNotExist"

    def test_more_than_14_days_after_the_end(self, slow: Any, sfn: Any, run: Any) -> None:
        arn = run({"F": {"Type": "Fail"}})["executionArn"]
        slow.jump(timedelta(days=14, hours=1).total_seconds())
        assert "redrivable period exceeded" in _refusal(sfn.redrive_execution, executionArn=arn)[1]
        assert sfn.describe_execution(executionArn=arn)["redriveStatus"] == "NOT_REDRIVABLE"

    def test_not_of_one_that_passed_a_distributed_map(self, sfn: Any, run: Any, end: Any, door: Any) -> None:
        processor = {"ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}, "StartAt": "P",
                     "States": {"P": {"Type": "Pass", "End": True}}}  # fmt: skip
        failed = run(
            {"M": {"Type": "Map", "ItemProcessor": processor, "Next": "Read"}, "Read": _reads("/after", End=True)}, [1]
        )
        door("/after")
        sfn.redrive_execution(executionArn=failed["executionArn"])
        assert end(failed["executionArn"])["status"] == "SUCCEEDED"


def test_the_same_request_twice_redrives_once(sfn: Any, run: Any, end: Any) -> None:
    arn = run({"F": {"Type": "Fail", "Error": "Again"}})["executionArn"]
    first = sfn.redrive_execution(executionArn=arn, clientToken="one")["redriveDate"]
    assert sfn.redrive_execution(executionArn=arn, clientToken="one")["redriveDate"] == first
    end(arn)
    sfn.redrive_execution(executionArn=arn, clientToken="two")
    assert end(arn)["redriveCount"] == 2
    listed = sfn.list_executions(stateMachineArn=arn.replace(":execution:", ":stateMachine:").rsplit(":", 1)[0],
                                 redriveFilter="REDRIVEN")["executions"]  # fmt: skip
    assert [execution["redriveCount"] for execution in listed] == [2]


DISTRIBUTED = {"ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}}


class TestOfAMapRun:
    """A parent's redrive redrives its Map Run: the same ARN, and only the items that did not succeed."""

    @pytest.fixture
    def failed(self, run: Any, door: Any) -> dict[str, Any]:
        """A Map whose second item failed; ``open`` lets an item through."""
        name = f"/{uuid.uuid4().hex}"
        door(f"{name}/1")
        me = {"me.$": "$$.Execution.Id", "count.$": "$$.Execution.RedriveCount", "n.$": "$.n"}
        processor = {
            **DISTRIBUTED,
            "StartAt": "Read",
            "States": {
                "Read": {
                    "Type": "Task",
                    "Resource": "arn:aws:states:::aws-sdk:ssm:getParameter",
                    "Parameters": {"Name.$": f"States.Format('{name}/{{}}', $.n)"},
                    "ResultPath": None,
                    "Next": "Me",
                },
                "Me": {"Type": "Pass", "Parameters": me, "End": True},
            },
        }
        fields = {"ItemProcessor": processor, "MaxConcurrency": 1, "Label": "Sweep", "End": True}
        selector = {"n.$": "$$.Map.Item.Value", "parent.$": "$$.Execution.Id"}
        found = run({"M": {"Type": "Map", "ItemSelector": selector, **fields}}, [1, 2, 3])
        assert found["error"] == "States.ExceedToleratedFailureThreshold"
        assert found["redriveStatus"] == "REDRIVABLE"
        return {**found, "open": lambda n: door(f"{name}/{n}")}

    def test_what_succeeded_is_not_run_again_and_the_others_go_on(
        self, sfn: Any, failed: dict[str, Any], end: Any
    ) -> None:
        failed["open"](2)
        failed["open"](3)
        sfn.redrive_execution(executionArn=failed["executionArn"])
        found = end(failed["executionArn"])
        assert found["status"] == "SUCCEEDED"
        # The second failed and was redriven, the third had not begun.
        assert [(item["n"], item["count"]) for item in found["output"]] == [(1, 0), (2, 1), (3, 0)]
        second = sfn.describe_execution(executionArn=found["output"][1]["me"])
        assert (second["status"], second["redriveCount"]) == ("SUCCEEDED", 1)

    def test_it_stays_one_map_run_that_counts_anew(self, sfn: Any, failed: dict[str, Any], end: Any) -> None:
        (before,) = sfn.list_map_runs(executionArn=failed["executionArn"])["mapRuns"]
        failed["open"](2)
        sfn.redrive_execution(executionArn=failed["executionArn"])
        assert end(failed["executionArn"])["status"] == "FAILED"
        (after,) = sfn.list_map_runs(executionArn=failed["executionArn"])["mapRuns"]
        assert after["mapRunArn"] == before["mapRunArn"]
        counted = sfn.describe_map_run(mapRunArn=after["mapRunArn"])
        assert (counted["itemCounts"]["succeeded"], counted["itemCounts"]["failed"]) == (2, 1)
        assert (counted["itemCounts"]["running"], counted["redriveCount"]) == (0, 1)

    def test_an_item_is_given_what_the_selector_makes_in_the_parents_execution(
        self, sfn: Any, failed: dict[str, Any], end: Any
    ) -> None:
        for n in (2, 3):
            failed["open"](n)
        sfn.redrive_execution(executionArn=failed["executionArn"])
        for item in end(failed["executionArn"])["output"]:
            given = json.loads(sfn.describe_execution(executionArn=item["me"])["input"])
            assert given == {"n": item["n"], "parent": failed["executionArn"]}


def test_items_that_were_aborted_with_their_parent_go_on_with_it(
    sfn: Any, start: Any, end: Any, eventually: Any
) -> None:
    inner = {
        "W": {"Type": "Wait", "Seconds": 1200, "Next": "P"},
        "P": {"Type": "Pass", "Parameters": {"count.$": "$$.Execution.RedriveCount"}, "End": True},
    }
    processor = {**DISTRIBUTED, "StartAt": "W", "States": inner}
    arn = start({"M": {"Type": "Map", "ItemProcessor": processor, "End": True}}, [1, 2])

    def running() -> int:
        runs = sfn.list_map_runs(executionArn=arn)["mapRuns"]
        return sfn.describe_map_run(mapRunArn=runs[0]["mapRunArn"])["itemCounts"]["running"] if runs else 0

    eventually(lambda: running() == 2)
    sfn.stop_execution(executionArn=arn)
    eventually(lambda: running() == 0)
    sfn.redrive_execution(executionArn=arn)
    assert end(arn)["output"] == [{"count": 1}, {"count": 1}]
