"""A capacity block is bought with the same care as a plan."""

from constructs_lib import facts
from constructs_lib.rules.authoring import (
    App,
    Findings,
    Kind,
    Severity,
    Subject,
    error,
    is_unresolved,
    rule,
    unverified,
    warning,
)
from constructs_lib.rules.buying import BLOCK, approval, ceiling, is_ours, retained, size, window
from constructs_lib.rules.values import known_text, show, text

_CALLS = ("purchasecapacityblock", "purchasecapacityblockextension")


@rule(
    "GPU-CB02",
    title="a capacity block purchase that is open, not sold, or repeated",
    kinds=(Kind.CAPACITY_BLOCK, Kind.CAPACITY_BLOCK_SEARCH, Kind.SDK_CALL),
    finds={
        Severity.ERROR: "no fee ceiling; above 64 instances; a duration other than 1 to 14 days or whole weeks to 182 "
        "days; a window that cannot hold it; not retained; no approver; a purchase call that runs again",
        Severity.WARNING: "a count or duration that is not sold as such, a type that is not sold as a block, a bad "
        "window in a bare search",
    },
    why="a block is paid upfront and cannot be cancelled, and PurchaseCapacityBlock has no client token",
    fix="give ceiling, size and window as they are sold, keep Retain, and leave the purchase to one resource",
    source="EC2 guide, ec2-capacity-blocks; botocore: PurchaseCapacityBlockRequest (no ClientToken)",
)
def block_purchase(subject: Subject, app: App) -> Findings:
    """Judge a purchase, a search or a call."""
    if subject.kind is Kind.SDK_CALL:
        yield from _call(subject)
        return
    if is_ours(subject):
        yield from ceiling(subject)
        yield from retained(subject)
        yield from approval(subject)
    yield from size(subject, BLOCK)
    yield from window(subject, BLOCK, app)
    yield from _type(subject)


def _call(subject: Subject) -> Findings:
    service, action = subject.data.get("Service"), subject.data.get("Action")
    name = (text(service) or "").lower().replace("@aws-sdk/client-", "")
    if is_unresolved(action) and name == "ec2":
        yield unverified("the action is not known here; purchases must not be called this way", "Action")
    elif name == "ec2" and str(action).lower().removesuffix("command") in _CALLS:
        via = subject.about.get("Via", "this call")
        yield error(f"{show(action)} buys again whenever {via} runs again", "Action")


def _type(subject: Subject) -> Findings:
    name = known_text(subject.data.get("InstanceType"))
    known = facts.instance_types().get(f"ml.{name}")
    if is_unresolved(subject.data.get("InstanceType")) or (name and known is None):
        yield unverified("whether the type is sold as a block is not known here", "InstanceType")
    elif known and not known.capacity_block:
        yield warning(f"{name} is not sold as a capacity block", "InstanceType")
