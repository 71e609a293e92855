"""What IAM can see of a SageMaker request: keys by action, what no key covers, and how long a document may be."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from constructs_lib.facts import load

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "INSTANCE_TYPES_KEY",
    "Action",
    "DocumentLimit",
    "Gap",
    "actions",
    "block_types",
    "carrying_actions",
    "document_limits",
    "gaps",
]

INSTANCE_TYPES_KEY = "sagemaker:InstanceTypes"


@dataclass(frozen=True, slots=True)
class Action:
    """An IAM action: the resources it needs or may need, and its condition keys.

    ``keys`` is ``None`` for an operation that the service authorization reference does not list. ``types_at`` is where
    its request names an instance type, ``None`` when its model shows none.
    """

    name: str
    source: str
    resources: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    keys: frozenset[str] | None = None
    types_at: str | None = None

    def carries(self, key: str) -> bool | None:
        """Tell whether requests carry ``key``; ``None`` when no source says."""
        return None if self.keys is None else key in self.keys


@dataclass(frozen=True, slots=True)
class Gap:
    """An action that starts or grows instances without carrying their type: what stays open, and what closes it."""

    action: str
    opens: str
    closes: str
    source: str


@dataclass(frozen=True, slots=True)
class DocumentLimit:
    """How many characters a document may have; ``since`` is the day a newer figure is said to hold from."""

    document: str
    characters: int
    counts_spaces: bool
    source: str
    since: str | None = None


@cache
def actions() -> Mapping[str, Action]:
    """Return every known action of SageMaker, and those of EC2 that a guardrail speaks about, by name."""
    return MappingProxyType({row["action"]: _action(row) for row in load("iam_actions")["rows"]})


def _action(row: Mapping[str, str | list[str]]) -> Action:
    keys = row.get("keys")
    return Action(
        name=str(row["action"]),
        source=str(row["source"]),
        resources=tuple(row.get("resources", ())),
        optional=tuple(row.get("optional", ())),
        keys=None if keys is None else frozenset(keys),
        types_at=str(row["types_at"]) if "types_at" in row else None,
    )


@cache
def carrying_actions(key: str = INSTANCE_TYPES_KEY) -> tuple[str, ...]:
    """Return the actions whose requests carry a condition key, by name."""
    return tuple(name for name, action in actions().items() if action.carries(key))


@cache
def gaps() -> Mapping[str, Gap]:
    """Return the actions that start or grow instances and never carry their type, by name."""
    return MappingProxyType({row["action"]: Gap(**row) for row in load("iam_gaps")["rows"]})


@cache
def document_limits(document: str) -> tuple[DocumentLimit, ...]:
    """Return the limits of a kind of document (``managed``, ``role-inline``, ``scp`` ...), the surest first."""
    known = load("iam_document_limits")
    rows = (row for row in known["rows"] if row["document"] == document)
    return tuple(DocumentLimit(**row | {"source": known["sources"][row["source"]]}) for row in rows)


@cache
def block_types() -> tuple[str, ...]:
    """Return the EC2 types that Capacity Blocks sell."""
    return tuple(name for row in load("ec2_accelerated_families")["rows"] for name in row["blocks"])
