"""Buying a training plan: the steps of the protocol, in its order. It never buys twice and never fails after a buy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from constructs_lib.model.window import whole_days, zoned
from constructs_lib.rules import Severity, check_request
from constructs_lib.runtime.adapters.outcomes import words_of
from constructs_lib.runtime.errors import PurchaseRefusedError, PurchaseUnclearError, ServiceModelError
from constructs_lib.runtime.plan_answer import PlanAnswer, offering_terms
from constructs_lib.runtime.services.looking import Sight
from constructs_lib.runtime.services.till import Bought, Held, Sale

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from constructs_lib.runtime.plan_request import PlanRequest
    from constructs_lib.runtime.purchase_record import Approval, Record
    from constructs_lib.runtime.services.buyer_means import BuyerMeans
    from constructs_lib.runtime.services.extending import Extending
    from constructs_lib.runtime.services.looking import Looking, Sighting
    from constructs_lib.runtime.services.quoting import Quoting
    from constructs_lib.runtime.services.till import Till

__all__ = ["Buying"]

_OPEN = "it is open whether the plan was bought; the watcher goes on looking and nothing is bought meanwhile"


@dataclass(frozen=True, slots=True)
class Buying:
    """Answers the Create and Update events of a training plan's custom resource."""

    means: BuyerMeans
    looking: Looking
    quoting: Quoting
    till: Till
    extending: Extending

    def answer(self, ask: PlanRequest, until: float) -> PlanAnswer:
        """Do what one event asks for.

        Parameters
        ----------
        ask : PlanRequest
        until : float
            Epoch seconds at which to stop waiting.

        Raises
        ------
        PurchaseRefusedError
            Only in a deploy that goes forward, and only while no purchase call of this request is open.
        """
        against = self.means.stacks.reason_against(ask.stack)
        try:
            return self._quiet(ask, against, until) if against is not None else self._forward(ask, until)
        except (BotoCoreError, ClientError) as error:
            return PlanAnswer("Unconfirmed", f"{_OPEN} ({words_of(error)})")
        except PurchaseUnclearError as error:
            return PlanAnswer("Unconfirmed", f"{_OPEN} ({error})")

    def _quiet(self, ask: PlanRequest, against: str, until: float) -> PlanAnswer:
        """Answer with what is known: a deploy that does not go forward neither searches, nor buys, nor fails."""
        seen = self.looking.look(ask.plan, until, adopt=ask.adopt)
        match seen.sight:
            case Sight.OURS:
                return _of_plan(ask, seen)
            case Sight.UNCLEAR:
                return PlanAnswer("Unconfirmed", seen.words)
        return PlanAnswer("Quote", seen.words or f"not bought: {against}")

    def _forward(self, ask: PlanRequest, until: float) -> PlanAnswer:
        try:
            self.means.plans.check_model()
        except ServiceModelError as error:
            raise PurchaseRefusedError(str(error)) from error
        words = ""
        while True:
            seen = self.looking.look(ask.plan, until, adopt=ask.adopt)
            match seen.sight:
                case Sight.OURS:
                    return self._bought_before(ask, seen)
                case Sight.FOREIGN:
                    self.till.close(ask, ask.plan.label, "", seen.words)
                    raise PurchaseRefusedError(f"{seen.words}; choose another training_plan_name")
                case Sight.UNCLEAR:
                    return PlanAnswer("Unconfirmed", f"{words}{seen.words}")
            try:
                answer = self._buy(ask)
            except PurchaseUnclearError as unclear:
                # Only a look tells; the claim stays on record until one does.
                answer, words = None, f"{unclear}; "
            if answer is not None:
                return answer
            if self.means.clock.time() > until:
                return PlanAnswer(
                    "Unconfirmed", words or "other deploys are at this plan; nothing was bought by this one"
                )

    def _buy(self, ask: PlanRequest) -> PlanAnswer | None:
        """Buy, or say what would be bought; ``None`` if the plan has to be looked for again."""

        def choose(approval: Approval | None) -> Mapping[str, Any]:
            self._judge(ask)
            return offering_terms(self.quoting.choose(ask, approval), ask.wanted.target)

        def call(offering: str) -> str:
            return self.means.plans.buy(ask.plan.name, offering, {**ask.tags, **ask.plan.tags})

        match self.till.buy(ask, Sale(ask.plan.label, choose, call)):
            case Bought() as bought:
                return self._just_bought(ask, bought)
            case Held() as held if held.stopped:
                return PlanAnswer("Quote", f"not bought: {held.words}")
            case Held() as held:
                return self.quoting.quote(ask, held)
        return None

    def _judge(self, ask: PlanRequest) -> None:
        """Refuse what the rules refuse, now that every value and the time are known."""
        findings = check_request("training-plan", ask.properties, now=self.means.now(), declared=ask.place)
        errors = [str(finding) for finding in findings if finding.severity is Severity.ERROR]
        if errors:
            raise PurchaseRefusedError("\n".join(errors))

    def _just_bought(self, ask: PlanRequest, bought: Bought) -> PlanAnswer:
        """Answer at once: a plan may be Pending for hours. One look tells whether it is further already."""
        words = f"bought for {bought.terms['fee']} {bought.terms['currency']}"
        try:
            plan = self.means.plans.find(ask.plan.name)
        except PurchaseUnclearError:
            plan = None
        status = plan.status if plan is not None and plan.status != "Failed" else "Pending"
        return PlanAnswer(status, words, {**bought.terms, **(plan.terms if plan is not None else {})})

    def _bought_before(self, ask: PlanRequest, seen: Sighting) -> PlanAnswer:
        """Answer for a plan that exists: nothing is bought, except an extension that is asked for."""
        answer = _of_plan(ask, seen)
        if answer.status == "Failed":
            raise PurchaseRefusedError(f"{answer.words}; raise generation to buy again")
        words = [answer.words]
        if reasons := list(_differences(ask, seen.record, answer.terms)):
            if ask.old is not None:
                raise PurchaseRefusedError(_second_purchase(ask, reasons))
            words.append(f"it is not what is asked for: {'; '.join(reasons)}")
        if ask.old is not None and (new := {k: v for k, v in ask.tags.items() if ask.old.tags.get(k) != v}):
            words.append(self.means.plans.tag(ask.arn, new) or "")
        status = answer.status
        if ask.extension is not None:
            try:
                words.append(self.extending.extend(ask, ask.extension, seen.plan))
            except (PurchaseUnclearError, BotoCoreError, ClientError) as error:
                # The plan itself is bought: what is known of it is answered all the same.
                status = "Unconfirmed"
                words.append(f"it is open whether it was extended ({error})")
        return replace(answer, status=status, words="; ".join(filter(None, words)))


def _of_plan(ask: PlanRequest, seen: Sighting) -> PlanAnswer:
    """Answer with what is known of a plan that is ours: what AWS shows, else what is on record."""
    label = ask.plan.label
    record, plan = seen.record, seen.plan
    purchase = record.purchases.get(label) if record else None
    terms = {**(purchase.terms if purchase else {}), **(plan.terms if plan else {})}
    watched = record.watched.get(label, {}) if record else {}
    status = plan.status if plan else watched.get("status", "Pending")
    message = plan.message if plan else watched.get("message", "")
    if status == "Failed":
        return PlanAnswer(status, f"the payment of {ask.plan.name!r} failed: {message or 'AWS gives no reason'}", terms)
    if status == "Expired":
        return PlanAnswer(status, f"{ask.plan.name!r} ended; raise generation to buy again", terms)
    return PlanAnswer(status, "bought" if plan else "bought, as the record says; AWS does not show it now", terms)


def _second_purchase(ask: PlanRequest, reasons: list[str]) -> str:
    return (
        f"this would be a second purchase, and {ask.plan.name!r} cannot be changed nor cancelled: "
        f"{'; '.join(reasons)}; set it back, or raise generation (to {ask.plan.generation + 1} or above) to buy again"
    )


def _differences(ask: PlanRequest, record: Record | None, terms: Mapping[str, Any]) -> Iterator[str]:
    """Yield where a request differs from what was bought; an Update that changes nothing there is not told again."""
    old = ask.old if ask.old is not None and ask.old.plan.identity == ask.plan.identity else None
    if old is not None and ask.plan.generation != old.plan.generation:
        if ask.plan.generation < old.plan.generation and record is not None and record.higher(ask.plan.generation):
            yield f"generation {ask.plan.generation} is asked for after generation {old.plan.generation}"
        return
    asked, before = ask.wanted, old.wanted if old is not None else None
    pairs = {
        "InstanceType": (asked.instance_type, before and before.instance_type, terms.get("type")),
        "InstanceCount": (asked.instance_count, before and before.instance_count, terms.get("count")),
        "TargetResources": (asked.target, before and before.target, terms.get("target")),
    }
    for name, (now, then, bought) in pairs.items():
        if now not in (then, bought) and bought is not None:
            yield f"{name} {now} is asked for, {bought} was bought"
    days = whole_days(terms["hours"]) if "hours" in terms else asked.days
    if (before is None or asked.days != before.days) and asked.days > days:
        yield f"{asked.days} days are asked for, {days} were bought"
    if (before is None or asked.window != before.window) and {"start", "end"} <= terms.keys():
        start, end = (zoned(terms[name], name) for name in ("start", "end"))
        if not asked.window.holds(start, end):
            yield f"another window is asked for than {terms['start']} to {terms['end']}, which was bought"
