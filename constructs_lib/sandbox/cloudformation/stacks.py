"""What a stack is: its configuration, its physical resources, its events."""

from __future__ import annotations

import json
import threading
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .intrinsics import invalid

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constructs_lib.sandbox.context import Context

    from .parameters import Parameter
    from .templates import Declared, Template

__all__ = ["Configuration", "Event", "Journal", "Resource", "Stack"]

STACK = "AWS::CloudFormation::Stack"


@dataclass(frozen=True)
class Configuration:
    """What a stack should be: a template, its values and the stack's tags."""

    template: Template
    parameters: Mapping[str, Parameter]
    conditions: Mapping[str, bool]
    resources: Mapping[str, Declared]
    outputs: Mapping[str, Any]
    tags: Mapping[str, str]


@dataclass
class Resource:
    """One physical resource of a stack, as the last call left it.

    Attributes
    ----------
    properties
        What the last call asked for.
    settled
        What the last successful call asked for.
    dirty
        Whether a call on it was begun and did not succeed, so that the next operation has to try again.
    """

    logical_id: str
    type: str
    properties: dict[str, Any]
    declared: Declared
    settled: dict[str, Any] = field(default_factory=dict)
    physical_id: str = ""
    attributes: dict[str, Any] = field(default_factory=dict)
    no_echo: bool = False
    dirty: bool = False
    status: str = ""
    reason: str | None = None
    updated: float = 0.0

    @property
    def exists(self) -> bool:
        """Return whether there is something to delete."""
        return bool(self.physical_id) and not self.ended

    @property
    def ended(self) -> bool:
        """Return whether the stack is done with it."""
        return self.status in ("DELETE_COMPLETE", "DELETE_SKIPPED")


@dataclass
class Journal:
    """What was done since the stack was last stable: enough to take it back or to clean up after it.

    Parameters
    ----------
    stable
        The configuration to go back to; None for a stack that never was complete.
    originals
        Physical resources of that configuration that were replaced.
    leftovers
        Physical resources that nothing uses any more.
    """

    stable: Configuration | None
    originals: dict[str, Resource] = field(default_factory=dict)
    leftovers: list[Resource] = field(default_factory=list)

    def replaced(self, resource: Resource) -> None:
        """Note a replaced resource: an original is kept for a roll-back, any other is only to be deleted."""
        known = self.stable is not None and resource.logical_id in self.stable.resources
        if known and resource.logical_id not in self.originals:
            self.originals[resource.logical_id] = resource
        else:
            self.discard(resource)

    def discard(self, resource: Resource) -> None:
        """Note that a physical resource is to be deleted."""
        if resource.exists:
            self.leftovers.append(resource)


@dataclass(frozen=True)
class Event:
    """One line of a stack's history."""

    event_id: str
    operation_id: str
    token: str | None
    timestamp: float
    logical_id: str
    physical_id: str
    type: str
    status: str
    reason: str | None
    properties: str | None


@dataclass
class Stack:
    """A stack with everything that its descriptions show."""

    context: Context
    stack_id: str
    name: str
    created: float
    status: str = ""
    reason: str | None = None
    updated: float | None = None
    deleted: float | None = None
    configuration: Configuration | None = None
    journal: Journal | None = None
    resources: dict[str, Resource] = field(default_factory=dict)
    outputs: list[dict[str, str]] = field(default_factory=list)
    imports: frozenset[str] = frozenset()
    events: list[Event] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)
    protected: bool = False
    operation_id: str = ""
    token: str | None = None
    lock: threading.RLock = field(default_factory=threading.RLock)

    @property
    def busy(self) -> bool:
        """Return whether an operation runs."""
        return self.status.endswith("_IN_PROGRESS") and self.status != "REVIEW_IN_PROGRESS"

    @property
    def gone(self) -> bool:
        """Return whether the stack was deleted."""
        return self.status == "DELETE_COMPLETE"

    def begin(self, token: str | None) -> str:
        """Start a new operation's history and return its id."""
        with self.lock:
            self.operation_id, self.token = str(uuid.uuid4()), token
            return self.operation_id

    def move(self, status: str, reason: str | None = None) -> None:
        """Change the stack's status and record it; the reason of a failure stays until the next operation."""
        with self.lock:
            finished = status.endswith("_COMPLETE") and "ROLLBACK" not in status
            self.reason = reason if reason is not None or finished else self.reason
            self.status = status
            if status in ("UPDATE_IN_PROGRESS", "UPDATE_ROLLBACK_IN_PROGRESS"):
                self.updated = self.context.clock.now()
            if status == "DELETE_COMPLETE":
                self.deleted = self.context.clock.now()
            self._append(None, status, reason)
        self._tell("CloudFormation Stack Status Change", {"status": status, "status-reason": reason or ""}, {})

    def record(self, resource: Resource, status: str, reason: str | None = None) -> None:
        """Change a resource's status and record it."""
        with self.lock:
            resource.status, resource.reason = status, reason
            resource.updated = self.context.clock.now()
            self._append(resource, status, reason)
        self._tell(
            "CloudFormation Resource Status Change",
            {"status": status, "status-reason": reason or ""},
            {
                "logical-resource-id": resource.logical_id,
                "physical-resource-id": resource.physical_id,
                "resource-type": resource.type,
            },
        )

    def _append(self, about: Resource | None, status: str, reason: str | None) -> None:
        """Append a line about a resource, or about the stack itself."""
        unique = str(uuid.uuid4())
        event = Event(
            event_id=unique if about is None else f"{about.logical_id}-{status}-{unique}",
            operation_id=self.operation_id,
            token=self.token,
            timestamp=self.context.clock.now(),
            logical_id=self.name if about is None else about.logical_id,
            physical_id=self.stack_id if about is None else about.physical_id,
            type=STACK if about is None else about.type,
            status=status,
            reason=reason,
            properties=None if about is None else json.dumps(about.properties),
        )
        self.events.append(event)

    def _tell(self, detail_type: str, details: dict[str, str], more: dict[str, str]) -> None:
        detail = {
            "stack-id": self.stack_id,
            **more,
            "status-details": details,
            "client-request-token": self.token or "",
        }
        self.context.emit("aws.cloudformation", detail_type, detail, [self.stack_id])

    def exported(self) -> dict[str, str]:
        """Return the values that other stacks may import."""
        with self.lock:
            if self.gone:
                return {}
            return {o["ExportName"]: o["OutputValue"] for o in self.outputs if "ExportName" in o}

    def resource(self, logical_id: str) -> Resource:
        """Return a resource by its logical ID."""
        with self.lock:
            if logical_id not in self.resources:
                raise invalid(f"Resource {logical_id} does not exist for stack {self.name}")
            return self.resources[logical_id]
