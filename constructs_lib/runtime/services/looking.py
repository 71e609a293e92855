"""Looking for a plan before anything else: by its name, then in the record; and settling what was left open."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from constructs_lib.model.purchase_tags import IDENTITY_TAG
from constructs_lib.runtime.adapters.outcomes import words_of
from constructs_lib.runtime.errors import PurchaseUnclearError
from constructs_lib.runtime.services.resolving import resolve_command

if TYPE_CHECKING:
    from constructs_lib.runtime.adapters.training_plans import Plan
    from constructs_lib.runtime.plan_request import PlanIdentity
    from constructs_lib.runtime.purchase_record import Purchase, Record
    from constructs_lib.runtime.services.buyer_means import BuyerMeans

__all__ = ["Looking", "Sight", "Sighting"]

_FIRST_PAUSE = 2.0
_LONGEST_PAUSE = 60.0
_ERRORS = 4


class Sight(StrEnum):
    """What a look came to."""

    OURS = "ours"
    NOTHING = "nothing"
    FOREIGN = "foreign"
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True)
class Sighting:
    """What was seen; ``plan`` is ``None`` for one that is only on record, ``words`` say what is unclear."""

    sight: Sight
    plan: Plan | None = None
    record: Record | None = None
    words: str = ""


@dataclass(frozen=True, slots=True)
class Looking:
    """Looks for plans. "Not found" alone proves nothing while a purchase of that plan is on record."""

    means: BuyerMeans

    def look(self, who: PlanIdentity, until: float, *, adopt: bool = False) -> Sighting:
        """Look until it is clear what there is, or until a moment.

        Parameters
        ----------
        who : PlanIdentity
        until : float
            Epoch seconds.
        adopt : bool
            Whether a plan without a tag of ours is taken for this one.
        """
        pause, errors = _FIRST_PAUSE, 0
        quiet: Purchase | None = None
        while True:
            try:
                seen = self.glance(who, quiet, adopt=adopt)
            except (PurchaseUnclearError, BotoCoreError, ClientError) as error:
                errors += 1
                words = str(error) if isinstance(error, PurchaseUnclearError) else words_of(error)
                seen = Sighting(Sight.UNCLEAR, words=words)
            if errors == _ERRORS:
                return self._remembered(who) or seen
            if seen.sight is not Sight.UNCLEAR:
                return seen
            quiet = self._settled(seen, who)
            if quiet is not None:
                continue
            if self.means.clock.time() + pause > until:
                return seen
            self.means.clock.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def glance(self, who: PlanIdentity, quiet: Purchase | None, *, adopt: bool) -> Sighting:
        """Look once.

        ``quiet`` is a claim after which, before this look, no call could arrive any more nor be invisible still.
        """
        plan = self.means.plans.find(who.name)
        record = self.means.table.read(who.identity)
        purchase = record.purchases.get(who.label)
        if plan is not None:
            return self._whose(plan, who, record, adopt=adopt)
        if purchase is None:
            return Sighting(Sight.NOTHING, record=record)
        if purchase.bought:
            return Sighting(Sight.OURS, record=record)
        if quiet is not None and quiet.attempt == purchase.attempt:
            record = self.means.table.change(who.identity, lambda r: r.released(who.label, quiet.attempt))
        return Sighting(Sight.UNCLEAR, record=record, words=self._open(who, purchase))

    def _remembered(self, who: PlanIdentity) -> Sighting | None:
        """Return what the record alone proves while AWS shows nothing: that a plan was bought, never that none was."""
        try:
            record = self.means.table.read(who.identity)
        except (BotoCoreError, ClientError):
            return None
        purchase = record.purchases.get(who.label)
        return Sighting(Sight.OURS, record=record) if purchase is not None and purchase.bought else None

    def _open(self, who: PlanIdentity, purchase: Purchase) -> str:
        """Say what is known of a claim whose outcome is open."""
        begun = f"a purchase of {who.name!r} was begun"
        patience = self.means.patience
        if patience.over(purchase) and not patience.conclusive(purchase):
            return (
                f"{begun} so long ago that a plan may have come and gone; look into CloudTrail and the console, and if "
                f"nothing was bought, run {resolve_command(who.identity, who.label)}"
            )
        return f"{begun} and its outcome cannot be seen yet"

    def _settled(self, seen: Sighting, who: PlanIdentity) -> Purchase | None:
        """Return a claim whose outcome the next look decides."""
        purchase = seen.record.purchases.get(who.label) if seen.record else None
        waiting = purchase is not None and not purchase.bought and self.means.patience.conclusive(purchase)
        return purchase if waiting else None

    def _whose(self, plan: Plan, who: PlanIdentity, record: Record, *, adopt: bool) -> Sighting:
        """Tell whose a plan is; without a tag it is ours if a purchase is on record."""
        purchase = record.purchases.get(who.label)
        if purchase is None or not purchase.bought:
            tags = self.means.plans.owner(plan)
            if tags and tags != who.tags:
                words = f"a plan named {who.name!r} exists and is tagged as another's ({tags.get(IDENTITY_TAG)!r})"
                return Sighting(Sight.FOREIGN, plan, record, words)
            if not tags and purchase is None and not adopt:
                words = (
                    f"a plan named {who.name!r} exists, and no tag says whose it is; give adopt=True if it is to be "
                    "this one, or another training_plan_name"
                )
                return Sighting(Sight.UNCLEAR, plan, record, words)
            now = self.means.clock.time()
            record = self.means.table.change(
                who.identity, lambda r: r.with_bought(who.label, plan.arn, plan.terms, now)
            )
        return Sighting(Sight.OURS, plan, record)
