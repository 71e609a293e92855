"""The buyer function: a custom resource that quotes a training plan, or buys it exactly once."""

from __future__ import annotations

import sys
import time
import traceback
from typing import TYPE_CHECKING, Any

from constructs_lib.model import InvalidInputError
from constructs_lib.runtime.buyer import services
from constructs_lib.runtime.cloudformation import answer_to, deliver
from constructs_lib.runtime.errors import PurchaseRefusedError
from constructs_lib.runtime.plan_answer import ATTRIBUTES, PlanAnswer
from constructs_lib.runtime.plan_request import PlanIdentity, PlanRequest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constructs_lib.runtime.services.buying import Buying

__all__ = ["handler", "outcome"]

# What is left of the function's time when waiting ends: for the calls that are under way, and for the answer.
_RESERVE_SECONDS = 60.0
_UNREADABLE = "gpu-capacity-training-plan"
_KEPT = "nothing was called: a training plan cannot be cancelled, it stays and is paid until its end"


def handler(event: Mapping[str, Any], context: Any) -> None:
    """Handle one event of CloudFormation, and always answer it."""
    until = time.time() + context.get_remaining_time_in_millis() / 1000 - _RESERVE_SECONDS
    deliver(event, outcome(event, until))


def outcome(event: Mapping[str, Any], until: float, buying: Buying | None = None) -> dict[str, Any]:
    """Return the answer to an event.

    Parameters
    ----------
    event : Mapping
    until : float
        Epoch seconds at which to stop waiting.
    buying : Buying, optional
        The process's own without it.
    """
    given = event.get("PhysicalResourceId", "")
    if event["RequestType"] == "Delete":
        return answer_to(event, given, reason=_KEPT)
    buying = buying or services().buying
    try:
        ask = PlanRequest.of(event)
    except InvalidInputError as error:
        if buying.means.stacks.reason_against(event["StackId"]) is None:
            return answer_to(event, given or _arn_of(event), failure=str(error))
        return answer_to(event, given or _arn_of(event), data=dict.fromkeys(ATTRIBUTES, "") | {"Status": "Unconfirmed"})
    try:
        answer = buying.answer(ask, until)
    except PurchaseRefusedError as refusal:
        return answer_to(event, given or ask.arn, failure=str(refusal))
    except Exception as error:  # noqa: BLE001  a defect must not roll a stack back around a plan that may be bought
        traceback.print_exc(file=sys.stdout)
        answer = PlanAnswer("Unconfirmed", f"the buyer failed, which is a defect; see its log ({error!r})")
    return answer_to(event, ask.arn, data=answer.attributes(ask))


def _arn_of(event: Mapping[str, Any]) -> str:
    """Return the ARN that follows from the name, if at least that can be read."""
    try:
        return PlanIdentity.of(event["ResourceProperties"]).arn(event["StackId"])
    except InvalidInputError:
        return _UNREADABLE
