"""The custom resource of a reserved endpoint: writes the declaration down; deleted, it waits until all is gone."""

from __future__ import annotations

import sys
import time
import traceback
from typing import TYPE_CHECKING, Any

from constructs_lib.model import InvalidInputError
from constructs_lib.runtime.cloudformation import answer_to, deliver
from constructs_lib.runtime.endpoint_keeper import services

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constructs_lib.model.endpoints_rules import Decision
    from constructs_lib.runtime.endpoint_keeper import EndpointServices

__all__ = ["handler", "outcome"]

# What is left of the function's time when waiting ends: for the calls that are under way, and for the answer.
_RESERVE_SECONDS = 60.0
_UNREADABLE = "gpu-capacity-endpoint"


def handler(event: Mapping[str, Any], context: Any) -> None:
    """Handle one event of CloudFormation, and always answer it."""
    until = time.time() + context.get_remaining_time_in_millis() / 1000 - _RESERVE_SECONDS
    deliver(event, outcome(event, until))


def outcome(event: Mapping[str, Any], until: float, to: EndpointServices | None = None) -> dict[str, Any]:
    """Return the answer to an event.

    Parameters
    ----------
    event : Mapping
    until : float
        Epoch seconds at which to stop waiting.
    to : EndpointServices, optional
        The process's own without it.
    """
    name = str(event["ResourceProperties"].get("EndpointName") or event.get("PhysicalResourceId") or _UNREADABLE)
    given, back = event.get("PhysicalResourceId", name), False
    try:
        to = to or services()
        if event["RequestType"] == "Delete":
            owner = event["ResourceProperties"].get("Owner", "")
            return answer_to(event, given, failure=to.tearing_down.tear_down(given, owner, until) or "")
        back = event["RequestType"] == "Update" and to.stacks.reason_against(event["StackId"]) is not None
        starting = event["RequestType"] == "Create" or given != name
        decision = to.declaring.declare(event["ResourceProperties"], judged=not back, starting=starting)
    except InvalidInputError as error:
        reason = str(error)
    except Exception as error:  # noqa: BLE001  a defect must be told to CloudFormation, which waits for an hour otherwise
        traceback.print_exc(file=sys.stdout)
        reason = f"the endpoint's function failed; see its log ({error!r})"
    else:
        return answer_to(event, name, data=_attributes(event, name, decision))
    if back:
        # A rollback has to go on; the keeper goes by the declaration that it has.
        return answer_to(event, given, reason=reason, data=_attributes(event, given, None))
    return answer_to(event, given, failure=reason)


def _attributes(event: Mapping[str, Any], name: str, decision: Decision | None) -> dict[str, str]:
    partition, _, region, account = event["StackId"].split(":")[1:5]
    item = decision.item if decision else None
    return {
        "EndpointName": name,
        "EndpointArn": f"arn:{partition}:sagemaker:{region}:{account}:endpoint/{name.lower()}",
        "Status": item.state if item else "Unknown",
        "NextAction": item.next_action if item else "",
        "NextActionAt": item.next_at if item else "",
    }
