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
from .patching import ENGINE, needs, replaces
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
needs(_ITERATION + "itemprocessor.map_run_record:MapRunRecord.describe", "self")


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

    def run(self, frame: Any, index: int) -> Any:
        """Run one item; return the failure that it ends with."""
        try:
            self._select(frame, index)
        except Interrupted:
            return None
        except FailureEventException as error:
            return error
        except Exception as error:  # noqa: BLE001 - whatever goes wrong in an item is its States.Runtime
            return failed(frame, RUNTIME, str(error))
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
        failure = items.run(frame, index)
        if failure is not None:
            _add(frame, HistoryEventType.MapIterationFailed, mapIterationFailedEventDetails=name)
        elif frame.progress.done:
            _add(frame, HistoryEventType.MapIterationSucceeded, mapIterationSucceededEventDetails=name)
        return failure

    items.run_all(min(about.max_concurrency or _INLINE_LIMIT, _INLINE_LIMIT), run)
    env.stack.append([env.progress.child(index).output for index in range(len(items.items))])


@replaces(_ITERATION + "distributed_iteration_component:DistributedIterationComponent._map_run", "self env eval_input")
def _distributed(self: Any, env: Any, eval_input: Any) -> None:
    items = _Items(self, env, eval_input, env.stack.pop(), distributed=True)
    record = eval_input.map_run_record
    record.start_date = engine.now()
    env.progress.refusal = "it ended in a Distributed Map, whose Map Run the sandbox cannot redrive"
    done: set[int] = set()
    lost = [] if engine.reading("states.tolerated-output") == "nothing" else range(len(items.items))

    def run(frame: Any, index: int) -> Any:
        child = _open_child(env.execution, record, frame, items.items[index])
        failure = items.run(frame, index)
        _close_child(record, child, frame, failure)
        if child.status == "SUCCEEDED":
            done.add(index)
        return _exceeded(env, record, len(items.items)) if failure is not None else None

    items.run_all(min(record.max_concurrency or _DISTRIBUTED_LIMIT, _DISTRIBUTED_LIMIT), run)
    env.stack.append([env.progress.child(index).output for index in sorted(done.union(lost))])


@replaces(_ITERATION + "itemprocessor.map_run_record:MapRunRecord.set_stop", "self status")
def _stop_record(self: Any, status: Any) -> None:
    self.status, self.stop_date = status, engine.now()


def _add(env: Any, event_type: Any, **details: Any) -> None:
    env.event_manager.add_event(
        context=env.event_history_context, event_type=event_type, event_details=details, update_source_event_id=False
    )


def _open_child(parent: Any, record: Any, frame: Any, item: Any) -> Any:
    """Give an item of a distributed Map an execution of its own, which can be described and stopped."""
    for counter in (record.item_counter, record.execution_counter):
        counter.total.count()
        counter.running.count()
    child = MapChild(parent, record, str(uuid.uuid4()), item, frame)
    data = frame.states.context_object.context_object_data
    data["Execution"] = child.context_object()
    data["StateMachine"] = {"Id": record.map_state_machine_arn, "Name": child.machine_name}
    frame.event_manager = child.history
    child.begin()
    return child


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
