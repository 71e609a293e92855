"""An instance lands in a capacity block only if market and target say so together."""

from typing import Any

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
from constructs_lib.rules.values import items, known_text, mapping

_MARKET, _TARGET = "InstanceMarketOptions.MarketType", "CapacityReservationSpecification.CapacityReservationTarget"
# These launch from the template as it stands; an Auto Scaling group may carry the target itself.
_CANNOT_SUPPLY = ("AWS::EKS::Nodegroup", "AWS::Batch::ComputeEnvironment", "AWS::EC2::Instance")


@rule(
    "GPU-CB01",
    title="a market and a reservation target that do not fit",
    kinds=(Kind.LAUNCH_TEMPLATE,),
    finds={
        Severity.ERROR: "capacity-block with an empty target, or without one where the user cannot supply it; a block "
        "with spot, with another market, in a placement group or with several types",
        Severity.WARNING: "capacity-block without a target that an Auto Scaling group may carry",
    },
    why="the launch fails, or the instances run on demand beside the block that was paid for",
    fix="set MarketType capacity-block together with CapacityReservationTarget.CapacityReservationId",
    source="EC2 guide, capacity-blocks-using; botocore: MarketType, CapacityReservationTarget",
)
def reservation_target(subject: Subject, app: App) -> Findings:
    """Judge market, target and what stands beside them."""
    specification = subject.data.get("CapacityReservationSpecification")
    options = subject.data.get("InstanceMarketOptions")
    market = options if is_unresolved(options) else mapping(options).get("MarketType")
    target = specification if is_unresolved(specification) else mapping(specification).get("CapacityReservationTarget")
    block = _is_block(target, subject, app)
    if is_unresolved(market):
        yield unverified("MarketType is not known here", _MARKET)
    elif market == "capacity-block":
        yield from _needs_target(subject, target)
    elif block:
        given = f"MarketType is {market!r}" if market else "MarketType is missing"
        yield error(f"{given}, and the target is a capacity block", _MARKET)
    if market == "capacity-block" or block:
        yield from _beside_a_block(subject)


def _is_block(target: Any, subject: Subject, app: App) -> bool:
    """Tell whether the target is an id that is declared to be a block."""
    return known_text(mapping(target).get("CapacityReservationId")) in items(app.declared(subject, "blocks"))


def _needs_target(subject: Subject, target: Any) -> Findings:
    users = [mapping(user) for user in items(subject.about.get("Users"))]
    stuck = [str(user.get("Type")) for user in users if user.get("Type") in _CANNOT_SUPPLY]
    if "MinCount" in subject.data:
        stuck.append("RunInstances")
    if is_unresolved(target):
        yield unverified("the reservation target is not known here", _TARGET)
    elif target is None and stuck:
        yield error(f"MarketType is capacity-block without a target, and {stuck[0]} cannot supply one", _TARGET)
    elif target is None:
        yield warning("MarketType is capacity-block without a target; only an Auto Scaling group can carry it", _TARGET)
    elif not any(mapping(target).get(key) for key in ("CapacityReservationId", "CapacityReservationResourceGroupArn")):
        yield error("MarketType is capacity-block with an empty CapacityReservationTarget", _TARGET)


def _beside_a_block(subject: Subject) -> Findings:
    placement = mapping(subject.data.get("Placement"))
    for key in ("GroupName", "GroupId"):
        if placement.get(key):
            yield error("capacity blocks take no placement group", f"Placement.{key}")
    if mapping(subject.data.get("InstanceMarketOptions")).get("SpotOptions"):
        yield error("capacity blocks are no spot capacity", "InstanceMarketOptions.SpotOptions")
    reserved = mapping(mapping(subject.data.get("CapacityReservationSpecification")).get("CapacityReservationTarget"))
    by_id = reserved.get("CapacityReservationId") is not None
    if by_id and subject.data.get("InstanceRequirements") is not None:
        yield error("one reservation id serves one type, InstanceRequirements asks for several", "InstanceRequirements")
    for user in items(subject.about.get("Users")):
        properties = mapping(mapping(user).get("Properties"))
        if properties.get("MixedInstancesPolicy") is not None:
            yield error("MixedInstancesPolicy does not support capacity blocks", _MARKET)
        if by_id and len(items(properties.get("InstanceTypes"))) > 1:
            yield error("one reservation id serves one type, the node group lists several", _TARGET)
