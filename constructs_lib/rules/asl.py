"""Reading state machines: what a task calls, with which request, and which of it only an execution knows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from constructs_lib.model import is_unresolved
from constructs_lib.model.job_kinds import JOB_KINDS
from constructs_lib.rules.subjects import Subject, run_time_value
from constructs_lib.rules.values import items, mapping, text

__all__ = [
    "JOB_NAMES",
    "Integration",
    "Task",
    "arguments",
    "integration",
    "later_requests",
    "launched_kind",
    "retriers",
    "states",
    "task_of",
]

JOB_NAMES = {
    "createTrainingJob": "TrainingJobName",
    "createProcessingJob": "ProcessingJobName",
    "createHyperParameterTuningJob": "HyperParameterTuningJobName",
    "createTransformJob": "TransformJobName",
    "createLabelingJob": "LabelingJobName",
}
_RESOURCE = re.compile(
    r"arn:[^:]*:states:[^:]*:[^:]*:(?P<sdk>aws-sdk:)?(?P<service>[A-Za-z0-9-]+):(?P<action>[A-Za-z0-9]+)"
    r"(?:\.(?P<pattern>[A-Za-z0-9:]+))?"
)
_JSONATA = re.compile(r"^\s*\{%.*%\}\s*$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Integration:
    """What a task's Resource names; ``pattern`` is empty, ``sync`` or ``waitForTaskToken``."""

    service: str
    action: str
    sdk: bool
    pattern: str


@dataclass(frozen=True, slots=True)
class Task:
    """A task that calls SageMaker, itself or through our launcher; ``at`` is the request's path in the state.

    ``then`` are the requests that the launcher may send after the first, each of a step of its own.
    """

    action: str
    request: Any
    at: str
    integration: Integration
    launcher: bool = False
    then: tuple[Any, ...] = ()

    @property
    def creates_job(self) -> bool:
        """Whether it starts a job that has a name of its own."""
        return self.action in JOB_NAMES and not self.launcher

    @property
    def requests(self) -> list[tuple[str, Any]]:
        """Every request that the task may send, with its path in the state."""
        payload = self.at.removesuffix("request")
        return [(self.at, self.request), *((f"{payload}then[{i}].request", one) for i, one in enumerate(self.then))]

    @property
    def name(self) -> Any:
        """The job name as the task gives it, or ``None``."""
        return mapping(self.request).get(JOB_NAMES.get(self.action, ""))

    @property
    def name_at(self) -> str:
        """The path of the job name in the state."""
        return f"{self.at}.{JOB_NAMES.get(self.action, '')}"


def integration(resource: Any) -> Integration | None:
    """Return what a Resource names, or ``None`` for a function, an activity or an unknown value.

    Examples
    --------
    >>> integration("arn:aws:states:::sagemaker:createTrainingJob.sync").pattern
    'sync'
    """
    match = _RESOURCE.fullmatch(text(resource) or "")
    return match and Integration(match["service"], match["action"], bool(match["sdk"]), match["pattern"] or "")


def arguments(value: Any) -> Any:
    """Return a task's Parameters or Arguments as the API would see them, what only an execution knows marked so.

    Examples
    --------
    >>> arguments({"TrainingJobName.$": "$.name", "RoleArn": "{% $role %}", "Tags": []})
    {'TrainingJobName': {'Fn::RunTime': '$.name'}, 'RoleArn': {'Fn::RunTime': '{% $role %}'}, 'Tags': []}
    """
    if isinstance(value, list):
        return [arguments(item) for item in value]
    if isinstance(value, dict):
        return {
            key.removesuffix(".$"): (run_time_value(str(item)) if key.endswith(".$") else arguments(item))
            for key, item in value.items()
        }
    return run_time_value(value) if isinstance(value, str) and _JSONATA.match(value) else value


def task_of(subject: Subject) -> Task | None:
    """Return the SageMaker call of a state, or ``None`` for another state."""
    return subject.view(_task)


def _task(subject: Subject) -> Task | None:
    state = subject.data
    called = integration(state.get("Resource")) if state.get("Type") == "Task" else None
    if called is None:
        return None
    at = "Arguments" if "Arguments" in state else "Parameters"
    request = arguments(state.get(at))
    if called.service == "sagemaker":
        return Task(called.action, request, at, called)
    payload = mapping(mapping(request).get("Payload"))
    if called.service == "lambda" and (kind := launched_kind(payload)):
        noun = JOB_KINDS[kind].noun if kind in JOB_KINDS else f"{kind.capitalize()}Job"
        then = tuple(later_requests(payload))
        return Task(f"create{noun}", payload.get("request"), f"{at}.Payload.request", called, launcher=True, then=then)
    return None


def later_requests(payload: Any) -> list[Any]:
    """Return the requests of the steps after the first in a payload for our launcher.

    Examples
    --------
    >>> later_requests({"request": {}, "then": [{"seconds": 60, "request": {"RoleArn": "r"}}]})
    [{'RoleArn': 'r'}]
    """
    return [mapping(step).get("request") for step in items(mapping(payload).get("then"))]


def launched_kind(payload: Any) -> str | None:
    """Return the kind of job that a payload asks our launcher for, or ``None`` for another function's payload.

    Examples
    --------
    >>> launched_kind({"action": run_time_value("$.action"), "kind": "training", "request": {"RoleArn": "r"}})
    'training'
    """
    given = mapping(payload)
    action, kind = given.get("action"), given.get("kind")
    # Our machines read the action from their input: the same state launches and stops.
    is_ours = (action == "launch" or is_unresolved(action)) and mapping(given.get("request"))
    return kind if is_ours and isinstance(kind, str) else None


def states(definition: Any) -> Iterator[tuple[str, Any]]:
    """Yield every state of a definition by name, those of Map and Parallel states too."""
    for name, raw in mapping(mapping(definition).get("States")).items():
        state = mapping(raw)
        yield str(name), state
        for key in ("ItemProcessor", "Iterator"):
            yield from states(state.get(key))
        for branch in items(state.get("Branches")):
            yield from states(branch)


def retriers(state: Any) -> Iterator[tuple[int, str]]:
    """Yield the index and each error name of the retriers of a state that retry at all."""
    for i, raw in enumerate(items(mapping(state).get("Retry"))):
        retrier = mapping(raw)
        if retrier.get("MaxAttempts") != 0:
            for name in items(retrier.get("ErrorEquals")):
                if isinstance(name, str) and not is_unresolved(name):
                    yield i, name
