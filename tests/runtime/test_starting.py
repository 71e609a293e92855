"""A machine starts when its plan is active: once, however often it is asked, and late when the plan is late."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from constructs_lib.model import InvalidInputError
from constructs_lib.runtime.adapters.executions import Executions
from constructs_lib.runtime.adapters.look_ups import LookUps
from constructs_lib.runtime.errors import LookUpError
from constructs_lib.runtime.services.starting import DELAY, Starting

ARN = "arn:aws:sagemaker:us-east-1:123456789012:training-plan/nightly"
MACHINE = "arn:aws:states:us-east-1:123456789012:stateMachine:Lab-Tune"
EVENT = {"action": "start", "plan": ARN, "machine": MACHINE, "starts": ""}


class Lab:
    """A plan, a clock and a Step Functions that uses every name once."""

    def __init__(self, clock, refused):
        self.clock, self.refused = clock, refused
        self.start, self.lines, self.calls, self.failing = clock.now, [], [], None
        begin = datetime.fromtimestamp(clock.now, UTC)
        segments = [{"InstanceType": "ml.p5.48xlarge", "EndTime": begin + timedelta(days=days)} for days in (3, 1)]
        self.plan = {
            "TrainingPlanName": "nightly",
            "Status": "Scheduled",
            "StartTime": begin,
            "EndTime": begin + timedelta(days=3),
            "ReservedCapacitySummaries": segments,
        }
        self.starting = Starting(
            Executions(self), LookUps(self, None, None, clock), clock, lambda line: self.lines.append(json.loads(line))
        )

    def describe_training_plan(self, TrainingPlanName):  # noqa: N803  AWS's names
        if self.failing:
            raise self.failing
        return self.plan

    def start_execution(self, **request):
        if any(call["name"] == request["name"] for call in self.calls):
            raise self.refused("ExecutionAlreadyExists", "used")
        self.calls.append(request)


@pytest.fixture
def lab(sagemaker, refused):
    return Lab(sagemaker.clock, refused)


@pytest.mark.parametrize("status", ["Pending", "Scheduled"])
def test_nothing_starts_before_the_plan_is_active_and_the_delay_is_measured(lab, status):
    lab.plan["Status"] = status
    lab.clock.sleep(900)
    assert lab.starting.start(EVENT) == f"{status}: not started"
    assert not lab.calls
    (line,) = lab.lines
    assert line[DELAY] == 900
    (metric,) = line["_aws"]["CloudWatchMetrics"]
    assert metric["Metrics"] == [{"Name": "PlanStartDelaySeconds", "Unit": "Seconds"}]
    assert metric["Dimensions"] == [["TrainingPlanName"]]


def test_a_delay_counts_from_the_announced_start(lab):
    announced = datetime.fromtimestamp(lab.start + 600, UTC).isoformat()
    lab.clock.sleep(300)
    lab.starting.start(EVENT | {"starts": announced})
    assert DELAY not in lab.lines[0]
    lab.clock.sleep(400)
    lab.starting.start(EVENT | {"starts": announced})
    assert lab.lines[1][DELAY] == 100


def test_an_active_plan_starts_the_machine_once_with_the_window_that_is_usable(lab):
    lab.plan["Status"] = "Active"
    assert [lab.starting.start(EVENT) for _ in range(3)] == ["started", "started before", "started before"]
    (call,) = lab.calls
    assert (call["stateMachineArn"], call["name"][:5]) == (MACHINE, "plan-")
    assert len(call["name"]) <= 80
    # The last segment's end, whatever order AWS lists them in, and 30 minutes before it.
    usable = datetime.fromtimestamp(lab.start, UTC) + timedelta(days=3, minutes=-30)
    assert json.loads(call["input"]) == {"window": {"plan": ARN, "usable_until": usable.strftime("%Y-%m-%dT%H:%M:%SZ")}}


@pytest.mark.parametrize("status", ["Expired", "Failed"])
def test_a_plan_that_is_over_starts_nothing_and_is_not_late(lab, status):
    lab.plan["Status"] = status
    lab.clock.sleep(9000)
    lab.starting.start(EVENT)
    assert not lab.calls
    assert DELAY not in lab.lines[0]


def test_another_plan_starts_the_same_machine_again(lab):
    lab.plan["Status"] = "Active"
    lab.starting.start(EVENT)
    assert lab.starting.start(EVENT | {"plan": ARN + "-2"}) == "started"


def test_a_plan_that_cannot_be_described_is_an_error_that_the_schedule_repeats(lab):
    lab.failing = lab.refused("AccessDeniedException", "no")
    with pytest.raises(LookUpError, match="could not be described"):
        lab.starting.start(EVENT)


def test_what_cannot_be_started_is_said(lab):
    with pytest.raises(InvalidInputError, match="lacks machine"):
        lab.starting.start({"plan": ARN})
    lab.failing = lab.refused("ResourceNotFound", "no")
    with pytest.raises(InvalidInputError, match="does not exist"):
        lab.starting.start(EVENT)
