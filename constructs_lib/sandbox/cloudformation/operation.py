"""One stack operation from its first event to its last: create, update, delete, and taking them back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from constructs_lib.sandbox.errors import ServiceError

from .halt import Halt
from .intrinsics import invalid
from .schedule import work
from .scopes import StackScope
from .stacks import Journal
from .steps import StepFailed, Steps, reason_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from constructs_lib.sandbox.clock import Hold

    from .registry import Registry
    from .scopes import Identity
    from .stacks import Configuration, Resource, Stack

__all__ = ["Operation"]


class Operation:
    """A running operation.

    Parameters
    ----------
    stack, identity, types
        Of which stack, and what its names and types are.
    retain_except_on_create
        Whether a roll-back deletes new resources in spite of a Retain policy.
    other_exports
        Returns exports of all other stacks, with the stack's name.
    importers
        Returns the names of stacks that import an export.

    Attributes
    ----------
    hold
        Keeps virtual time back while the operation works, so that only its waits cost time; set by who runs it.
    """

    hold: Hold

    def __init__(
        self,
        stack: Stack,
        identity: Identity,
        types: Registry,
        *,
        other_exports: Callable[[], Mapping[str, str]],
        importers: Callable[[str], list[str]],
        retain_except_on_create: bool = False,
    ) -> None:
        self.stack = stack
        self.identity = identity
        self.types = types
        self.other_exports = other_exports
        self.importers = importers
        self.retain_except_on_create = retain_except_on_create
        self.cancel = Halt()
        self._halts = [self.cancel]
        self._closed = False
        self._cancel_reason: str | None = None
        self._delete_instead = False
        self._imported: set[str] = set()

    def cancel_for(self, reason: str, *, delete: bool = False) -> None:
        """End the operation's forward part; it then rolls back, or deletes the stack."""
        self._cancel_reason, self._delete_instead = reason, delete
        self.cancel.set()

    def close(self) -> None:
        """Let the operation run out without another call: the sandbox stops."""
        self._closed = True
        for halt in self._halts:
            halt.close()

    def _new_halt(self) -> Halt:
        halt = Halt()
        self._halts.append(halt)
        if self._closed:
            halt.close()
        return halt

    # -- forward: each begins at once and returns the rest of the work, to be done in the background ---------------

    def create(self, wanted: Configuration, on_failure: str) -> Callable[[], None]:
        """Make a new stack's resources; `on_failure` is ROLLBACK, DELETE or DO_NOTHING."""
        self.stack.configuration = wanted
        self.stack.journal = Journal(stable=None)
        self.stack.move("CREATE_IN_PROGRESS", "User Initiated")
        return lambda: self._create(wanted, on_failure)

    def _create(self, wanted: Configuration, on_failure: str) -> None:
        problem = self._go_to(wanted, self.cancel)
        if problem is None:
            self.stack.journal = None
            self.stack.move("CREATE_COMPLETE")
        elif self._delete_instead or on_failure == "DELETE":
            reason = problem if self._delete_instead else f"{problem}Delete requested by user."
            self.stack.move("DELETE_IN_PROGRESS", reason)
            self._delete_everything(())
        elif on_failure == "DO_NOTHING":
            self.stack.move("CREATE_FAILED", problem)
        else:
            self._roll_back_create(f"{problem}Rollback requested by user.")

    def update(self, wanted: Configuration, *, disable_rollback: bool) -> Callable[[], None]:
        """Bring a stack to another configuration."""
        stack = self.stack
        if stack.journal is None:
            stack.journal = Journal(stable=stack.configuration)
        stack.configuration = wanted
        stack.move("UPDATE_IN_PROGRESS", "User Initiated")
        return lambda: self._update(wanted, disable_rollback=disable_rollback)

    def _update(self, wanted: Configuration, *, disable_rollback: bool) -> None:
        problem = self._go_to(wanted, self.cancel)
        if problem is None:
            self._finish_update(wanted, "UPDATE_COMPLETE")
        elif disable_rollback:
            self.stack.move("UPDATE_FAILED", problem)
        else:
            self.roll_back(problem)

    def delete(self, retain: Iterable[str], *, force: bool) -> Callable[[], None]:
        """Remove a stack's resources, last made first."""
        in_use = [(name, users) for name in self.stack.exported() if (users := self.importers(name))]
        if in_use:
            name, users = in_use[0]
            reason = f"Delete canceled. Cannot delete export {name} as it is in use by {' and '.join(users)}."
            self.stack.move(self.stack.status, reason)
            return lambda: None
        self.stack.move("DELETE_IN_PROGRESS", "User Initiated")
        return lambda: self._delete_everything(retain, force=force)

    # -- back ---------------------------------------------------------------------------------------------------

    def _roll_back_create(self, reason: str) -> None:
        """Remove what a failed create made."""
        self.stack.move("ROLLBACK_IN_PROGRESS", reason)
        failed = self._delete([*self._existing(), *self._journal().leftovers], self._keeps_new)
        if failed:
            self.stack.move("ROLLBACK_FAILED", _listing(failed, "delete"))
            return
        self.stack.journal = None
        self.stack.outputs = []
        self.stack.move("ROLLBACK_COMPLETE")

    def roll_back(self, reason: str | None, skip: Iterable[str] = ()) -> None:
        """Bring a stack back to the configuration it was last stable in."""
        stack, journal = self.stack, self._journal()
        if journal.stable is None:
            self._roll_back_create(reason or "")
            return
        stack.move("UPDATE_ROLLBACK_IN_PROGRESS", reason)
        stack.configuration = journal.stable
        for logical_id in skip:
            self._skip(logical_id)
        for logical_id in self._restorable():
            self._steps(self._new_halt()).restore(logical_id)
        problem = self._go_to(journal.stable, self._new_halt())
        for logical_id, original in list(journal.originals.items()):
            if stack.resources[logical_id].physical_id == original.physical_id:
                del journal.originals[logical_id]
        if problem is None:
            self._finish_update(journal.stable, "UPDATE_ROLLBACK_COMPLETE")
        else:
            stack.move("UPDATE_ROLLBACK_FAILED", problem)

    def _restorable(self) -> list[str]:
        """Return the replaced resources whose original is simply taken back.

        Of a custom resource AWS says that the new physical ID is sent a Delete when an update rolls back. Whether it is
        sent an Update first is `unknown`: the switch ``cloudformation.custom-resource-replaced`` set to ``updated``
        plays that reading.
        """
        updated = self.stack.context.faults.state("cloudformation.custom-resource-replaced", "kept") == "updated"
        return [
            logical_id
            for logical_id, original in self._journal().originals.items()
            if not (updated and self.types.is_custom(original.type))
        ]

    def _skip(self, logical_id: str) -> None:
        """Count a resource as rolled back without a call, as ContinueUpdateRollback allows."""
        stable = self._journal().stable
        resource = self.stack.resource(logical_id)
        if stable is not None and logical_id in stable.resources:
            resource.properties = self._resolve(stable, logical_id)
        resource.dirty = False
        self.stack.record(resource, "UPDATE_COMPLETE", "Resource skipped during UpdateRollback")

    def _keeps_new(self, resource: Resource) -> bool:
        """Return whether a roll-back leaves a resource behind that the operation made."""
        return resource.declared.deletion_policy == "Retain" and not self.retain_except_on_create

    # -- the work -----------------------------------------------------------------------------------------------

    def _go_to(self, wanted: Configuration, stop: Halt) -> str | None:
        """Create and update until every resource is as wanted; return what went wrong, in words."""
        steps = self._steps(stop)
        verbs: dict[str, str] = {}

        def step(logical_id: str) -> bool:
            try:
                steps.bring(wanted.resources[logical_id], lambda: self._resolve(wanted, logical_id))
            except StepFailed as failure:
                verbs[logical_id] = failure.verb
                return False
            return True

        failed = work(
            wanted.resources,
            {i: d.depends_on for i, d in wanted.resources.items()},
            step,
            beside=lambda logical_id: self.types.of(wanted.resources[logical_id].type).waits,
            stop=stop,
            idle=self.hold.paused,
        )
        if self._cancel_reason is not None and stop is self.cancel:
            return self._cancel_reason
        if failed:
            by_verb = {verb: {i for i in failed if verbs.get(i, "update") == verb} for verb in ("create", "update")}
            return "".join(_listing(some, verb) for verb, some in by_verb.items() if some)
        return self._conclude(wanted)

    def _conclude(self, wanted: Configuration) -> str | None:
        """Set outputs and exports; return what went wrong, in words."""
        stack = self.stack
        scope = StackScope.of(self.identity, wanted, stack.resources, hide=True)
        try:
            outputs = [_output(name, output, scope) for name, output in wanted.outputs.items()]
            self._check_exports({o["ExportName"]: o["OutputValue"] for o in outputs if "ExportName" in o})
        except (ServiceError, ClientError, BotoCoreError) as error:
            return reason_of(error)
        with stack.lock:
            stack.outputs, stack.imports = outputs, frozenset(scope.imported | self._imported)
        return None

    def _check_exports(self, exports: Mapping[str, str]) -> None:
        others = self.other_exports()
        for name in exports:
            if name in others:
                raise invalid(f"Export with name {name} is already exported by stack {others[name]}. ")
        for name, value in self.stack.exported().items():
            users = self.importers(name)
            if users and exports.get(name) != value:
                verb = "updated" if name in exports else "deleted"
                raise invalid(f"Export {name} cannot be {verb} as it is in use by {' and '.join(users)}. ")

    def _resolve(self, wanted: Configuration, logical_id: str) -> dict[str, Any]:
        scope = StackScope.of(self.identity, wanted, self.stack.resources)
        properties: dict[str, Any] = scope.resolve(wanted.resources[logical_id].properties)
        self._imported |= scope.imported
        return self.types.with_tags(wanted.resources[logical_id].type, properties, wanted.tags)

    def _finish_update(self, wanted: Configuration, status: str) -> None:
        """Delete what an update or its roll-back no longer needs; a failure here does not fail the operation."""
        stack, journal = self.stack, self._journal()
        rolled_back = "ROLLBACK" in status
        removed = [resource for logical_id, resource in stack.resources.items() if logical_id not in wanted.resources]
        garbage = [*removed, *journal.originals.values(), *journal.leftovers]
        stack.move(f"{status}_CLEANUP_IN_PROGRESS")

        def keeps(resource: Resource) -> bool:
            if rolled_back:
                return self._keeps_new(resource)
            successor = wanted.resources.get(resource.logical_id)
            if successor is not None and journal.originals.get(resource.logical_id) is resource:
                return successor.update_replace_policy == "Retain"
            return resource.declared.deletion_policy != "Delete"

        failed = self._delete(garbage, keeps, clean=True)
        with stack.lock:
            for resource in removed:
                del stack.resources[resource.logical_id]
        stack.journal = None
        stack.move(status, "Update successful. One or more resources could not be deleted." if failed else None)

    def _delete_everything(self, retain: Iterable[str], *, force: bool = False) -> None:
        journal = self.stack.journal
        extra = [*journal.originals.values(), *journal.leftovers] if journal else []
        kept = set(retain)
        failed = self._delete(
            [*self._existing(), *extra], lambda r: r.logical_id in kept or r.declared.deletion_policy != "Delete"
        )
        if failed and not force:
            self.stack.move("DELETE_FAILED", _listing(failed, "delete"))
            return
        self.stack.journal = None
        self.stack.move("DELETE_COMPLETE")

    def _delete(
        self, resources: Iterable[Resource], keeps: Callable[[Resource], bool], *, clean: bool = False
    ) -> set[str]:
        """Delete in reverse order of dependency and return the logical IDs that are still there."""
        # One logical ID may stand for several physical resources, so each gets a key of its own.
        keyed = {f"{r.logical_id} {index}": r for index, r in enumerate(resources)}
        steps = self._steps(self._new_halt())
        users: dict[str, list[str]] = {
            key: [other for other, r in keyed.items() if resource.logical_id in r.declared.depends_on]
            for key, resource in keyed.items()
        }

        def step(key: str) -> bool:
            try:
                if keeps(keyed[key]):
                    steps.skip(keyed[key])
                elif clean:
                    steps.clean(keyed[key])
                else:
                    steps.delete(keyed[key])
            except StepFailed:
                # In a clean-up what was made before it goes all the same; else it is still in use.
                failed_keys.add(key)
                return clean
            return True

        failed_keys: set[str] = set()
        work(
            reversed(keyed),
            users,
            step,
            beside=lambda key: self.types.of(keyed[key].type).waits,
            stop=None,
            idle=self.hold.paused,
        )
        return {keyed[key].logical_id for key in failed_keys}

    def _existing(self) -> list[Resource]:
        return [resource for resource in self.stack.resources.values() if not resource.ended]

    def _steps(self, halt: Halt) -> Steps:
        journal = self.stack.journal or Journal(stable=None)
        return Steps(self.stack, self.types, halt, journal, self.hold, forward=halt is self.cancel)

    def _journal(self) -> Journal:
        if self.stack.journal is None:
            raise AssertionError(f"stack {self.stack.name} has no journal in {self.stack.status}")
        return self.stack.journal


def _listing(logical_ids: Iterable[str], verb: str) -> str:
    return f"The following resource(s) failed to {verb}: [{', '.join(sorted(logical_ids))}]. "


def _output(name: str, output: Mapping[str, Any], scope: StackScope) -> dict[str, str]:
    resolved = scope.resolve({k: v for k, v in output.items() if k != "Condition"})
    value = resolved.get("Value")
    if not isinstance(value, str | int | float):
        raise invalid(f"Template format error: Output {name} is malformed: its Value is {value!r}, not a string")
    shown = {"OutputKey": name, "OutputValue": str(value).lower() if isinstance(value, bool) else str(value)}
    if "Description" in resolved:
        shown["Description"] = resolved["Description"]
    if "Export" in resolved:
        shown["ExportName"] = resolved["Export"]["Name"]
    return shown
