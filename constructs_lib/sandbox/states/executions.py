"""Executions: status, dates, events, and the way from start over failure to a redrive."""

from __future__ import annotations

import functools
import threading
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from moto.stepfunctions.exceptions import AWSError
from moto.stepfunctions.parser.api import HistoryEventType, StateMachineType
from moto.stepfunctions.parser.asl.eval.environment import Environment
from moto.stepfunctions.parser.asl.eval.evaluation_details import AWSExecutionDetails
from moto.stepfunctions.parser.asl.eval.event.event_manager import EventHistoryContext, EventManager
from moto.stepfunctions.parser.asl.eval.program_state import ProgramEnded, ProgramError
from moto.stepfunctions.parser.asl.parse.asl_parser import AmazonStateLanguageParser

from . import engine
from .failures import RUNTIME
from .patching import ENGINE, needs
from .progress import Progress
from .waiting import Interrupted

if TYPE_CHECKING:
    from datetime import datetime

__all__ = ["Execution", "MapChild"]

needs(ENGINE + "asl.eval.evaluation_details:AWSExecutionDetails.__init__", "self account region role_arn")
needs(ENGINE + "asl.eval.event.event_manager:EventHistoryContext.of_program_start", "cls")
needs(ENGINE + "asl.eval.event.event_manager:EventHistoryContext.__init__", "self previous_event_id")
needs(ENGINE + "asl.eval.event.event_manager:EventManager.__init__", "self cloud_watch_logging_session")
needs(ENGINE + "asl.eval.event.event_manager:EventManager.get_event_history", "self")
needs(ENGINE + "asl.eval.event.event_manager:EventIdGenerator.get", "self")

_REDRIVABLE_FOR = timedelta(days=14)
_MOST_EVENTS = 24_999
_TERMINAL = {
    "SUCCEEDED": HistoryEventType.ExecutionSucceeded,
    "FAILED": HistoryEventType.ExecutionFailed,
    "TIMED_OUT": HistoryEventType.ExecutionTimedOut,
    "ABORTED": HistoryEventType.ExecutionAborted,
}


class _Record:
    """What an execution and an item of a distributed Map have in common: a life with a status, told to EventBridge."""

    def __init__(self, machine: Any, name: str, arn: str, input_text: str) -> None:
        self.engine = engine.current()
        self.machine, self.name, self.execution_arn = machine, name, arn
        self.state_machine_arn = getattr(machine, "source_arn", machine.arn)
        self.role_arn, self.type = machine.roleArn, machine.type
        self.execution_input = input_text
        self.status = ""
        self.start_date = engine.now()
        self.stop_date: datetime | None = None
        self.output: str | None = None
        self.error: str | None = None
        self.cause: str | None = None
        self.redrive_count = 0
        self.redrive_date: datetime | None = None
        self.map_run_arn: str | None = None
        self.history = EventManager()
        self._lock = threading.RLock()
        self._watchers: list[threading.Event] = []

    def rings(self, event: threading.Event) -> None:
        """Set `event` when this execution ends."""
        with self._lock:
            self._watchers.append(event)
            if self.status != "RUNNING":
                event.set()

    def context_object(self) -> dict[str, Any]:
        """Return the context object's Execution."""
        data = {
            "Id": self.execution_arn,
            "Input": engine.parsed(self.execution_input),
            "Name": self.name,
            "RoleArn": self.role_arn,
            "StartTime": engine.iso(self.start_date),
            "RedriveCount": self.redrive_count,
        }
        if self.redrive_date is not None:
            data["RedriveTime"] = engine.iso(self.redrive_date)
        return data

    def describe(self) -> dict[str, Any]:
        """Return DescribeExecution's answer."""
        refusal = self.redrive_refusal()
        answer = {
            "executionArn": self.execution_arn,
            "stateMachineArn": self.state_machine_arn,
            "name": self.name,
            "status": self.status,
            "startDate": self.start_date,
            "stopDate": self.stop_date,
            "input": self.execution_input,
            "inputDetails": {"included": True},
            "output": self.output,
            "outputDetails": {"included": True} if self.output is not None else None,
            "error": self.error,
            "cause": self.cause,
            "mapRunArn": self.map_run_arn,
            "redriveCount": self.redrive_count,
            "redriveDate": self.redrive_date,
            "redriveStatus": "NOT_REDRIVABLE" if refusal else "REDRIVABLE",
            "redriveStatusReason": refusal or None,
        }
        if self.machine.arn != self.state_machine_arn:
            answer["stateMachineVersionArn"] = self.machine.arn
        return {key: value for key, value in answer.items() if value is not None}

    def redrive_refusal(self) -> str:
        """Return why this execution cannot be redriven now, in AWS's words where it has some."""
        if self.status in ("RUNNING", "SUCCEEDED"):
            return f"Execution is {self.status} and cannot be redriven"
        return ""

    def finish(self, status: str, *, error: str | None = None, cause: str | None = None, output: Any = None) -> bool:
        """End the execution, once; return whether this call did."""
        with self._lock:
            if self.status != "RUNNING":
                return False
            self.output = engine.text(output) if status == "SUCCEEDED" else None
            details = {"error": error, "cause": cause} if self.output is None else {"output": self.output}
            kind = _TERMINAL[status]
            self._note(kind, kind.value[0].lower() + kind.value[1:] + "EventDetails", details)
            self.history.closed = True
            self.status, self.error, self.cause, self.stop_date = status, error, cause, engine.now()
            for event in self._watchers:
                event.set()
            self.tell()
        return True

    def tell(self) -> None:
        """Put "Step Functions Execution Status Change" on the bus; Express workflows have no such event."""
        if self.type == "EXPRESS":
            return
        known = self.describe()
        detail = dict.fromkeys(
            ("stopDate", "output", "outputDetails", "error", "cause", "stateMachineVersionArn", "stateMachineAliasArn",
             "redriveDate", "redriveStatusReason")
        )  # fmt: skip
        for key, value in known.items():
            detail[key] = int(value.timestamp() * 1000) if key.endswith("Date") else value
        self.engine.context.emit("aws.states", "Step Functions Execution Status Change", detail, [self.execution_arn])

    def _go_on(self) -> datetime:
        """Begin another attempt in the same history; return when."""
        self.redrive_count += 1
        self.redrive_date = moment = engine.now()
        self.stop_date = self.error = self.cause = None
        past = self.history
        self.history = EventManager()  # threads of the attempt before keep the closed one
        self.history._history_event_list = past._history_event_list  # noqa: SLF001
        self.history._event_id_gen = past._event_id_gen  # noqa: SLF001
        details = {"redriveCount": self.redrive_count}
        self._note(HistoryEventType.ExecutionRedriven, "executionRedrivenEventDetails", details)
        return moment

    def _note(self, kind: Any, field: str, details: dict[str, Any]) -> None:
        self.history.add_event(
            context=EventHistoryContext(previous_event_id=self._last_event()),
            event_type=kind,
            event_details={field: {key: value for key, value in details.items() if value is not None}},
        )

    def _last_event(self) -> int:
        events = self.history._history_event_list  # noqa: SLF001 - moto offers a deep copy of all
        return int(events[-1]["id"]) if events else 0


class Execution(_Record):
    """One execution of a state machine, with the thread that runs it."""

    def __init__(self, backend: Any, machine: Any, name: str, arn: str, input_text: str) -> None:
        super().__init__(machine, name, arn, input_text)
        self.backend = backend
        self.definition, self.machine_name = machine.definition, machine.name
        self.env: Any = None
        self._progress = Progress()
        self._limit: Any = None
        self._redrives: dict[str, datetime] = {}

    def start(self) -> None:
        """Begin at the first state."""
        self._note(
            HistoryEventType.ExecutionStarted,
            "executionStartedEventDetails",
            {"input": self.execution_input, "inputDetails": {"truncated": False}, "roleArn": self.role_arn},
        )
        self._launch()

    def stop(self, error: str | None, cause: str | None) -> None:
        """Abort at once; what still waits or calls unwinds on its own."""
        self._end_early("ABORTED", error, cause)

    def abandon(self) -> None:
        """End without a word: the sandbox is gone."""
        with self._lock:
            self.history.closed = True
            self.status = "ABORTED"
        self.env.set_stop(stop_date=self.start_date, error=None, cause=None)

    def transition(self) -> None:
        """Let a state begin, unless the machine is being deleted: then executions end at their next transition."""
        if getattr(self.machine, "deleting", False):
            self._end_early("ABORTED", None, None)
        if not self.env.is_running():
            raise Interrupted

    def redrive(self, client_token: str) -> datetime:
        """Go on from the states that did not succeed."""
        with self._lock:
            if client_token in self._redrives:
                return self._redrives[client_token]
            if refusal := self.redrive_refusal():
                raise AWSError(f"{refusal}: '{self.execution_arn}'", "ExecutionNotRedrivable")
            self._redrives[client_token] = moment = self._go_on()
            self._progress.resume()
            self._launch()
            return moment

    def redrive_refusal(self) -> str:
        """Return why this execution cannot be redriven now."""
        if refusal := super().redrive_refusal():
            return refusal
        if self.type == "EXPRESS":
            return "Execution is of type EXPRESS"
        if getattr(self.machine, "deleting", False):
            return "State machine is in DELETING status"
        if self._last_event() >= _MOST_EVENTS:
            return "Execution history event limit exceeded"
        if self.stop_date is not None and engine.now() - self.stop_date > _REDRIVABLE_FOR:
            return "Execution redrivable period exceeded"
        return ""

    def finish(self, status: str, *, error: str | None = None, cause: str | None = None, output: Any = None) -> bool:
        """End the execution, once; return whether this call did."""
        ended = super().finish(status, error=error, cause=cause, output=output)
        if ended:
            if self._limit is not None:
                self._limit.cancel()
            self.engine.running.pop(self.execution_arn, None)
            self.backend.ended(self.machine)
        return ended

    def _end_early(self, status: str, error: str | None, cause: str | None) -> None:
        env = self.env
        if self.finish(status, error=error, cause=cause):
            env.set_stop(stop_date=self.stop_date, error=error, cause=cause)

    def _launch(self) -> None:
        program = AmazonStateLanguageParser.parse(self.definition)[0]
        self.env = self._environment()
        self.status = "RUNNING"
        self.engine.running[self.execution_arn] = self
        if program.timeout_seconds is not None:
            clock = self.engine.context.clock
            limit = clock.now() + program.timeout_seconds.timeout_seconds
            self._limit = clock.call_at(limit, lambda: self._end_early("TIMED_OUT", None, None))
        self.tell()
        engine.spawn(functools.partial(self._run, program, self.env), f"states-{self.name}")

    def _environment(self) -> Any:
        account, region = self.execution_arn.split(":")[4], self.execution_arn.split(":")[3]
        env = Environment(
            aws_execution_details=AWSExecutionDetails(account=account, region=region, role_arn=self.role_arn),
            execution_type=StateMachineType(self.type),
            context={
                "Execution": self.context_object(),
                "StateMachine": {"Id": self.state_machine_arn, "Name": self.machine_name},
            },
            event_history_context=EventHistoryContext(previous_event_id=self._last_event() if self._redrives else 0),
            cloud_watch_logging_session=None,
            activity_store={},
        )
        env.event_manager = self.history
        env.execution, env.progress = self, self._progress
        env.next_state_name = self._progress.state or "-"  # from now on it counts as running and can be stopped
        return env

    def _run(self, program: Any, env: Any) -> None:
        program.eval(env)
        state = env._program_state  # noqa: SLF001 - moto offers a deep copy only
        if isinstance(state, ProgramEnded):
            self._end_attempt(env, "SUCCEEDED", output=env.states.get_input())
        elif isinstance(state, ProgramError):
            error = state.error or {}
            self._end_attempt(env, "FAILED", error=error.get("error"), cause=error.get("cause"))
        elif env is self.env and self.status == "RUNNING":
            self._end_attempt(env, "FAILED", error=RUNTIME, cause=f"the program ended as {type(state).__name__}")

    def _end_attempt(self, env: Any, status: str, **result: Any) -> None:
        with self._lock:
            if env is self.env:  # not an attempt that was aborted and redriven since
                self.finish(status, **result)


class MapChild(_Record):
    """An item of a distributed Map as the execution that it is."""

    def __init__(self, parent: Execution, record: Any, name: str, item: Any, frame: Any) -> None:
        label = record.map_state_machine_arn.rsplit("/", 1)[1]
        self.machine_name = f"{parent.machine_name}/{label}"
        arn = parent.execution_arn.rsplit(":", 2)[0] + f":{self.machine_name}:{name}"
        super().__init__(parent.machine, name, arn, engine.text(item))
        self.state_machine_arn = record.map_state_machine_arn
        self.map_run_arn = record.map_run_arn
        self._parent, self._frame = parent, frame

    def begin(self) -> None:
        """Make the item's execution known."""
        self.status = "RUNNING"
        self._parent.backend.remember(self)
        self._note(
            HistoryEventType.ExecutionStarted,
            "executionStartedEventDetails",
            {"input": self.execution_input, "inputDetails": {"truncated": False}, "roleArn": self.role_arn},
        )
        self.tell()

    def redrive(self, frame: Any) -> None:
        """Go on in another frame, because the parent was redriven."""
        with self._lock:
            self._frame, self.status = frame, "RUNNING"
            self._go_on()
        self.tell()

    def stop(self, error: str | None, cause: str | None) -> None:
        """Abort this item."""
        if self.finish("ABORTED", error=error, cause=cause):
            self._frame.set_stop(stop_date=self.stop_date, error=error, cause=cause)

    def redrive_refusal(self) -> str:
        """Return why this item cannot be redriven by itself: only its parent can be."""
        return super().redrive_refusal() or "a child execution of a Map Run is redriven with its parent"
