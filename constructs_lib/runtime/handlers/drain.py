"""The drain function: a custom resource whose deletion ends all jobs before the rest of the stack goes."""

from __future__ import annotations

import http.client
import json
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from botocore.exceptions import BotoCoreError, ClientError

from constructs_lib.runtime.composition import services

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constructs_lib.runtime.services.draining import Draining

__all__ = ["handler", "outcome", "respond"]

# The same for every event: another id would make CloudFormation delete "the old one", which drains a living stack.
_PHYSICAL_ID = "gpu-capacity-drain"
_LONGEST_REASON = 2000  # CloudFormation takes answers of up to 4,096 bytes
_ANSWER_TRIES = 4


def handler(event: Mapping[str, Any], context: object) -> None:  # noqa: ARG001  Lambda's signature
    """Handle one event of CloudFormation, and always answer it."""
    failure = outcome(event["RequestType"], services(event["ResourceProperties"]["TableName"]).draining)
    respond(event, failure)


def outcome(request_type: str, draining: Draining) -> str | None:
    """Do what the event asks for.

    Returns
    -------
    str or None
        Why the stack cannot go yet, in words; never anything for a creation or an update, which nothing here may fail.
    """
    deleting = request_type == "Delete"
    try:
        if not deleting:
            draining.allow()
            return None
        left = draining.drain()
    except (BotoCoreError, ClientError) as error:
        # A run table that is gone knows of no jobs.
        if not deleting or getattr(error, "response", {}).get("Error", {}).get("Code") == "ResourceNotFoundException":
            return None
        return f"the run table could not be read, so jobs may still run ({error}); delete the stack again"
    if not left:
        return None
    return f"{len(left)} jobs were told to stop and have not ended: {', '.join(left)}; delete the stack again later"


def respond(event: Mapping[str, Any], failure: str | None) -> None:
    """Put the answer where CloudFormation waits for it; raises if it cannot be delivered."""
    answer = {
        "Status": "FAILED" if failure else "SUCCESS",
        "Reason": (failure or "")[:_LONGEST_REASON],
        "PhysicalResourceId": _PHYSICAL_ID,
        **{key: event[key] for key in ("StackId", "RequestId", "LogicalResourceId")},
    }
    body = json.dumps(answer).encode()
    for last in (*[False] * (_ANSWER_TRIES - 1), True):
        try:
            if _put(event["ResponseURL"], body) < 300:
                return
        except (OSError, http.client.HTTPException):
            if last:
                raise
        time.sleep(1.0)
    raise ConnectionError("CloudFormation did not take the answer; Lambda will deliver the event again")


def _put(url: str, body: bytes) -> int:
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.netloc, timeout=10)
    try:
        # The presigned URL was signed without a content type.
        connection.request("PUT", f"{parts.path}?{parts.query}", body, {"Content-Type": ""})
        return connection.getresponse().status
    finally:
        connection.close()
