"""Availability zones by name and by id: the same zone must compare equal, by lookup and never by text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from constructs_lib.rules.values import known_text, mapping

if TYPE_CHECKING:
    from constructs_lib.rules.subjects import App, Subject

__all__ = ["one_name", "zones_of_subnets"]


def one_name(zone: str, subject: Subject, app: App) -> str:
    """Return a zone's id where the account's mapping of names to ids is declared, else the zone as given."""
    return str(mapping(app.declared(subject, "zone_ids")).get(zone, zone))


def zones_of_subnets(subject: Subject, app: App) -> dict[str, str]:
    """Return the zone of each subnet of which it is declared."""
    declared = mapping(app.declared(subject, "subnets")).items()
    return {subnet: one_name(zone, subject, app) for subnet, raw in declared if (zone := known_text(raw))}
