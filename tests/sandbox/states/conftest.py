"""Fixtures that define, start and follow state machines."""

from __future__ import annotations

import dataclasses
import json
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from constructs_lib.sandbox import Sandbox, states

ENDED = ("SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED")


@pytest.fixture
def sfn(sandbox: Sandbox) -> Any:
    return sandbox.client("stepfunctions")


@pytest.fixture
def machine(sfn: Any, role_arn: str) -> Callable[..., str]:
    """Make a state machine of some states, the first of which it starts at; return its ARN."""

    def make(states: dict[str, Any], *, name: str = "", **top: Any) -> str:
        definition = {"StartAt": next(iter(states)), "States": states, **top}
        name = name or f"machine-{uuid.uuid4().hex[:8]}"
        made = sfn.create_state_machine(name=name, definition=json.dumps(definition), roleArn=role_arn)
        return str(made["stateMachineArn"])

    return make


@pytest.fixture
def start(sfn: Any, machine: Callable[..., str]) -> Callable[..., str]:
    """Start an execution of some states, or of a machine given by its ARN; return the execution's ARN."""

    def begin(states: dict[str, Any] | str, given: Any = None, **top: Any) -> str:
        arn = states if isinstance(states, str) else machine(states, **top)
        text = json.dumps({} if given is None else given)
        return str(sfn.start_execution(stateMachineArn=arn, input=text)["executionArn"])

    return begin


@pytest.fixture
def end(sfn: Any, eventually: Callable[..., Any]) -> Callable[..., dict[str, Any]]:
    """Wait until an execution has ended and return its description, with the output decoded."""

    def wait(arn: str, seconds: float = 20.0) -> dict[str, Any]:
        def look() -> Any:
            found = sfn.describe_execution(executionArn=arn)
            return found if found["status"] in ENDED else None

        found = eventually(look, seconds)
        if "output" in found:
            found["output"] = json.loads(found["output"])
        return found

    return wait


@pytest.fixture
def run(start: Callable[..., str], end: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """Run some states to their end and return the description."""
    return lambda states, given=None, seconds=20.0, **top: end(start(states, given, **top), seconds)


@pytest.fixture
def events_of(sfn: Any) -> Callable[[str], list[dict[str, Any]]]:
    """Return an execution's history."""

    def read(arn: str) -> list[dict[str, Any]]:
        pages = sfn.get_paginator("get_execution_history").paginate(executionArn=arn)
        return [event for page in pages for event in page["events"]]

    return read


@pytest.fixture
def reaches(events_of: Callable[..., Any], eventually: Callable[..., Any]) -> Callable[..., None]:
    """Wait until an execution's history has a number of events of a kind."""

    def wait(arn: str, kind: str, times: int = 1) -> None:
        eventually(lambda: [e["type"] for e in events_of(arn)].count(kind) >= times)

    return wait


@pytest.fixture
def told(sandbox: Sandbox) -> Iterator[list[tuple[Any, ...]]]:
    """What the engine puts on the event bus, instead of putting it there."""
    events: list[tuple[Any, ...]] = []
    states.install(dataclasses.replace(sandbox.context, emit=lambda *event: events.append(event)))
    yield events
    states.install(sandbox.context)


@pytest.fixture
def slow(sandbox: Sandbox) -> Iterator[Any]:
    """The clock at the wall's speed, so that only `jump` makes time pass."""
    with sandbox.clock.held():
        yield sandbox.clock
