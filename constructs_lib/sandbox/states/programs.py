"""Running a program state by state: a machine, a branch or an iteration, from its start or after a redrive."""

from __future__ import annotations

import functools
import json
import logging
import threading
from typing import TYPE_CHECKING, Any

from moto.stepfunctions.parser.api import HistoryEventType
from moto.stepfunctions.parser.asl.component.common.error_name.failure_event import FailureEventException
from moto.stepfunctions.parser.asl.component.state.exec.execute_state import ExecutionState
from moto.stepfunctions.parser.asl.eval.program_state import ProgramEnded, ProgramError
from moto.stepfunctions.parser.asl.utils.json_path import NoSuchJsonPathError

from . import definitions, engine
from .failures import RUNTIME, failed, missing_path
from .patching import ENGINE, needs, original, replaces, wraps
from .progress import Progress
from .waiting import Interrupted

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["branch_failure", "open_branch", "parse", "run_all", "run_branch"]

LOG = logging.getLogger(__name__)
_COMPONENT = ENGINE + "asl.component."
_STATE = _COMPONENT + "state.state:CommonStateField."
_PARSE = ENGINE + "asl.parse.asl_parser:AmazonStateLanguageParser.parse"

for _name in ("_eval_state_input", "_eval_state", "_eval_state_output", "_set_next"):
    needs(_STATE + _name, "self env")
for _name in ("_get_state_entered_event_details", "_get_state_exited_event_details"):
    needs(_STATE + _name, "self env")
needs(_STATE + "_verify_size_quota", "self env value")
needs(_COMPONENT + "program.program:Program._get_state", "self state_name")
needs(ENGINE + "asl.eval.environment:Environment.open_inner_frame", "self event_history_context")
needs(ENGINE + "asl.eval.program_state:ProgramEnded")
needs(ENGINE + "asl.eval.program_state:ProgramError.__init__", "self error")


@wraps(_PARSE, "definition")
def parse(plain: Any, definition: str) -> Any:
    """Parse a definition once and look at its transitions, which the grammar does not."""
    del plain
    return _parse(definition)


@functools.lru_cache(maxsize=512)
def _parse(definition: str) -> Any:
    try:
        document = json.loads(definition)
    except ValueError:
        return original(_PARSE)(definition)
    parsed = original(_PARSE)(json.dumps(definitions.with_floats(document)))
    if wrong := list(definitions.problems(document)):
        raise ValueError("; ".join(wrong))
    return parsed


@replaces(_COMPONENT + "program.program:Program.eval", "self env")
def _program(self: Any, env: Any) -> None:
    """Run a program to its end on this thread; an interruption ends it quietly."""
    try:
        _begin(self, env)
        _states(self, env, env.progress)
    except Interrupted:
        return
    except FailureEventException as failure:
        env.set_error(error=failure.get_execution_failed_event_details())
    except Exception as error:
        LOG.warning("a state machine fails with %s", RUNTIME, exc_info=error)
        env.set_error(error={"error": RUNTIME, "cause": f"{type(error).__name__}({error})"})


def _begin(program: Any, env: Any) -> None:
    progress = env.progress
    env.next_state_name = progress.state if progress.resuming else program.start_at.start_at_name
    if progress.resuming:
        env.states.reset(input_value=progress.input)
        for name, value in progress.variables.items():
            env.variable_store.set(variable_identifier=name, variable_value=value)
        env.variable_store.reset_tracing()


def _states(program: Any, env: Any, progress: Progress) -> None:
    while env.is_running():
        env.execution.transition()
        state = program._get_state(env.next_state_name)  # noqa: SLF001 - moto's own name
        own = env.variable_store._inner_scope  # noqa: SLF001
        progress.enter(state.name, env.states.get_input(), own)
        try:
            state.eval(env)
        except FailureEventException as failure:
            event = failure.failure_event
            if event.event_type == HistoryEventType.EvaluationFailed and not isinstance(state, ExecutionState):
                _add(env, event.event_type, event.event_details)
            raise
        env.stack.clear()
        env.heap.clear()


@replaces(_STATE + "_eval_body", "self env")
def _state(self: Any, env: Any) -> None:
    progress = env.progress
    entered = engine.iso(engine.now())
    if not progress.resumed:
        details = {"stateEnteredEventDetails": self._get_state_entered_event_details(env=env)}
        _add(env, self.state_entered_event_type, details)
        progress.entered = entered
    elif engine.reading("states.entered-time-on-redrive") == "same":
        entered = progress.entered
    env.states.context_object.context_object_data["State"] = {"EnteredTime": entered, "Name": self.name}
    env.assignments = {}
    self._eval_state_input(env=env)
    try:
        self._eval_state(env)
    except NoSuchJsonPathError as missing:
        raise missing_path(env, missing) from missing
    if not env.is_running():
        raise Interrupted
    self._eval_state_output(env=env)
    for name, value in env.assignments.items():
        env.variable_store.set(variable_identifier=name, variable_value=value)
    self._verify_size_quota(env=env, value=env.states.get_input())
    self._set_next(env)
    if self.state_exited_event_type is not None:
        details = {"stateExitedEventDetails": self._get_state_exited_event_details(env=env)}
        _add(env, self.state_exited_event_type, details)


def _add(env: Any, event_type: Any, details: dict[str, Any]) -> None:
    env.event_manager.add_event(context=env.event_history_context, event_type=event_type, event_details=details)


def open_branch(env: Any, index: int) -> Any:
    """Open the environment of a branch or iteration, with its own variables and progress."""
    frame = env.open_inner_frame()
    frame.progress = env.progress.child(index)
    return frame


def run_branch(program: Any, frame: Any) -> None:
    """Run a branch or iteration on this thread and note its result."""
    program.eval(frame)
    if isinstance(frame._program_state, ProgramEnded):  # noqa: SLF001 - moto offers a deep copy only
        frame.progress.done, frame.progress.output = True, frame.states.get_input()


def branch_failure(frame: Any) -> dict[str, Any] | None:
    """Return the error with which a branch or iteration failed."""
    state = frame._program_state  # noqa: SLF001
    return (state.error or {}) if isinstance(state, ProgramError) else None


def run_all(works: list[Callable[[], bool]], name: str) -> None:
    """Run all on threads of their own until all ended or one returned False."""
    over = threading.Event()
    left = [len(works)]
    broken: list[Exception] = []
    lock = threading.Lock()

    def run(work: Callable[[], bool]) -> None:
        fine = True
        try:
            fine = work()
        except Interrupted:
            LOG.debug("%s was interrupted", name)
        except Exception as error:  # noqa: BLE001 - raised again by the thread that waits
            broken.append(error)
        with lock:
            left[0] -= 1
            if not fine or broken or left[0] == 0:
                over.set()

    for work in works:
        engine.spawn(functools.partial(run, work), name)
    over.wait()
    if broken:
        raise broken[0]


@replaces(_COMPONENT + "state.exec.state_parallel.branches_decl:BranchesDecl._eval_body", "self env")
def _branches(self: Any, env: Any) -> None:
    value = env.stack.pop()
    progress = env.progress
    progress.begin_children(env.states.context_object.context_object_data["State"]["RetryCount"])
    frames = {}
    for index in range(len(self.programs)):
        if not progress.child(index).done:
            frames[index] = open_branch(env, index)
            frames[index].states.reset(input_value=value)
    lost: list[tuple[Any, dict[str, Any]]] = []

    def run(index: int) -> bool:
        run_branch(self.programs[index], frames[index])
        failure = branch_failure(frames[index])
        if failure is not None:
            lost.append((frames[index], failure))
        return failure is None

    run_all([functools.partial(run, index) for index in frames], "states-branch")
    for frame in frames.values():
        if lost:
            frame.set_stop(stop_date=engine.now(), cause=None, error=None)
        env.close_frame(frame)
    if lost:
        error = lost[0][1]
        raise failed(env, error.get("error") or "", error.get("cause") or "", "ExecutionFailed")
    if not env.is_running():
        raise Interrupted
    env.stack.append([progress.child(index).output for index in range(len(self.programs))])


@replaces(ENGINE + "asl.eval.event.event_manager:EventManager._get_current_timestamp", "")
def _event_time() -> Any:
    return engine.now()


@wraps(
    ENGINE + "asl.eval.event.event_manager:EventManager.add_event",
    "self context event_type event_details timestamp update_source_event_id",
)
def _add_event(plain: Any, self: Any, *args: Any, **kwargs: Any) -> Any:
    if getattr(self, "closed", False):  # the execution has ended; what is left of its threads has nothing to say
        return 0
    return plain(self, *args, **kwargs)
