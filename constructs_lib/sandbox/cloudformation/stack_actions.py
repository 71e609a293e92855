"""The actions that begin or end something on a stack."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from constructs_lib.sandbox.errors import ServiceError

from .changesets import NO_UPDATES, is_change
from .configure import configure, template_of
from .intrinsics import invalid

if TYPE_CHECKING:
    from .stacks import Configuration, Stack
    from .store import Store

__all__ = ["StackActions"]

_Data = dict[str, Any]


class StackActions:
    """CreateStack, UpdateStack, DeleteStack and what interrupts or resumes them."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def create_stack(self, request: _Data) -> _Data:
        """Begin to create a stack."""
        store, name = self._store, request["StackName"]
        with store.lock:
            if store.live(name) is not None:
                raise ServiceError("AlreadyExistsException", f"Stack [{name}] already exists")
            stack = store.new_stack(name)
            template = template_of(store.context, request, None)
            wanted = configure(store.types, store.identity(stack), template, request, None)
            store.stacks[stack.stack_id] = stack
            stack.protected = request.get("EnableTerminationProtection", False)
            return self.start_create(stack, wanted, request)

    def start_create(self, stack: Stack, wanted: Configuration, request: _Data) -> _Data:
        """Begin to create a stack whose configuration is checked."""
        on_failure = request.get("OnFailure") or request.get("OnStackFailure") or "ROLLBACK"
        if request.get("DisableRollback"):
            on_failure = "DO_NOTHING"
        operation = self._store.operation(stack, request)
        minutes, clock = request.get("TimeoutInMinutes"), self._store.context.clock
        if minutes is not None:
            too_long = "Stack creation time exceeded the specified timeout. "
            clock.call_at(clock.now() + minutes * 60, lambda: operation.cancel_for(too_long))
        return self._store.run(operation, operation.create(wanted, on_failure))

    def update_stack(self, request: _Data) -> _Data:
        """Begin to update a stack."""
        with self._store.lock:
            stack = self._store.updatable(request["StackName"])
            wanted, changes = self._store.foresee(stack, request)
            if not is_change(stack, wanted, changes):
                raise invalid(NO_UPDATES)
            return self.start_update(stack, wanted, request)

    def start_update(self, stack: Stack, wanted: Configuration, request: _Data) -> _Data:
        """Begin to update a stack to a configuration that is checked."""
        operation = self._store.operation(stack, request)
        work = operation.update(wanted, disable_rollback=request.get("DisableRollback", False))
        return self._store.run(operation, work)

    def delete_stack(self, request: _Data) -> _Data:
        """Begin to delete a stack; a stack that does not exist is no error."""
        store = self._store
        with store.lock:
            stack = store.live(request["StackName"])
            if stack is None:
                return {}
            if stack.protected:
                raise invalid(f"Stack [{stack.name}] cannot be deleted while TerminationProtection is enabled")
            retain = request.get("RetainResources", [])
            if retain and stack.status != "DELETE_FAILED":
                raise invalid(f"RetainResources needs a stack in DELETE_FAILED, and {stack.name} is in {stack.status}")
            if stack.status == "CREATE_IN_PROGRESS":
                store.running[stack.stack_id].cancel_for("User Initiated", delete=True)
                return {}
            if stack.status == "DELETE_IN_PROGRESS":
                return {}
            if stack.busy:
                raise invalid(f"Stack [{stack.name}] cannot be deleted while in status {stack.status}")
            force = request.get("DeletionMode") == "FORCE_DELETE_STACK"
            operation = store.operation(stack, request)
            store.run(operation, operation.delete(retain, force=force))
        return {}

    def cancel_update_stack(self, request: _Data) -> _Data:
        """Make a running update roll back."""
        with self._store.lock:
            stack = self._store.find(request["StackName"])
            if stack.status != "UPDATE_IN_PROGRESS":
                raise invalid("CancelUpdateStack cannot be called from current stack status")
            self._store.running[stack.stack_id].cancel_for("Stack update cancelled")
        return {}

    def rollback_stack(self, request: _Data) -> _Data:
        """Begin to take back a failed create or update that was left as it is."""
        with self._store.lock:
            stack = self._store.find(request["StackName"])
            if stack.status not in ("CREATE_FAILED", "UPDATE_FAILED"):
                raise invalid(f"Stack:{stack.stack_id} is in {stack.status} state and can not be rolled back.")
            operation = self._store.operation(stack, request)
            return self._store.run(operation, lambda: operation.roll_back("User Initiated"))

    def continue_update_rollback(self, request: _Data) -> _Data:
        """Begin to go on with a roll-back that failed."""
        with self._store.lock:
            stack = self._store.find(request["StackName"])
            if stack.status != "UPDATE_ROLLBACK_FAILED":
                raise invalid(
                    f"Stack:{stack.stack_id} is in {stack.status} state: only one in UPDATE_ROLLBACK_FAILED can go on"
                )
            failed = [i for i, resource in stack.resources.items() if resource.status == "UPDATE_FAILED"]
            skip = failed if request.get("ForceRollback") else request.get("ResourcesToSkip", [])
            wrong = [logical_id for logical_id in skip if logical_id not in failed]
            if wrong:
                raise invalid(f"ResourcesToSkip names {', '.join(wrong)}, and only [{', '.join(failed)}] failed")
            operation = self._store.operation(stack, request)
            self._store.run(operation, lambda: operation.roll_back("User Initiated", skip))
        return {}

    def update_termination_protection(self, request: _Data) -> _Data:
        """Protect a stack from deletion, or no longer."""
        stack = self._store.find(request["StackName"])
        stack.protected = request["EnableTerminationProtection"]
        return {"StackId": stack.stack_id}
