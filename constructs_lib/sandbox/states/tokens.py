"""Task tokens: handed out with a try of a task, answered once, dead when the try is over."""

from __future__ import annotations

import base64
import json
import os
import threading
from dataclasses import dataclass, field
from typing import Any

from moto.stepfunctions.exceptions import AWSError
from moto.stepfunctions.parser.asl.component.common.timeouts.timeout import EvalTimeoutError
from moto.stepfunctions.parser.asl.eval.callback.callback import (
    CallbackOutcomeFailure,
    CallbackOutcomeFailureError,
    HeartbeatTimeoutError,
)

from . import engine, waiting
from .patching import ENGINE, needs

__all__ = ["Token", "Tokens", "await_answer"]

needs("moto.stepfunctions.exceptions:AWSError.__init__", "self message exception_type status")
needs(
    ENGINE + "asl.eval.callback.callback:CallbackOutcomeFailure.__init__",
    "self callback_id error cause",
)
needs(
    ENGINE + "asl.eval.callback.callback:CallbackOutcomeFailureError.__init__",
    "self callback_outcome_failure",
)

_BYTES = 480  # a real token is a text of several hundred characters: it fits no tag


@dataclass
class Token:
    """One task token and what became of it."""

    env: Any
    text: str
    beat: float
    wake: threading.Event = field(default_factory=threading.Event)
    answer: tuple[str, Any] | None = None


class Tokens:
    """The task tokens of a sandbox, open and closed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[str, Token] = {}
        self._closed: set[str] = set()

    def issue(self, env: Any) -> Token:
        """Make a token for a task that runs in `env`."""
        text = base64.b64encode(os.urandom(_BYTES)).decode()
        token = Token(env=env, text=text, beat=engine.current().context.clock.now())
        with self._lock:
            self._open[text] = token
        return token

    def get(self, text: str) -> Token:
        """Return an open token that a task is about to wait for."""
        return self._open[text]

    def open_texts(self) -> list[str]:
        """Return the tokens that can be answered now, the oldest first."""
        with self._lock:
            return list(self._open)

    def close(self, text: str) -> tuple[str, Any] | None:
        """Make a token dead and return the answer, if one came in time."""
        with self._lock:
            token = self._open.pop(text, None)
            self._closed.add(text)
        return token.answer if token is not None else None

    def succeed(self, text: str, output: str) -> None:
        """Answer with the task's output, a JSON text."""
        try:
            value = json.loads(output)
        except (TypeError, ValueError) as error:
            raise AWSError(f"Invalid Output: '{error}'", "InvalidOutput") from error
        self._answer(text, ("succeeded", value))

    def fail(self, text: str, error: str | None, cause: str | None) -> None:
        """Answer with an error."""
        self._answer(text, ("failed", CallbackOutcomeFailure(callback_id=text, error=error, cause=cause)))

    def heartbeat(self, text: str) -> None:
        """Say that the task still makes progress."""
        with self._lock:
            token = self._alive(text)
            token.beat = engine.current().context.clock.now()
            token.wake.set()

    def _answer(self, text: str, answer: tuple[str, Any]) -> None:
        with self._lock:
            token = self._alive(text)
            token.answer = answer
            token.wake.set()

    def _alive(self, text: str) -> Token:
        token = self._open.get(text)
        if token is not None and token.answer is None and token.env.is_running():
            return token
        if token is None and text not in self._closed:
            raise AWSError("Invalid Token: 'Invalid token'", "InvalidToken")
        code = engine.reading("states.dead-token")
        words = {"TaskTimedOut": "Task Timed Out", "TaskDoesNotExist": "Task Does Not Exist"}[code]
        raise AWSError(f"{words}: 'Provided task does not exist anymore'", code)


def await_answer(task: Any, env: Any, text: str) -> Any:
    """Wait for a token's answer within the task's time limit and heartbeat; return the output."""
    tokens = engine.current().tokens
    token = tokens.get(text)
    interval = _heartbeat_seconds(task, env)
    late: type[Exception] | None = None
    while token.answer is None and late is None:
        token.wake.clear()
        until, error = _limit(env, token, interval)
        reached = token.answer is None and waiting.wait(env, until, token.wake)
        if reached and _limit(env, token, interval)[0] == until:  # no heartbeat came meanwhile
            late = error
    answer = tokens.close(text)
    if answer is None:
        raise late() if late is not None else waiting.Interrupted
    outcome, value = answer
    if outcome == "failed":
        raise CallbackOutcomeFailureError(callback_outcome_failure=value)
    return value


def _limit(env: Any, token: Token, interval: float | None) -> tuple[float | None, type[Exception]]:
    limits = [(env.deadline, EvalTimeoutError)] if env.deadline is not None else []
    if interval is not None:
        limits.append((token.beat + interval, HeartbeatTimeoutError))
    return min(limits, key=lambda limit: limit[0], default=(None, EvalTimeoutError))


def _heartbeat_seconds(task: Any, env: Any) -> float | None:
    if task.heartbeat is None:
        return None
    task.heartbeat.eval(env=env)
    return float(env.stack.pop())
