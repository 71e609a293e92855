from __future__ import annotations

from types import SimpleNamespace

import pytest
from botocore.exceptions import ClientError

from constructs_lib.sandbox import Sandbox
from constructs_lib.sandbox.errors import SandboxError
from constructs_lib.sandbox.faults import Faults
from constructs_lib.sandbox.throttling import throttle

CREATE = ("sagemaker", "CreateTrainingJob")


class Calls:
    """Requests at moments of a clock that stands still."""

    def __init__(self, **limits: float) -> None:
        self.faults, self.t = Faults(), 1000.0
        throttle(self.faults, SimpleNamespace(now=lambda: self.t), *CREATE, **limits)

    def passes(self, *, after: float = 0) -> bool:
        self.t += after
        fault = self.faults.take(*CREATE, "before", {})
        assert fault is None or fault.error == ("ThrottlingException", "Rate exceeded", 400)
        return fault is None


def test_an_operation_is_refused_for_a_period() -> None:
    calls = Calls(seconds=60)
    assert [calls.passes(), calls.passes(after=59), calls.passes(after=1), calls.passes()] == [False, False, True, True]
    assert calls.faults.hits == {("sagemaker.CreateTrainingJob", "before"): 2}


def test_an_operation_is_refused_beyond_a_rate() -> None:
    calls = Calls(rate=0.5, burst=2)
    assert [calls.passes() for _ in range(3)] == [True, True, False]
    assert [calls.passes(after=1), calls.passes(after=1), calls.passes()] == [False, True, False]
    assert [calls.passes(after=3600), calls.passes(), calls.passes()] == [True, True, False]


def test_a_rate_may_hold_for_a_period() -> None:
    calls = Calls(rate=1, seconds=10)
    assert [calls.passes(), calls.passes()] == [True, False]
    assert [calls.passes(after=10), calls.passes(), calls.passes()] == [True] * 3


def test_without_limits_an_operation_is_refused_until_the_faults_are_cleared() -> None:
    calls = Calls()
    assert not calls.passes(after=10**9)
    calls.faults.clear()
    assert calls.passes()


@pytest.mark.parametrize("limits", [{"seconds": 0}, {"rate": -1}, {"rate": 1, "burst": 0}])
def test_a_limit_that_makes_no_sense_is_refused(limits: dict[str, float]) -> None:
    with pytest.raises(SandboxError, match="use a number above 0"):
        Calls(**limits)


def test_an_operation_that_does_not_exist_is_refused() -> None:
    with pytest.raises(SandboxError, match=r"did you mean .*CreateTrainingJob"):
        throttle(Faults(), SimpleNamespace(now=lambda: 0.0), "sagemaker", "CreateTrainingJobs")


@pytest.mark.slow
def test_a_caller_is_answered_as_aws_does(sandbox: Sandbox) -> None:
    client = sandbox.client("sagemaker")
    sandbox.throttle("sagemaker", "ListTrainingJobs", seconds=3600)
    with pytest.raises(ClientError) as refused:
        client.list_training_jobs()
    response = refused.value.response
    assert (response["Error"]["Code"], response["ResponseMetadata"]["HTTPStatusCode"]) == ("ThrottlingException", 400)
    sandbox.clock.jump(3600)
    assert client.list_training_jobs()["TrainingJobSummaries"] == []
