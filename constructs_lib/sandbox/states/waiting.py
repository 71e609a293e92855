"""Waiting in virtual time, and being woken when the execution or the branch is over.

A wait is one lock: the sandbox clock's timer thread or whoever has news sets the event. No thread polls, so a thousand
waiting executions cost memory only, and a change of the clock's rate concerns the timer thread alone.
"""

from __future__ import annotations

import contextlib
import threading
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from moto.stepfunctions.parser.asl.component.common.error_name.failure_event import FailureEventException
from moto.stepfunctions.parser.asl.component.common.retry.max_attempts_decl import MaxAttemptsOutcome
from moto.stepfunctions.parser.asl.component.common.retry.retrier_outcome import RetrierOutcome
from moto.stepfunctions.parser.asl.component.common.timeouts.timeout import EvalTimeoutError
from moto.stepfunctions.parser.asl.component.state.wait.wait_function.timestamp import Timestamp
from moto.stepfunctions.parser.asl.eval.environment import Environment

from . import engine
from .patching import ENGINE, needs, replaces, wraps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Interrupted", "bounded", "close_frame", "wait"]

_COMMON = ENGINE + "asl.component.common."
_WAIT = ENGINE + "asl.component.state.wait.wait_function."
_ENVIRONMENT = ENGINE + "asl.eval.environment:Environment."

needs(_COMMON + "retry.max_attempts_decl:MaxAttemptsOutcome")
needs(_COMMON + "retry.retrier_outcome:RetrierOutcome")
needs(_COMMON + "timeouts.timeout:EvalTimeoutError")
needs(_COMMON + "error_name.failure_event:FailureEventException")
needs(_WAIT + "timestamp:Timestamp._create_failure_event", "self env timestamp_str")
for _name in ("set_ended", "is_running"):
    needs(_ENVIRONMENT + _name, "self")
needs(_ENVIRONMENT + "set_error", "self error")
needs(_ENVIRONMENT + "set_stop", "self stop_date cause error")
needs(_ENVIRONMENT + "close_frame", "self frame")


class Interrupted(BaseException):
    """The execution, or the branch that this thread works for, is over: unwind past every handler of errors."""


class _Over:
    """Takes the place of moto's `program_state_event`: set once when an environment stops running, and stays set."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._set = False
        self._watchers: list[threading.Event] = []

    def set(self) -> None:
        with self._lock:
            self._set = True
            for event in self._watchers:
                event.set()

    def clear(self) -> None:
        """Do nothing: moto clears at once, which would lose the news for whoever begins to wait just then."""

    @contextlib.contextmanager
    def rings(self, event: threading.Event) -> Iterator[None]:
        with self._lock:
            self._watchers.append(event)
            if self._set:
                event.set()
        try:
            yield
        finally:
            with self._lock:
                self._watchers.remove(event)


def wait(env: Any, until: float | None, wake: threading.Event | None = None) -> bool:
    """Wait for a virtual moment (None: for ever), for `wake` or for the end of the environment.

    Returns
    -------
    bool
        True if the moment was reached, False if woken before.

    Raises
    ------
    Interrupted
        If the environment no longer runs.
    """
    event = wake or threading.Event()
    reached: list[bool] = []

    def ring() -> None:
        reached.append(True)
        event.set()

    with env.program_state_event.rings(event):
        timer = None if until is None else engine.current().context.clock.call_at(until, ring)
        event.wait()
        if timer is not None:
            timer.cancel()
    if not env.is_running():
        raise Interrupted
    return bool(reached)


def bounded(env: Any, call: Callable[[], Any]) -> Any:
    """Make a call that blocks, but give up at the task's time limit; the call itself then goes on unheard."""
    if env.deadline is None:
        return call()
    answer: list[tuple[Any, BaseException | None]] = []
    done = threading.Event()

    def work() -> None:
        try:
            answer.append((call(), None))
        except BaseException as error:  # noqa: BLE001 - it is raised again in the thread that waits
            answer.append((None, error))
        done.set()

    engine.spawn(work, "states-call")
    wait(env, env.deadline, done)
    if not answer:
        raise EvalTimeoutError
    value, error = answer[0]
    if error is not None:
        raise error
    return value


def close_frame(env: Any, frame: Any) -> None:
    """End a frame that may still run."""
    frame.set_ended()
    env.close_frame(frame)


@wraps(
    _ENVIRONMENT + "__init__",
    "self aws_execution_details execution_type context event_history_context cloud_watch_logging_session"
    " activity_store variable_store mock_test_case",
)
def _environment(plain: Any, self: Any, *args: Any, **kwargs: Any) -> None:
    plain(self, *args, **kwargs)
    self.program_state_event = _Over()
    self.deadline = None
    self.execution = self.progress = None
    self.assignments = {}


def _unless_over(there: Any) -> Any:
    """Return a property of moto's environment that cannot be set once the environment is over."""

    def change(self: Any, value: str) -> None:
        if self._program_state is not None and not self.is_running():
            raise Interrupted
        there.fset(self, value)

    return property(there.fget, change)


replaces(_ENVIRONMENT + "next_state_name", None)(_unless_over(Environment.next_state_name))
replaces(_ENVIRONMENT + "next_field_name", None)(_unless_over(Environment.next_field_name))


@wraps(_ENVIRONMENT + "as_inner_frame_of", "cls env variable_store event_history_frame_cache")
def _inner_frame(plain: Any, cls: Any, env: Any, *args: Any, **kwargs: Any) -> Any:
    frame = plain(cls, env, *args, **kwargs)
    frame.execution, frame.progress = env.execution, env.progress
    context = env.states.context_object.context_object_data
    if "Map" in context:
        frame.states.context_object.context_object_data["Map"] = context["Map"]
    return frame


@replaces(ENGINE + "asl.component.eval_component:EvalComponent.eval", "self env")
def _eval(self: Any, env: Any) -> None:
    if not env.is_running():
        raise Interrupted
    field_name = self._field_name()
    if field_name is not None:
        env.next_field_name = field_name
    self._eval_body(env)


# Programs are shared by executions: a key made on first use would race.
replaces(ENGINE + "asl.component.eval_component:EvalComponent.heap_key", None)(property(lambda self: str(id(self))))


@replaces(_WAIT + "wait_function:WaitFunction._eval_body", "self env")
def _wait_state(self: Any, env: Any) -> None:
    clock = engine.current().context.clock
    if isinstance(self, Timestamp):
        wait(env, _moment(self, env))
    elif (seconds := self._get_wait_seconds(env=env)) > 0:
        wait(env, clock.now() + seconds)


@replaces(_WAIT + "timestamp:Timestamp._from_timestamp_string", "timestamp")
def _parse_timestamp(timestamp: Any) -> datetime | None:
    try:
        moment = datetime.fromisoformat(timestamp)
    except (TypeError, ValueError):
        return None
    return moment if moment.tzinfo is not None else None


def _moment(timestamp: Any, env: Any) -> float:
    timestamp.string.eval(env=env)
    value = env.stack.pop()
    moment = timestamp._from_timestamp_string(timestamp=value)  # noqa: SLF001 - patched above
    if moment is None:
        raise FailureEventException(timestamp._create_failure_event(env, value))  # noqa: SLF001
    return float(moment.astimezone(UTC).timestamp())


@replaces(_COMMON + "retry.retrier_decl:RetrierDecl._eval_body", "self env")
def _retrier(self: Any, env: Any) -> None:
    self.error_equals.eval(env)
    if not env.stack.pop():
        env.stack.append(RetrierOutcome.Skipped)
        return
    self.max_attempts.eval(env=env)
    if env.stack.pop() == MaxAttemptsOutcome.EXHAUSTED:
        env.stack.append(RetrierOutcome.Failed)
        return
    for part in (self.interval_seconds, self.backoff_rate, self.max_delay_seconds, self.jitter_strategy):
        part.eval(env=env)
    wait(env, engine.current().context.clock.now() + env.stack.pop())
    env.stack.append(RetrierOutcome.Executed)
