"""Map and Parallel: inputs, order, what a failure leaves, tolerance, items as executions of their own."""

from __future__ import annotations

import json
from typing import Any

import pytest

from constructs_lib.sandbox import Sandbox

pytestmark = pytest.mark.slow

DISTRIBUTED = {"ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}}
ODD_FAILS = {
    "C": {
        "Type": "Choice",
        "Choices": [{"Variable": "$.odd", "BooleanEquals": True, "Next": "F"}],
        "Default": "P",
    },
    "F": {"Type": "Fail", "Error": "Odd"},
    "P": {"Type": "Pass", "End": True},
}


def _map(inner: dict[str, Any], *, distributed: bool = False, **fields: Any) -> dict[str, Any]:
    processor = {"StartAt": next(iter(inner)), "States": inner} | (DISTRIBUTED if distributed else {})
    return {"M": {"Type": "Map", "ItemProcessor": processor, "End": True, **fields}}


@pytest.mark.parametrize("distributed", [False, True])
def test_items_keep_their_order_and_see_their_index(run: Any, distributed: bool) -> None:
    selector = {"index.$": "$$.Map.Item.Index", "value.$": "$$.Map.Item.Value", "all.$": "$.all"}
    inner = {"W": {"Type": "Wait", "SecondsPath": "$.value", "End": True}}
    states = _map(inner, distributed=distributed, ItemsPath="$.items", ItemSelector=selector)
    found = run(states, {"items": [90, 60, 30], "all": "x"})
    assert found["output"] == [{"index": i, "value": v, "all": "x"} for i, v in enumerate((90, 60, 30))]


@pytest.mark.parametrize("distributed", [False, True])
def test_items_may_be_chosen_with_jsonata(run: Any, distributed: bool) -> None:
    inner = {"P": {"Type": "Pass", "Output": "{% $states.input.n + $base %}", "End": True}}
    found = run(
        {
            "A": {"Type": "Pass", "Assign": {"base": 100}, "Next": "M"},
            **_map(
                inner,
                distributed=distributed,
                Items="{% [1..3] %}",
                ItemSelector={"n": "{% $states.context.Map.Item.Value * 10 %}"},
            ),
        },
        QueryLanguage="JSONata",
    )
    # The states of a distributed Map's items are executions of their own: variables do not reach them.
    if distributed:
        assert found["error"] == "States.ExceedToleratedFailureThreshold"
    else:
        assert found["output"] == [110, 120, 130]


def test_no_more_items_run_at_once_than_allowed(slow: Any, start: Any, end: Any, reaches: Any, events_of: Any) -> None:
    arn = start(_map({"W": {"Type": "Wait", "Seconds": 1000, "End": True}}, MaxConcurrency=2), [0, 1, 2, 3, 4])
    for running in (2, 4, 5):
        reaches(arn, "WaitStateEntered", running)
        slow.jump(900)
        assert [e["type"] for e in events_of(arn)].count("WaitStateEntered") == running
        slow.jump(200)
    assert end(arn)["output"] == [0, 1, 2, 3, 4]


def test_two_thousand_items_pass_through_one_worker(run: Any) -> None:
    items = list(range(2000))
    assert run(_map({"P": {"Type": "Pass", "End": True}}, MaxConcurrency=1), items, seconds=60)["output"] == items


def test_an_empty_list_gives_an_empty_list(run: Any) -> None:
    assert run(_map({"P": {"Type": "Pass", "End": True}}), [])["output"] == []


@pytest.mark.parametrize(("switch", "status"), [(None, "FAILED"), ("visible", "SUCCEEDED")])
def test_states_inside_a_map_see_its_item_in_one_reading_only(
    sandbox: Sandbox, run: Any, switch: str | None, status: str
) -> None:
    if switch:
        sandbox.faults.switch("states.map-item-inside", switch)
    inner = {"P": {"Type": "Pass", "Parameters": {"index.$": "$$.Map.Item.Index"}, "End": True}}
    found = run(_map(inner), ["a", "b"])
    assert found["status"] == status
    if status == "SUCCEEDED":
        assert found["output"] == [{"index": 0}, {"index": 1}]


def test_an_item_that_fails_fails_the_map_with_its_error_and_ends_the_others(
    start: Any, end: Any, events_of: Any
) -> None:
    choice = {"Variable": "$", "NumericEquals": 1, "Next": "F"}
    inner = {
        "C": {"Type": "Choice", "Choices": [choice], "Default": "W"},
        "F": {"Type": "Fail", "Error": "Lost", "Cause": "one"},
        "W": {"Type": "Wait", "Seconds": 9_000_000, "End": True},
    }
    found = end(start(_map(inner), [0, 1, 2]))
    assert (found["error"], found["cause"]) == ("Lost", "one")
    assert "WaitStateExited" not in [event["type"] for event in events_of(found["executionArn"])]


class TestDistributed:
    @pytest.mark.parametrize(
        ("tolerance", "odd", "status"),
        [
            ({}, 1, "FAILED"),
            ({"ToleratedFailurePercentage": 50}, 2, "SUCCEEDED"),
            ({"ToleratedFailurePercentage": 49}, 2, "FAILED"),
            ({"ToleratedFailurePercentage": 50.0}, 2, "SUCCEEDED"),
            ({"ToleratedFailureCount": 1}, 1, "SUCCEEDED"),
            ({"ToleratedFailureCount": 1}, 2, "FAILED"),
        ],
    )
    def test_failures_are_tolerated_up_to_a_count_or_a_percentage(
        self, run: Any, tolerance: Any, odd: int, status: str
    ) -> None:
        items = [{"n": n, "odd": n < odd} for n in range(4)]
        found = run(_map(ODD_FAILS, distributed=True, **tolerance), items)
        assert found["status"] == status
        if status == "FAILED":
            assert found["error"] == "States.ExceedToleratedFailureThreshold"
        else:
            assert found["output"] == items[odd:]

    def test_what_a_tolerated_failure_leaves_can_be_read_as_null(self, sandbox: Sandbox, run: Any) -> None:
        sandbox.faults.switch("states.tolerated-output", "null")
        items = [{"odd": True}, {"odd": False}]
        found = run(_map(ODD_FAILS, distributed=True, ToleratedFailurePercentage=50), items)
        assert found["output"] == [None, {"odd": False}]

    def test_every_item_is_an_execution_that_can_be_described(self, told: list[Any], run: Any, sfn: Any) -> None:
        inner = {
            "P": {
                "Type": "Pass",
                "Parameters": {"me.$": "$$.Execution.Id", "machine.$": "$$.StateMachine.Id"},
                "End": True,
            }
        }
        found = run(_map(inner, distributed=True, Label="Sweep"), [5, 6])
        for number, item in zip((5, 6), found["output"], strict=True):
            child = sfn.describe_execution(executionArn=item["me"])
            assert child["status"] == "SUCCEEDED"
            assert child["input"] == str(number)
            assert child["mapRunArn"].split(":")[5] == "mapRun"
            assert child["stateMachineArn"] == item["machine"] == found["stateMachineArn"] + "/Sweep"
        ended = [event[2]["executionArn"] for event in told if event[2]["status"] == "SUCCEEDED"]
        assert set(ended) == {found["executionArn"], *(item["me"] for item in found["output"])}

    def test_stopping_the_parent_aborts_its_items(
        self, told: list[Any], start: Any, sfn: Any, end: Any, eventually: Any
    ) -> None:
        arn = start(_map({"W": {"Type": "Wait", "Seconds": 99999, "End": True}}, distributed=True), [1, 2])
        eventually(lambda: [event[2]["status"] for event in told].count("RUNNING") == 3)
        sfn.stop_execution(executionArn=arn)
        eventually(lambda: [event[2]["status"] for event in told].count("ABORTED") == 3)

    def test_stopping_an_item_leaves_the_others_running(
        self, told: list[Any], start: Any, sfn: Any, end: Any, eventually: Any
    ) -> None:
        states = _map({"W": {"Type": "Wait", "Seconds": 1200, "End": True}}, distributed=True, ToleratedFailureCount=1)
        arn = start(states, [1, 2])
        children = eventually(lambda: [e[2]["executionArn"] for e in told if e[2]["executionArn"] != arn])
        sfn.stop_execution(executionArn=children[0])
        assert end(children[0])["status"] == "ABORTED"
        assert end(arn)["status"] == "SUCCEEDED"

    def test_items_are_read_from_s3_and_a_map_run_counts_them(self, sandbox: Sandbox, run: Any, sfn: Any) -> None:
        s3 = sandbox.client("s3")
        s3.create_bucket(Bucket="items")
        s3.put_object(Bucket="items", Key="list.json", Body=json.dumps([{"n": n} for n in range(3)]).encode())
        reader = {
            "Resource": "arn:aws:states:::s3:getObject",
            "ReaderConfig": {"InputType": "JSON"},
            "Parameters": {"Bucket": "items", "Key": "list.json"},
        }
        found = run(_map({"P": {"Type": "Pass", "End": True}}, distributed=True, ItemReader=reader))
        assert found["output"] == [{"n": 0}, {"n": 1}, {"n": 2}]
        (listed,) = sfn.list_map_runs(executionArn=found["executionArn"])["mapRuns"]
        counted = sfn.describe_map_run(mapRunArn=listed["mapRunArn"])
        assert counted["status"] == "SUCCEEDED"
        assert (counted["itemCounts"]["succeeded"], counted["itemCounts"]["running"]) == (3, 0)


def test_a_parallel_gives_its_branches_results_in_order(run: Any) -> None:
    branches = [
        {"StartAt": "W", "States": {"W": {"Type": "Wait", "Seconds": seconds, "Next": "P"},
                                    "P": {"Type": "Pass", "Result": name, "End": True}}}
        for name, seconds in (("slow", 60), ("quick", 1))
    ]  # fmt: skip
    assert run({"P": {"Type": "Parallel", "Branches": branches, "End": True}})["output"] == ["slow", "quick"]


def test_a_parallel_that_is_retried_runs_all_its_branches_again(run: Any, events_of: Any) -> None:
    branches = [
        {"StartAt": "A", "States": {"A": {"Type": "Pass", "End": True}}},
        {"StartAt": "F", "States": {"F": {"Type": "Fail", "Error": "Lost"}}},
    ]
    retry = [{"ErrorEquals": ["Lost"], "IntervalSeconds": 1, "MaxAttempts": 1}]
    found = run({"P": {"Type": "Parallel", "Branches": branches, "Retry": retry, "End": True}})
    entered = [event["type"] for event in events_of(found["executionArn"])]
    assert (entered.count("PassStateEntered"), entered.count("FailStateEntered")) == (2, 2)


def test_a_word_that_is_no_reading_fails_in_words(sandbox: Sandbox, run: Any) -> None:
    sandbox.faults.switch("states.map-item-inside", "sometimes")
    processor = {"StartAt": "P", "States": {"P": {"Type": "Pass", "End": True}}}
    found = run({"M": {"Type": "Map", "ItemProcessor": processor, "End": True}}, [1])
    assert "use one of missing, visible" in found["cause"]
