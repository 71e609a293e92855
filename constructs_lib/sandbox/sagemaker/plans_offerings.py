"""What AWS sells: offerings of training plans, found by a search and bought by the id that the search gave them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from constructs_lib.facts.capacity import purchase_limits
from constructs_lib.sandbox.errors import SandboxError, ServiceError
from constructs_lib.sandbox.modelcheck import epoch
from constructs_lib.sandbox.switches import reading

from .plans import hours_and_minutes
from .seeds import Moment, PlanSeed, Price, SegmentSeed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from constructs_lib.sandbox.faults import Faults

    from .seeds import OfferingSeed

__all__ = ["DAY", "PAID_BEFORE", "Offering", "Offerings", "offering_id", "offering_not_found"]

Request = dict[str, Any]
DAY = 86400
# Source: SageMaker guide, reserve-capacity-with-training-plans.
_HANDOVER = 11 * 3600 + 1800  # plans begin and end at 11:30 UTC
_SOONEST = 1800  # a plan can start in 30 minutes
PAID_BEFORE = 300  # payment completes 5 minutes before the start
_SHORTEST_WINDOW = DAY
_MOST = 3  # offerings in an answer


@dataclass
class Sale:
    """One kind of offering, its moments as epoch seconds, with its prices over time."""

    seed: OfferingSeed
    prices: list[Price]

    def open(self, now: float) -> bool:
        """Say whether it is sold now."""
        begins, ends = self.seed.sold_from, self.seed.sold_until
        return (begins is None or now >= begins.seconds) and (ends is None or now < ends.seconds)

    def fee(self, segments: Iterable[SegmentSeed], now: float) -> str:
        """Return what segments cost in all."""
        price = [price for price in self.prices if price.at.seconds <= now or price is self.prices[0]][-1]
        hours = sum(Decimal(part.end.seconds - part.start.seconds) / 3600 * part.count for part in segments)
        amount = Decimal(price.amount) * (hours if price.per_hour else 1)
        return str(amount.quantize(Decimal("0.01")))


@dataclass(frozen=True, slots=True)
class Offering:
    """One thing to buy: for one target, at one fee."""

    sale: Sale
    segments: tuple[SegmentSeed, ...]
    target: str
    fee: str

    @property
    def id(self) -> str:
        """Equal for equal terms, the fee among them."""
        times = [(part.start.seconds, part.end.seconds, part.count, part.zone) for part in self.segments]
        return offering_id("tpo", self.sale.seed.instance_type, times, self.target, self.fee, self.sale.seed.currency)

    @property
    def start(self) -> float:
        """When its first instances come."""
        return self.segments[0].start.seconds

    @property
    def seconds(self) -> float:
        """How long its segments are together."""
        return sum(part.end.seconds - part.start.seconds for part in self.segments)

    def plan(self, name: str) -> PlanSeed:
        """Return the plan that it becomes."""
        seed = self.sale.seed
        return PlanSeed(
            name,
            seed.instance_type,
            self.segments,
            target=self.target,
            upfront_fee=self.fee,
            currency=seed.currency,
            extension=seed.extension,
        )

    def row(self, request: Request) -> dict[str, Any]:
        """Return the offering as a search shows it."""
        hours, minutes = hours_and_minutes(self.seconds)
        asked = {f"Requested{name}": request[name] for name in ("StartTimeAfter", "EndTimeBefore") if name in request}
        return {
            "TrainingPlanOfferingId": self.id,
            "TargetResources": [self.target],
            **{name: epoch(value) for name, value in asked.items()},
            "DurationHours": hours,
            "DurationMinutes": minutes,
            "UpfrontFee": self.fee,
            "CurrencyCode": self.sale.seed.currency,
            "ReservedCapacityOfferings": [_part(self.sale.seed.instance_type, part) for part in self.segments],
        }


class Offerings:
    """Everything on sale.

    Parameters
    ----------
    seeds, start
        What is sold, and the epoch seconds from which its offsets count.
    faults
        Holds the switches.
    region
        For the zone of what names none.
    """

    def __init__(self, seeds: tuple[OfferingSeed, ...], start: float, faults: Faults, region: str) -> None:
        self._sales = [_sale(seed, start, f"{region}a") for seed in seeds]
        self._faults = faults
        self._searched: dict[str, Offering] = {}
        self._sold: set[str] = set()

    def search(self, request: Request, now: float) -> list[Offering]:
        """Return what fits a request, the best match first; their ids can be bought from now on."""
        _check_window(request, now)
        found = [offering for sale in self._sales for offering in self._of(sale, request, now)][:_MOST]
        self._searched |= {offering.id: offering for offering in found}
        return found

    def take(self, given: str, now: float) -> Offering:
        """Return what an id buys, at today's fee.

        Raises
        ------
        ServiceError
            ``ResourceNotFound`` if there is no such offering, it is over, or its price has changed.
        """
        offering = self._searched.get(given)
        if offering is None or not offering.sale.open(now) or offering.start < now + PAID_BEFORE:
            raise offering_not_found(given)
        if given in self._sold and reading(self._faults, "sagemaker.offering-sells-twice") == "no":
            raise offering_not_found(given)
        current = replace(offering, fee=offering.sale.fee(offering.segments, now))
        if current != offering and reading(self._faults, "sagemaker.offering-drift") == "refused":
            raise offering_not_found(given)
        return current

    def sold(self, given: str) -> None:
        """Note that an id was bought."""
        self._sold.add(given)

    def set_price(self, instance_type: str, amount: str, now: float) -> None:
        """Let every offering of a type cost an amount per instance-hour from now on.

        Raises
        ------
        SandboxError
            If nothing of this type is sold.
        """
        sales = [sale for sale in self._sales if sale.seed.instance_type == instance_type]
        if not sales:
            kinds = ", ".join(sorted({sale.seed.instance_type for sale in self._sales}))
            raise SandboxError(f"no offering is of {instance_type}: there are offerings of {kinds or 'nothing'}")
        for sale in sales:
            sale.prices.append(Price(Moment(now, absolute=True), amount, per_hour=True))

    def _of(self, sale: Sale, request: Request, now: float) -> Iterator[Offering]:
        """Yield what one kind of offering has for a request."""
        seed = sale.seed
        wanted = request.get("InstanceType", seed.instance_type) == seed.instance_type
        if not wanted or "UltraServerType" in request or not sale.open(now):
            return
        targets = [name for name in request.get("TargetResources", seed.targets[:1]) if name in seed.targets]
        for count in seed.counts:
            if request.get("InstanceCount", count) == count:
                for segments in _periods(seed, count, request, now):
                    if self._fits(segments, request, now):
                        fee = sale.fee(segments, now)
                        yield from (Offering(sale, segments, target, fee) for target in targets)

    def _fits(self, segments: tuple[SegmentSeed, ...], request: Request, now: float) -> bool:
        start, end = segments[0].start.seconds, segments[-1].end.seconds
        latest = now + purchase_limits("training-plan").ahead_days * DAY
        if not _earliest(request, now) <= start <= latest or end > _before(request):
            return False
        if "DurationHours" not in request:
            return True
        has = -(-sum(part.end.seconds - part.start.seconds for part in segments) // DAY)
        asked = -(-request["DurationHours"] // 24)
        return has == asked or (has > asked and reading(self._faults, "sagemaker.offering-duration") == "at-least")


def offering_id(prefix: str, *terms: Any) -> str:
    """Return an id that follows from terms."""
    return f"{prefix}-{hashlib.sha256(repr(terms).encode()).hexdigest()}"


def offering_not_found(given: str) -> ServiceError:
    """Return the refusal of an id that buys nothing."""
    return ServiceError("ResourceNotFound", f"The offering {given} does not exist or is no longer available.")


def _sale(seed: OfferingSeed, start: float, zone: str) -> Sale:
    """Return a seed with its offsets turned into epoch seconds."""

    def fixed(moment: Moment | None) -> Moment | None:
        return moment and Moment(moment.after(start), absolute=True)

    def segment(part: SegmentSeed) -> SegmentSeed:
        begin, end = Moment(part.start.after(start), absolute=True), Moment(part.end.after(start), absolute=True)
        return replace(part, start=begin, end=end, zone=part.zone or zone)

    segments = tuple(map(segment, seed.segments))
    prices = [replace(price, at=Moment(price.at.after(start), absolute=True)) for price in seed.prices]
    sold_from, sold_until = fixed(seed.sold_from), fixed(seed.sold_until)
    seed = replace(seed, segments=segments, zone=seed.zone or zone, sold_from=sold_from, sold_until=sold_until)
    return Sale(seed, sorted(prices, key=lambda price: price.at.seconds))


def _periods(seed: OfferingSeed, count: int, request: Request, now: float) -> Iterator[tuple[SegmentSeed, ...]]:
    """Yield the fixed segments, or those between handovers that come next; whether they fit is not asked."""
    if seed.segments:
        alike = len(seed.counts) > 1
        yield tuple(replace(part, count=count) if alike else part for part in seed.segments)
        return
    first = _earliest(request, now)
    midnight = datetime.fromtimestamp(first, UTC).replace(hour=0, minute=0, second=0, microsecond=0).timestamp()
    first = midnight + _HANDOVER + (DAY if first > midnight + _HANDOVER else 0)
    for days in seed.days:
        for begin in (first + DAY * later for later in range(_MOST)):
            start, end = Moment(begin, absolute=True), Moment(begin + days * DAY, absolute=True)
            yield (SegmentSeed(start, end, count, seed.zone, seed.late),)


def _check_window(request: Request, now: float) -> None:
    """Refuse what the guide rules out: a start that is not ahead, an end less than a day behind it."""
    start = epoch(request["StartTimeAfter"]) if "StartTimeAfter" in request else now
    if start < now:
        raise ServiceError("ValidationException", "StartTimeAfter must be in the future.")
    if _before(request) < start + _SHORTEST_WINDOW:
        raise ServiceError("ValidationException", "EndTimeBefore must be at least 24 hours after the start.")


def _earliest(request: Request, now: float) -> float:
    asked = epoch(request["StartTimeAfter"]) if "StartTimeAfter" in request else now
    return max(asked, now + _SOONEST)


def _before(request: Request) -> float:
    return epoch(request["EndTimeBefore"]) if "EndTimeBefore" in request else float("inf")


def _part(instance_type: str, part: SegmentSeed) -> dict[str, Any]:
    hours, minutes = hours_and_minutes(part.end.seconds - part.start.seconds)
    return {
        "ReservedCapacityType": "Instance",
        "InstanceType": instance_type,
        "InstanceCount": part.count,
        "AvailabilityZone": part.zone,
        "DurationHours": hours,
        "DurationMinutes": minutes,
        "StartTime": part.start.seconds,
        "EndTime": part.end.seconds,
    }
