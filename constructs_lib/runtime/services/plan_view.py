"""One look at a plan: what changed, what people should hear of, and the figures."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from constructs_lib.model import InvalidInputError, Money
from constructs_lib.model.window import as_moment, moment_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from constructs_lib.runtime.adapters.training_plans import Plan
    from constructs_lib.runtime.purchase_record import Purchase

__all__ = ["TERMINAL", "Notice", "PlanView"]

TERMINAL = ("Expired", "Failed")
Notice = tuple[str, str]
"""A kind, said once, and its words; without words it only counts as said."""

_BEFORE_END = {"7d": timedelta(days=7), "24h": timedelta(hours=24), "1h": timedelta(hours=1)}
_PENDING = timedelta(hours=1)
_LATE = timedelta(minutes=5)
_LONGEST_GAP = timedelta(hours=1)
_HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class PlanView:
    """What one look shows.

    Parameters
    ----------
    plan, purchase
        As AWS and as the record shows it.
    before : Mapping
        What the last look left: ``status``, ``at`` and ``sent``.
    now : datetime
    """

    plan: Plan
    purchase: Purchase
    before: Mapping[str, Any]
    now: datetime

    @property
    def changed(self) -> bool:
        """Whether the status is another than at the last look."""
        return bool(self.plan.status != self.before.get("status"))

    def facts(self) -> dict[str, Any]:
        """Return what an event says."""
        terms = {**self.purchase.terms, **self.plan.terms}
        return {
            "Status": self.plan.status,
            "StatusMessage": self.plan.message,
            "StartTime": terms.get("start", ""),
            "EndTime": terms.get("end", ""),
            "InstanceType": terms.get("type", ""),
            "InstanceCount": terms.get("count", 0),
        }

    def due(self) -> Iterator[Notice]:
        """Yield everything that people should have heard of by now."""
        if self.plan.status == "Failed":
            yield "failed", f"the payment failed: {self.plan.message or 'AWS gives no reason'}; raise generation to buy"
        elif self.plan.status != "Expired":
            yield from self._payment()
            if self.delay > _LATE:
                words = f"the plan should have started at {moment_text(self._segment[0])} and has not"
                yield f"late@{moment_text(self._segment[0])}", words
            yield from self._end()

    def metrics(self) -> dict[str, float]:
        """Return the figures."""
        described, active = self.plan.described, self.plan.status == "Active"
        available = described.get("AvailableInstanceCount", 0)
        left = (self.plan.end - self.now) / _HOUR if self.plan.end else 0.0
        return {
            "AvailableInstances": available if active else 0,
            "InUseInstances": described.get("InUseInstanceCount", 0) if active else 0,
            "UnusedReservedInstanceHours": available * (self._since_last_look() / _HOUR) if active else 0.0,
            "PendingPayment": float(self.plan.status == "Pending"),
            "StartDelayMinutes": self.delay / timedelta(minutes=1),
            "HoursToEnd": max(0.0, left),
        }

    @property
    def delay(self) -> timedelta:
        """How late the segment is that should run now."""
        start, _ = self._segment
        return max(timedelta(), self.now - start) if self.plan.status in ("Pending", "Scheduled") else timedelta()

    @property
    def _segment(self) -> tuple[datetime, datetime]:
        """The segment that runs, else the next, else the last."""
        described = self.plan.described
        parts = [
            part for part in described.get("ReservedCapacitySummaries", ()) if {"StartTime", "EndTime"} <= part.keys()
        ]
        spans = sorted((as_moment(part["StartTime"]), as_moment(part["EndTime"])) for part in parts)
        if not spans:
            start = as_moment(described["StartTime"]) if "StartTime" in described else self.now
            spans = [(start, self.plan.end or self.now)]
        return next((span for span in spans if self.now < span[1]), spans[-1])

    def _since_last_look(self) -> timedelta:
        """How long the plan surely was as it is now: not before its segment began."""
        if "at" not in self.before:
            return timedelta()
        last = max(datetime.fromtimestamp(self.before["at"], UTC), self._segment[0])
        return min(max(timedelta(), self.now - last), _LONGEST_GAP)

    def _payment(self) -> Iterator[Notice]:
        bought = datetime.fromtimestamp(self.purchase.tried, UTC)
        if self.plan.status == "Pending" and self.now - bought > _PENDING:
            yield "pending", f"the plan was bought at {moment_text(bought)} and is still not Scheduled"
        terms = self.purchase.terms
        try:
            expected = Money.of(terms["fee"], terms["currency"])
            asked = Money.of(self.plan.described["UpfrontFee"], self.plan.described["CurrencyCode"])
        except (KeyError, InvalidInputError):
            return  # nothing to compare
        if asked != expected:
            yield "fee", f"the plan costs {asked}, and was bought as an offering of {expected}"

    def _end(self) -> Iterator[Notice]:
        """Yield the notice that the end is near, and the longer ones, which it replaces, without words."""
        end = self.plan.end
        reached = [kind for kind, span in _BEFORE_END.items() if end is not None and self.now >= end - span]
        for kind in reached:
            last = kind == reached[-1]
            text = moment_text(end) if end else ""
            yield f"{kind}@{text}", f"the plan ends at {text}, in less than {kind}" if last else ""
