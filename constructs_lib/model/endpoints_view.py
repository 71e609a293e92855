"""What one run of the reconciler sees."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from constructs_lib.model.endpoints_item import EndpointItem
    from constructs_lib.model.endpoints_window import PlanSight

__all__ = ["ABSENT", "BROKEN", "IN_SERVICE", "MOVING", "EndpointSight", "VariantSight", "View"]

ABSENT = "Absent"
IN_SERVICE = "InService"
MOVING = ("Creating", "Updating", "SystemUpdating", "RollingBack", "Deleting")
"""Statuses in which SageMaker takes no call for an endpoint."""
BROKEN = ("Failed", "OutOfService", "UpdateRollbackFailed")


@dataclass(frozen=True, slots=True)
class VariantSight:
    """One variant: how many instances it should have, has, and uses of the plan (None while unknown)."""

    desired: int
    current: int
    used: int | None = None


@dataclass(frozen=True, slots=True)
class EndpointSight:
    """An endpoint as one look shows it; ``plan`` is the ARN its configuration runs on, "" for on-demand capacity.

    ``owner`` is what its tag says, "" while there is none to be seen.
    """

    status: str = ABSENT
    config: str = ""
    plan: str = ""
    variants: Mapping[str, VariantSight] = field(default_factory=dict)
    owner: str = ""
    failure: str = ""
    arn: str = ""

    @property
    def exists(self) -> bool:
        """Whether there is an endpoint."""
        return self.status != ABSENT

    @property
    def desired(self) -> int:
        """How many instances it should have."""
        return sum(variant.desired for variant in self.variants.values())

    def used(self, arn: str) -> int:
        """Return how many instances of a plan it uses."""
        if not self.exists or self.plan != arn:
            return 0
        return sum(v.current if v.used is None else v.used for v in self.variants.values())

    @property
    def vanished(self) -> bool:
        """Whether it says that it uses nothing of its plan, although it should."""
        known = [variant.used for variant in self.variants.values()]
        return bool(self.plan and known) and all(used == 0 for used in known) and self.desired > 0


@dataclass(frozen=True, slots=True)
class View:
    """Everything that a run reads before it decides.

    Parameters
    ----------
    now : datetime
    item : EndpointItem
    endpoint : EndpointSight
    plans : Mapping
        By ARN: the declared plan, the next one, and the one that the endpoint is on.
    configs : frozenset of str
        Our configurations of this endpoint that exist, by name.
    registered : tuple of int, optional
        The least and the most instances of the autoscaling that is registered.
    """

    now: datetime
    item: EndpointItem
    endpoint: EndpointSight = field(default_factory=EndpointSight)
    plans: Mapping[str, PlanSight] = field(default_factory=dict)
    configs: frozenset[str] = frozenset()
    registered: tuple[int, int] | None = None

    @property
    def ours(self) -> bool:
        """Whether the endpoint may be touched."""
        item, endpoint = self.item, self.endpoint
        asked = {item.served.get("config"), item.asked.config if item.asked else None}
        untagged = not endpoint.owner and endpoint.config in asked
        return endpoint.owner in item.owners or bool(item.overrides.get("adopted")) or untagged

    @property
    def on(self) -> PlanSight | None:
        """The plan that the endpoint is on."""
        return self.plans.get(self.endpoint.plan) if self.endpoint.exists and self.endpoint.plan else None
