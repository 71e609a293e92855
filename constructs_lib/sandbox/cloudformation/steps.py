"""One resource at a time: create, update, replace, delete, each with the events CloudFormation writes."""

from __future__ import annotations

import logging
import uuid
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from botocore.exceptions import BotoCoreError, ClientError, ParamValidationError

from constructs_lib.sandbox.errors import ServiceError

from .resources.base import THROTTLES, Cancelled, Made, Request, ResourceError
from .stacks import Resource

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from constructs_lib.sandbox.clock import Hold

    from .halt import Halt
    from .registry import Registry
    from .stacks import Journal, Stack
    from .templates import Declared

__all__ = ["StepFailed", "Steps"]

T = TypeVar("T")
LOG = logging.getLogger(__name__)
_REPLACING = "Requested update requires the creation of a new physical resource; hence creating one."
_REPLACED = "Requested update required the provider to create a new physical resource"
_INITIATED = "Resource creation Initiated"
_DELETE_TRIES = 3  # "CloudFormation tries to delete a resource three times": AWS re:Post, stack stuck in clean-up
_HANDLER_CODES = {  # service error code -> HandlerErrorCode of the CloudFormation registry
    "AlreadyExists": ("AlreadyExists", "EntityAlreadyExists", "ResourceExists", "ResourceInUse", "Conflict"),
    "NotFound": ("NotFound", "NoSuch", "DoesNotExist", "NonExistent"),
    "AccessDenied": ("AccessDenied", "Unauthorized"),
    "Throttling": THROTTLES,
    "ServiceLimitExceeded": ("LimitExceeded", "QuotaExceeded"),
    "InvalidRequest": ("Validation", "Invalid", "Malformed"),
}


class StepFailed(Exception):  # noqa: N818 - recorded in the stack's events already
    """A step whose failure is recorded.

    Parameters
    ----------
    verb
        ``create``, ``update`` or ``delete``.
    """

    def __init__(self, verb: str) -> None:
        super().__init__(verb)
        self.verb = verb


def reason_of(error: Exception) -> str:
    """Return the text that a stack event shows for an error."""
    if isinstance(error, ResourceError):
        return error.reason
    if isinstance(error, ServiceError):
        return error.message
    if isinstance(error, ClientError):
        code, message = error.response["Error"]["Code"], error.response["Error"]["Message"]
        status = error.response["ResponseMetadata"]["HTTPStatusCode"]
        return (
            f'Resource handler returned message: "{message} (Service: {error.operation_name}, Error Code: {code},'
            f' Status Code: {status})" (RequestToken: {uuid.uuid4()}, HandlerErrorCode: {_handler_code(code)})'
        )
    if isinstance(error, BotoCoreError):
        code = "InvalidRequest" if isinstance(error, ParamValidationError) else "NetworkFailure"
        return f'Resource handler returned message: "{error}" (HandlerErrorCode: {code})'
    LOG.error("a resource type of the sandbox failed", exc_info=error)
    return f"Internal Failure: {type(error).__name__}: {error}"


def _handler_code(code: str) -> str:
    for handler_code, words in _HANDLER_CODES.items():
        if any(word in code for word in words):
            return handler_code
    return "GeneralServiceException"


@dataclass
class Steps:
    """The steps of one stack operation.

    Parameters
    ----------
    stack, types, halt
        Of which stack, with which types, and what ends waits.
    journal
        Where to note what a roll-back or clean-up needs.
    hold
        Keeps virtual time back while the operation works.
    forward
        Whether the steps lead to what was asked for.
    """

    stack: Stack
    types: Registry
    halt: Halt
    journal: Journal = field(repr=False)
    hold: Hold
    forward: bool

    def bring(self, declared: Declared, resolve: Callable[[], dict[str, Any]]) -> None:
        """Make, change, replace or keep a resource, as its properties ask.

        Raises
        ------
        StepFailed
            If that failed, or the properties could not be resolved.
        """
        resource = self.stack.resources.get(declared.logical_id)
        if resource is not None and resource.status == "CREATE_FAILED":
            # What a failed create left behind is not built upon: it is deleted in the clean-up.
            self.journal.discard(self.stack.resources.pop(declared.logical_id))
            resource = None
        try:
            properties = resolve()
        except (ServiceError, ClientError, BotoCoreError) as error:
            fresh = Resource(declared.logical_id, declared.type, {}, declared)
            self._fail(
                self.stack.resources.setdefault(declared.logical_id, fresh),
                "UPDATE" if resource is not None and resource.exists else "CREATE",
                reason_of(error),
                error,
            )
        if resource is None or not resource.exists:
            self._create(declared, properties)
        elif resource.properties != properties or resource.dirty:
            self._update(resource, declared, properties)
        else:
            resource.declared = declared

    def _create(self, declared: Declared, properties: dict[str, Any]) -> None:
        resource = Resource(declared.logical_id, declared.type, properties, declared)
        with self.stack.lock:
            self.stack.resources.pop(declared.logical_id, None)
            self.stack.resources[declared.logical_id] = resource
        self._record(resource, "CREATE_IN_PROGRESS")
        self._check(resource, "CREATE", properties, {})
        self._attempt(resource, "CREATE", lambda: self._make(resource, "CREATE_IN_PROGRESS"))

    def _update(self, resource: Resource, declared: Declared, properties: dict[str, Any]) -> None:
        # After a failed try with the same properties the service may still have those from before.
        old = resource.properties if resource.properties != properties else resource.settled
        if self.types.replaces(declared, old, properties):
            self._replace(resource, declared, properties)
            return
        self._record(resource, "UPDATE_IN_PROGRESS")
        self._check(resource, "UPDATE", properties, old)
        before = replace(resource)
        # From here on the new properties count as tried: a roll-back has to send the old ones again.
        resource.properties, resource.declared = properties, declared
        self._attempt(resource, "UPDATE", lambda: self._change(resource, before, old))

    def _replace(self, resource: Resource, declared: Declared, properties: dict[str, Any]) -> None:
        self._record(resource, "UPDATE_IN_PROGRESS", _REPLACING)
        name = self.types.fixed_name(declared.type, resource.properties, properties)
        if name is not None:
            self._fail(
                resource,
                "UPDATE",
                "CloudFormation cannot update a stack when a custom-named resource requires replacing."
                f" Rename {properties[name]} and update the stack again.",
            )
        self._check(resource, "UPDATE", properties, {})
        self.journal.replaced(resource)
        fresh = Resource(declared.logical_id, declared.type, properties, declared, status=resource.status)
        self.stack.resources[declared.logical_id] = fresh
        self._attempt(fresh, "UPDATE", lambda: self._make(fresh, "UPDATE_IN_PROGRESS"))

    def restore(self, logical_id: str) -> None:
        """Take back the physical resource that an update replaced; the new one is cleaned up later."""
        original = self.journal.originals.pop(logical_id)
        self.journal.discard(self.stack.resources[logical_id])
        self.stack.resources[logical_id] = original
        self._record(original, "UPDATE_COMPLETE")

    def delete(self, resource: Resource, *, tries: int = 1) -> None:
        """Remove a physical resource; of one that was never made only the end is told."""
        if not resource.exists:
            self._record(resource, "DELETE_COMPLETE")
            return
        self._record(resource, "DELETE_IN_PROGRESS")
        for left in reversed(range(tries)):
            try:
                self._call(resource, lambda hold: self.types.of(resource.type).delete(self._request(resource, hold)))
            except Cancelled:
                self._fail(resource, "DELETE", "Resource deletion cancelled")
            except Exception as error:  # noqa: BLE001 - becomes the event's reason, a bug is logged
                if not left:
                    self._fail(resource, "DELETE", reason_of(error), error)
                self._record(resource, "DELETE_FAILED", reason_of(error))
                self._record(resource, "DELETE_IN_PROGRESS")
            else:
                self._record(resource, "DELETE_COMPLETE")
                return

    def clean(self, resource: Resource) -> None:
        """Remove a physical resource after an update, as often as CloudFormation tries."""
        self.delete(resource, tries=_DELETE_TRIES)

    def skip(self, resource: Resource) -> None:
        """Leave a physical resource behind."""
        self._record(resource, "DELETE_SKIPPED")

    def _check(self, resource: Resource, verb: str, properties: dict[str, Any], old: dict[str, Any]) -> None:
        """Fail without a call if the properties cannot be right."""
        kind = self.types.of(resource.type)
        try:
            self.types.check_properties(resource.type, properties, resource.logical_id)
            kind.check(self._request(replace(resource, properties=properties), self.hold, old=old))
        except ResourceError as error:
            self._fail(resource, verb, error.reason, error)

    def _make(self, resource: Resource, status: str) -> Made:
        def initiated(physical_id: str) -> None:
            resource.physical_id = physical_id
            self._record(resource, status, _INITIATED)

        kind = self.types.of(resource.type)
        made = self._call(resource, lambda hold: kind.create(self._request(resource, hold, initiated=initiated)))
        if not resource.physical_id:
            initiated(made.physical_id)
        return made

    def _change(self, resource: Resource, before: Resource, old: dict[str, Any]) -> Made:
        kind = self.types.of(resource.type)
        try:
            made = self._call(resource, lambda hold: kind.update(self._request(resource, hold, old=old)))
        except ResourceError as error:
            if error.physical_id and error.physical_id != before.physical_id:
                self.journal.replaced(before)
                resource.physical_id = error.physical_id
            raise
        if made.physical_id != before.physical_id:
            self.journal.replaced(before)
            resource.physical_id = made.physical_id
            self._record(resource, "UPDATE_IN_PROGRESS", _REPLACED)
        return made

    def _attempt(self, resource: Resource, verb: str, action: Callable[[], Made]) -> None:
        resource.dirty = True
        try:
            made = action()
        except Cancelled as stop:
            resource.physical_id = resource.physical_id or stop.physical_id
            self._fail(resource, verb, f"Resource {'creation' if verb == 'CREATE' else 'update'} cancelled")
        except Exception as error:  # noqa: BLE001 - becomes the event's reason, a bug is logged
            if isinstance(error, ResourceError) and error.physical_id:
                resource.physical_id = error.physical_id
            self._fail(resource, verb, reason_of(error), error)
        else:
            resource.physical_id, resource.attributes = made.physical_id, made.attributes
            resource.no_echo, resource.settled, resource.dirty = made.no_echo, resource.properties, False
            self._record(resource, f"{verb}_COMPLETE")

    def _call(self, resource: Resource, action: Callable[[Hold], T]) -> T:
        """Carry out an action; virtual time is held unless it waits."""
        if not self.types.of(resource.type).waits:
            return action(self.hold)
        with self.stack.context.clock.held() as hold:
            return action(hold)

    def _request(
        self,
        resource: Resource,
        hold: Hold,
        *,
        old: Mapping[str, Any] | None = None,
        initiated: Callable[[str], None] = lambda _: None,
    ) -> Request:
        return Request(
            context=self.stack.context,
            stack_id=self.stack.stack_id,
            stack_name=self.stack.name,
            logical_id=resource.logical_id,
            type=resource.type,
            properties=resource.properties,
            halt=self.halt,
            initiated=initiated,
            paused=hold.paused,
            old=dict(old or {}),
            physical_id=resource.physical_id,
            forward=self.forward,
        )

    def _record(self, resource: Resource, status: str, reason: str | None = None) -> None:
        note = self.types.of(resource.type).note
        self.stack.record(resource, status, " ".join(part for part in (reason, note) if part) or None)

    def _fail(self, resource: Resource, verb: str, reason: str, cause: Exception | None = None) -> NoReturn:
        self._record(resource, f"{verb}_FAILED", reason)
        raise StepFailed(verb.lower()) from cause
