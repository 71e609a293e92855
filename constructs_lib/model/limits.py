"""By when, and for how much: the limits of one launch, and which of them has been passed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

from constructs_lib.model.ends import RunEnd
from constructs_lib.model.errors import InvalidInputError
from constructs_lib.model.price import PriceCeiling
from constructs_lib.model.prices import PriceBook
from constructs_lib.model.window import moment_text, zoned

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["SWEEP_SECONDS", "Bounds", "Limits", "Moment", "moment_of"]

SWEEP_SECONDS = 300
"""How often every run that waits or runs is looked at: a limit is passed by at most this, plus one look."""

Moment = datetime | timedelta
"""A point in time, or a time after the run began."""


def moment_of(given: Any, name: str) -> Moment:
    """Read a limit in time: a `datetime` or ISO text with a time zone, or a `timedelta` or seconds after the begin.

    Raises
    ------
    InvalidInputError
        For anything else, and for a time that is not after the begin.

    Examples
    --------
    >>> moment_of(3600, "start_by"), moment_of("2027-01-27T00:00Z", "start_by").isoformat()
    (datetime.timedelta(seconds=3600), '2027-01-27T00:00:00+00:00')
    """
    if isinstance(given, int | float) and not isinstance(given, bool):
        try:
            given = timedelta(seconds=given)
        except (OverflowError, ValueError):
            raise InvalidInputError(f"{name} {given!r} is no time: give seconds after the run began") from None
    if isinstance(given, timedelta):
        if given <= timedelta():
            raise InvalidInputError(f"{name} {given} is not after the run began: give more than 0 seconds")
        return given
    return zoned(given, name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a launch may take, in time and in money.

    Parameters
    ----------
    start_by : datetime, timedelta, str or float, optional
        A job of the launch has to have started by then, whichever step it is of; else the launch ends as
        ``StartByPassed``. A duration counts from the begin of the run.
    finish_by : datetime, timedelta, str or float, optional
        What runs then is stopped, and the launch ends as ``FinishByPassed``.
    max_cost : PriceCeiling, optional
        What all jobs of the launch may cost together. Reserved entries cost nothing at the margin. Needs ``prices``.
    prices : PriceBook, optional
        Also without ``max_cost``: then records say what a run cost.
    on_quota : str, optional
        ``stop`` (default), or ``drop``: entries without quota are left out, and a step that has none left is passed
        over.
    reserved_only : bool, optional
        Off by default. When on, nothing is launched that could run outside of a training plan.

    Raises
    ------
    InvalidInputError
        For a limit that contradicts another.

    Examples
    --------
    >>> Limits(start_by=timedelta(hours=1), finish_by="2027-01-27T00:00Z").to_payload([])
    {'start_by': 3600, 'finish_by': '2027-01-27T00:00:00Z'}
    """

    start_by: Any = None
    finish_by: Any = None
    max_cost: PriceCeiling | None = None
    prices: PriceBook | None = None
    on_quota: Literal["stop", "drop"] = "stop"
    reserved_only: bool = False

    def __post_init__(self) -> None:
        for name in ("start_by", "finish_by"):
            if (given := getattr(self, name)) is not None:
                object.__setattr__(self, name, moment_of(given, name))
        start, finish = self.start_by, self.finish_by
        if start is not None and type(start) is type(finish) and finish <= start:
            raise InvalidInputError(
                f"finish_by {_plain(finish)} is not after start_by {_plain(start)}: nothing could ever run"
            )
        if self.on_quota not in ("stop", "drop"):
            raise InvalidInputError(f"on_quota {self.on_quota!r}: 'stop' or 'drop' is allowed")
        if self.max_cost is not None:
            if self.prices is None:
                raise InvalidInputError(f"max_cost {self.max_cost} needs prices: give a PriceBook")
            if self.prices.currency != self.max_cost.currency:
                raise InvalidInputError(
                    f"max_cost {self.max_cost} and the prices in {self.prices.currency} are in different currencies"
                )

    @classmethod
    def from_payload(cls, data: Mapping[str, Any]) -> Limits:
        """Read what `to_payload` wrote."""
        cost, prices = data.get("max_cost"), data.get("prices")
        return cls(
            start_by=data.get("start_by"),
            finish_by=data.get("finish_by"),
            max_cost=PriceCeiling(cost["amount"], cost["currency"]) if cost else None,
            prices=PriceBook.from_payload(prices) if prices else None,
            on_quota=data.get("on_quota", "stop"),
            reserved_only=bool(data.get("reserved_only", False)),
        )

    def to_payload(self, types: Iterable[str]) -> dict[str, Any]:
        """Return plain data without what is not declared, with the prices of these instance types."""
        payload: dict[str, Any] = {
            name: _plain(value) for name in ("start_by", "finish_by") if (value := getattr(self, name)) is not None
        }
        if self.max_cost is not None:
            payload["max_cost"] = {"amount": self.max_cost.amount, "currency": self.max_cost.currency}
        if self.prices is not None:
            payload["prices"] = self.prices.to_payload(types)
        if self.on_quota != "stop":
            payload["on_quota"] = self.on_quota
        return payload | ({"reserved_only": True} if self.reserved_only else {})

    @property
    def relative(self) -> bool:
        """Whether a limit counts from the begin of the run, which somebody then has to say."""
        return timedelta in (type(self.start_by), type(self.finish_by))

    def bounds(
        self, began: float, *, max_pending: float | None = None, spent: Decimal = Decimal(0), started: bool = False
    ) -> Bounds:
        """Return the limits of one step as points in time.

        Parameters
        ----------
        began : float
            Epoch seconds at which the run began.
        max_pending : float, optional
            The seconds that the step's job may wait for capacity, where only we can bound them.
        spent : Decimal
            What earlier steps cost.
        started : bool
            Whether an earlier step's job had started, which keeps ``start_by``.
        """
        budget = None if self.max_cost is None else self.max_cost.money.amount - spent
        return Bounds(
            start_by=None if started else _epoch(self.start_by, began),
            finish_by=_epoch(self.finish_by, began),
            max_pending=max_pending,
            budget=budget,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The limits of one step: epoch seconds, seconds and money that may still be spent; ``None`` bounds nothing."""

    start_by: float | None = None
    finish_by: float | None = None
    max_pending: float | None = None
    budget: Decimal | None = None

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Bounds:
        """Read what `to_dict` wrote."""
        return cls(**{**data, "budget": Decimal(data["budget"]) if "budget" in data else None})

    def to_dict(self) -> dict[str, Any]:
        """Return plain data without what bounds nothing."""
        budget = None if self.budget is None else f"{self.budget:f}"
        every = {"start_by": self.start_by, "finish_by": self.finish_by, "max_pending": self.max_pending}
        return {name: value for name, value in {**every, "budget": budget}.items() if value is not None}

    def before(self, now: float) -> RunEnd | None:
        """Return the limit that forbids to create a job now."""
        if self.finish_by is not None and now >= self.finish_by:
            return RunEnd.FINISH_BY_PASSED
        if self.start_by is not None and now >= self.start_by:
            return RunEnd.START_BY_PASSED
        return RunEnd.COST_LIMIT_REACHED if self.budget is not None and self.budget <= 0 else None

    def passed(
        self, now: float, *, created: float, started: float | None, rate: Decimal | None, selected: bool = False
    ) -> RunEnd | None:
        """Return the limit that stops a job now.

        Parameters
        ----------
        now, created : float
        started : float or None
            When the job began to be billed; ``None`` while it waits for capacity.
        rate : Decimal or None
            What an hour of all its instances costs, if that is known.
        selected : bool
            Whether it has got instances, which ends its wait for capacity though it has not started yet.
        """
        if self.finish_by is not None and now >= self.finish_by:
            return RunEnd.FINISH_BY_PASSED
        if started is None:
            if self.start_by is not None and now >= self.start_by:
                return RunEnd.START_BY_PASSED
            over = not selected and self.max_pending is not None and now - created >= self.max_pending
            return RunEnd.INSUFFICIENT_CAPACITY if over else None
        if self.budget is None or rate is None:
            return None
        cost_then = rate * Decimal(now + SWEEP_SECONDS - started) / 3600
        return RunEnd.COST_LIMIT_REACHED if cost_then > self.budget else None

    def longest(self, now: float, rates: Iterable[Decimal | None]) -> tuple[int, RunEnd] | None:
        """Return the most seconds that a job created now may run, and the limit that says so.

        Parameters
        ----------
        now : float
        rates : iterable of Decimal or None
            What an hour costs with each entry; the cheapest counts, for the sweep stops dearer ones sooner.
        """
        bounds = []
        if self.finish_by is not None:
            bounds.append((max(1, int(self.finish_by - now)), RunEnd.FINISH_BY_PASSED))
        known = [rate for rate in rates if rate is not None]
        if self.budget is not None and known and (cheapest := min(known)) > 0:
            bounds.append((max(1, int(self.budget * 3600 / cheapest)), RunEnd.COST_LIMIT_REACHED))
        return min(bounds, default=None)


def _plain(moment: Moment) -> float | str:
    if isinstance(moment, timedelta):
        seconds = moment.total_seconds()
        return int(seconds) if seconds == int(seconds) else seconds
    return moment_text(moment)


def _epoch(moment: Moment | None, began: float) -> float | None:
    if moment is None:
        return None
    return began + moment.total_seconds() if isinstance(moment, timedelta) else moment.astimezone(UTC).timestamp()
