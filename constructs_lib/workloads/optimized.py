"""The state machine of a launch through Step Functions' own ``.sync`` integration, without a function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from constructs_lib.model import RunEnd
from constructs_lib.model.job_kinds import JOB_KINDS
from constructs_lib.workloads.definition import ENTERED, REDRIVE, choice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constructs_lib.workloads.definition import Launch

__all__ = ["optimized_states"]

_WORDS = (
    (RunEnd.ALGORITHM_ERROR, ("AlgorithmError*",)),
    (RunEnd.QUOTA_EXCEEDED, ("*ResourceLimitExceeded*",)),
    (RunEnd.THROTTLED, ("*Throttl*", "*Rate exceeded*")),
    (RunEnd.PERMISSION_DENIED, ("*AccessDenied*", "*not authorized*")),
    (RunEnd.INSUFFICIENT_CAPACITY, ("*CapacityError*", "*InsufficientCapacity*", "*not enough capacity*")),
    (RunEnd.INVALID_REQUEST, ("*ValidationException*", "*validation error*", "*not available in this region*")),
    (RunEnd.SERVICE_ERROR, ("*InternalServerError*", "*InternalFailure*", "*ServiceUnavailable*")),
)
"""The ends by what a refusal or a failure says; ASL folds no case and has no regular expressions."""

_OVERTIME = ("MaxRuntimeExceeded", "MaxWaitTimeExceeded")


def optimized_states(launch: Launch) -> dict[str, Any]:
    """Return the states of a launch through ``createTrainingJob.sync`` or its like, without a function.

    Whether Step Functions counts a job that was stopped as a success is not documented; either way leads to the same
    named end. The output of a success is the job's description.
    """
    name, noun = launch.name, JOB_KINDS[launch.kind].noun
    described = {"Variable": "$.Cause", "StringMatches": f'{{*"{noun}Status"*}}'}
    completed = {"Variable": f"$.{noun}Status", "StringEquals": "Completed"}
    explained = {"Variable": "$.FailureReason", "IsPresent": True}
    of_job = {"job_name.$": f"$.{noun}Name", "status.$": f"$.{noun}Status", **_secondary(launch)}
    states: dict[str, Any] = {
        "Launch": {
            "Type": "Task",
            "Resource": f"arn:{launch.partition}:states:::sagemaker:create{noun}.sync",
            "Parameters": {f"{noun}Name.$": _name_per_try(launch), **launch.request},
            "TimeoutSeconds": launch.seconds,
            "Retry": [{"ErrorEquals": ["SageMaker.ThrottlingException"], "IntervalSeconds": 2, "MaxAttempts": 6}],
            "Catch": [
                {"ErrorEquals": ["States.Timeout"], "Next": name(RunEnd.TIMED_OUT)},
                {"ErrorEquals": ["States.ALL"], "Next": name("Caught")},
            ],
            "Next": name("Ended"),
        },
        # The cause of a job that failed is its description as text; the cause of a refused call is a sentence.
        "Caught": choice(launch, [(described, "Read")], "Refused"),
        "Read": {
            "Type": "Pass",
            "Parameters": {"job.$": "States.StringToJson($.Cause)"},
            "OutputPath": "$.job",
            "Next": name("Ended"),
        },
        "Ended": choice(launch, [(completed, "Completed"), (explained, "Explained")], "Unexplained"),
        "Completed": {"Type": "Succeed"},
        "Refused": _record(launch, {**_NO_JOB, "cause.$": "States.Format('{}: {}', $.Error, $.Cause)"}),
        "Explained": _record(launch, {**of_job, "cause.$": "$.FailureReason"}),
        "Unexplained": _record(launch, {**of_job, "cause": ""}),
        "Judge": choice(launch, _judgement(), RunEnd.UNKNOWN),
    }
    ends = [*(end for end, _ in _WORDS), RunEnd.MAX_RUNTIME_EXCEEDED, RunEnd.STOPPED, RunEnd.TIMED_OUT, RunEnd.UNKNOWN]
    states |= {end: {"Type": "Fail", "Error": str(end), "CausePath": "States.JsonToString($)"} for end in ends}
    return {"StartAt": name("Launch"), "States": {name(state): body for state, body in states.items()}}


_NO_JOB = {"status": "NotCreated", "secondary": ""}


def _secondary(launch: Launch) -> dict[str, str]:
    """Return where the description says why a job stopped: only a training job's does."""
    return {"secondary.$": "$.SecondaryStatus"} if launch.kind == "training" else {"secondary": ""}


def _record(launch: Launch, record: dict[str, str]) -> dict[str, Any]:
    return {"Type": "Pass", "Parameters": record, "Next": launch.name("Judge")}


def _name_per_try(launch: Launch) -> str:
    if launch.kind == "tuning":
        # The name of a tuning job has no room for a hash; eight letters of a fresh UUID differ from try to try.
        return f"States.Format('{launch.prefix}-{{}}', States.ArrayGetItem(States.StringSplit(States.UUID(), '-'), 0))"
    identity = ["$$.Execution.Id", REDRIVE, "$$.State.RetryCount"]
    if launch.step:
        identity += ["$$.State.Name", ENTERED]
    if launch.item:
        identity.append(launch.item)
    slots = "/".join(["{}"] * len(identity))
    return f"States.Format('{launch.prefix}-{{}}', States.Hash(States.Format('{slots}', {', '.join(identity)}), 'MD5'))"


def _judgement() -> list[tuple[dict[str, Any], str]]:
    return [
        (_any_of("$.secondary", "StringEquals", _OVERTIME), RunEnd.MAX_RUNTIME_EXCEEDED),
        ({"Variable": "$.status", "StringEquals": "Stopped"}, RunEnd.STOPPED),
        *((_any_of("$.cause", "StringMatches", globs), end) for end, globs in _WORDS),
    ]


def _any_of(variable: str, comparison: str, values: Sequence[str]) -> dict[str, Any]:
    tests = [{"Variable": variable, comparison: value} for value in values]
    return {"Or": tests} if len(tests) > 1 else tests[0]
