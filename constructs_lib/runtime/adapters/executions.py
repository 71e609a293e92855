"""Executions of state machines: whether one still runs, and the answers to their task tokens."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from constructs_lib.model import RunEnd

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constructs_lib.runtime.identity import Identity
    from constructs_lib.runtime.ports import StepFunctionsClient

__all__ = ["Executions"]

# The task was answered, timed out or ended with its execution: nobody waits, so nothing is lost.
_NOBODY_WAITS = frozenset({"TaskTimedOut", "TaskDoesNotExist", "InvalidToken"})
_LONGEST_CAUSE = 32_768


class Executions:
    """The executions that launch jobs.

    Parameters
    ----------
    client : StepFunctionsClient
    """

    def __init__(self, client: StepFunctionsClient) -> None:
        self._client = client

    def runs(self, identity: Identity) -> bool:
        """Tell whether the execution still runs, and not in a redrive that came after this entry of the state."""
        try:
            answer = self._client.describe_execution(executionArn=identity.execution)
        except ClientError as error:
            if error.response["Error"]["Code"] == "ExecutionDoesNotExist":
                return False
            raise
        return bool(answer["status"] == "RUNNING" and answer.get("redriveCount", 0) <= identity.redrive)

    def answer(self, token: str, record: Mapping[str, Any], following: Mapping[str, Any] | None = None) -> None:
        """End a task as the run ended; a token that nobody waits on is no error.

        A run that did not complete fails its state by the end's name, so that a redrive launches again; one that is
        followed by another step succeeds, with what the machine needs to go on.
        """
        if following is not None:
            self.go_on(token, following)
            return
        output = json.dumps(record)
        if record["end"] == RunEnd.COMPLETED:
            self._send(self._client.send_task_success, taskToken=token, output=output)
        else:
            if len(output) > _LONGEST_CAUSE:  # the rows of the earlier steps have their records
                output = json.dumps({key: value for key, value in record.items() if key != "earlier"})
            self.fail(token, record["end"], output)

    def go_on(self, token: str, following: Mapping[str, Any]) -> None:
        """Send a machine on to another step."""
        self._send(self._client.send_task_success, taskToken=token, output=json.dumps(following))

    def start(self, machine: str, name: str, given: Mapping[str, Any]) -> bool:
        """Start an execution; return whether this call did, for its name is used only once."""
        try:
            self._client.start_execution(stateMachineArn=machine, name=name, input=json.dumps(given))
        except ClientError as error:
            if error.response["Error"]["Code"] != "ExecutionAlreadyExists":
                raise
            return False
        return True

    def fail(self, token: str, error: str, cause: str) -> None:
        """Fail a task, so that its state launches again."""
        self._send(self._client.send_task_failure, taskToken=token, error=error, cause=cause[:_LONGEST_CAUSE])

    @staticmethod
    def _send(call: Any, **arguments: Any) -> None:
        try:
            call(**arguments)
        except ClientError as error:
            if error.response["Error"]["Code"] not in _NOBODY_WAITS:
                raise
