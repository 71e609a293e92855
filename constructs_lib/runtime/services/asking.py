"""Asking people for an approval, with the command that gives it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from constructs_lib.model.purchase_names import ASK_AGAIN_CONTEXT
from constructs_lib.runtime.services.resolving import purchase_options

if TYPE_CHECKING:
    from constructs_lib.model import Money
    from constructs_lib.runtime.adapters.notices import Notices
    from constructs_lib.runtime.plan_request import PlanRequest

__all__ = ["ask_for_approval"]


def ask_for_approval(notices: Notices, ask: PlanRequest, label: str, offered: str, fee: Money) -> str:
    """Publish what is offered and how it is approved; return what there is to say of it.

    Parameters
    ----------
    notices : Notices
    ask : PlanRequest
    label : str
        What would be bought.
    offered : str
        The offering in words.
    fee : Money
        What it costs.
    """
    currency = "" if fee.currency == "USD" else f" --currency {fee.currency}"
    command = f"gpucap approve {ask.plan.identity}{purchase_options(label)} --max-fee {fee.amount:f}{currency}"
    words = (
        f"{ask.arn} waits for an approval.\nOffered: {offered}\nTo approve a purchase of at most {fee}, run\n"
        f"  {command}\nand deploy again, if nothing else changes with a new word for -c {ASK_AGAIN_CONTEXT}=WORD. "
        "Without the approval nothing is ever bought."
    )
    if not ask.topic:
        return "nobody can be asked: Approval.TopicArn is missing"
    problem = notices.ask(ask.topic, f"Approval needed: training plan {ask.plan.name}", words)
    return problem or f"approve with: {command}"
