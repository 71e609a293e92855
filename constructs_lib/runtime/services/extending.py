"""Extending a plan: a purchase without a name, so the record is its lock; an unclear one is never made again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from constructs_lib.model import Money, purchase_label
from constructs_lib.model.window import moment_text, whole_days
from constructs_lib.runtime.errors import PurchaseRefusedError, PurchaseUnclearError
from constructs_lib.runtime.services.asking import ask_for_approval
from constructs_lib.runtime.services.resolving import resolve_command
from constructs_lib.runtime.services.till import Bought, Held, Sale

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from constructs_lib.runtime.adapters.training_plans import Plan
    from constructs_lib.runtime.plan_request import ExtensionRequest, PlanRequest
    from constructs_lib.runtime.purchase_record import Approval
    from constructs_lib.runtime.services.asking import ask_for_approval
    from constructs_lib.runtime.services.buyer_means import BuyerMeans
from constructs_lib.runtime.services.till import Till

__all__ = ["Extending"]

_EXTENDABLE = ("Scheduled", "Active")
# Source: SageMaker guide, training-plan-extension: up to 14 days in steps of one, above in steps of seven.
_DAILY_UNTIL = 14


@dataclass(frozen=True, slots=True)
class Extending:
    """Lets a plan end no earlier than it is asked to."""

    means: BuyerMeans
    till: Till

    def extend(self, ask: PlanRequest, wanted: ExtensionRequest, plan: Plan | None) -> str:
        """Extend a plan, if it ends too early and nothing speaks against it.

        Returns
        -------
        str
            What there is to say, in words; "" when the plan ends late enough.

        Raises
        ------
        PurchaseRefusedError
            In an Update, if the extension was refused.
        PurchaseUnclearError
            If it is open whether it was bought.
        """
        if plan is None or plan.end is None:
            return "the plan is not to be seen now, so it was not extended; deploy again"
        label = purchase_label(ask.plan.generation, wanted.until.date())
        if plan.end >= wanted.until:
            return ""
        if (known := self._bought_before(ask, wanted, plan, label)) is not None:
            return known
        if plan.status not in _EXTENDABLE:
            return f"a plan that is {plan.status} cannot be extended"
        try:
            return self._buy(ask, wanted, plan, label)
        except PurchaseRefusedError as refusal:
            if ask.kind == "Update":
                raise
            return f"not extended: {refusal}"

    def _bought_before(self, ask: PlanRequest, wanted: ExtensionRequest, plan: Plan, label: str) -> str | None:
        """Look into the history and the record; ``None`` if this extension was never begun."""
        history = self.means.plans.extensions(plan.arn)
        record = self.means.table.read(ask.plan.identity)
        purchase, until = record.purchases.get(label), moment_text(wanted.until)
        if any(not extension.failed and extension.end >= wanted.until for extension in history):
            now = self.means.clock.time()
            self.means.table.change(ask.plan.identity, lambda r: r.with_bought(label, plan.arn, {}, now))
            return f"the extension until {until} is bought and not in the plan's end yet"
        if any(extension.failed and extension.end.date() == wanted.until.date() for extension in history):
            return f"the payment of the extension until {until} failed; set another extend_until to try again"
        if purchase is None:
            return None
        if purchase.bought:
            return f"the extension until {until} is bought and not to be seen yet"
        raise PurchaseUnclearError(
            f"an extension until {until} was begun and it is open whether it was bought; it is never begun again by "
            f"itself. Look into CloudTrail and the console; if nothing was bought, run "
            f"{resolve_command(ask.plan.identity, label)}"
        )

    def _buy(self, ask: PlanRequest, wanted: ExtensionRequest, plan: Plan, label: str) -> str:
        def choose(approval: Approval | None) -> Mapping[str, Any]:
            return self._choose(wanted, plan, approval)

        def call(offering: str) -> str:
            self.means.plans.extend(offering)
            return plan.arn

        match self.till.buy(ask, Sale(label, choose, call)):
            case Bought(terms=terms):
                return f"extended until {terms['end']} for {terms['fee']} {terms['currency']}"
            case Held(words=words, awaiting=awaiting):
                asked = self._ask_for_approval(ask, wanted, plan, label) if awaiting else ""
                return f"not extended: {words}{asked}"
        raise PurchaseUnclearError("another deploy is at the same extension; nothing was bought by this one")

    def _ask_for_approval(self, ask: PlanRequest, wanted: ExtensionRequest, plan: Plan, label: str) -> str:
        try:
            terms = self._choose(wanted, plan, None)
        except PurchaseRefusedError as refusal:
            return f"; {refusal}"
        fee = Money.of(terms["fee"], terms["currency"])
        offered = f"an extension until {terms['end']} for {fee}"
        return f"; {ask_for_approval(self.means.notices, ask, label, offered, fee)}"

    def _choose(self, wanted: ExtensionRequest, plan: Plan, approval: Approval | None) -> Mapping[str, Any]:
        """Return the shortest extension that reaches the end asked for, the cheapest of those."""
        days = _sold_days(plan, wanted.until)
        offered = self.means.plans.extensions_offered(plan.arn, days)
        reaching = sorted(
            (offering for offering in offered if offering.end >= wanted.until),
            key=lambda offering: (offering.end, offering.fee.amount, offering.id),
        )
        until = moment_text(wanted.until)
        if not reaching:
            seen = f"offered: {'; '.join(map(str, offered))}" if offered else "nothing is offered"
            raise PurchaseRefusedError(f"no extension of {days} days reaches {until}; {seen}")
        best = reaching[0]
        refusal = wanted.ceiling.refusal(best.fee) or (approval.refusal(best.fee) if approval else None)
        if refusal is not None:
            raise PurchaseRefusedError(f"{refusal}: the extension until {until}; nothing was bought")
        return {
            "offering": best.id,
            "fee": f"{best.fee.amount:f}",
            "currency": best.fee.currency,
            "start": moment_text(best.start),
            "end": moment_text(best.end),
        }


def _sold_days(plan: Plan, until: datetime) -> int:
    """Return the days of the shortest extension on sale that reaches an end."""
    if plan.end is None:
        return 1
    days = whole_days((until - plan.end).total_seconds() / 3600)
    return days if days <= _DAILY_UNTIL else -(-days // 7) * 7
