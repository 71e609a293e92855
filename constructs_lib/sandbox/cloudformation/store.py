"""All stacks and change sets of the sandbox, and the operations that run on them."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any

from constructs_lib.sandbox.errors import ServiceError

from . import naming
from .changesets import foresee
from .configure import configure, template_of
from .intrinsics import invalid
from .operation import Operation
from .scopes import Identity
from .stacks import Stack

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from constructs_lib.sandbox.context import Context

    from .changesets import ChangeSet
    from .registry import Registry
    from .stacks import Configuration

__all__ = ["Store"]

LOG = logging.getLogger(__name__)
_UPDATABLE = ("CREATE_COMPLETE", "CREATE_FAILED", "UPDATE_COMPLETE", "UPDATE_FAILED", "UPDATE_ROLLBACK_COMPLETE")


class Store:
    """What the actions share.

    Attributes
    ----------
    lock
        Held while a request decides what to do, so that two requests never begin two operations on a stack.
    """

    def __init__(self, context: Context, types: Registry) -> None:
        self.context = context
        self.types = types
        self.stacks: dict[str, Stack] = {}
        self.change_sets: dict[str, ChangeSet] = {}
        self.running: dict[str, Operation] = {}
        self.threads: dict[str, threading.Thread] = {}
        self.lock = threading.RLock()

    # -- finding ------------------------------------------------------------------------------------------------

    def live(self, name_or_id: str) -> Stack | None:
        """Return a stack that was not deleted."""
        for stack in list(self.stacks.values()):
            if name_or_id in (stack.name, stack.stack_id) and not stack.gone:
                return stack
        return None

    def find(self, name_or_id: str) -> Stack:
        """Return a stack by name, or by ID even after it was deleted."""
        stack = self.live(name_or_id) or self.stacks.get(name_or_id)
        if stack is None:
            raise invalid(f"Stack with id {name_or_id} does not exist")
        return stack

    def updatable(self, name: str) -> Stack:
        """Return a stack in a status from which an update can begin."""
        stack = self.live(name)
        if stack is None:
            raise invalid(f"Stack [{name}] does not exist")
        if stack.status not in _UPDATABLE:
            raise invalid(f"Stack:{stack.stack_id} is in {stack.status} state and can not be updated.")
        return stack

    def find_change_set(self, request: Mapping[str, Any]) -> ChangeSet:
        """Return the change set that a request names, the newest of that name."""
        name = request["ChangeSetName"]
        if name in self.change_sets:
            return self.change_sets[name]
        stack = self.find(request["StackName"]) if "StackName" in request else None
        for change_set in reversed(list(self.change_sets.values())):
            if change_set.name == name and change_set.stack is stack and change_set.execution != "OBSOLETE":
                return change_set
        raise ServiceError("ChangeSetNotFound", f"ChangeSet [{name}] does not exist", 404)

    def pending_change_sets(self, stack: Stack) -> list[ChangeSet]:
        """Return the change sets of a stack that were not executed."""
        known = list(self.change_sets.values())
        return [c for c in known if c.stack is stack and c.execution in ("AVAILABLE", "UNAVAILABLE")]

    # -- exports ------------------------------------------------------------------------------------------------

    def exports(self) -> dict[str, str]:
        """Return every export's value."""
        return {name: value for stack in list(self.stacks.values()) for name, value in stack.exported().items()}

    def importers(self, export: str) -> list[str]:
        """Return the names of the stacks that use an export."""
        return [stack.name for stack in list(self.stacks.values()) if export in stack.imports and not stack.gone]

    # -- operations ---------------------------------------------------------------------------------------------

    def new_stack(self, name: str) -> Stack:
        """Return a stack that is not stored yet."""
        identifier = naming.stack_id(self.context.account, self.context.region, name)
        return Stack(self.context, identifier, name, created=self.context.clock.now())

    def identity(self, stack: Stack) -> Identity:
        """Return what a stack's names need."""
        return Identity(self.context, stack.stack_id, stack.name, self.exports)

    def foresee(self, stack: Stack, request: Mapping[str, Any]) -> tuple[Configuration, list[dict[str, Any]]]:
        """Return what a request wants of a stack, and what that would change."""
        previous = stack.configuration
        template = template_of(self.context, request, previous.template if previous else None)
        identity = self.identity(stack)
        wanted = configure(self.types, identity, template, request, previous)
        return wanted, foresee(stack, identity, self.types, wanted)

    def operation(self, stack: Stack, request: Mapping[str, Any]) -> Operation:
        """Return a new operation and start its history."""
        stack.begin(request.get("ClientRequestToken"))
        stack.options = {**stack.options, **request}

        def other_exports() -> dict[str, str]:
            others = [other for other in list(self.stacks.values()) if other is not stack]
            return {name: other.name for other in others for name in other.exported()}

        return Operation(
            stack,
            self.identity(stack),
            self.types,
            other_exports=other_exports,
            importers=self.importers,
            retain_except_on_create=bool(request.get("RetainExceptOnCreate")),
        )

    def run(self, operation: Operation, work: Callable[[], None]) -> dict[str, str]:
        """Do the rest of an operation in the background."""
        stack = operation.stack

        def run() -> None:
            try:
                with self.context.clock.held() as operation.hold:
                    work()
            except Exception:
                LOG.exception("the sandbox's CloudFormation failed at stack %s", stack.name)
                stack.move(f"{stack.status.removesuffix('_IN_PROGRESS')}_FAILED", "Internal Failure")
            finally:
                self._conclude(stack)

        thread = threading.Thread(target=run, name=f"cloudformation-{stack.name}", daemon=True)
        self.running[stack.stack_id], self.threads[stack.stack_id] = operation, thread
        thread.start()
        return {"StackId": stack.stack_id, "OperationId": stack.operation_id}

    def close(self) -> None:
        """Let every operation run out without another call."""
        with self.lock:
            operations = list(self.running.values())
        for operation in operations:
            operation.close()

    def _conclude(self, stack: Stack) -> None:
        with self.lock:
            self.running.pop(stack.stack_id, None)
            for change_set in [c for c in self.change_sets.values() if c.stack is stack]:
                if change_set.execution == "EXECUTE_IN_PROGRESS":
                    done = stack.status in ("CREATE_COMPLETE", "UPDATE_COMPLETE")
                    change_set.execution = "EXECUTE_COMPLETE" if done else "EXECUTE_FAILED"
                elif change_set.execution == "OBSOLETE":
                    del self.change_sets[change_set.change_set_id]
