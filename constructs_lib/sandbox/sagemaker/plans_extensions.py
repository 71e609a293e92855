"""Longer plans: extension offerings, extensions and their history."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from constructs_lib.sandbox.switches import reading

from .paging import page, sort_rows
from .plans_offerings import DAY, offering_id, offering_not_found

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constructs_lib.sandbox.faults import Faults

    from .placement import Placement
    from .plans import Plan, Segment

__all__ = ["Extensions"]

Request = dict[str, Any]
# Source: SageMaker guide, training-plan-extension: steps of a day up to 14, of 7 days up to 182; asked for at least an
# hour and at most 56 days before the end; not while another is pending.
_STEPS = (*range(1, 15), *range(21, 183, 7))
_LEAST_LEFT, _MOST_LEFT = 3600, 56 * DAY
_MOST = 3  # offerings in an answer


@dataclass(frozen=True, slots=True)
class _Offer:
    plan: Plan
    start: float
    days: int
    fee: str

    @property
    def id(self) -> str:
        return offering_id("tpeo", self.plan.arn, self.start, self.days, self.fee)

    def row(self) -> dict[str, Any]:
        return {
            "TrainingPlanExtensionOfferingId": self.id,
            "AvailabilityZone": self.plan.segments[-1].zone,
            "StartDate": self.start,
            "EndDate": self.start + self.days * DAY,
            "DurationHours": self.days * 24,
            "UpfrontFee": self.fee,
            "CurrencyCode": self.plan.seed.currency,
        }


@dataclass
class _Extension:
    """What was bought, and when."""

    offer: _Offer
    at: float
    start: float

    @property
    def end(self) -> float:
        return self.start + self.offer.days * DAY

    @property
    def decided(self) -> float:
        return self.at + self.offer.plan.seed.extension.payment.takes

    def status(self, now: float) -> tuple[str, str]:
        """Return Status and PaymentStatus; the service model says only that they are texts."""
        if now < self.decided:
            return "Pending", "Pending"
        return ("Failed", "Failed") if self.offer.plan.seed.extension.payment.fail else ("Active", "Completed")

    def row(self, now: float) -> dict[str, Any]:
        status, payment = self.status(now)
        times = {"ExtendedAt": self.at, "StartDate": self.start, "EndDate": self.end}
        return self.offer.row() | times | {"Status": status, "PaymentStatus": payment}


@dataclass
class Extensions:
    """The extensions of all plans, by plan ARN.

    Parameters
    ----------
    placement
        Follows a plan that ends later.
    faults
        Holds the switches.
    """

    placement: Placement
    faults: Faults
    _offered: dict[str, _Offer] = field(default_factory=dict)
    _bought: dict[str, list[_Extension]] = field(default_factory=dict)

    def search(self, plan: Plan, request: Request, now: float) -> list[dict[str, Any]]:
        """Return what a plan can be extended by; it can be bought from now on."""
        left = plan.segments[-1].end - now
        pending = any(extension.status(now)[0] == "Pending" for extension in self._of(plan))
        if plan.status(now) not in ("Scheduled", "Active") or pending or not _LEAST_LEFT <= left <= _MOST_LEFT:
            return []
        found = list(self._offers(plan, request))[:_MOST]
        self._offered |= {offer.id: offer for offer in found}
        return [offer.row() for offer in found]

    def buy(self, given: str, now: float) -> tuple[Plan, dict[str, Any]]:
        """Buy an offering by its id; a second time too, if that is how the open question is read.

        Raises
        ------
        ServiceError
            ``ResourceNotFound`` if there is no such offering, or it is over.
        """
        offer = self._offered.get(given)
        again = reading(self.faults, "sagemaker.offering-sells-twice") == "yes"
        if offer is None or offer.plan.status(now) not in ("Scheduled", "Active") or now > offer.start - _LEAST_LEFT:
            raise offering_not_found(given)
        bought = self._of(offer.plan)
        if any(extension.offer == offer for extension in bought) and not again:
            raise offering_not_found(given)
        ends = [extension.end for extension in bought if extension.status(now)[0] != "Failed"]
        extension = _Extension(offer, now, max([*ends, offer.plan.segments[-1].end]))
        bought.append(extension)
        self._settle(extension)
        return offer.plan, extension.row(now)

    def history(self, plan: Plan, request: Request, now: float) -> dict[str, Any]:
        """Return a page of a plan's extensions, the oldest first."""
        keys = ("StartDate", "ExtendedAt")
        rows = sort_rows([extension.row(now) for extension in self._of(plan)], {}, {}, *keys)
        return page(rows, request, "TrainingPlanExtensions", keys)

    def _of(self, plan: Plan) -> list[_Extension]:
        return self._bought.setdefault(plan.arn, [])

    def _offers(self, plan: Plan, request: Request) -> Iterator[_Offer]:
        terms, last = plan.seed.extension, plan.segments[-1]
        price = Decimal(terms.price) if terms.price else _price(plan)
        asked = -(-request["DurationHours"] // 24) if "DurationHours" in request else None
        for days in _STEPS if terms.days is None else terms.days:
            if price and asked in (days, None):
                fee = price * days * 24 * last.count
                yield _Offer(plan, last.end, days, str(fee.quantize(Decimal("0.01"))))

    def _settle(self, extension: _Extension) -> None:
        """Move the plan's end, at once or once it is paid; back if the payment of an end that moved at once fails."""
        plan, agenda = extension.offer.plan, self.placement.agenda
        fails = extension.offer.plan.seed.extension.payment.fail is not None
        at_once = reading(self.faults, "sagemaker.extension-end") == "at once"
        if at_once:
            self._move(plan, plan.segments[-1], extension.offer.days)
        if at_once == fails:
            days = -extension.offer.days if fails else extension.offer.days
            agenda.at(extension.decided, lambda _: self._move(plan, plan.segments[-1], days))

    def _move(self, plan: Plan, segment: Segment, days: int) -> None:
        segment.end += days * DAY
        self.placement.follow_plan(plan)


def _price(plan: Plan) -> Decimal | None:
    """Return what an instance-hour of a plan cost."""
    hours = sum(Decimal(part.end - part.start) / 3600 * part.count for part in plan.segments)
    return Decimal(plan.seed.upfront_fee) / hours if plan.seed.upfront_fee else None
