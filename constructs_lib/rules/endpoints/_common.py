"""What the rules on endpoints share: the variants of a configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from constructs_lib import facts
from constructs_lib.model import is_unresolved
from constructs_lib.rules.subjects import Subject
from constructs_lib.rules.values import items, known_text, mapping

__all__ = ["CONFIG_GROUPS", "Variant", "variants_of"]

CONFIG_GROUPS = ("ProductionVariants", "ShadowProductionVariants")


@dataclass(slots=True, eq=False)
class Variant:
    """One production or shadow variant; ``reserved`` is its CapacityReservationConfig, empty if it has none."""

    data: Mapping[str, Any]
    at: str
    reserved: Mapping[str, Any]
    unknown: bool

    @property
    def pools(self) -> list[Mapping[str, Any]]:
        """The instance pools."""
        return [mapping(pool) for pool in items(self.data.get("InstancePools"))]

    @property
    def types(self) -> list[str | None]:
        """The types it may run on; ``None`` for one that is not known here."""
        if self.data.get("InstancePools") is not None:
            return [known_text(pool.get("InstanceType")) for pool in self.pools] or [None]
        given = self.data.get("InstanceType")
        return [] if given is None and not self.unknown else [known_text(given)]

    def local_storage(self) -> list[int | None]:
        """Return the local storage of each type in GB; ``None`` for one that is not known here."""
        known = facts.instance_types()
        return [known[name].local_storage_gb if name and name in known else None for name in self.types]


def variants_of(subject: Subject) -> tuple[Variant, ...]:
    """Return the variants of a configuration; a list that is not known here is one unknown variant."""
    return subject.view(_variants)


def _variants(subject: Subject) -> tuple[Variant, ...]:
    found = []
    for group in CONFIG_GROUPS:
        raw = subject.data.get(group)
        if is_unresolved(raw):
            found.append(Variant({}, group, {}, unknown=True))
        for i, one in enumerate(items(raw)):
            data = mapping(one)
            reserved = data.get("CapacityReservationConfig")
            unknown = is_unresolved(one) or is_unresolved(reserved)
            found.append(Variant(data, f"{group}[{i}]", mapping(reserved), unknown))
    return tuple(found)
