"""The actions on change sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from constructs_lib.sandbox.errors import ServiceError

from . import naming
from .changesets import NO_CHANGES, ChangeSet, is_change
from .intrinsics import invalid

if TYPE_CHECKING:
    from .stack_actions import StackActions
    from .stacks import Stack
    from .store import Store

__all__ = ["ChangeSetActions"]

_Data = dict[str, Any]


class ChangeSetActions:
    """CreateChangeSet, ExecuteChangeSet and the rest."""

    def __init__(self, store: Store, stacks: StackActions) -> None:
        self._store = store
        self._stacks = stacks

    def create_change_set(self, request: _Data) -> _Data:
        """Foresee what a template would change; done before the answer, so the status is final at once."""
        kind = request.get("ChangeSetType", "UPDATE")
        if kind == "IMPORT" or request.get("ImportExistingResources"):
            raise invalid("the sandbox imports no resources: create a change set of type CREATE or UPDATE")
        if request.get("DeploymentMode"):
            raise invalid(f"the sandbox detects no drift: leave DeploymentMode {request['DeploymentMode']} out")
        store, name = self._store, request["ChangeSetName"]
        with store.lock:
            stack = self._stack_for(kind, request)
            if any(change_set.name == name for change_set in store.pending_change_sets(stack)):
                raise ServiceError("AlreadyExistsException", f"ChangeSet {name} already exists for stack {stack.name}")
            wanted, changes = store.foresee(stack, request)
            if not stack.status:
                store.stacks[stack.stack_id] = stack
                stack.begin(request.get("ClientToken"))
                stack.options = dict(request)
                stack.move("REVIEW_IN_PROGRESS", "User Initiated")
            identifier = naming.change_set_id(store.context.account, store.context.region, name)
            created = store.context.clock.now()
            change_set = ChangeSet(identifier, name, stack, kind, created, wanted, request, changes)
            if kind == "UPDATE" and not is_change(stack, wanted, changes):
                change_set.status, change_set.execution, change_set.reason = "FAILED", "UNAVAILABLE", NO_CHANGES
            store.change_sets[identifier] = change_set
        return {"Id": identifier, "StackId": stack.stack_id}

    def _stack_for(self, kind: str, request: _Data) -> Stack:
        name = request["StackName"]
        if kind == "UPDATE":
            return self._store.updatable(name)
        stack = self._store.live(name)
        if stack is None:
            return self._store.new_stack(name)
        if stack.status != "REVIEW_IN_PROGRESS":
            change_set = request["ChangeSetName"]
            raise invalid(
                f"Stack [{name}] already exists and cannot be created again with the changeSet [{change_set}]."
            )
        return stack

    def execute_change_set(self, request: _Data) -> _Data:
        """Begin to do what a change set foresees; the stack's other change sets lapse."""
        store = self._store
        with store.lock:
            change_set = store.find_change_set(request)
            stack = change_set.stack
            if change_set.execution != "AVAILABLE":
                raise ServiceError(
                    "InvalidChangeSetStatus",
                    f"ChangeSet [{change_set.change_set_id}] cannot be executed in its current execution status of"
                    f" [{change_set.execution}]",
                )
            if change_set.kind == "UPDATE":
                store.updatable(stack.stack_id)
            for other in store.pending_change_sets(stack):
                other.execution = "OBSOLETE"
            change_set.execution = "EXECUTE_IN_PROGRESS"
            start = self._stacks.start_create if change_set.kind == "CREATE" else self._stacks.start_update
            start(stack, change_set.wanted, {**change_set.request, **request})
        return {}

    def describe_change_set(self, request: _Data) -> _Data:
        """Return a change set."""
        change_set = self._store.find_change_set(request)
        return change_set.describe(property_values=request.get("IncludePropertyValues", False))

    def delete_change_set(self, request: _Data) -> _Data:
        """Forget a change set; one that does not exist is no error."""
        with self._store.lock:
            try:
                change_set = self._store.find_change_set(request)
            except ServiceError as error:
                if error.code != "ChangeSetNotFound":
                    raise
            else:
                del self._store.change_sets[change_set.change_set_id]
        return {}

    def list_change_sets(self, request: _Data) -> _Data:
        """Return the change sets of a stack that were not executed."""
        stack = self._store.find(request["StackName"])
        return {"Summaries": [change_set.summary() for change_set in self._store.pending_change_sets(stack)]}

    def describe_change_set_hooks(self, request: _Data) -> _Data:
        """Return no hooks: the sandbox runs none."""
        change_set = self._store.find_change_set(request)
        members = {"ChangeSetId": change_set.change_set_id, "ChangeSetName": change_set.name}
        return {**members, "Hooks": [], "StackId": change_set.stack.stack_id, "StackName": change_set.stack.name}
