"""The watcher: follows what was bought, settles what was left open, and tells people. It never buys."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from constructs_lib.model import plan_name
from constructs_lib.model.purchase_names import STATUS_CHANGE
from constructs_lib.runtime.errors import PurchaseUnclearError, WatchError
from constructs_lib.runtime.plan_request import PlanIdentity
from constructs_lib.runtime.services.looking import Sight
from constructs_lib.runtime.services.plan_view import TERMINAL, PlanView
from constructs_lib.runtime.services.resolving import resolve_command
from constructs_lib.runtime.telemetry import plan_line

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from constructs_lib.runtime.adapters.training_plans import Plan
    from constructs_lib.runtime.purchase_record import Purchase, Record
    from constructs_lib.runtime.services.buyer_means import BuyerMeans
    from constructs_lib.runtime.services.looking import Looking
    from constructs_lib.runtime.services.plan_view import Notice

__all__ = ["Watching"]


@dataclass(frozen=True, slots=True)
class Watching:
    """Looks at purchases.

    Each stack's watcher follows the identities that the stack declares: a second watcher would tell its own topic, or
    none, in the first one's place.
    """

    means: BuyerMeans
    looking: Looking

    def watch(self, identities: Collection[str] = ()) -> int:
        """Look at every purchase; one that fails does not keep the others waiting.

        Parameters
        ----------
        identities : collection of str
            Whose purchases; of all on record without any.

        Returns
        -------
        int
            How many were looked at.

        Raises
        ------
        WatchError
            After all were looked at, if some could not be.
        """
        looked, failures = 0, []
        table = self.means.table
        for record in map(table.read, identities) if identities else table.all():
            for label, purchase in sorted(record.purchases.items()):
                try:
                    looked += self._look_at(record, label, purchase)
                except (PurchaseUnclearError, BotoCoreError, ClientError, ConnectionError) as error:
                    failures.append(f"{record.identity}#{label}: {error}")
        if failures:
            raise WatchError(f"{len(failures)} purchases could not be looked at: {'; '.join(failures)}")
        return looked

    def _look_at(self, record: Record, label: str, purchase: Purchase) -> bool:
        if record.watched.get(label, {}).get("status") in TERMINAL:
            return False
        if label.isdigit():
            self._plan(record, label, purchase)
        elif not purchase.bought:
            self._extension(record, label, purchase)
        return True

    def _plan(self, record: Record, label: str, purchase: Purchase) -> None:
        """Settle a claim whose outcome is open, or follow a plan."""
        who = PlanIdentity(record.identity, int(label))
        # Whether no call can arrive any more is asked before the look that then proves it.
        quiet = purchase if not purchase.bought and self.means.patience.conclusive(purchase) else None
        seen = self.looking.glance(who, quiet, adopt=False)
        if seen.sight is Sight.OURS and seen.plan is not None and seen.record is not None:
            self._follow(seen.record, label, seen.plan)

    def _follow(self, record: Record, label: str, plan: Plan) -> None:
        now, before = self.means.clock.time(), record.watched.get(label, {})
        view = PlanView(plan, record.purchases[label], before, datetime.fromtimestamp(now, UTC))
        name = plan_name(record.identity, int(label))
        who = {"TrainingPlanName": name, "TrainingPlanArn": plan.arn, "Identity": record.identity}
        detail = {**who, "Generation": int(label), **view.facts()}
        if view.changed:
            self.means.notices.put(STATUS_CHANGE, plan.arn, detail | {"PreviousStatus": before.get("status", "")})
        sent = self._tell(plan.arn, detail, view.due(), before.get("sent", ()))
        self.means.write(plan_line(name, plan.status, view.metrics(), now))
        self._save(record.identity, label, {"status": plan.status, "message": plan.message, "at": now, "sent": sent})

    def _extension(self, record: Record, label: str, purchase: Purchase) -> None:
        """Turn an extension whose outcome is open into one that is bought, once it can be seen; never the reverse."""
        generation, _, day = label.partition("+")
        name = plan_name(record.identity, int(generation))
        plan = self.means.plans.find(name)
        if plan is None:
            return
        ends = [each.end for each in self.means.plans.extensions(plan.arn) if not each.failed]
        if any(end.date().isoformat() >= day for end in (*ends, *filter(None, (plan.end,)))):
            now = self.means.clock.time()
            self.means.table.change(record.identity, lambda r: r.with_bought(label, plan.arn, {}, now))
        elif self.means.patience.over(purchase):
            words = (
                f"whether {name} was extended until {day} is not known; look into CloudTrail and the console, then run "
                f"{resolve_command(record.identity, label)} if nothing was"
            )
            detail = {"TrainingPlanName": name, "TrainingPlanArn": plan.arn}
            before = record.watched.get(label, {}).get("sent", ())
            sent = self._tell(plan.arn, detail, [("unconfirmed", words)], before)
            self._save(record.identity, label, {"status": "Unconfirmed", "sent": sent})

    def _tell(self, arn: str, detail: dict[str, Any], due: Iterable[Notice], before: Iterable[str]) -> list[str]:
        """Tell what was not told before; return all that was told."""
        sent = list(before)
        for kind, words in due:
            if kind not in sent:
                if words:
                    self.means.notices.tell(arn, detail | {"Notice": kind.partition("@")[0], "Message": words})
                sent.append(kind)
        return sent

    def _save(self, identity: str, label: str, seen: dict[str, Any]) -> None:
        self.means.table.change(identity, lambda r: replace(r, watched={**r.watched, label: seen}))
