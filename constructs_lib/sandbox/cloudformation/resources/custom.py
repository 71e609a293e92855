"""Custom resources: an event to a Lambda function, and an answer that is waited for."""

from __future__ import annotations

import json
import logging
import threading
import uuid
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from constructs_lib.sandbox.cloudformation.naming import random_suffix

from .base import Cancelled, Made, Request, ResourceError, ResourceType

if TYPE_CHECKING:
    from constructs_lib.sandbox.cloudformation.responses import Mailbox, Responses

__all__ = ["CustomResource"]

LOG = logging.getLogger(__name__)
_LONGEST_RESPONSE = 4096
_TIMEOUT = 3600
_NO_RESPONSE = (
    "CloudFormation did not receive a response from your Custom Resource. Please check your logs for requestId [{}]."
    " If you are using the Python cfn-response module, you may need to update your Lambda function code so that"
    " CloudFormation can attach the updated version."
)


class CustomResource(ResourceType):
    """``Custom::*`` and ``AWS::CloudFormation::CustomResource`` backed by a Lambda function.

    The switch ``cloudformation.custom-resource-delivery`` says how an event reaches the function: ``once``, ``twice``,
    or ``late``: a Create or Update of an operation that goes forward only after CloudFormation stopped waiting for it.

    Parameters
    ----------
    responses
        Where the functions answer.
    """

    type = "AWS::CloudFormation::CustomResource"
    attributes = None
    waits = True

    def __init__(self, responses: Responses) -> None:
        self._responses = responses

    def check(self, request: Request) -> None:
        """Refuse what is no function, a changed token, and a timeout out of range."""
        token = str(request.properties.get("ServiceToken", ""))
        if ":lambda:" not in token:
            raise ResourceError(
                f"the sandbox sends custom resources to Lambda functions only, and ServiceToken is {token!r}:"
                " give a function's ARN"
            )
        if request.old and request.changed("ServiceToken"):
            raise ResourceError("Modifying service token is not allowed.")
        timeout = str(request.properties.get("ServiceTimeout", _TIMEOUT))
        if not timeout.isdigit() or not 1 <= int(timeout) <= _TIMEOUT:
            raise ResourceError(f"ServiceTimeout {timeout!r} is not a number of seconds from 1 to {_TIMEOUT}")

    def create(self, request: Request) -> Made:
        """Send Create and return what the function answers."""
        generated = f"{request.stack_name}-{request.logical_id}-{random_suffix().upper()}"
        try:
            return self._ask("Create", request, fallback=generated)
        except Cancelled:
            raise Cancelled(generated) from None

    def update(self, request: Request) -> Made:
        """Send Update with the old properties and return what the function answers."""
        more = {"PhysicalResourceId": request.physical_id, "OldResourceProperties": as_strings(request.old)}
        return self._ask("Update", request, fallback=request.physical_id, more=more)

    def delete(self, request: Request) -> None:
        """Send Delete."""
        more = {"PhysicalResourceId": request.physical_id}
        self._ask("Delete", request, fallback=request.physical_id, more=more)

    def _ask(self, kind: str, request: Request, *, fallback: str, more: dict[str, Any] | None = None) -> Made:
        box = self._responses.open()
        event = {
            "RequestType": kind,
            "ServiceToken": request.properties["ServiceToken"],
            "ResponseURL": box.url,
            "StackId": request.stack_id,
            "RequestId": str(uuid.uuid4()),
            "LogicalResourceId": request.logical_id,
            "ResourceType": request.type,
            **(more or {}),
            "ResourceProperties": as_strings(request.properties),
        }
        body = self._deliver(event, request, box, fallback)
        return _read(body, event, fallback)

    def _deliver(self, event: dict[str, Any], request: Request, box: Mailbox, fallback: str) -> bytes:
        """Invoke the function and wait for the first answer."""
        clock = request.context.clock
        mode = request.context.faults.state("cloudformation.custom-resource-delivery", "once")
        mode = "once" if mode == "late" and not request.forward else mode
        deadline = clock.now() + int(request.properties.get("ServiceTimeout", _TIMEOUT))
        for _ in range({"twice": 2, "late": 0}.get(mode, 1)):
            _invoke(event, request)
        try:
            with request.paused(), request.halt.waking(box.arrived):
                clock.wait_until(deadline, box.arrived)
            if box.body is not None:
                return box.body
            if request.halt.is_set():
                raise Cancelled
            raise ResourceError(_NO_RESPONSE.format(event["RequestId"]), fallback)
        finally:
            if mode == "late":
                threading.Thread(target=_invoke_late, args=(event, request), daemon=True).start()


def _invoke_late(event: dict[str, Any], request: Request) -> None:
    try:
        _invoke(event, request)
    except (ClientError, BotoCoreError) as error:
        LOG.warning("a late event of %s found no function: %s", request.logical_id, error)


def _invoke(event: dict[str, Any], request: Request) -> None:
    request.client("lambda").invoke(
        FunctionName=event["ServiceToken"], InvocationType="Event", Payload=json.dumps(event).encode()
    )


def as_strings(value: Any) -> Any:
    """Return properties as CloudFormation sends them: every scalar is text."""
    if isinstance(value, dict):
        return {key: as_strings(item) for key, item in value.items()}
    if isinstance(value, list):
        return [as_strings(item) for item in value]
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _read(body: bytes, event: dict[str, Any], fallback: str) -> Made:
    if len(body) > _LONGEST_RESPONSE:
        raise ResourceError(f"Response object is too long ({len(body)} bytes, at most {_LONGEST_RESPONSE}).", fallback)
    try:
        answer = json.loads(body)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise ResourceError("Invalid Response object: Unable to parse JSON object found in S3 bucket", fallback)
    physical_id = answer.get("PhysicalResourceId")
    if not isinstance(physical_id, str) or not physical_id:
        raise ResourceError("Invalid PhysicalResourceId", fallback)
    for key in ("StackId", "RequestId", "LogicalResourceId"):
        if answer.get(key) != event[key]:
            raise ResourceError(f"Invalid Response object: {key} {answer.get(key)!r} is not the request's", fallback)
    if answer.get("Status") != "SUCCESS":
        raise ResourceError(
            f"Received response status [{answer.get('Status')}] from custom resource."
            f" Message returned: {answer.get('Reason', '')} (RequestId: {event['RequestId']})",
            physical_id,
        )
    data = answer.get("Data") or {}
    if not isinstance(data, dict):
        raise ResourceError("Invalid Response object: Value of property Data must be an object", fallback)
    return Made(physical_id, data, no_echo=str(answer.get("NoEcho", False)).lower() == "true")
