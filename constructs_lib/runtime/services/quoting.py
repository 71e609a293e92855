"""Searching, choosing and comparing; nothing here buys."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from constructs_lib.model import CapacityWindow
from constructs_lib.model.choice import longer, neighbours
from constructs_lib.runtime.errors import PurchaseRefusedError
from constructs_lib.runtime.plan_answer import PlanAnswer
from constructs_lib.runtime.services.asking import ask_for_approval

if TYPE_CHECKING:
    from constructs_lib.model import Offering, Requirement
    from constructs_lib.runtime.plan_request import PlanRequest
    from constructs_lib.runtime.purchase_record import Approval
    from constructs_lib.runtime.services.buyer_means import BuyerMeans
    from constructs_lib.runtime.services.till import Held

__all__ = ["Quoting"]

# A search that finds nothing ends in less than a minute.
_SWEEP_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Quoting:
    """Finds what would be bought."""

    means: BuyerMeans

    def choose(self, ask: PlanRequest, approval: Approval | None) -> Offering:
        """Return the best offering that may be bought.

        Raises
        ------
        PurchaseRefusedError
            If nothing fits, with near misses; or if all that fits is above the ceiling or the approved fee, with both
            figures.
        """
        fitting = self.fitting(ask)
        reasons = {}
        for offering in fitting:
            reason = ask.ceiling.refusal(offering.fee)
            if reason is None and approval is not None:
                reason = approval.refusal(offering.fee)
            if reason is None:
                return offering
            reasons[offering.id] = f"{reason}: {offering}"
        raise PurchaseRefusedError(f"{'; '.join(list(reasons.values())[:3])}; nothing was bought")

    def quote(self, ask: PlanRequest, held: Held) -> PlanAnswer:
        """Say what would be bought, and ask for an approval if one is awaited."""
        status = "AwaitingApproval" if held.awaiting else "Quote"
        try:
            best = self.fitting(ask)[0]
        except PurchaseRefusedError as refusal:
            return PlanAnswer(status, f"not bought: {held.words}; {refusal}")
        words = f"not bought: {held.words}; offered: {best}"
        if (above := ask.ceiling.refusal(best.fee)) is not None:
            words += f"; {above}"
        elif held.awaiting:
            words += f"; {ask_for_approval(self.means.notices, ask, ask.plan.label, str(best), best.fee)}"
        return PlanAnswer(status, words, quoted=best)

    def fitting(self, ask: PlanRequest) -> list[Offering]:
        """Return what fits, the best first; errors are those of `choose` when nothing does."""
        wanted = self._ahead(ask.wanted)
        found = self.means.plans.search(wanted)
        if ask.choice.takes_longer:
            for more in longer(wanted):
                found += self.means.plans.search(more)
        if fitting := ask.choice.fitting(found, wanted):
            return fitting
        near = ask.choice.near_misses([*found, *self._sweep(wanted)], wanted)
        listed = f"near misses: {'; '.join(near)}" if near else "nothing near it either"
        raise PurchaseRefusedError(f"no capacity: nothing is offered for {wanted}; {listed}")

    def _sweep(self, wanted: Requirement) -> list[Offering]:
        """Search around what is wanted: a search may match the duration exactly."""
        until, found = self.means.clock.time() + _SWEEP_SECONDS, []
        for near in neighbours(wanted, self.means.now()):
            if self.means.clock.time() > until:
                break
            found += self.means.plans.search(near)
        return found

    def _ahead(self, wanted: Requirement) -> Requirement:
        """Return what is wanted from now on; a search refuses a start that has passed."""
        now, window = self.means.now(), wanted.window
        if (reason := window.refusal(wanted.duration_hours, now)) is not None:
            raise PurchaseRefusedError(f"{reason}, so nothing was searched; give a later window")
        if window.start_after is None or window.start_after > now:
            return wanted
        return replace(wanted, window=CapacityWindow(end_before=window.end_before))
