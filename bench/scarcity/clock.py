"""A clock that stands until it is told how far to go."""

from __future__ import annotations

import heapq
import itertools
from typing import TYPE_CHECKING

from constructs_lib.sandbox.clock import Timer

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["START", "SteppedClock"]

START = 1_800_000_000.0


class SteppedClock:
    """Virtual time without a wall: each callback runs at its own moment, and nothing runs between."""

    def __init__(self) -> None:
        self._now = START
        self._timers: list[tuple[float, int, Timer]] = []
        self._sequence = itertools.count()

    def now(self) -> float:
        """Return epoch seconds."""
        return self._now

    def call_at(self, t: float, callback: Callable[[], None]) -> Timer:
        """Call at ``t``, or next if that is past."""
        timer = Timer(t, callback)
        heapq.heappush(self._timers, (t, next(self._sequence), timer))
        return timer

    def run(self, seconds: float) -> None:
        """Go on for so long."""
        end = self._now + seconds
        while self._timers and self._timers[0][0] <= end:
            t, _, timer = heapq.heappop(self._timers)
            self._now = max(self._now, t)
            if not timer.cancelled:
                timer.callback()
        self._now = end
