"""Map states: a few threads take the items in turn; a distributed Map's items are executions of their own."""

from __future__ import annotations

import uuid
from collections import deque
from typing import TYPE_CHECKING, Any

from moto.stepfunctions.parser.api import HistoryEventType
from moto.stepfunctions.parser.asl.component.common.error_name.failure_event import FailureEventException
from moto.stepfunctions.parser.asl.eval.variable_store import VariableStore

from . import engine
from .executions import MapChild
from .failures import RUNTIME, failed
from .patching import ENGINE, needs, replaces, wraps
from .programs import branch_failure, open_branch, run_all, run_branch
from .waiting import Interrupted

if TYPE_CHECKING:
    from collections.abc import Callable

_MAP = ENGINE + "asl.component.state.exec.state_map."
_ITERATION = _MAP + "iteration."
_INLINE_LIMIT = 40  # documented: an inline Map runs at most about 40 iterations at once
_DISTRIBUTED_LIMIT = 1000  # AWS allows 10,000; each takes a thread here

needs(_ITERATION + "iteration_component:IterationComponent._get_iteration_program", "self")
needs(
    _ITERATION + "inline_iteration_component:InlineIterationComponentEvalInput.__init__",
    "self state_name max_concurrency input_items parameters item_selector",
)
needs(ENGINE + "asl.eval.variable_store:VariableStore.__init__", "self")
needs(_ITERATION + "itemprocessor.map_run_record:MapRunRecordPoolManager.add", "self map_run_record")


class _Items:
    """The items of one try of a Map state.

    Parameters
    ----------
    component, env, about
        moto's iteration component, the state's environment and the evaluated fields of the state.
    items
        What to iterate over.
    distributed
        Whether items are executions of their own, which do not see the variables of the Map's execution.
    """

    def __init__(self, component: Any, env: Any, about: Any, items: list[Any], *, distributed: bool) -> None:
        self.component, self.env, self.about, self.items = component, env, about, items
        self._distributed = distributed
        self._visible = engine.reading("states.map-item-inside") == "visible"

    def run_all(self, threads: int, run: Callable[[Any, int], Any]) -> None:
        """Call ``run(frame, index)`` for all items that are not done; the first failure it returns ends the others."""
        env, progress = self.env, self.env.progress
        progress.begin_children(env.states.context_object.context_object_data["State"]["RetryCount"])
        todo = deque(index for index in range(len(self.items)) if not progress.child(index).done)
        lost: list[Any] = []

        def work() -> bool:
            while env.is_running() and not lost:
                try:
                    index = todo.popleft()
                except IndexError:
                    break
                frame = open_branch(env, index)
                failure = run(frame, index)
                env.close_frame(frame)
                if failure is not None:
                    lost.append(failure)
            return not lost

        if todo:
            run_all([work] * min(len(todo), threads), "states-map")
        if lost:
            for frame in list(env._frames):  # noqa: SLF001 - moto offers no other way to reach them
                frame.set_stop(stop_date=engine.now(), cause=None, error=None)
            raise lost[0]
        if not env.is_running():
            raise Interrupted

    def select(self, frame: Any, index: int) -> Any:
        """Make an item's input, as the Map's own execution sees the world; return the failure that this ends with."""
        try:
            self._select(frame, index)
        except FailureEventException as error:
            return error
        except Exception as error:  # noqa: BLE001 - whatever goes wrong in an item is its States.Runtime
            return failed(frame, RUNTIME, str(error))
        return None

    def run(self, frame: Any) -> Any:
        """Run an item whose input is made; return the failure that it ends with."""
        run_branch(self.component._get_iteration_program(), frame)  # noqa: SLF001 - moto's own name
        failure = branch_failure(frame)
        if failure is None:
            return None
        return failed(frame, failure.get("error") or "", failure.get("cause") or "", "ExecutionFailed")

    def _select(self, frame: Any, index: int) -> None:
        """Make the item's input."""
        data = frame.states.context_object.context_object_data
        data["Map"] = {"Item": {"Index": index, "Value": self.items[index]}}
        selector = self.about.item_selector or self.about.parameters
        frame.states.reset(input_value=self.items[index])
        if selector is not None:
            frame.states.reset(input_value=self.env.stack[-1])
            frame.stack.append(frame.states.get_input())
            selector.eval(frame)
            frame.states.reset(input_value=frame.stack.pop())
            frame.stack.clear()
        if not self._visible:
            data.pop("Map")
        if self._distributed:
            frame.variable_store = VariableStore()


@replaces(_ITERATION + "inline_iteration_component:InlineIterationComponent._eval_body", "self env")
def _inline(self: Any, env: Any) -> None:
    about = env.stack.pop()
    items = _Items(self, env, about, about.input_items, distributed=False)

    def run(frame: Any, index: int) -> Any:
        name = {"name": about.state_name, "index": index}
        _add(frame, HistoryEventType.MapIterationStarted, mapIterationStartedEventDetails=name)
        failure = items.select(frame, index) or items.run(frame)
        if failure is not None:
            _add(frame, HistoryEventType.MapIterationFailed, mapIterationFailedEventDetails=name)
        elif frame.progress.done:
            _add(frame, HistoryEventType.MapIterationSucceeded, mapIterationSucceededEventDetails=name)
        return failure

    items.run_all(min(about.max_concurrency or _INLINE_LIMIT, _INLINE_LIMIT), run)
    env.stack.append([env.progress.child(index).output for index in range(len(items.items))])


@replaces(_ITERATION + "distributed_iteration_component:DistributedIterationComponent._map_run", "self env eval_input")
def _distributed(self: Any, env: Any, eval_input: Any) -> None:
    progress, read = env.progress, env.stack.pop()
    items = _Items(self, env, eval_input, progress.items if progress.items is not None else read, distributed=True)
    progress.items = items.items
    record = eval_input.map_run_record

    def run(frame: Any, index: int) -> Any:
        child, failure = progress.child(index).execution, None
        if child is None:
            failure = items.select(frame, index)
            child = _open_child(env.execution, record, frame)
            progress.child(index).execution = child
        else:
            _reopen_child(record, child, frame)
        failure = failure or items.run(frame)
        _close_child(record, child, frame, failure)
        return _exceeded(env, record, len(items.items)) if failure is not None else None

    items.run_all(min(record.max_concurrency or _DISTRIBUTED_LIMIT, _DISTRIBUTED_LIMIT), run)
    children = [progress.child(index) for index in range(len(items.items))]
    null = engine.reading("states.tolerated-output") == "null"
    env.stack.append([child.output for child in children if child.done or null])


@wraps(_ITERATION + "distributed_iteration_component:DistributedIterationComponent._eval_body", "self env")
def _map_run(plain: Any, self: Any, env: Any) -> None:
    """Begin a Map Run, or go on with the one that the parent's redrive redrives: it keeps its ARN and its items."""
    progress, eval_input = env.progress, env.stack[-1]
    again = env.states.context_object.context_object_data["State"]["RetryCount"] > 0 or not progress.resumed
    if again or progress.map_run is None:
        progress.map_run, progress.items = eval_input.map_run_record, None
        progress.map_run.start_date, progress.map_run.redrives = engine.now(), 0
    else:
        pool, new = env.map_run_record_pool_manager, eval_input.map_run_record
        pool._pool.pop(new.map_run_arn)  # noqa: SLF001 - moto made it for this attempt, and offers no other way back
        record = eval_input.map_run_record = progress.map_run
        record.status, record.stop_date, record.redrives = "RUNNING", None, record.redrives + 1
        pool.add(record)
    plain(self, env)


@wraps(_ITERATION + "itemprocessor.map_run_record:MapRunRecord.describe", "self")
def _describe(plain: Any, self: Any) -> Any:
    return {**plain(self), "redriveCount": self.redrives}


@replaces(_ITERATION + "itemprocessor.map_run_record:MapRunRecord.set_stop", "self status")
def _stop_record(self: Any, status: Any) -> None:
    self.status, self.stop_date = status, engine.now()


def _add(env: Any, event_type: Any, **details: Any) -> None:
    env.event_manager.add_event(
        context=env.event_history_context, event_type=event_type, event_details=details, update_source_event_id=False
    )


def _open_child(parent: Any, record: Any, frame: Any) -> Any:
    """Give an item of a distributed Map an execution of its own, which can be described and stopped."""
    for counter in (record.item_counter, record.execution_counter):
        counter.total.count()
        counter.running.count()
    child = MapChild(parent, record, str(uuid.uuid4()), frame.states.get_input(), frame)
    _enter(frame, record, child)
    child.begin()
    return child


def _reopen_child(record: Any, child: Any, frame: Any) -> None:
    """Redrive the execution of an item that did not succeed."""
    for counter in (record.item_counter, record.execution_counter):
        getattr(counter, child.status.lower()).offset(-1)
        counter.running.count()
    child.redrive(frame)
    _enter(frame, record, child)


def _enter(frame: Any, record: Any, child: Any) -> None:
    """Let a frame see the world as its item's own execution."""
    data = frame.states.context_object.context_object_data
    data["Execution"] = child.context_object()
    data["StateMachine"] = {"Id": record.map_state_machine_arn, "Name": child.machine_name}
    frame.event_manager = child.history


def _close_child(record: Any, child: Any, frame: Any, failure: Any) -> None:
    if failure is not None:
        error, cause = failure.extract_error_cause_pair()
        child.finish("FAILED", error=error, cause=cause)
    elif frame.progress.done:
        child.finish("SUCCEEDED", output=frame.progress.output)
    else:
        child.finish("ABORTED")
    for counter in (record.item_counter, record.execution_counter):
        counter.running.offset(-1)
        getattr(counter, child.status.lower()).count()


def _exceeded(env: Any, record: Any, total: int) -> Any:
    """Return the failure of a Map Run whose items failed more often than tolerated."""
    lost = record.item_counter.failed.get()
    count, percentage = record.tolerated_failure_count, record.tolerated_failure_percentage
    over = not count and not percentage  # without a tolerance the first failure is one too many
    over = over or (count and lost > count) or (percentage and 100 * lost / total > percentage)
    if not over:
        return None
    cause = "The specified tolerated failure threshold was exceeded"
    return failed(env, "States.ExceedToleratedFailureThreshold", cause, "MapRunFailed")
