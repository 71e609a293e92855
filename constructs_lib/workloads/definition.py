"""The state machines of jobs as plain Amazon States Language: dicts in, dicts out, no CDK."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from constructs_lib.model import RunEnd

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Launch", "launcher_states", "optimized_states", "parallel_step"]

_REDRIVE = "$$.Execution.RedriveCount"
_ENTERED = "$$.State.EnteredTime"
# The launcher's own failure is the one end that is tried again.
_NAMED_ENDS = [str(end) for end in RunEnd if end not in (RunEnd.COMPLETED, RunEnd.LAUNCHER_FAILED)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """What both kinds of definition are made of.

    Parameters
    ----------
    kind : str
        ``training``.
    request : Mapping
        The Create request without the job's name.
    prefix : str
        Starts the name of every job.
    seconds : float
        The backstop: a launch that has not ended by then is stopped.
    partition : str
        ``aws``, another partition, or its token.
    launcher : str
        The launcher function's name; not used by the optimized integration.
    reasons : sequence of str or None
        Why each preference stands where it does.
    step : str
        The name of a step inside a user's own machine; empty in a machine of ours. It starts every state's name, for
        these are unique in a machine.
    item : str
        A JSONPath that tells the items of a Map apart; only for a step.
    """

    kind: str
    request: Mapping[str, Any]
    prefix: str
    seconds: float
    partition: str
    launcher: str = ""
    reasons: Sequence[str | None] = field(default=())
    step: str = ""
    item: str = ""

    def name(self, state: str) -> str:
        """Return a state's name in the machine that it goes into."""
        return f"{self.step} {state}" if self.step else state


def launcher_states(launch: Launch) -> dict[str, Any]:
    """Return the states of a launch through the launcher function.

    The end of a job is the end of ``Launch``: success with the run's record, or a failure whose error is the named end
    and whose cause is the record. A named end is never retried and never caught, so that a redrive starts with
    ``Launch`` again; every other failure means that the launcher itself failed, and is retried under the same job
    name. A timeout enters ``Launch`` again, to stop the job and to wait for its end.
    """
    name = launch.name
    retry = [
        {"ErrorEquals": _NAMED_ENDS, "MaxAttempts": 0},
        {"ErrorEquals": ["States.TaskFailed"], "MaxAttempts": 8},
    ]
    task = {
        "Type": "Task",
        "Resource": f"arn:{launch.partition}:states:::lambda:invoke.waitForTaskToken",
        "Parameters": {"FunctionName": launch.launcher, "Payload": _payload(launch)},
        "TimeoutSecondsPath": "$.seconds",
        "Retry": retry,
        "Catch": [{"ErrorEquals": ["States.Timeout"], "ResultPath": "$.cause", "Next": name("Stop")}],
        "End": True,
    }
    states = {
        "Start": _start(launch),
        "Launch": task,
        "Stop": {"Type": "Pass", "Result": "stop", "ResultPath": "$.action", "Next": name("Launch")},
    }
    return {"StartAt": name("Start"), "States": {name(state): body for state, body in states.items()}}


def _start(launch: Launch) -> dict[str, Any]:
    """Return the Pass that says what Launch does, and in which redrive: a stop of an earlier one launches anew."""
    data: dict[str, Any] = {"action": "launch", "since.$": _REDRIVE, "seconds": launch.seconds}
    if launch.step:
        # Read once and kept: the time must be the same when Launch is retried, and when it is entered to stop.
        data["entered.$"] = _ENTERED
    if launch.item:
        data["item.$"] = launch.item
    return {"Type": "Pass", "Parameters": data, "Next": launch.name("Launch")}


def _payload(launch: Launch) -> dict[str, Any]:
    entry = {"redrive.$": _REDRIVE}
    if launch.step:
        entry["entered.$"] = "$.entered"
    if launch.item:
        entry["item.$"] = "$.item"
    payload: dict[str, Any] = {
        "action.$": "$.action",
        "since.$": "$.since",
        "reason": str(RunEnd.TIMED_OUT),
        "job": launch.prefix,
        "kind": launch.kind,
        "token.$": "$$.Task.Token",
        "execution.$": "$$.Execution.Id",
        "state.$": "$$.State.Name",
        "try.$": "$$.State.RetryCount",
        "entry": entry,
    }
    if any(launch.reasons):
        payload["reasons"] = list(launch.reasons)
    return payload | {"request": dict(launch.request)}


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
    """Return the states of a launch through ``createTrainingJob.sync``, without a function.

    Whether Step Functions counts a job that was stopped as a success is not documented; either way leads to the same
    named end. The output of a success is the job's description.
    """
    name = launch.name
    described = {"Variable": "$.Cause", "StringMatches": '{*"TrainingJobStatus"*}'}
    completed = {"Variable": "$.TrainingJobStatus", "StringEquals": "Completed"}
    explained = {"Variable": "$.FailureReason", "IsPresent": True}
    states: dict[str, Any] = {
        "Launch": {
            "Type": "Task",
            "Resource": f"arn:{launch.partition}:states:::sagemaker:createTrainingJob.sync",
            "Parameters": {"TrainingJobName.$": _name_per_try(launch), **launch.request},
            "TimeoutSeconds": launch.seconds,
            "Retry": [{"ErrorEquals": ["SageMaker.ThrottlingException"], "IntervalSeconds": 2, "MaxAttempts": 6}],
            "Catch": [
                {"ErrorEquals": ["States.Timeout"], "Next": name(RunEnd.TIMED_OUT)},
                {"ErrorEquals": ["States.ALL"], "Next": name("Caught")},
            ],
            "Next": name("Ended"),
        },
        # The cause of a job that failed is its description as text; the cause of a refused call is a sentence.
        "Caught": _choice(launch, [(described, "Read")], "Refused"),
        "Read": {
            "Type": "Pass",
            "Parameters": {"job.$": "States.StringToJson($.Cause)"},
            "OutputPath": "$.job",
            "Next": name("Ended"),
        },
        "Ended": _choice(launch, [(completed, "Completed"), (explained, "Explained")], "Unexplained"),
        "Completed": {"Type": "Succeed"},
        "Refused": _record(launch, {**_NO_JOB, "cause.$": "States.Format('{}: {}', $.Error, $.Cause)"}),
        "Explained": _record(launch, {**_OF_JOB, "cause.$": "$.FailureReason"}),
        "Unexplained": _record(launch, {**_OF_JOB, "cause": ""}),
        "Judge": _choice(launch, _judgement(), RunEnd.UNKNOWN),
    }
    ends = [*(end for end, _ in _WORDS), RunEnd.MAX_RUNTIME_EXCEEDED, RunEnd.STOPPED, RunEnd.TIMED_OUT, RunEnd.UNKNOWN]
    states |= {end: {"Type": "Fail", "Error": str(end), "CausePath": "States.JsonToString($)"} for end in ends}
    return {"StartAt": name("Launch"), "States": {name(state): body for state, body in states.items()}}


_OF_JOB = {
    "job_name.$": "$.TrainingJobName",
    "status.$": "$.TrainingJobStatus",
    "secondary.$": "$.SecondaryStatus",
}
_NO_JOB = {"status": "NotCreated", "secondary": ""}


def _record(launch: Launch, record: dict[str, str]) -> dict[str, Any]:
    return {"Type": "Pass", "Parameters": record, "Next": launch.name("Judge")}


def _name_per_try(launch: Launch) -> str:
    identity = ["$$.Execution.Id", _REDRIVE, "$$.State.RetryCount"]
    if launch.step:
        identity += ["$$.State.Name", _ENTERED]
    if launch.item:
        identity.append(launch.item)
    slots = "/".join(["{}"] * len(identity))
    return f"States.Format('{launch.prefix}-{{}}', States.Hash(States.Format('{slots}', {', '.join(identity)}), 'MD5'))"


def _choice(launch: Launch, rules: Sequence[tuple[dict[str, Any], str]], default: str) -> dict[str, Any]:
    choices = [rule | {"Next": launch.name(to)} for rule, to in rules]
    return {"Type": "Choice", "Choices": choices, "Default": launch.name(default)}


def _judgement() -> list[tuple[dict[str, Any], str]]:
    return [
        (_any_of("$.secondary", "StringEquals", _OVERTIME), RunEnd.MAX_RUNTIME_EXCEEDED),
        ({"Variable": "$.status", "StringEquals": "Stopped"}, RunEnd.STOPPED),
        *((_any_of("$.cause", "StringMatches", globs), end) for end, globs in _WORDS),
    ]


def _any_of(variable: str, comparison: str, values: Sequence[str]) -> dict[str, Any]:
    tests = [{"Variable": variable, comparison: value} for value in values]
    return {"Or": tests} if len(tests) > 1 else tests[0]


def parallel_step(branch: Mapping[str, Any]) -> dict[str, Any]:
    """Return one state around a whole definition: its result is the run's, its errors can be caught by name."""
    return {"Type": "Parallel", "Branches": [dict(branch)], "OutputPath": "$[0]"}
