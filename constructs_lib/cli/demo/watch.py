"""Following one execution and its job to the end, as anyone with an AWS SDK could."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from constructs_lib.cli.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from constructs_lib.cli.demo.scenarios import Scenario
    from constructs_lib.sandbox import Sandbox

__all__ = ["Run", "follow"]

_POLL_SECONDS = 0.2
# Real seconds: a scenario that has not ended by then has failed, whatever the virtual clock says.
_GIVE_UP_SECONDS = 120


@dataclass
class Run:
    """What happened to one run of a state machine.

    Parameters
    ----------
    execution, machine : str
        ARNs.
    request : dict
        The CreateTrainingJob request, with the job's name.
    evaluations : list of dict
        Every look of the sandbox at the list: virtual time, type, needed, free, outcome.
    selected_type, selected_count, rank
        The winner; ``None`` without one.
    pending_seconds : float or None
        Virtual seconds from creation until a type was selected, or until the end of a job that never got one.
    job_status : str
        The training job's status.
    terminal_state : str
        ``Completed``, the Error of the machine's Fail state, or the execution's own status (``ABORTED``).
    transitions : list of dict
        The job's secondary statuses with their start, in virtual epoch seconds.
    """

    execution: str
    machine: str
    request: dict[str, Any] = field(default_factory=dict)
    evaluations: list[dict[str, Any]] = field(default_factory=list)
    selected_type: str | None = None
    selected_count: int | None = None
    rank: int | None = None
    pending_seconds: float | None = None
    job_status: str = "NotCreated"
    terminal_state: str = "RUNNING"
    transitions: list[dict[str, Any]] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Return the run as plain JSON data."""
        return dict(vars(self))


def follow(sandbox: Sandbox, outputs: dict[str, Any], scenario: Scenario, update: Callable[[Run], None]) -> Run:
    """Start the scenario's machine, act as the scenario says, and return the run once it and its job have ended.

    Raises
    ------
    UsageError
        If the app has no such machine, or nothing ends within two minutes.
    """
    if scenario.machine not in outputs:
        raise UsageError(
            f"the app's stacks have no output {scenario.machine!r}; they have: {', '.join(outputs) or 'none'}"
        )
    if scenario.action == "lose-job-events":
        sandbox.faults.switch("events.sagemaker", "lost")
    machine = outputs[scenario.machine]
    states = sandbox.client("stepfunctions")
    run = Run(execution=states.start_execution(stateMachineArn=machine)["executionArn"], machine=machine)
    frees = scenario.frees
    deadline = time.monotonic() + _GIVE_UP_SECONDS
    while time.monotonic() < deadline:
        _read(sandbox, run)
        update(run)
        if frees and run.evaluations:
            free = partial(sandbox.sagemaker.set_free, frees["instance_type"], frees["count"])
            sandbox.clock.call_at(run.evaluations[0]["time"] + frees["after_minutes"] * 60, free)
            frees = None
        if scenario.action == "stop-while-pending" and run.evaluations and run.terminal_state == "RUNNING":
            states.stop_execution(executionArn=run.execution, cause="the demo stops it while the job is pending")
        if run.terminal_state != "RUNNING" and run.job_status not in ("InProgress", "Stopping"):
            return run
        time.sleep(_POLL_SECONDS)
    raise UsageError(
        f"nothing ended within {_GIVE_UP_SECONDS} s: the execution is {run.terminal_state}, the job {run.job_status}"
    )


def _read(sandbox: Sandbox, run: Run) -> None:
    described = sandbox.client("stepfunctions").describe_execution(executionArn=run.execution)
    status = described["status"]
    run.terminal_state = {"SUCCEEDED": "Completed", "FAILED": described.get("error", "Failed")}.get(status, status)
    if created := _create_request(sandbox, run.execution):
        run.request = created
        _read_job(sandbox, run)


def _create_request(sandbox: Sandbox, execution: str) -> dict[str, Any] | None:
    """Return the CreateTrainingJob request of this execution: the first of its machine in a fresh sandbox."""
    machine = execution.split(":")[-2]
    for _, operation, request in sandbox.sagemaker.requests:
        if operation == "CreateTrainingJob" and request["TrainingJobName"].startswith(machine):
            return dict(request)
    return None


def _read_job(sandbox: Sandbox, run: Run) -> None:
    name = run.request["TrainingJobName"]
    run.evaluations = [{"type": e.pop("instance_type"), **e} for e in sandbox.sagemaker.evaluations(name)]
    job = sandbox.client("sagemaker").describe_training_job(TrainingJobName=name)
    resources = job["ResourceConfig"]
    run.job_status = job["TrainingJobStatus"]
    run.selected_type = resources.get("SelectedInstanceType")
    run.selected_count = resources.get("SelectedInstanceCount")
    types = [entry["InstanceType"] for entry in resources["InstancePreferences"]]
    run.rank = types.index(run.selected_type) + 1 if run.selected_type else None
    selected = next((e["time"] for e in run.evaluations if e["outcome"] == "selected"), None)
    ended = job["TrainingEndTime"].timestamp() if "TrainingEndTime" in job else None
    until = selected or ended
    run.pending_seconds = max(0.0, until - job["CreationTime"].timestamp()) if until else None
    run.transitions = [
        {"status": t["Status"], "start": t["StartTime"].timestamp()} for t in job.get("SecondaryStatusTransitions", [])
    ]
