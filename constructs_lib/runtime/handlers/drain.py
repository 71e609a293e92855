"""The drain function: a custom resource whose deletion ends all jobs before the rest of the stack goes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from constructs_lib.runtime.cloudformation import answer_to, deliver
from constructs_lib.runtime.composition import services

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constructs_lib.runtime.services.draining import Draining

__all__ = ["handler", "outcome", "respond"]

# The same for every event: another id would make CloudFormation delete "the old one", which drains a living stack.
_PHYSICAL_ID = "gpu-capacity-drain"


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
    """Answer CloudFormation; raises if the answer cannot be delivered."""
    deliver(event, answer_to(event, _PHYSICAL_ID, failure=failure or ""))
