"""Generated scarcity: what is free of each type over the days, and which jobs arrive; a function of the seed alone."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = [
    "ARRIVING",
    "DAY",
    "HOUR",
    "MINUTE",
    "PATIENCE",
    "REGIMES",
    "WATCHED",
    "Arrival",
    "Regime",
    "Spell",
    "arrivals",
    "spells",
]

MINUTE, HOUR, DAY = 60, 3600, 86400
ARRIVING = 7 * DAY  # jobs arrive for a week
PATIENCE = 2 * DAY  # and each is given up when it has not started by then
WATCHED = ARRIVING + PATIENCE + DAY  # until the last job has ended


@dataclass(frozen=True, slots=True)
class Regime:
    """How scarce things are.

    Parameters
    ----------
    name
        For people.
    share
        The part of the time in which a type has something free, by type.
    spell
        How long it stays so on average, in seconds.
    sizes
        The least and the most instances that are free in such a spell.
    """

    name: str
    share: Mapping[str, float]
    spell: float
    sizes: tuple[int, int] = (4, 24)


def _regime(name: str, p5: float, p4d: float, g6e: float, spell: float) -> Regime:
    return Regime(name, {"ml.p5.48xlarge": p5, "ml.p4d.24xlarge": p4d, "ml.g6e.48xlarge": g6e}, spell)


REGIMES = (
    _regime("mild", 0.45, 0.55, 0.65, 3 * HOUR),
    _regime("tight", 0.15, 0.20, 0.25, 80 * MINUTE),
    _regime("famine", 0.03, 0.05, 0.07, 30 * MINUTE),
)


@dataclass(frozen=True, slots=True)
class Spell:
    """From ``start`` to ``end``, in seconds, so many instances are free; outside of spells none."""

    start: float
    end: float
    free: int


@dataclass(frozen=True, slots=True)
class Arrival:
    """A job: when it comes, how many units of work run side by side, and for how long, in seconds."""

    at: float
    units: int
    runtime: float


def spells(regime: Regime, seed: int) -> dict[str, list[Spell]]:
    """Return when something is free, by type; types come and go independently of each other.

    Spells and the gaps between them last exponentially long, so that nothing tells when the next one comes.
    """
    return {name: list(_of_type(regime, name, seed)) for name in regime.share}


def _of_type(regime: Regime, name: str, seed: int) -> Iterator[Spell]:
    chance = random.Random(f"{seed}/{regime.name}/{name}")
    share = regime.share[name]
    gap = regime.spell * (1 - share) / share
    free, now = chance.random() < share, 0.0
    while now < WATCHED:
        until = now + chance.expovariate(1 / (regime.spell if free else gap))
        if free:
            yield Spell(now, min(until, WATCHED), chance.randint(*regime.sizes))
        free, now = not free, until


def arrivals(seed: int, jobs: int) -> list[Arrival]:
    """Return the jobs of the week, the same for every regime and strategy.

    They come at any time alike, ask for one or two units and run for half an hour to three hours.
    """
    chance = random.Random(f"{seed}/arrivals")
    moments = sorted(chance.uniform(0, ARRIVING) for _ in range(jobs))
    return [Arrival(at, chance.choice((1, 1, 1, 2)), round(chance.uniform(0.5, 3) * HOUR)) for at in moments]
