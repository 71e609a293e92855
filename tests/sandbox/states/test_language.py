"""The states language: JSONata, variables, the context object, intrinsics, failures and what catches them."""

from __future__ import annotations

import hashlib
import uuid
from datetime import datetime
from typing import Any

import pytest

from constructs_lib.sandbox import Sandbox
from constructs_lib.sandbox.states import expressions

pytestmark = pytest.mark.slow


def _pass(**fields: Any) -> dict[str, Any]:
    return {"P": {"Type": "Pass", "End": True, **fields}}


def _failing(error: str | None, *, cause: str | None = None, **state: Any) -> dict[str, Any]:
    """A Parallel that ends as its only branch does, so that Retry and Catch can be tried on any error."""
    fail = {"Type": "Fail"} | ({"Error": error} if error else {}) | ({"Cause": cause} if cause else {})
    return {"Type": "Parallel", "Branches": [{"StartAt": "F", "States": {"F": fail}}], "End": True, **state}


class TestJsonata:
    def test_fields_see_the_state_its_context_and_variables(self, run: Any) -> None:
        found = run(
            {
                "A": {
                    "Type": "Pass",
                    "Assign": {"total": "{% $sum($states.input.prices) %}", "nil": None},
                    "Output": {
                        "name": "{% $states.context.Execution.Name %}",
                        "quote": '{% $states.input.text & "\\"" %}',
                    },
                    "Next": "B",
                },
                "B": {
                    "Type": "Pass",
                    "Output": "{% $merge([$states.input, {'total': $total, 'nil': $nil, 'there': $exists($nil)}]) %}",
                    "End": True,
                },
            },
            {"prices": [1, 2.5], "text": 'a "b"\nc\\'},
            QueryLanguage="JSONata",
        )
        assert found["output"] == {
            "name": found["name"],
            "quote": 'a "b"\nc\\"',
            "total": 3.5,
            "nil": None,
            "there": True,
        }

    def test_a_choice_takes_the_first_condition_that_holds(self, run: Any) -> None:
        found = run(
            {
                "C": {
                    "Type": "Choice",
                    "Choices": [
                        {"Condition": "{% $states.input.n > 10 %}", "Next": "Big"},
                        {
                            "Condition": "{% $states.input.n > 1 %}",
                            "Assign": {"n": "{% $states.input.n %}"},
                            "Next": "Some",
                        },
                    ],
                    "Default": "None",
                },
                "Big": {"Type": "Fail"},
                "Some": {"Type": "Pass", "Output": "{% $n * 2 %}", "End": True},
                "None": {"Type": "Fail"},
            },
            {"n": 7},
            QueryLanguage="JSONata",
        )
        assert found["output"] == 14

    def test_output_and_assign_of_one_state_both_see_the_old_variables(self, run: Any) -> None:
        found = run(
            {
                "A": {"Type": "Pass", "Assign": {"n": 1}, "Next": "B"},
                "B": {"Type": "Pass", "Assign": {"n": "{% $n + 1 %}"}, "Output": "{% $n %}", "Next": "C"},
                "C": {"Type": "Pass", "Output": "{% [$states.input, $n] %}", "End": True},
            },
            QueryLanguage="JSONata",
        )
        assert found["output"] == [1, 2]

    @pytest.mark.parametrize(
        ("expression", "value"),
        [
            ("[1..3]", [1, 2, 3]),
            ("$range(0, 10, 5)", [0, 5, 10]),
            ("$partition([1, 2, 3, 4, 5], 2)", [[1, 2], [3, 4], [5]]),
            ("$hash('abc', 'SHA-256')", hashlib.sha256(b"abc").hexdigest()),
            ("$parse('{\"a\": [1]}')", {"a": [1]}),
            ("$random(7) = $random(7)", True),
            ("$states.input.list[price > 2].name", ["b", "c"]),
            ("null", None),
        ],
    )
    def test_functions_and_ranges_give_json(self, run: Any, expression: str, value: Any) -> None:
        given = {"list": [{"name": "a", "price": 1}, {"name": "b", "price": 3}, {"name": "c", "price": 4}]}
        assert run(_pass(Output="{% " + expression + " %}"), given, QueryLanguage="JSONata")["output"] == value

    def test_now_and_uuid_are_fresh_and_virtual(self, sandbox: Sandbox, run: Any) -> None:
        sandbox.clock.jump(86400)
        found = run(_pass(Output="{% [$now(), $uuid()] %}"), QueryLanguage="JSONata")
        now, name = found["output"]
        assert abs(datetime.fromisoformat(now).timestamp() - found["startDate"].timestamp()) < 3600
        assert uuid.UUID(name).version == 4

    @pytest.mark.parametrize("expression", ["$states.input.missing", "1 +", "$error('no')", "$sum", "'a' * 2"])
    def test_what_cannot_be_evaluated_fails_with_a_query_evaluation_error(self, run: Any, expression: str) -> None:
        found = run(_pass(Output="{% " + expression + " %}"), QueryLanguage="JSONata")
        assert (found["status"], found["error"]) == ("FAILED", "States.QueryEvaluationError")
        assert expression in found["cause"]

    def test_nothing_is_planted_by_text_into_an_expression(self) -> None:
        # A variable pasted into the expression as text would end the string and be evaluated.
        assert expressions.evaluate("$evil", {"evil": '" & $uuid() & "'}) == '" & $uuid() & "'


class TestJsonPath:
    def test_variables_work_beside_paths(self, run: Any) -> None:
        found = run(
            {
                "A": {"Type": "Pass", "Assign": {"job.$": "$.job", "n": 3}, "Next": "B"},
                "B": {"Type": "Pass", "Parameters": {"name.$": "$job.name", "n.$": "$n", "all.$": "$"}, "End": True},
            },
            {"job": {"name": "x"}},
        )
        assert found["output"] == {"name": "x", "n": 3, "all": {"job": {"name": "x"}}}

    @pytest.mark.parametrize(
        ("call", "value"),
        [
            ("States.Format('{}-{}', $.a, $.n)", "x-2"),
            ("States.Hash($.a, 'SHA-256')", hashlib.sha256(b"x").hexdigest()),
            ("States.StringToJson($.json)", {"k": [1]}),
            ("States.JsonToString($.list)", "[10,20]"),
            ("States.ArrayGetItem($.list, 1)", 20),
            ("States.StringSplit($.csv, ',')", ["p", "q"]),
            ("States.MathAdd($.n, -3)", -1),
            ("States.ArrayLength($.list)", 2),
            ("States.Base64Encode($.a)", "eA=="),
        ],
    )
    def test_an_intrinsic_gives_its_value(self, run: Any, call: str, value: Any) -> None:
        given = {"a": "x", "n": 2, "json": '{"k": [1]}', "list": [10, 20], "csv": "p,q"}
        assert run(_pass(Parameters={"v.$": call}), given)["output"] == {"v": value}

    def test_an_intrinsic_gives_a_uuid(self, run: Any) -> None:
        assert uuid.UUID(run(_pass(Parameters={"v.$": "States.UUID()"}))["output"]["v"]).version == 4

    def test_an_intrinsic_that_fails_can_be_caught_by_name(self, run: Any) -> None:
        branch = {"StartAt": "P", "States": _pass(Parameters={"v.$": "States.StringToJson($.text)"})}
        catch = [{"ErrorEquals": ["States.IntrinsicFailure"], "Next": "Caught"}]
        parallel = {"Type": "Parallel", "Branches": [branch], "Catch": catch, "End": True}
        found = run({"A": parallel, "Caught": {"Type": "Succeed"}}, {"text": "{"})
        assert found["output"]["Error"] == "States.IntrinsicFailure"

    def test_a_path_that_finds_nothing_is_a_runtime_error_that_nothing_catches(self, run: Any) -> None:
        branch = {"StartAt": "P", "States": _pass(Parameters={"v.$": "$.missing"})}
        catch = [{"ErrorEquals": ["States.ALL"], "Next": "Caught"}]
        parallel = {"Type": "Parallel", "Branches": [branch], "Catch": catch, "End": True}
        found = run({"A": parallel, "Caught": {"Type": "Succeed"}})
        assert (found["status"], found["error"]) == ("FAILED", "States.Runtime")
        assert "$.missing" in found["cause"]


class TestContextObject:
    def test_it_names_execution_machine_and_state(self, run: Any, role_arn: str) -> None:
        found = run(_pass(Parameters={"all.$": "$$"}), {"given": 1})
        data = found["output"]["all"]
        assert data["Execution"] == {
            "Id": found["executionArn"],
            "Input": {"given": 1},
            "Name": found["name"],
            "RoleArn": role_arn,
            "StartTime": data["Execution"]["StartTime"],
            "RedriveCount": 0,
        }
        assert data["StateMachine"] == {"Id": found["stateMachineArn"], "Name": found["stateMachineArn"].split(":")[-1]}
        assert data["State"]["Name"] == "P"
        started = datetime.fromisoformat(data["Execution"]["StartTime"])
        assert abs((started - found["startDate"]).total_seconds()) < 0.01
        assert data["Execution"]["StartTime"].endswith("Z")
        assert data["State"]["EnteredTime"] >= data["Execution"]["StartTime"]


class TestFailures:
    def test_a_fail_state_takes_its_error_and_cause_from_paths(self, run: Any) -> None:
        fail = {"F": {"Type": "Fail", "ErrorPath": "$.e", "CausePath": "States.Format('because {}', $.c)"}}
        found = run(fail, {"e": "Job.Failed", "c": "capacity"})
        assert (found["error"], found["cause"]) == ("Job.Failed", "because capacity")

    def test_a_fail_state_may_pass_on_an_error_of_step_functions(self, run: Any) -> None:
        catch = [{"ErrorEquals": ["States.ALL"], "Next": "Again"}]
        found = run(
            {
                "A": _failing("States.Timeout", cause="late", Catch=catch),
                "Again": {"Type": "Fail", "ErrorPath": "$.Error", "CausePath": "$.Cause"},
            }
        )
        assert (found["status"], found["error"], found["cause"]) == ("FAILED", "States.Timeout", "late")

    def test_a_fail_state_without_error_fails_the_execution(self, run: Any) -> None:
        found = run({"F": {"Type": "Fail"}})
        assert (found["status"], found.get("error"), found.get("cause")) == ("FAILED", None, None)

    @pytest.mark.parametrize(
        ("error", "equals", "caught"),
        [
            ("Mine", "Mine", True),
            ("Mine", "States.ALL", True),
            ("Mine", "States.TaskFailed", True),
            ("Mine", "Other", False),
            ("States.Timeout", "States.TaskFailed", False),
            ("States.Timeout", "States.ALL", True),
            ("States.Permissions", "States.TaskFailed", True),
            ("States.Runtime", "States.ALL", False),
            ("States.Runtime", "States.Runtime", False),
            ("States.Runtime", "States.TaskFailed", False),
            ("States.DataLimitExceeded", "States.ALL", False),
            ("States.DataLimitExceeded", "States.DataLimitExceeded", True),
        ],
    )
    def test_catch_matches_as_documented(self, run: Any, error: str, equals: str, caught: bool) -> None:
        catch = [{"ErrorEquals": [equals], "Next": "Caught"}]
        found = run({"A": _failing(error, Catch=catch), "Caught": {"Type": "Succeed"}})
        assert (found["status"] == "SUCCEEDED") == caught
        assert (found["output"]["Error"] if caught else found["error"]) == error

    def test_retry_counts_its_tries_and_then_gives_up(self, run: Any, events_of: Any) -> None:
        retry = [{"ErrorEquals": ["Mine"], "IntervalSeconds": 1, "MaxAttempts": 2}]
        found = run({"A": _failing("Mine", Retry=retry)})
        assert found["error"] == "Mine"
        entered = [event for event in events_of(found["executionArn"]) if event["type"] == "FailStateEntered"]
        assert len(entered) == 3

    def test_a_choice_that_matches_nothing_has_its_own_error(self, run: Any) -> None:
        rule = {"Variable": "$.status", "StringEquals": "Completed", "Next": "Done"}
        states = {"C": {"Type": "Choice", "Choices": [rule]}, "Done": {"Type": "Succeed"}}
        assert run(states, {"status": "Stopped"})["error"] == "States.NoChoiceMatched"

    def test_a_choice_on_a_value_that_does_not_exist_is_a_runtime_error_even_with_a_default(self, run: Any) -> None:
        rule = {"Variable": "$.status", "StringEquals": "Completed", "Next": "Done"}
        states = {"C": {"Type": "Choice", "Choices": [rule], "Default": "Done"}, "Done": {"Type": "Succeed"}}
        found = run(states, {})
        assert (found["status"], found["error"]) == ("FAILED", "States.Runtime")
        assert "$.status" in found["cause"]

    def test_a_choice_may_ask_whether_a_value_exists(self, run: Any) -> None:
        rule = {"Not": {"Variable": "$.status", "IsPresent": True}, "Next": "Done"}
        states = {"C": {"Type": "Choice", "Choices": [rule]}, "Done": {"Type": "Succeed"}}
        assert run(states, {})["status"] == "SUCCEEDED"
