"""CloudFormation as its callers see it: actions in, XML out, operations in the background."""

from __future__ import annotations

from typing import TYPE_CHECKING

from botocore import xform_name

from constructs_lib.sandbox.errors import ServiceError

from . import query
from .changeset_actions import ChangeSetActions
from .read_actions import ReadActions
from .registry import Registry
from .responses import Responses
from .stack_actions import StackActions
from .store import Store

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from constructs_lib.sandbox.context import Context

__all__ = ["CloudFormation"]


class CloudFormation:
    """The sandbox's CloudFormation.

    Parameters
    ----------
    context
        The sandbox; every resource is made through its clients.
    stubs
        Resource types that the sandbox cannot make and creates as placeholders; their events say ``(stub)``.

    Attributes
    ----------
    responses
        Where custom resources answer; `responses.app` is the WSGI application for paths under `responses.PREFIX`.
    """

    def __init__(self, context: Context, stubs: Iterable[str] = ()) -> None:
        self.responses = Responses(context.url)
        self._store = Store(context, Registry(stubs, self.responses))
        stacks = StackActions(self._store)
        self._parts = (stacks, ChangeSetActions(self._store, stacks), ReadActions(self._store))

    def handle(self, action: str, params: Mapping[str, str]) -> bytes:
        """Carry out an action of the Query protocol.

        Parameters
        ----------
        action
            Such as ``DescribeStacks``.
        params
            The flat form, such as ``{"StackName": "a", "Tags.member.1.Key": "k"}``.

        Raises
        ------
        ServiceError
            As CloudFormation would answer.
        """
        request = query.parse(action, {k: v for k, v in params.items() if k not in ("Action", "Version")})
        name = xform_name(action)
        for part in self._parts:
            if hasattr(part, name):
                return query.render(action, getattr(part, name)(request))
        raise ServiceError("InvalidAction", f"the sandbox's CloudFormation does not serve {action}")

    def wait(self, stack_name: str) -> str:
        """Wait until no operation of a stack runs and return the stack's status."""
        stack = self._store.find(stack_name)
        thread = self._store.threads.get(stack.stack_id)
        if thread is not None:
            thread.join()
        return stack.status

    def close(self) -> None:
        """End what runs in the background; the sandbox stops."""
        self._store.close()
