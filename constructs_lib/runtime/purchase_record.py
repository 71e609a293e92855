"""What is remembered of one identity: what was claimed or bought of it, refused requests, approvals, what was seen.

A record is a value. Its changes are pure; `constructs_lib.runtime.purchase_table` makes each of them one conditional
write over the record as it was read, so that a change's own conditions are conditions of the write.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Any

from constructs_lib.model import Money, PriceCeiling

__all__ = ["Approval", "Purchase", "Record", "State"]

# No delivery of a request comes later than this.
_CLOSED_FOR = 7 * 86400.0
_LONGEST_REASON = 2000


class State(StrEnum):
    """What is known of one purchase."""

    BUYING = "buying"
    """Claimed: a purchase call may have been made, or be made."""
    BOUGHT = "bought"


@dataclass(frozen=True, slots=True)
class Purchase:
    """One purchase that was claimed or made.

    Parameters
    ----------
    state : State
    attempt : str
        Which run of the buyer claimed it.
    tried : float
        When it was claimed; its call may follow for as long as a run can live.
    request, stack : str
        Whose deploy it was.
    arn : str
        The plan's, once it is bought.
    terms : Mapping
        What was bought, as far as it is known: offering, fee, currency, type, count, times, zones.
    """

    state: State
    attempt: str
    tried: float
    request: str = ""
    stack: str = ""
    arn: str = ""
    terms: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Purchase:
        """Read plain data."""
        return cls(**{**data, "state": State(data["state"])})

    @property
    def bought(self) -> bool:
        """Whether this was surely bought."""
        return self.state is State.BOUGHT


@dataclass(frozen=True, slots=True)
class Approval:
    """That a person allows one purchase, up to a fee, until a moment.

    Parameters
    ----------
    max_fee : str
        Plain digits.
    currency : str
    expires, given : float
        Epoch seconds.
    by : str
        Who gave it.
    """

    max_fee: str
    currency: str
    expires: float
    given: float
    by: str = ""

    def refusal(self, fee: Money) -> str | None:
        """Return why a fee is not approved, naming both figures, or ``None``."""
        return PriceCeiling(self.max_fee, self.currency).refusal(fee, "approved fee")


@dataclass(frozen=True, slots=True)
class Record:
    """Everything that is remembered of one identity.

    Parameters
    ----------
    identity : str
        The declared ``training_plan_name``.
    version : int
        How often the record was written; 0 when it never was.
    purchases : Mapping
        By label (`constructs_lib.model.purchase_label`).
    closed : Mapping
        The refused requests, each with ``at`` and the ``reason`` it was given: none of them may buy any more.
    approvals : Mapping
        By label.
    watched : Mapping
        What the watcher saw and said last, by label.
    """

    identity: str
    version: int = 0
    purchases: Mapping[str, Purchase] = field(default_factory=dict)
    closed: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    approvals: Mapping[str, Approval] = field(default_factory=dict)
    watched: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Record:
        """Read plain data."""
        return cls(
            data["identity"],
            data["version"],
            {label: Purchase.of(row) for label, row in data.get("purchases", {}).items()},
            data.get("closed", {}),
            {label: Approval(**row) for label, row in data.get("approvals", {}).items()},
            data.get("watched", {}),
        )

    def parts(self) -> dict[str, Any]:
        """Return everything but identity and version as plain data."""
        return {
            "purchases": {label: _plain(purchase) for label, purchase in self.purchases.items()},
            "closed": {request: dict(row) for request, row in self.closed.items()},
            "approvals": {label: _plain(approval) for label, approval in self.approvals.items()},
            "watched": {label: dict(row) for label, row in self.watched.items()},
        }

    def higher(self, generation: int) -> int | None:
        """Return the highest generation that is claimed or bought, if it is above one."""
        highest = max((int(label) for label in self.purchases if label.isdigit()), default=0)
        return highest if highest > generation else None

    def reason_against(self, label: str, request: str) -> str | None:
        """Return why a request may not claim a purchase, other than that it is claimed; or ``None``."""
        if request in self.closed:
            return str(self.closed[request]["reason"])
        if label.isdigit() and (above := self.higher(int(label))):
            return (
                f"generation {above} of {self.identity!r} is claimed or bought already, and a lower one is never bought"
                f" after it; set generation back to {above}, or above it to buy again"
            )
        return None

    def claimed(self, label: str, purchase: Purchase) -> Record:
        """Return the record with a purchase claimed, or as it is if that may not be."""
        if label in self.purchases or self.reason_against(label, purchase.request) is not None:
            return self
        return replace(self, purchases={**self.purchases, label: purchase})

    def holds(self, label: str, attempt: str) -> bool:
        """Tell whether a purchase is still claimed by an attempt."""
        purchase = self.purchases.get(label)
        return purchase is not None and not purchase.bought and purchase.attempt == attempt

    def with_terms(self, label: str, attempt: str, terms: Mapping[str, Any]) -> Record:
        """Return the record with what an attempt is about to buy; as it is if the claim is gone."""
        if not self.holds(label, attempt):
            return self
        return replace(self, purchases={**self.purchases, label: replace(self.purchases[label], terms=terms)})

    def released(self, label: str, attempt: str) -> Record:
        """Return the record without an attempt's claim."""
        if not self.holds(label, attempt):
            return self
        return replace(self, purchases={key: row for key, row in self.purchases.items() if key != label})

    def refused(self, label: str, attempt: str, request: str, reason: str, now: float) -> Record:
        """Return the record without an attempt's claim, and with its request closed."""
        closed = {"at": now, "reason": reason[:_LONGEST_REASON]}
        recent = {key: row for key, row in self.closed.items() if now - row["at"] < _CLOSED_FOR}
        return replace(self.released(label, attempt), closed={**recent, request: closed})

    def with_bought(self, label: str, arn: str, terms: Mapping[str, Any], now: float) -> Record:
        """Return the record with a purchase that was surely made."""
        old = self.purchases.get(label)
        if old is not None and old.bought:
            return self
        old = old or Purchase(State.BOUGHT, "", now)
        bought = replace(old, state=State.BOUGHT, arn=arn, terms={**terms, **old.terms})
        return replace(self, purchases={**self.purchases, label: bought})


def _plain(row: Purchase | Approval) -> dict[str, Any]:
    values = {each.name: getattr(row, each.name) for each in fields(row)}
    return {name: dict(value) if isinstance(value, Mapping) else value for name, value in values.items()}
