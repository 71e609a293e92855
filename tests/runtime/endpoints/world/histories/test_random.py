"""Thousands of histories hold, and every oracle notices what it is there for."""

from __future__ import annotations

from collections import Counter

import pytest

CHANGES = (
    *(f"sagemaker.{name}EndpointConfig" for name in ("Create", "Delete")),
    *(f"sagemaker.{name}Endpoint" for name in ("Create", "Update", "Delete")),
    "sagemaker.UpdateEndpointWeightsAndCapacities",
    *(f"scaling.{name}ScalableTarget" for name in ("Register", "Deregister")),
    "dynamodb.UpdateItem",
)
LOOKS = ("DescribeEndpoint", "DescribeTrainingPlan", "ListTags")
WINDOWS = [(name, side) for name in CHANGES for side in ("before", "after")]
WINDOWS += [(f"sagemaker.{name}", "before") for name in LOOKS]

# Without a rule, which of the oracles above has to notice: each of them has a defect that it must catch.
DEFECTS = {
    "segments": "D2",
    "marker": "D5",
    "confirmed": "D7",
    "last_resort": "D2",
    "spare_used": "D3",
    "legal_states": "D6",
    "repair": "Failed",
    "revive": "serves nothing",
    "within_plan": "C1",
    "head_room": "C1",
    "ours_only": "D8",
}


@pytest.mark.slow
@pytest.mark.parametrize("without", DEFECTS)
def test_the_histories_notice_a_rule_that_is_missing(play, without):
    for seed in range(600):
        try:
            play(seed, without=without)
        except AssertionError as error:
            if DEFECTS[without] in str(error):
                return
    pytest.fail(f"nothing noticed that {without} is missing")


def test_some_random_histories_hold(play):
    for seed in range(25):
        play(seed)


@pytest.mark.slow
def test_thousands_of_random_histories_hold_with_a_fault_at_any_call(play):
    windows = Counter()
    for seed in range(5000):
        play(seed, windows)
    print(*(f"{name} {side}: {windows[name, side]}" for name, side in WINDOWS), sep="\n")
    assert not [window for window in WINDOWS if not windows[window]]
