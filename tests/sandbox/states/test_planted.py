"""Each check here fails on moto's own engine: what a patch puts right is planted again and must be noticed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from constructs_lib.sandbox.states import patching

pytestmark = pytest.mark.slow

ENGINE = patching.ENGINE + "asl."
FAIL = {"Type": "Fail", "Error": "States.Runtime"}
CAUGHT = {"Caught": {"Type": "Succeed"}}


def _parallel(**fields: Any) -> dict[str, Any]:
    return {"P": {"Type": "Parallel", "Branches": [{"StartAt": "F", "States": {"F": FAIL}}], "End": True, **fields}}


def _runtime_is_never_caught(run: Any) -> bool:
    catch = [{"ErrorEquals": ["States.ALL"], "Next": "Caught"}]
    return bool(run(_parallel(Catch=catch) | CAUGHT)["status"] == "FAILED")


def _an_error_keeps_its_name(run: Any) -> bool:
    return bool(run({"F": {"Type": "Fail", "Error": "States.Timeout"}})["error"] == "States.Timeout")


def _a_choice_without_match_has_its_error(run: Any) -> bool:
    rule = {"Variable": "$.a", "NumericEquals": 1, "Next": "Caught"}
    return bool(
        run({"C": {"Type": "Choice", "Choices": [rule]}} | CAUGHT, {"a": 2})["error"] == "States.NoChoiceMatched"
    )


def _a_choice_on_nothing_fails(run: Any) -> bool:
    rule = {"Variable": "$.a", "NumericEquals": 1, "Next": "Caught"}
    return bool(run({"C": {"Type": "Choice", "Choices": [rule], "Default": "Caught"}} | CAUGHT)["status"] == "FAILED")


def _output_sees_the_old_variables(run: Any) -> bool:
    states = {
        "A": {"Type": "Pass", "Assign": {"n": 1}, "Next": "B"},
        "B": {"Type": "Pass", "Assign": {"n": 2}, "Output": "{% $n %}", "End": True},
    }
    return bool(run(states, QueryLanguage="JSONata").get("output") == 1)


def _jsonata_is_evaluated(run: Any) -> bool:
    found = run({"P": {"Type": "Pass", "Output": "{% 1 + 1 %}", "End": True}}, QueryLanguage="JSONata")
    return bool(found.get("output") == 2)


def _an_intrinsic_that_fails_has_its_error(run: Any) -> bool:
    found = run({"P": {"Type": "Pass", "Parameters": {"v.$": "States.StringToJson('{')"}, "End": True}})
    return bool(found["error"] == "States.IntrinsicFailure")


def _an_offset_is_a_timestamp(run: Any) -> bool:
    wait = {"W": {"Type": "Wait", "TimestampPath": "$.at", "End": True}}
    return bool(run(wait, {"at": "2020-01-01T00:00:00+01:00"})["status"] == "SUCCEEDED")


def _answers_have_pascal_case(run: Any) -> bool:
    task = {"Type": "Task", "Resource": "arn:aws:states:::aws-sdk:sfn:listActivities", "Parameters": {}, "End": True}
    return bool(run({"T": task})["output"] == {"Activities": []})


@pytest.mark.parametrize(
    ("check", "target"),
    [
        (_runtime_is_never_caught, "component.common.error_name.error_equals_decl:ErrorEqualsDecl._eval_body"),
        (_an_error_keeps_its_name, "component.common.error_name.custom_error_name:CustomErrorName.__init__"),
        (_a_choice_without_match_has_its_error, "component.state.choice.state_choice:StateChoice._eval_state"),
        (
            _a_choice_on_nothing_fails,
            "component.state.choice.comparison.comparison_variable:ComparisonVariable._eval_body",
        ),
        (_output_sees_the_old_variables, "component.common.assign.assign_decl:AssignDecl._eval_body"),
        (_jsonata_is_evaluated, "component.common.string.string_expression:StringJSONata._eval_body"),
        (
            _an_intrinsic_that_fails_has_its_error,
            "component.common.string.string_expression:StringIntrinsicFunction._eval_body",
        ),
        (_an_offset_is_a_timestamp, "component.state.wait.wait_function.timestamp:Timestamp._from_timestamp_string"),
        (
            _answers_have_pascal_case,
            "component.state.exec.state_task.service.state_task_service:StateTaskService._normalise_response",
        ),
    ],
)
def test_a_defect_of_motos_engine_is_noticed_when_its_patch_is_taken_away(
    run: Any, monkeypatch: pytest.MonkeyPatch, check: Callable[[Any], bool], target: str
) -> None:
    assert check(run)
    owner, name = patching._owner(ENGINE + target)
    plain = patching.original(ENGINE + target)
    is_static = isinstance(vars(owner)[name], staticmethod)
    monkeypatch.setattr(owner, name, staticmethod(plain) if is_static else plain)
    assert not check(run)
