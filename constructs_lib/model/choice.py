"""Which offering is bought, and where to look when none fits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from constructs_lib.facts.capacity import purchase_limits
from constructs_lib.model.errors import InvalidInputError
from constructs_lib.model.offerings import Offering, Requirement
from constructs_lib.model.window import CapacityWindow, whole_days

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

__all__ = ["Choice", "Criterion", "longer", "neighbours"]

_NEAR_DAYS = (-1, 1, -2, 2)
_NEAR_DATES = timedelta(days=7)


class Criterion(StrEnum):
    """By what offerings are compared."""

    CHEAPEST = "cheapest"
    EARLIEST = "earliest"
    LONGEST = "longest"


_KEYS: Mapping[Criterion, Callable[[Offering], Any]] = {
    Criterion.CHEAPEST: lambda offering: offering.price.amount,
    Criterion.EARLIEST: lambda offering: offering.start,
    Criterion.LONGEST: lambda offering: -offering.hours,
}


@dataclass(frozen=True, slots=True)
class Choice:
    """How one offering is chosen of many.

    Parameters
    ----------
    ranking : tuple of Criterion
        The first decides, the next breaks its ties. Ties that are left are broken by the price per instance-hour, then
        the earlier start, then the longer time, then fewer segments, then the offering's id.

    Notes
    -----
    Offerings of more days than asked for are only considered when ``longest`` is in the ranking.

    Examples
    --------
    >>> str(Choice.parse("earliest, cheapest"))
    'earliest,cheapest'
    """

    ranking: tuple[Criterion, ...] = (Criterion.CHEAPEST,)

    @classmethod
    def parse(cls, text: str) -> Choice:
        """Read one criterion, or several separated by commas.

        Raises
        ------
        InvalidInputError
            For anything else.
        """
        words = [word.strip() for word in text.split(",")] if isinstance(text, str) else []
        allowed = [str(criterion) for criterion in Criterion]
        if not words or len(set(words)) < len(words) or not set(words) <= set(allowed):
            raise InvalidInputError(
                f"choice {text!r}: one or more of {', '.join(allowed)} are allowed, each once, such as 'cheapest' or "
                "'earliest,cheapest'"
            )
        return cls(tuple(map(Criterion, words)))

    def __str__(self) -> str:
        return ",".join(self.ranking)

    @property
    def takes_longer(self) -> bool:
        """Whether more days than asked for are wanted if they can be had."""
        return Criterion.LONGEST in self.ranking

    def fitting(self, offerings: Iterable[Offering], wanted: Requirement) -> list[Offering]:
        """Return what fits, the best first, each once."""
        once = {offering.id: offering for offering in offerings}
        found = [offering for offering in once.values() if self.misfit(offering, wanted) is None]
        return sorted(found, key=self._rank)

    def misfit(self, offering: Offering, wanted: Requirement) -> str | None:
        """Return why an offering is not taken, or ``None``."""
        if (reason := offering.misfit(wanted)) is not None:
            return reason
        return None if self.takes_longer or whole_days(float(offering.hours)) == wanted.days else "longer"

    def near_misses(self, offerings: Iterable[Offering], wanted: Requirement, most: int = 3) -> list[str]:
        """Return offerings that almost fit, in words with what is different, the best first."""
        once = {offering.id: offering for offering in offerings}
        near = [(self.misfit(offering, wanted), offering) for offering in sorted(once.values(), key=self._rank)]
        return [f"{reason}: {offering}" for reason, offering in near if reason is not None][:most]

    def _rank(self, offering: Offering) -> tuple[Any, ...]:
        order = dict.fromkeys((*self.ranking, *Criterion))
        return (*(_KEYS[criterion](offering) for criterion in order), len(offering.segments), offering.id)


def longer(wanted: Requirement) -> Iterator[Requirement]:
    """Yield the same for a few more days, as far as the window holds them: a search may match a duration exactly."""
    for days in (wanted.days + more for more in _NEAR_DAYS if more > 0):
        if days <= purchase_limits("training-plan").max_days and wanted.window.refusal(24 * days) is None:
            yield wanted.of_days(days)


def neighbours(wanted: Requirement, now: datetime) -> Iterator[Requirement]:
    """Yield what lies near: other durations in the window, the same duration a week around it.

    Parameters
    ----------
    wanted : Requirement
    now : datetime
        No search begins earlier.
    """
    for days in (wanted.days + more for more in _NEAR_DAYS):
        if 1 <= days <= purchase_limits("training-plan").max_days and wanted.window.refusal(24 * days, now) is None:
            yield wanted.of_days(days)
    yield _moved(wanted, now)


def _moved(wanted: Requirement, now: datetime) -> Requirement:
    start, end = wanted.window.start_after, wanted.window.end_before
    earlier = start and start - _NEAR_DATES
    window = CapacityWindow(
        start_after=earlier if earlier and earlier > now else None, end_before=end and end + _NEAR_DATES
    )
    return replace(wanted, window=window)
