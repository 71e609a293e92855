"""The state machine of a launch through the launcher as plain Amazon States Language: dicts in, dicts out, no CDK."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from constructs_lib.model import RunEnd
from constructs_lib.model.job_kinds import JOB_KINDS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["ENTERED", "REDRIVE", "Launch", "Then", "choice", "launcher_states", "parallel_step", "plans_of"]

REDRIVE = "$$.Execution.RedriveCount"
ENTERED = "$$.State.EnteredTime"
_LIMIT_ENDS = (RunEnd.START_BY_PASSED, RunEnd.FINISH_BY_PASSED, RunEnd.COST_LIMIT_REACHED)
# The launcher's own failure is the one end that is tried again.
_NO_ENDS = (RunEnd.COMPLETED, RunEnd.LAUNCHER_FAILED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Then:
    """A step after the first: its request, its backstop in seconds, and what `Launch` says of the first too."""

    request: Mapping[str, Any]
    seconds: float
    reasons: Sequence[str | None] = ()
    max_pending: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """What the definitions of both integrations are made of.

    Parameters
    ----------
    kind : str
        ``training``, ``processing`` or ``tuning``.
    request : Mapping
        The Create request without the job's name, of the first step.
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
    max_pending : float, optional
        Seconds that the job may wait for capacity, where only the launcher can bound them.
    then : sequence of Then
        The steps after the first.
    limits : Mapping
        What `constructs_lib.model.limits.Limits` writes.
    relative : bool
        Whether a limit counts from the begin of the run.
    overrides : sequence of str
        What an execution's input may override.
    step : str
        The name of a step inside a user's own machine; empty in a machine of ours. It starts every state's name, for
        these are unique in a machine.
    item : str
        A JSONPath that tells the items of a Map apart; only for a step.
    overrides_path : str
        A JSONPath to overrides in the state's input; only for a step.
    """

    kind: str
    request: Mapping[str, Any]
    prefix: str
    seconds: float
    partition: str
    launcher: str = ""
    reasons: Sequence[str | None] = field(default=())
    max_pending: float | None = None
    then: Sequence[Then] = ()
    limits: Mapping[str, Any] = field(default_factory=dict)
    relative: bool = False
    overrides: Sequence[str] = ()
    step: str = ""
    item: str = ""
    overrides_path: str = ""

    def name(self, state: str) -> str:
        """Return a state's name in the machine that it goes into."""
        return f"{self.step} {state}" if self.step else state


def launcher_states(launch: Launch) -> dict[str, Any]:
    """Return the states of a launch through the launcher function.

    The end of a job is the end of ``Launch``: success with the run's record, or a failure whose error is the named end
    and whose cause is the record. A named end is never retried and never caught, so that a redrive starts with
    ``Launch`` again; every other failure means that the launcher itself failed, and is retried under the same job
    name. A timeout enters ``Launch`` again, to stop the job and to wait for its end.

    With more than one step the launcher may answer with the number of the next one: ``Launch`` is then entered again.
    """
    name = launch.name
    retry = [
        {"ErrorEquals": _named_ends(launch), "MaxAttempts": 0},
        {"ErrorEquals": ["States.TaskFailed"], "MaxAttempts": 8},
    ]
    task: dict[str, Any] = {
        "Type": "Task",
        "Resource": f"arn:{launch.partition}:states:::lambda:invoke.waitForTaskToken",
        "Parameters": {"FunctionName": launch.launcher, "Payload": _payload(launch)},
        "TimeoutSecondsPath": "$.seconds",
        "Retry": retry,
        "Catch": [{"ErrorEquals": ["States.Timeout"], "ResultPath": "$.cause", "Next": name("Stop")}],
    }
    follows: dict[str, Any] = {"ResultPath": "$.run", "Next": name("Ended")} if launch.then else {"End": True}
    task |= follows
    states = {
        "Start": _start(launch),
        "Launch": task,
        "Stop": {"Type": "Pass", "Parameters": _again(launch, "stop", "$"), "Next": name("Launch")},
        **(_steps(launch) if launch.then else {}),
    }
    return {"StartAt": name("Start"), "States": {name(state): body for state, body in states.items()}}


def _named_ends(launch: Launch) -> list[str]:
    """Return the ends that this launch can have; every definition holds them, so those it cannot have are left out."""
    never = set(_NO_ENDS)
    if not (launch.limits or launch.overrides):
        never |= set(_LIMIT_ENDS)
    requests = [launch.request, *(one.request for one in launch.then)]
    if all(requests) and not any(plans_of(launch.kind, request) for request in requests):
        never.add(RunEnd.PLAN_NOT_USABLE)
    return [str(end) for end in RunEnd if end not in never]


def plans_of(kind: str, request: Mapping[str, Any]) -> list[str]:
    """Return the training plans that a request names, for entries or for the whole job."""
    return [plan for entry in JOB_KINDS[kind].entries(request) for plan in (entry.plan, entry.job_plan) if plan]


def _start(launch: Launch) -> dict[str, Any]:
    """Return the Pass that says what Launch does, and in which redrive: a stop of an earlier one launches anew."""
    data: dict[str, Any] = {"action": "launch", "since.$": REDRIVE, "seconds": launch.seconds}
    if launch.then:
        data |= {"step": 1, "earlier": []}
    if launch.relative:
        data["began.$"] = ENTERED
    if launch.step:
        # Read once and kept: the time must be the same when Launch is retried, and when it is entered to stop.
        data["entered.$"] = ENTERED
    if launch.item:
        data["item.$"] = launch.item
    if launch.overrides_path:
        data["input"] = {"overrides.$": launch.overrides_path}
    return {"Type": "Pass", "Parameters": data, "Next": launch.name("Launch")}


def _steps(launch: Launch) -> dict[str, Any]:
    """Return the states that go from one step to the next, or to the end with the run's record."""
    goes_on = {"Variable": "$.run.next", "IsPresent": True}
    data = _again(launch, "launch", "$.run") | {"step.$": "$.run.next"}
    return {
        "Ended": choice(launch, [(goes_on, "NextStep")], "Done"),
        # Not "Next": asl-validator takes a state of that name for a transition.
        "NextStep": {"Type": "Pass", "Parameters": data, "Next": launch.name("Launch")},
        "Done": {"Type": "Pass", "OutputPath": "$.run", "End": True},
    }


def _again(launch: Launch, action: str, told: str) -> dict[str, Any]:
    """Return the data with which Launch is entered once more, as the redrive that it is; ``told`` has the step."""
    steps = {"step.$": f"{told}.step", "earlier.$": f"{told}.earlier"} if launch.then else {}
    return {"action": action, "since.$": REDRIVE, "seconds.$": f"{told}.seconds", **steps, **_kept(launch)}


def _kept(launch: Launch) -> dict[str, str]:
    """Return what stays the same from state to state, each where there is such a thing."""
    kept = {
        "began": launch.relative,
        "entered": launch.step,
        "item": launch.item,
        "input": launch.overrides_path,
    }
    return {f"{key}.$": f"$.{key}" for key, there in kept.items() if there}


def _payload(launch: Launch) -> dict[str, Any]:
    kept = _kept(launch)
    entry = {"redrive.$": REDRIVE} | {key: kept.pop(key) for key in ("entered.$", "item.$") if key in kept}
    if not launch.step:
        kept["input.$"] = "$$.Execution.Input"
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
        **kept,
    }
    if launch.overrides:
        payload["overrides"] = list(launch.overrides)
    if launch.limits:
        payload["limits"] = dict(launch.limits)
    if launch.then:
        # A redrive begins with the first step again, under the first step's backstop.
        payload |= {"step.$": "$.step", "earlier.$": "$.earlier", "seconds": launch.seconds}
    payload |= _asked(launch)
    if launch.then:
        payload["then"] = [{"seconds": one.seconds, **_asked(one)} for one in launch.then]
    return payload


def _asked(step: Launch | Then) -> dict[str, Any]:
    """Return what the launcher is told of one step."""
    told: dict[str, Any] = {}
    if any(step.reasons):
        told["reasons"] = list(step.reasons)
    if step.max_pending is not None:
        told["max_pending"] = step.max_pending
    return told | {"request": dict(step.request)}


def choice(launch: Launch, rules: Sequence[tuple[dict[str, Any], str]], default: str) -> dict[str, Any]:
    """Return a Choice between states, in order."""
    choices = [rule | {"Next": launch.name(to)} for rule, to in rules]
    return {"Type": "Choice", "Choices": choices, "Default": launch.name(default)}


def parallel_step(branch: Mapping[str, Any]) -> dict[str, Any]:
    """Return one state around a whole definition: its result is the run's, its errors can be caught by name."""
    return {"Type": "Parallel", "Branches": [dict(branch)], "OutputPath": "$[0]"}
