"""What a row remembers of its launch beside whose it is: its limits, its prices, and what follows on its end."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from constructs_lib.model import PriceBook, RunRecord, goes_on
from constructs_lib.model.limits import Bounds

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Terms", "spent_on", "started_in"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """The part of one step in its launch.

    Parameters
    ----------
    step, steps : int
        Which step this is, of how many.
    following_seconds : float
        The backstop of the next step, if there is one.
    earlier : tuple of Mapping
        The compact records of the steps before.
    on_quota : str
        ``stop`` or ``drop``.
    bounds : Bounds
        The limits as points in time.
    prices : PriceBook or None
    """

    step: int = 1
    steps: int = 1
    following_seconds: float = 0
    earlier: tuple[Mapping[str, Any], ...] = ()
    on_quota: str = "stop"
    bounds: Bounds = field(default_factory=Bounds)
    prices: PriceBook | None = None

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Terms:
        """Read what `to_dict` wrote."""
        prices = data.get("prices")
        return cls(
            step=data["step"],
            steps=data["steps"],
            following_seconds=data["following_seconds"],
            earlier=tuple(data["earlier"]),
            on_quota=data["on_quota"],
            bounds=Bounds.of(data["bounds"]),
            prices=PriceBook.from_payload(prices) if prices else None,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "step": self.step,
            "steps": self.steps,
            "following_seconds": self.following_seconds,
            "earlier": [dict(record) for record in self.earlier],
            "on_quota": self.on_quota,
            "bounds": self.bounds.to_dict(),
            "prices": self.prices.to_payload(self.prices.per_hour) if self.prices else None,
        }

    def following(self, record: RunRecord) -> dict[str, Any] | None:
        """Return what tells the machine to go on with the next step, or ``None`` if the record is the launch's end.

        It follows from what the row holds, so that everybody who answers for the row says the same.
        """
        if self.step == self.steps or not goes_on(record, on_quota=self.on_quota):
            return None
        earlier = [*map(dict, self.earlier), record.compact()]
        return {"next": self.step + 1, "seconds": self.following_seconds, "earlier": earlier}

    def complete(self, record: RunRecord) -> RunRecord:
        """Return a step's record as the record of the launch so far."""
        if self.steps == 1:
            return record
        return replace(record, step=self.step, earlier=self.earlier)


def spent_on(earlier: tuple[Mapping[str, Any], ...]) -> Decimal:
    """Return what the earlier steps cost, as far as that is known."""
    return sum((Decimal(record.get("cost", 0)) for record in earlier), Decimal(0))


def started_in(earlier: tuple[Mapping[str, Any], ...]) -> bool:
    """Tell whether a job of an earlier step had started."""
    return any("runtime_seconds" in record for record in earlier)
