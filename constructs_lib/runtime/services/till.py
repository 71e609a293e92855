"""The till: every purchase, of a plan or of an extension, passes here, in this order and no other."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from botocore.exceptions import BotoCoreError, ClientError

from constructs_lib.runtime.errors import PurchaseRefusedError, PurchaseUnclearError
from constructs_lib.runtime.purchase_record import Purchase, State

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from constructs_lib.runtime.plan_request import PlanRequest
    from constructs_lib.runtime.purchase_record import Approval, Record
    from constructs_lib.runtime.services.buyer_means import BuyerMeans

__all__ = ["Bought", "Held", "Sale", "Till"]


@dataclass(frozen=True, slots=True)
class Sale:
    """One purchase.

    Parameters
    ----------
    label : str
        What it is called in the record and in a key.
    choose : callable
        Searches, chooses and compares, given the approval if one is required. Returns what is bought, with its
        ``offering``; raises `PurchaseRefusedError` if nothing may be.
    call : callable
        Makes the one purchase call, given the offering; returns the plan's ARN.
    """

    label: str
    choose: Callable[[Approval | None], Mapping[str, Any]]
    call: Callable[[str], str]


class Bought(NamedTuple):
    """It was bought."""

    arn: str
    terms: Mapping[str, Any]


class Held(NamedTuple):
    """It may not be bought now, as ``words`` say: ``awaiting`` an approval, or ``stopped`` with the whole deploy."""

    words: str
    awaiting: bool = False
    stopped: bool = False


@dataclass(frozen=True, slots=True)
class Till:
    """Claims, gates, compares and buys."""

    means: BuyerMeans

    def buy(self, ask: PlanRequest, sale: Sale) -> Bought | Held | None:
        """Buy, if nothing speaks against it.

        Returns
        -------
        Bought, Held or None
            ``None`` if another run has the claim: look again.

        Raises
        ------
        PurchaseRefusedError
            Once the request is closed: nothing was bought, and this request will not buy any more.
        PurchaseUnclearError
            If it is open whether something was bought; the claim stays.
        """
        attempt = uuid.uuid4().hex
        record = self.claim(ask, sale.label, attempt)
        if record is None:
            return None
        held, approval = self.gate(ask, sale.label, record)
        if held is not None:
            self.release(ask, sale.label, attempt)
            return held
        try:
            terms = sale.choose(approval)
            if not self.note(ask, sale.label, attempt, terms):
                return None
            if (against := self.reason_against(ask)) is not None:
                self.release(ask, sale.label, attempt)
                return Held(against, stopped=True)
            # Immediately before this call, and nowhere else, the stack was seen going forward.
            arn = sale.call(terms["offering"])
        except PurchaseRefusedError as refusal:
            self.close(ask, sale.label, attempt, str(refusal))
            raise
        self.bought(ask, sale.label, arn, terms)
        return Bought(arn, terms)

    def claim(self, ask: PlanRequest, label: str, attempt: str) -> Record | None:
        """Claim a purchase in one conditional write; return the record, or ``None`` if another run has it."""
        table, now = self.means.table, self.means.clock.time()
        table.ensure()
        purchase = Purchase(State.BUYING, attempt, now, ask.request, ask.stack)
        record = table.change(ask.plan.identity, lambda r: r.claimed(label, purchase))
        if record.holds(label, attempt):
            return record
        if label in record.purchases:
            return None
        reason = record.reason_against(label, ask.request) or "the claim was lost"
        self.close(ask, label, attempt, reason)
        raise PurchaseRefusedError(reason)

    def gate(self, ask: PlanRequest, label: str, record: Record) -> tuple[Held | None, Approval | None]:
        """Tell whether key and approval are there, and return the approval."""
        missing = ask.reason_without_key(label, self.means.now().date())
        if ask.topic is None:
            return (Held(missing) if missing else None), None
        approval = record.approvals.get(label)
        if approval is None or approval.expires <= self.means.clock.time():
            ended = "has ended" if approval else "is not given"
            words = f"the approval of {ask.plan.identity}#{label} {ended}"
            return Held(f"{words}; {missing}" if missing else words, awaiting=True), None
        return (Held(missing) if missing else None), approval

    def note(self, ask: PlanRequest, label: str, attempt: str, terms: Mapping[str, Any]) -> bool:
        """Note what is about to be bought; tell whether the claim is still ours."""
        record = self.means.table.change(ask.plan.identity, lambda r: r.with_terms(label, attempt, terms))
        return record.holds(label, attempt)

    def reason_against(self, ask: PlanRequest) -> str | None:
        """Return why the deploy does not go forward any more, or ``None``."""
        return self.means.stacks.reason_against(ask.stack)

    def release(self, ask: PlanRequest, label: str, attempt: str) -> None:
        """Give a claim back: no call was made."""
        self.means.table.change(ask.plan.identity, lambda r: r.released(label, attempt))

    def close(self, ask: PlanRequest, label: str, attempt: str, reason: str) -> None:
        """Give a claim back and close the request, in one write, before anybody is told of a refusal."""
        now = self.means.clock.time()
        try:
            self.means.table.change(ask.plan.identity, lambda r: r.refused(label, attempt, ask.request, reason, now))
        except (BotoCoreError, ClientError) as error:
            raise PurchaseUnclearError(f"{reason}; and this refusal could not be recorded ({error})") from error

    def bought(self, ask: PlanRequest, label: str, arn: str, terms: Mapping[str, Any]) -> None:
        """Note that it is bought. The watcher notes it too, so a failure here is only logged."""
        now = self.means.clock.time()
        try:
            self.means.table.change(ask.plan.identity, lambda r: r.with_bought(label, arn, terms, now))
        except (BotoCoreError, ClientError, PurchaseUnclearError) as error:
            self.means.write(f"{arn} is bought and could not be recorded as such; the watcher will ({error})")
