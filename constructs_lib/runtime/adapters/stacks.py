"""Stacks: whether one goes forward. An Update event bears no mark of a rollback, so the stack itself is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from constructs_lib.runtime.adapters.outcomes import words_of

if TYPE_CHECKING:
    from constructs_lib.runtime.ports import CloudFormationClient

__all__ = ["Stacks"]

_FORWARD = ("CREATE_IN_PROGRESS", "UPDATE_IN_PROGRESS")


class Stacks:
    """The stacks whose deploys buy.

    Parameters
    ----------
    client : CloudFormationClient
    """

    def __init__(self, client: CloudFormationClient) -> None:
        self._client = client

    def reason_against(self, stack: str) -> str | None:
        """Return why a stack does not go forward, or ``None`` if it does.

        A stack whose status cannot be read does not count as going forward.
        """
        try:
            (found,) = self._client.describe_stacks(StackName=stack)["Stacks"]
        except (BotoCoreError, ClientError) as error:
            return f"the stack's status could not be read, so nothing may be bought ({words_of(error)})"
        status = found["StackStatus"]
        return None if status in _FORWARD else f"the stack does not go forward, it is {status}"
