"""Where a job may run: the zones of its subnets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from constructs_lib.sandbox.switches import reading

from .instance_lists import refusal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constructs_lib.sandbox.context import Context

    from .evaluation import Entry
    from .placement import Placement

__all__ = ["Subnets"]


class Subnets:
    """The zones that jobs are limited to.

    Parameters
    ----------
    context
        Where EC2 is asked, and the switches.
    placement
        Knows which types and plans lie in zones.
    """

    def __init__(self, context: Context, placement: Placement) -> None:
        self._context, self._placement = context, placement

    def zones(self, vpc: dict[str, Any], entries: Sequence[Entry]) -> frozenset[str] | None:
        """Return the zones of a VpcConfig; None if the job may run anywhere, or nothing depends on it.

        It asks EC2, so call it outside a moment of the agenda.
        """
        subnets = vpc.get("Subnets")
        if not subnets or not any(self._has_zones(entry) for entry in entries):
            return None
        try:
            answer = self._context.client("ec2").describe_subnets(SubnetIds=list(subnets))
        except ClientError as error:
            raise refusal(error.response["Error"]["Message"]) from None
        return frozenset(subnet["AvailabilityZone"] for subnet in answer["Subnets"])

    def check(self, entries: Sequence[Entry], zones: frozenset[str] | None) -> None:
        """Refuse zones that leave out one of a plan's, unless the switch says that such a job waits."""
        if zones is None or reading(self._context.faults, "sagemaker.plan-outside-subnets") == "waits":
            return
        for entry in entries:
            plan = self._placement.plans.get(entry.plan) if entry.plan else None
            for segment in plan.segments if plan else ():
                if segment.zone not in zones:
                    raise refusal(
                        f"The subnets of VpcConfig lie in {', '.join(sorted(zones))}, but training plan {entry.plan}"
                        f" has reserved capacity in {segment.zone}."
                    )

    def _has_zones(self, entry: Entry) -> bool:
        plan = self._placement.plans.get(entry.plan) if entry.plan else None
        if plan is None:
            return self._placement.supply.has_zones(entry.source)
        return any(part.zone for part in plan.seed.segments)
