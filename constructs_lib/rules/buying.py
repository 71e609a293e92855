"""What purchases of training plans and of capacity blocks have in common: a fee, a size, a window, and no way back."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from constructs_lib import facts
from constructs_lib.facts.capacity import PurchaseLimits, purchase_limits
from constructs_lib.model import is_unresolved
from constructs_lib.model.window import moment_text, whole_days
from constructs_lib.rules.findings import Found, Phase, error, unverified, warning
from constructs_lib.rules.subjects import Carrier, Kind, Subject
from constructs_lib.rules.values import amount, flag, mapping, moment, number, show

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constructs_lib.rules.subjects import App

__all__ = ["BLOCK", "PLAN", "PLAN_PURCHASES", "Product", "approval", "ceiling", "is_ours", "retained", "size", "window"]


@dataclass(frozen=True, slots=True)
class Product:
    """What is bought, and under which members a request says how much and when."""

    name: str
    hours: str
    start: str
    end: str

    @property
    def limits(self) -> PurchaseLimits:
        """The sizes that are sold."""
        return purchase_limits(self.name)


PLAN_PURCHASES = (Kind.TRAINING_PLAN, Kind.TRAINING_PLAN_SEARCH)
PLAN = Product("training-plan", "DurationHours", "StartTimeAfter", "EndTimeBefore")
BLOCK = Product("capacity-block", "CapacityDurationHours", "StartDateRange", "EndDateRange")


def is_ours(subject: Subject) -> bool:
    """Tell a purchase resource of ours from a bare API request, which names an offering or only searches."""
    bare = ("TrainingPlanOfferingId", "CapacityBlockOfferingId")
    return subject.kind in (Kind.TRAINING_PLAN, Kind.CAPACITY_BLOCK) and not any(key in subject.data for key in bare)


def ceiling(subject: Subject) -> Iterator[Found]:
    """Find a fee ceiling that is missing or no amount of money."""
    fee, currency = subject.data.get("MaxUpfrontFee"), subject.data.get("CurrencyCode")
    limit = amount(fee)
    if is_unresolved(fee):
        yield unverified("MaxUpfrontFee is not known here; an amount above 0 is needed", "MaxUpfrontFee")
    elif limit is None or limit <= 0:
        yield error(f"MaxUpfrontFee is {show(fee)}; an amount above 0, such as '60000', is needed", "MaxUpfrontFee")
    if is_unresolved(currency):
        yield unverified("CurrencyCode is not known here; a code such as 'USD' is needed", "CurrencyCode")
    elif not (isinstance(currency, str) and re.fullmatch(r"[A-Z]{3}", currency)):
        yield error(f"CurrencyCode is {show(currency)}; a code such as 'USD' is needed", "CurrencyCode")


def size(subject: Subject, product: Product) -> Iterator[Found]:
    """Find counts and durations that are not sold."""
    limits, ours = product.limits, is_ours(subject)
    if not any(subject.data.get(key) is not None for key in ("UltraServerCount", "UltraServerType")):
        yield from _count(subject.data.get("InstanceCount"), limits, needed=ours)
    yield from _hours(subject.data.get(product.hours), product, needed=ours)


def _count(given: Any, limits: PurchaseLimits, *, needed: bool) -> Iterator[Found]:
    count, allowed = number(given), f"1 to {limits.max_count} is allowed"
    if is_unresolved(given):
        yield unverified(f"InstanceCount is not known here; {allowed}", "InstanceCount")
    elif given is None:
        if needed:
            yield error(f"InstanceCount is missing; {allowed}", "InstanceCount")
    elif not isinstance(count, int) or not 1 <= count <= limits.max_count:
        yield error(f"InstanceCount is {show(given)}; {allowed}", "InstanceCount")
    elif count not in limits.documented_counts:
        sold = ", ".join(map(str, limits.documented_counts))
        yield warning(f"InstanceCount is {count}; sold are {sold}", "InstanceCount")


def _hours(given: Any, product: Product, *, needed: bool) -> Iterator[Found]:
    limits, hours, at = product.limits, number(given), product.hours
    allowed = f"1 to {limits.max_days} days of 24 hours are allowed"
    if is_unresolved(given):
        yield unverified(f"{at} is not known here; {allowed}", at)
    elif given is None:
        if needed:
            yield error(f"{at} is missing; {allowed}", at)
    elif hours is None or not 1 <= hours <= limits.max_days * 24:
        yield error(f"{at} is {show(given)}; {allowed}", at)
    elif hours % 24:
        yield warning(f"{at} is {hours}; it is rounded up to {_rounded(hours)} hours, which are billed", at)
    elif hours > limits.daily_until_days * 24 and hours % 168:
        yield error(f"{at} is {hours}; above {limits.daily_until_days} days only whole weeks are sold", at)


def _rounded(hours: float) -> int:
    return whole_days(hours) * 24


def window(subject: Subject, product: Product, app: App) -> Iterator[Found]:
    """Find windows that cannot hold what is asked for; in a bare search only a warning."""
    judge = error if is_ours(subject) else warning
    times: dict[str, datetime | None] = {}
    for at in (product.start, product.end):
        given = subject.data.get(at)
        times[at] = moment(given)
        if is_unresolved(given):
            yield unverified(f"{at} is not known here", at)
        elif given is not None and times[at] is None:
            yield judge(f"{at} is {show(given)}, which is no time; write it as '2027-01-27T00:00:00Z'", at)
        elif isinstance(given, str) and datetime.fromisoformat(given).tzinfo is None:
            yield judge(f"{at} is {show(given)} without a time zone; write it as '2027-01-27T00:00:00Z'", at)
    start, end = times[product.start], times[product.end]
    hours = number(subject.data.get(product.hours))
    needed = timedelta(hours=max(_rounded(hours or 0), product.limits.min_window_hours))
    if start and end and end <= start:
        yield judge(f"the window ends at {moment_text(end)}, before it starts at {moment_text(start)}", product.end)
    elif start and end and end - start < needed:
        yield judge(f"{_hours_of(needed)} do not fit between {moment_text(start)} and {moment_text(end)}", product.end)
    elif app.now is None and (start or end):
        at = product.start if start else product.end
        yield unverified("whether the window lies ahead is not known without a clock", at, phase=Phase.DEPLOY)
    elif app.now is not None:
        for message, at in _against_the_clock(start, end, needed, product, app.now):
            yield judge(message, at, phase=Phase.DEPLOY)


def _against_the_clock(
    start: datetime | None, end: datetime | None, needed: timedelta, product: Product, now: datetime
) -> Iterator[tuple[str, str]]:
    latest = now + timedelta(days=product.limits.ahead_days)
    if start and start < now:
        yield f"{product.start} {moment_text(start)} is in the past", product.start
    if start and start > latest:
        ahead = product.limits.ahead_days
        yield (
            f"{product.start} {moment_text(start)} is more than {ahead} days ahead, which is not sold yet",
            product.start,
        )
    if end and end < now:
        yield f"{product.end} {moment_text(end)} is in the past", product.end
    elif end and end - max(now, start or now) < needed:
        yield f"{_hours_of(needed)} do not fit between now and {moment_text(end)}", product.end


def retained(subject: Subject) -> Iterator[Found]:
    """Find deletion policies under which a template forgets, or seems to undo, a purchase."""
    if subject.carrier is not Carrier.TEMPLATE:
        return
    for policy in ("DeletionPolicy", "UpdateReplacePolicy"):
        given = subject.about.get(policy)
        if is_unresolved(given):
            yield unverified(f"{policy} is not known here; Retain is needed")
        elif given != "Retain":
            yield error(f"{policy} is {show(given)}; a purchase cannot be undone, so Retain is needed")


def approval(subject: Subject) -> Iterator[Found]:
    """Find an approval that nobody can give, and a wait that CloudFormation does not grant."""
    said = subject.data.get("Approval")
    required = flag(mapping(said).get("Required"))
    topic = mapping(said).get("TopicArn")
    if is_unresolved(said) or required is None:
        yield unverified("whether an approval is required is not known here", "Approval")
    elif required and not topic:
        yield error("an approval is required, and Approval.TopicArn names nobody to ask", "Approval.TopicArn")
    longest = facts.documented_limit("custom_resource_seconds")
    timeout = subject.about.get("ServiceTimeout", subject.data.get("ServiceTimeout"))
    if is_unresolved(timeout):
        yield unverified(f"ServiceTimeout is not known here; at most {longest} seconds are granted", "ServiceTimeout")
    elif (number(timeout) or 0) > longest:
        yield error(f"ServiceTimeout is {timeout}; at most {longest} seconds are granted", "ServiceTimeout")


def _hours_of(span: timedelta) -> str:
    return f"{int(span.total_seconds() // 3600)} hours"
