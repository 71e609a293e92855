from __future__ import annotations

import pytest

from constructs_lib.sandbox import Faults, Late, SandboxError

REFUSED = ("ResourceLimitExceeded", "no more", 400)


def test_a_planned_failure_happens_once_unless_told_otherwise() -> None:
    faults = Faults()
    faults.add("sagemaker", "CreateTrainingJob", error=REFUSED)
    assert faults.take("sagemaker", "CreateTrainingJob", "before", {}).error == REFUSED
    assert faults.take("sagemaker", "CreateTrainingJob", "before", {}) is None
    faults.add("sagemaker", "CreateTrainingJob", error=REFUSED, times=2)
    faults.add("sagemaker", "StopTrainingJob", error=REFUSED, times=None)
    for _ in range(2):
        assert faults.take("sagemaker", "CreateTrainingJob", "before", {})
    assert faults.take("sagemaker", "CreateTrainingJob", "before", {}) is None
    for _ in range(20):
        assert faults.take("sagemaker", "StopTrainingJob", "before", {})


def test_a_failure_meets_only_its_own_call_and_window() -> None:
    faults = Faults()
    faults.add("sagemaker", "CreateTrainingJob", when="after", error=REFUSED)
    assert faults.take("sagemaker", "CreateTrainingJob", "before", {}) is None
    assert faults.take("sagemaker", "CreateTrainingPlan", "after", {}) is None
    assert faults.take("dynamodb", "CreateTrainingJob", "after", {}) is None
    assert faults.take("sagemaker", "CreateTrainingJob", "after", {})


def test_a_failure_may_pick_its_request() -> None:
    faults = Faults()
    faults.add("dynamodb", "PutItem", error=REFUSED, match=lambda request: request["TableName"] == "b")
    assert faults.take("dynamodb", "PutItem", "before", {"TableName": "a"}) is None
    assert faults.take("dynamodb", "PutItem", "before", {"TableName": "b"})


def test_hits_count_what_happened_and_not_what_was_planned() -> None:
    faults = Faults()
    faults.add("states", "SendTaskSuccess", when="after", error="drop", times=3)
    faults.take("states", "SendTaskSuccess", "after", {})
    faults.take("states", "SendTaskSuccess", "before", {})
    assert faults.hits == {("states.SendTaskSuccess", "after"): 1}
    assert [fault.times for fault in faults.pending()] == [2]


def test_a_service_may_be_named_as_boto3_or_as_its_signature_names_it() -> None:
    faults = Faults()
    faults.add("stepfunctions", "StartExecution", error="drop")
    assert faults.take("states", "StartExecution", "before", {})


def test_killing_the_caller_waits_for_a_lambda() -> None:
    faults = Faults()
    faults.add("sagemaker", "CreateTrainingJob", when="after", error="kill-caller")
    assert faults.take("sagemaker", "CreateTrainingJob", "after", {}) is None
    assert faults.take("sagemaker", "CreateTrainingJob", "after", {}, by_worker=True)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"operation": "CreateTrainingJobs"}, "did you mean .*CreateTrainingJob"),
        ({"service": "sagemakr"}, "knows no service 'sagemakr'"),
        ({"when": "during"}, "use 'before' or 'after'"),
        ({"error": "explode"}, "use one of drop, kill-caller, crash"),
        ({"times": 0}, "never fails anything"),
        ({"error": Late(60), "when": "after"}, "use it with when='before'"),
        ({"error": "crash"}, "is for service 'lambda'"),
    ],
)
def test_a_failure_that_could_never_happen_is_refused(given: dict[str, object], words: str) -> None:
    plan = {"service": "sagemaker", "operation": "CreateTrainingJob", "error": REFUSED} | given
    with pytest.raises(SandboxError, match=words):
        Faults().add(**plan)


def test_switches_have_a_default_until_set_and_again_after_clear() -> None:
    faults = Faults()
    assert faults.state("events.sagemaker", "delivered") == "delivered"
    faults.switch("events.sagemaker", "lost")
    assert faults.state("events.sagemaker", "delivered") == "lost"
    faults.add("sagemaker", "CreateTrainingJob", error=REFUSED)
    faults.clear()
    assert faults.state("events.sagemaker", "delivered") == "delivered"
    assert faults.pending() == []
