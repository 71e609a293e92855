"""State machines and their executions: the backend behind the API, and the only one there is."""

from __future__ import annotations

import threading
import uuid
from typing import Any

from moto.core.base_backend import BackendDict
from moto.stepfunctions import urls
from moto.stepfunctions.exceptions import (
    AWSError,
    ExecutionDoesNotExist,
    InvalidExecutionInput,
    ResourceNotFound,
)
from moto.stepfunctions.parser.models import StepFunctionsParserBackend

from . import engine
from .executions import Execution
from .patching import ENGINE, needs, replaces

__all__ = ["Machines", "backends"]

_MODELS = "moto.stepfunctions.models:"
_BACKEND = _MODELS + "StepFunctionBackend."

needs(ENGINE + "models:StepFunctionsParserBackend._validate_definition", "definition")
needs("moto.core.base_backend:BaseBackend._url_module")
needs(_BACKEND + "__init__", "self region_name account_id")
needs(_BACKEND + "describe_state_machine", "self arn")
needs(_BACKEND + "_validate_name", "self name")
needs(_BACKEND + "_validate_execution_arn", "self execution_arn")
needs(_BACKEND + "_validate_machine_arn", "self machine_arn")
needs(_MODELS + "StateMachine._handle_name_input_idempotency", "self name execution_input")


class Machines(StepFunctionsParserBackend):  # type: ignore[misc]
    """The state machines of one account and region."""

    def __init__(self, region_name: str, account_id: str) -> None:
        super().__init__(region_name, account_id)
        self._lock = threading.RLock()
        self._executions: dict[str, Any] = {}

    @property
    def _url_module(self) -> Any:
        return urls  # moto would look for them beside this class

    def create_state_machine(self, name: str, definition: str, *args: Any, **rest: Any) -> Any:
        """Make a machine; the same request twice gives the same machine, another definition is refused."""
        with self._lock:
            there = next((machine for machine in self.state_machines if machine.name == name), None)
            if there is None:
                machine = super().create_state_machine(name, definition, *args, **rest)
                machine.creation_date = machine.update_date = engine.now()
                return machine
        self._refuse_deleting(there)
        wanted = (definition, rest.get("sm_type") or "STANDARD", rest.get("loggingConfiguration") or {"level": "OFF"})
        if wanted != (there.definition, there.type, there.loggingConfiguration):
            raise AWSError(f"State Machine Already Exists: '{there.arn}'", "StateMachineAlreadyExists")
        return there

    def update_state_machine(self, arn: str, *args: Any, **kwargs: Any) -> Any:
        """Change a machine; running executions keep the definition they began with."""
        self._refuse_deleting(self.describe_state_machine(arn))
        machine = super().update_state_machine(arn, *args, **kwargs)
        machine.update_date = engine.now()
        machine.revision = str(uuid.uuid4())
        return machine

    def delete_state_machine(self, arn: str) -> None:
        """Delete a machine once none of its executions runs; each ends at its next transition."""
        self._validate_machine_arn(arn)
        with self._lock:
            machine = next((machine for machine in self.state_machines if machine.arn == arn), None)
            if machine is not None:
                machine.deleting = True
                self.ended(machine)

    def start_execution(
        self, state_machine_arn: str, name: str | None = None, execution_input: str | None = None, **_: Any
    ) -> Execution:
        """Start an execution under a name of its own, or return the running one that the same request started."""
        text = execution_input if execution_input is not None else "{}"
        name = name or str(uuid.uuid4())
        self._validate_name(name)
        if engine.parsed(text) == text:
            raise InvalidExecutionInput(f"Invalid State Machine Execution Input: {text[:100]!r} is not JSON")
        with self._lock:
            machine = self.describe_state_machine(state_machine_arn)
            self._refuse_deleting(machine)
            existing = machine._handle_name_input_idempotency(name, text)  # noqa: SLF001 - moto's own name
            if existing is not None:
                return existing  # type: ignore[no-any-return]
            arn = f"arn:{self.partition}:states:{self.region_name}:{self.account_id}:execution:{machine.name}:{name}"
            execution = Execution(self, machine, name, arn, text)
            machine.executions.append(execution)
            self._executions[arn] = execution
            execution.start()
        return execution

    def stop_execution(self, execution_arn: str, error: str | None = None, cause: str | None = None) -> Any:
        """Abort an execution; one that has ended stays as it is."""
        execution = self.describe_execution(execution_arn)
        execution.stop(error, cause)
        return execution

    def redrive_execution(self, execution_arn: str, client_token: str) -> Any:
        """Go on where an execution failed."""
        return self.describe_execution(execution_arn).redrive(client_token)

    def describe_execution(self, execution_arn: str) -> Any:
        """Return an execution."""
        self._validate_execution_arn(execution_arn)
        execution = self._executions.get(execution_arn)
        orphan = execution is not None and execution.machine not in self.state_machines
        if orphan and engine.reading("states.executions-of-deleted-machine") == "gone":
            execution = None
        if execution is None:
            raise ExecutionDoesNotExist(f"Execution Does Not Exist: '{execution_arn}'")
        return execution

    def get_execution_history(self, execution_arn: str) -> dict[str, Any]:
        """Return all events of an execution."""
        return {"events": self.describe_execution(execution_arn).history.get_event_history()}

    def send_task_success(self, task_token: str, outcome: str) -> None:
        """Answer a task's token with its output."""
        engine.current().tokens.succeed(task_token, outcome)

    def send_task_failure(self, task_token: str, error: str | None = None, cause: str | None = None) -> None:
        """Answer a task's token with an error."""
        engine.current().tokens.fail(task_token, error, cause)

    def send_task_heartbeat(self, task_token: str) -> None:
        """Say that the task of a token makes progress."""
        engine.current().tokens.heartbeat(task_token)

    def list_map_runs(self, execution_arn: str) -> dict[str, Any]:
        """Return the Map Runs of an execution's last attempt."""
        records = self.describe_execution(execution_arn).env.map_run_record_pool_manager.get_all()
        return {"mapRuns": [record.list_item() for record in records]}

    def describe_map_run(self, map_run_arn: str) -> Any:
        """Return a Map Run."""
        return self._map_run(map_run_arn).describe()

    def update_map_run(self, map_run_arn: str, max_concurrency: Any, **tolerance: Any) -> None:
        """Change a Map Run's tolerance; its concurrency is taken note of, but stays."""
        self._map_run(map_run_arn).update(max_concurrency=max_concurrency, **tolerance)

    def remember(self, child: Any) -> None:
        """Make an item of a Map Run known as an execution."""
        self._executions[child.execution_arn] = child

    def ended(self, machine: Any) -> None:
        """Complete a deletion that waited for the machine's executions."""
        with self._lock:
            running = any(execution.status == "RUNNING" for execution in machine.executions)
            if getattr(machine, "deleting", False) and not running and machine in self.state_machines:
                self.state_machines.remove(machine)

    def _map_run(self, arn: str) -> Any:
        for execution in list(self._executions.values()):
            env = getattr(execution, "env", None)
            record = env.map_run_record_pool_manager.get(arn) if env is not None else None
            if record is not None:
                return record
        raise ResourceNotFound(arn)

    @staticmethod
    def _refuse_deleting(machine: Any) -> None:
        if getattr(machine, "deleting", False):
            raise AWSError(f"State Machine is being deleted: '{machine.arn}'", "StateMachineDeleting")


backends = BackendDict(Machines, "stepfunctions")
replaces("moto.stepfunctions:stepfunctions_backends", None)(backends)
replaces(_MODELS + "stepfunctions_backends", None)(backends)
replaces(ENGINE + "models:stepfunctions_parser_backends", None)(backends)


@replaces("moto.stepfunctions.responses:get_backend", "account region")
def _backend(account: str, region: str) -> Any:
    return backends[account][region]
