"""The state machines of jobs as plain Amazon States Language: dicts in, dicts out, no CDK."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from constructs_lib.model import RunEnd

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["STOP_SECONDS", "Launch", "launcher_states", "optimized_states", "parallel_step"]

STOP_SECONDS = 86_400
"""How long a stopped job may take to reach its end, before the stop is tried again."""

_REDRIVE = "$$.Execution.RedriveCount"
_ENTERED = "$$.State.EnteredTime"


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

    Every end of a job arrives as a success of ``Launch`` with the run's record; a failure of ``Launch`` means that
    the launcher itself failed, and is retried under the same job name. A timeout enters ``Launch`` again to stop the
    job and to wait for its end.
    """
    name = launch.name
    catch = [
        {"ErrorEquals": ["States.Timeout"], "ResultPath": "$.cause", "Next": name("Stop")},
        {"ErrorEquals": ["States.ALL"], "ResultPath": "$.cause", "Next": name("Failed")},
    ]
    task = {
        "Type": "Task",
        "Resource": f"arn:{launch.partition}:states:::lambda:invoke.waitForTaskToken",
        "Parameters": {"FunctionName": launch.launcher, "Payload": _payload(launch)},
        "TimeoutSecondsPath": "$.seconds",
        "Retry": [{"ErrorEquals": ["States.TaskFailed"], "IntervalSeconds": 2, "MaxAttempts": 6}],
        "Catch": catch,
        "Next": name("Ended"),
    }
    ended = {"Variable": "$.end", "StringEquals": str(RunEnd.COMPLETED), "Next": name("Completed")}
    states = {
        "Start": _action(launch, "launch", launch.seconds),
        "Launch": task,
        "Stop": _action(launch, "stop", STOP_SECONDS),
        "Ended": {"Type": "Choice", "Choices": [ended], "Default": name("Failed")},
        "Completed": {"Type": "Succeed"},
        "Failed": {"Type": "Fail", "ErrorPath": "$.end", "CausePath": "States.JsonToString($)"},
    }
    return {"StartAt": name("Start"), "States": {name(state): body for state, body in states.items()}}


def _action(launch: Launch, action: str, seconds: float) -> dict[str, Any]:
    """Return the Pass that says what Launch does next; ``end`` is what the run is called if the launcher fails."""
    data: dict[str, Any] = {"action": action, "end": str(RunEnd.LAUNCHER_FAILED), "seconds": seconds}
    if launch.step:
        # Read once and kept: the time must be the same when Launch is retried, and when it is entered to stop.
        starting = action == "launch"
        data["entered.$"] = _ENTERED if starting else "$.entered"
        if launch.item:
            data["item.$"] = launch.item if starting else "$.item"
    return {"Type": "Pass", "Parameters": data, "Next": launch.name("Launch")}


def _payload(launch: Launch) -> dict[str, Any]:
    entry = {"redrive.$": _REDRIVE}
    if launch.step:
        entry["entered.$"] = "$.entered"
        if launch.item:
            entry["item.$"] = "$.item"
    payload: dict[str, Any] = {
        "action.$": "$.action",
        "reason": str(RunEnd.TIMED_OUT),
        "job": launch.prefix,
        "kind": launch.kind,
        "step": 1,
        "token.$": "$$.Task.Token",
        "execution.$": "$$.Execution.Id",
        "state.$": "$$.State.Name",
        "try.$": "$$.State.RetryCount",
        "entry": entry,
    }
    if any(launch.reasons):
        payload["reasons"] = list(launch.reasons)
    return payload | {"request": dict(launch.request)}


_REFUSED = (
    (RunEnd.QUOTA_EXCEEDED, ("*ResourceLimitExceeded*",)),
    (RunEnd.THROTTLED, ("*Throttl*", "*Rate exceeded*")),
    (RunEnd.PERMISSION_DENIED, ("*AccessDenied*", "*not authorized*")),
    (RunEnd.INSUFFICIENT_CAPACITY, ("*CapacityError*", "*InsufficientCapacity*", "*not enough capacity*")),
    (RunEnd.INVALID_REQUEST, ("*ValidationException*", "*validation error*", "*not available in this region*")),
    (RunEnd.SERVICE_ERROR, ("*InternalServerError*", "*InternalFailure*", "*ServiceUnavailable*")),
)
"""How ASL, which folds no case and has no alternatives, tells refused calls and failed jobs apart."""

_OVERTIME = ("MaxRuntimeExceeded", "MaxWaitTimeExceeded")


def optimized_states(launch: Launch) -> dict[str, Any]:
    """Return the states of a launch through ``createTrainingJob.sync``, without a function.

    Whether Step Functions counts a job that was stopped as a success is not documented; either way leads to the same
    named end.
    """
    name = launch.name
    catch = [
        {"ErrorEquals": ["States.Timeout"], "Next": name(RunEnd.TIMED_OUT)},
        {"ErrorEquals": ["States.ALL"], "Next": name("Caught")},
    ]
    states: dict[str, Any] = {
        "Launch": {
            "Type": "Task",
            "Resource": f"arn:{launch.partition}:states:::sagemaker:createTrainingJob.sync",
            "Parameters": {"TrainingJobName.$": _name_per_try(launch), **launch.request},
            "TimeoutSeconds": launch.seconds,
            "Retry": [{"ErrorEquals": ["SageMaker.ThrottlingException"], "IntervalSeconds": 2, "MaxAttempts": 6}],
            "Catch": catch,
            "ResultSelector": {"job.$": "$"},
            "Next": name("Ended"),
        },
        # The cause of a job that failed is its description as text; the cause of a refused call is a sentence.
        "Caught": _choice(
            launch, "Refused", [({"Variable": "$.Cause", "StringMatches": '{*"TrainingJobStatus"*}'}, "Read")]
        ),
        "Read": {"Type": "Pass", "Parameters": {"job.$": "States.StringToJson($.Cause)"}, "Next": name("Ended")},
        "Ended": _choice(launch, RunEnd.UNKNOWN, _ended_rules()),
        "Refused": _choice(launch, RunEnd.UNKNOWN, _refused_rules()),
        "Completed": {"Type": "Succeed", "OutputPath": "$.job"},
    }
    ends = (
        *(end for end, _ in _REFUSED),
        RunEnd.ALGORITHM_ERROR,
        RunEnd.MAX_RUNTIME_EXCEEDED,
        RunEnd.STOPPED,
        RunEnd.TIMED_OUT,
        RunEnd.UNKNOWN,
    )
    states |= {end: {"Type": "Fail", "Error": str(end), "CausePath": "States.JsonToString($)"} for end in ends}
    return {"StartAt": name("Launch"), "States": {name(state): body for state, body in states.items()}}


def _name_per_try(launch: Launch) -> str:
    identity = ["$$.Execution.Id", _REDRIVE, "$$.State.RetryCount"]
    if launch.step:
        identity += ["$$.State.Name", _ENTERED]
    if launch.item:
        identity.append(launch.item)
    slots = "/".join(["{}"] * len(identity))
    return f"States.Format('{launch.prefix}-{{}}', States.Hash(States.Format('{slots}', {', '.join(identity)}), 'MD5'))"


def _choice(launch: Launch, default: str, rules: Sequence[tuple[dict[str, Any], str]]) -> dict[str, Any]:
    choices = [rule | {"Next": launch.name(to)} for rule, to in rules]
    return {"Type": "Choice", "Choices": choices, "Default": launch.name(default)}


def _ended_rules() -> list[tuple[dict[str, Any], str]]:
    status, second, reason = "$.job.TrainingJobStatus", "$.job.SecondaryStatus", "$.job.FailureReason"
    late = [{"Variable": second, "StringEquals": overtime} for overtime in _OVERTIME]
    given = {"Variable": reason, "IsPresent": True}
    return [
        ({"Variable": status, "StringEquals": "Completed"}, "Completed"),
        ({"And": [{"Variable": second, "IsPresent": True}, {"Or": late}]}, RunEnd.MAX_RUNTIME_EXCEEDED),
        ({"Variable": status, "StringEquals": "Stopped"}, RunEnd.STOPPED),
        ({"And": [given, {"Variable": reason, "StringMatches": "AlgorithmError*"}]}, RunEnd.ALGORITHM_ERROR),
        *(({"And": [given, _any_of([reason], globs)]}, end) for end, globs in _REFUSED),
    ]


def _refused_rules() -> list[tuple[dict[str, Any], str]]:
    return [(_any_of(["$.Error", "$.Cause"], globs), end) for end, globs in _REFUSED]


def _any_of(variables: Sequence[str], globs: Sequence[str]) -> dict[str, Any]:
    tests = [{"Variable": variable, "StringMatches": glob} for variable in variables for glob in globs]
    return {"Or": tests} if len(tests) > 1 else tests[0]


def parallel_step(branch: Mapping[str, Any]) -> dict[str, Any]:
    """Return one state around a whole definition: its result is the run's, its errors can be caught by name."""
    return {"Type": "Parallel", "Branches": [dict(branch)], "OutputPath": "$[0]"}
