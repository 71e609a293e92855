"""What a resource type is, and what it is given."""

from __future__ import annotations

import functools
import json
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from botocore.exceptions import ClientError

from constructs_lib.sandbox.cloudformation.naming import generated_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from contextlib import AbstractContextManager

    from constructs_lib.sandbox.cloudformation.halt import Halt
    from constructs_lib.sandbox.context import Context

__all__ = ["THROTTLES", "Cancelled", "Made", "Request", "ResourceError", "ResourceType", "plain", "tag_map"]


THROTTLES = ("Throttl", "TooManyRequests", "RequestLimitExceeded")
"""What an error code contains that says: the same call may succeed later."""
_THROTTLE_TRIES = 4


class ResourceError(Exception):
    """A resource that could not be made, changed or removed, in words for the stack's events.

    Parameters
    ----------
    reason
        The event's text.
    physical_id
        What exists nevertheless and has to be removed, if it is not known yet.
    """

    def __init__(self, reason: str, physical_id: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.physical_id = physical_id


class Cancelled(Exception):  # noqa: N818 - no error: the operation asked for it
    """The operation ended this resource's wait.

    Parameters
    ----------
    physical_id
        What a create that is cut short has to be deleted by, if the resource has none yet.
    """

    def __init__(self, physical_id: str = "") -> None:
        super().__init__(physical_id)
        self.physical_id = physical_id


@dataclass(frozen=True)
class Made:
    """What a create or an update leaves behind.

    Parameters
    ----------
    physical_id
        What `Ref` gives.
    attributes
        What `Fn::GetAtt` gives.
    no_echo
        Whether descriptions hide the attributes.
    """

    physical_id: str
    attributes: dict[str, Any] = field(default_factory=dict)
    no_echo: bool = False


@dataclass(frozen=True)
class Request:
    """One create, update or delete of one resource.

    Parameters
    ----------
    context
        The sandbox.
    stack_id, stack_name, logical_id, type
        Whose resource it is.
    properties
        Resolved properties, stack tags included.
    old
        Properties before an update.
    physical_id
        What an update or delete is about.
    halt
        Ends waits.
    paused
        A context in which virtual time runs on, for waits; else it is held.
    forward
        Whether the operation goes towards what was asked for, and neither back nor cleans up.
    initiated
        To be called with the physical ID as soon as something exists, so that a later failure can be cleaned up.
    """

    context: Context
    stack_id: str
    stack_name: str
    logical_id: str
    type: str
    properties: dict[str, Any]
    halt: Halt
    initiated: Callable[[str], None]
    paused: Callable[[], AbstractContextManager[None]]
    old: dict[str, Any] = field(default_factory=dict)
    physical_id: str = ""
    forward: bool = True

    def client(self, service: str) -> Any:
        """Return a client of the sandbox's own service that has patience with throttling."""
        return _Patient(self.context.client(service), self)

    def arn(self, service: str, resource: str, *, regional: bool = True) -> str:
        """Return an ARN of this account."""
        region = self.context.region if regional else ""
        return f"arn:aws:{service}:{region}:{self.context.account}:{resource}"

    def changed(self, *names: str) -> bool:
        """Return whether an update changes any of these properties."""
        return any(self.properties.get(name) != self.old.get(name) for name in names)

    def name(self, limit: int, *, stack: bool = True, lower: bool = False, prefix: str = "") -> str:
        """Return a generated physical name in CloudFormation's form."""
        parts = [part for part in (prefix, self.stack_name if stack else "", self.logical_id) if part]
        return generated_name(*parts, limit=limit, lower=lower)

    def wait(self, seconds: float) -> None:
        """Wait for virtual seconds.

        Raises
        ------
        Cancelled
            If the operation ends first.
        """
        with self.paused():
            if not self.halt.sleep(self.context.clock, seconds):
                raise Cancelled

    def poll(self, settled: Callable[[], bool], *, seconds: float = 5, timeout: float = 3600) -> None:
        """Ask again and again, on virtual time, until something has settled.

        Raises
        ------
        Cancelled
            If the operation gives up first.
        ResourceError
            If `timeout` virtual seconds pass.
        """
        clock = self.context.clock
        deadline = clock.now() + timeout
        while not settled():
            if clock.now() >= deadline:
                raise ResourceError(f"Exceeded attempts to wait: {self.type} did not settle in {timeout:.0f} s")
            self.wait(seconds)


class _Patient:
    """A client that calls again, and later, when a service throttles, and not at all once the sandbox stops."""

    def __init__(self, client: Any, request: Request) -> None:
        self._client = client
        self._request = request

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._client, name)
        return value if name in ("meta", "exceptions") else functools.partial(self._call, value)

    def _call(self, method: Callable[..., Any], *args: Any, **given: Any) -> Any:
        for _ in range(_THROTTLE_TRIES):
            if self._request.halt.closed:
                raise Cancelled
            try:
                return method(*args, **given)
            except ClientError as error:
                if not any(word in error.response["Error"]["Code"] for word in THROTTLES):
                    raise
            self._request.wait(5)
        return method(*args, **given)


class ResourceType(ABC):
    """One CloudFormation resource type.

    Attributes
    ----------
    type
        Its name, such as ``AWS::SQS::Queue``.
    attributes
        What `Fn::GetAtt` can ask for; None if anything can be asked for.
    waits
        Whether making one can take long; it then does not hold up other resources.
    note
        What every event of such a resource says beside its reason.
    """

    type: ClassVar[str]
    attributes: ClassVar[frozenset[str] | None] = frozenset()
    waits: ClassVar[bool] = False
    note: ClassVar[str] = ""

    def check(self, request: Request) -> None:  # noqa: B027 - most types have nothing to refuse
        """Refuse a create or update before anything is called.

        Raises
        ------
        ResourceError
            In words.
        """

    @abstractmethod
    def create(self, request: Request) -> Made:
        """Make the resource."""

    @abstractmethod
    def update(self, request: Request) -> Made:
        """Change it in place; a physical ID that differs from the request's means that it was replaced."""

    @abstractmethod
    def delete(self, request: Request) -> None:
        """Remove it; one that is gone already counts as removed."""


def plain(document: Any) -> str:
    """Return a policy or definition as the JSON text that APIs take."""
    return document if isinstance(document, str) else json.dumps(document)


def tag_map(tags: Iterable[dict[str, str]] | dict[str, str] | None) -> dict[str, str]:
    """Return tags of either form as a map."""
    if isinstance(tags, dict):
        return dict(tags)
    return {tag["Key"]: tag["Value"] for tag in tags or []}
