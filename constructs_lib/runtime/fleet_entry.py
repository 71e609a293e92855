"""The part of the launcher's payload that only the items of a fleet have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from constructs_lib.model.fleets import FleetItem, content_digest, limited_types

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constructs_lib.runtime.identity import Identity

__all__ = ["FleetEntry", "item_of", "may_give_back"]

_DIGEST, _KEEPS = "digest", "keeps"


@dataclass(frozen=True, slots=True)
class FleetEntry:
    """One item of a fleet, taken by one execution of the fleet.

    Parameters
    ----------
    item : FleetItem
        With the values of this deploy.
    digest : str
        Of what the item computes.
    file : str
        The version of the fleet's file.
    run : str
        The fleet's execution, which is not the item's.
    limits : Mapping
        How many jobs of the fleet may run at once on each of the types that this item may take.
    """

    item: FleetItem
    digest: str
    file: str
    run: str
    limits: Mapping[str, int]

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> FleetEntry:
        """Read ``fleet`` of a payload: the item as the file holds it, values, limits, file and run."""
        item = FleetItem.of(data["item"], data.get("values", {}))
        limits = data.get("limits", {})
        needed = {kind: limits[kind] for kind in limited_types(item.request, limits)}
        return cls(item, content_digest(item.request), data["file"], data["run"], needed)

    def payload(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        """Return the payload as that of any other launch: with a request, and marks that name the item."""
        marks = {**payload.get("entry", {}), "item": self.item.name, _DIGEST: self.digest}
        # Whether SageMaker asks the whole list again when it repeats a job by itself is unknown.
        if "RetryStrategy" in self.item.request:
            marks[_KEEPS] = True
        return {**payload, "request": self.item.request, "reasons": list(self.item.reasons), "entry": marks}


def item_of(identity: Identity) -> tuple[str, str] | None:
    """Return name and digest of the fleet's item that a job is for, or ``None`` if it is for none."""
    marks = identity.entry
    return (marks["item"], marks[_DIGEST]) if _DIGEST in marks else None


def may_give_back(identity: Identity) -> bool:
    """Tell whether a job of a fleet that has got an instance type will take no other of its list."""
    return _DIGEST in identity.entry and _KEEPS not in identity.entry
