"""The vocabulary of the reconciler's decision: states, rules, actions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from constructs_lib.model.endpoints_item import EndpointItem

__all__ = ["ENDPOINT_TAG", "OWNER_TAG", "STATES", "Action", "Decision", "Rules"]

OWNER_TAG, ENDPOINT_TAG = "gpucap:owner", "gpucap:endpoint"
"""The tags that say whose an endpoint or a configuration is, and which endpoint's."""

STATES = (
    "WaitingForPlan",
    "Creating",
    "InService",
    "Updating",
    "Moving",
    "RolledBack",
    "NoHeadRoom",
    "OnDemand",
    "Deleting",
    "Deleted",
    "NotOurs",
    "PlanNotUsable",
    "KeptPastEnd",
    "Failed",
)
_AS_DECLARED = ("InService", "OnDemand", "Deleted", "WaitingForPlan")


@dataclass(frozen=True)
class Rules:
    """The rules of the decision, each of which can be switched off to show that it is needed."""

    segments: bool = True
    """Edges come from every segment, not from the plan's end alone."""
    marker: bool = True
    """A configuration that was rolled back is not tried again until an input changes."""
    confirmed: bool = True
    """What SageMaker was not seen to take is no rollback."""
    last_resort: bool = True
    """When leaving the plan failed, or its time is up: what was declared as the last resort."""
    spare_used: bool = True
    """Old configurations are collected only when nothing else is to do; used, target and wanted ones are spared."""
    legal_states: bool = True
    """No call while the endpoint is in transition."""
    repair: bool = True
    """A failed endpoint is deleted and started again."""
    revive: bool = True
    """An endpoint whose instances vanished with an earlier segment is started again."""
    within_plan: bool = True
    """Never more instances than the plan has and others leave."""
    head_room: bool = True
    """An update takes a way that fits what is free."""
    fenced: bool = True
    """Nothing is built on a name, nor is the end declared, while an older call for it may still arrive."""
    ours_only: bool = True
    """What does not carry our tag is never touched."""


@dataclass(frozen=True, slots=True)
class Action:
    """One call.

    ``call`` is ``create config``, ``delete config``, ``create endpoint``, ``update endpoint``, ``scale endpoint``,
    ``delete endpoint``, ``tag endpoint``, ``register scaling`` or ``deregister scaling``; ``name`` is what it is about,
    ``request`` its parameters.
    """

    call: str
    name: str
    request: Mapping[str, Any] = field(default_factory=dict)
    why: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """What a run does.

    Parameters
    ----------
    action : Action or None
        The one call.
    item : EndpointItem
        What has to be stored before it.
    notices : tuple
        What people should hear of, each with the key under which it is said once.
    cut : datetime or None
        When the endpoint leaves its plan next.
    used : int
        Instances of the plan in use by the endpoint.
    """

    action: Action | None
    item: EndpointItem
    notices: tuple[tuple[str, str], ...] = ()
    cut: datetime | None = None
    used: int = 0

    @property
    def as_declared(self) -> bool:
        """Whether nothing is to do, and everything is as it was declared."""
        return self.action is None and self.item.state in _AS_DECLARED
