"""How long something that cannot be seen may still come."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constructs_lib.runtime.ports import Clock

__all__ = ["LAG", "Patience"]

# Within this time Describe, tags and indexes show what was written. AWS states no bound for SageMaker.
LAG = 120.0
# Nothing that is reserved ends sooner than this after it was bought. Source: purchase_limits.json, whole days.
_SHORTEST_LIFE = 86400.0
_PAUSES = (1.0, 2.0, 4.0)


class Tried(Protocol):
    """Whatever may be followed by a create call that nobody waits for."""

    @property
    def tried(self) -> float:
        """Epoch seconds at which the run began that may make the call."""
        ...


class Patience:
    """The bounds behind "there is no such thing" and the short waits before believing it.

    Parameters
    ----------
    clock : Clock
    launcher_timeout : float
        Seconds that one run of the launcher, or of the buyer, can live.
    call_life : float
        Seconds for which a create call can still take effect after its caller gave up.
    """

    def __init__(self, clock: Clock, launcher_timeout: float, call_life: float) -> None:
        self._clock = clock
        self.bound = launcher_timeout + call_life + LAG

    def over(self, row: Tried) -> bool:
        """Tell whether no create call of this try can arrive any more, nor be invisible still."""
        return self._clock.time() - row.tried > self.bound

    def conclusive(self, row: Tried) -> bool:
        """Tell whether not seeing what this try created proves that there is nothing.

        Not before everything has arrived and is visible; and not when it may have come, ended and been forgotten.
        """
        return self.over(row) and self._clock.time() - row.tried < _SHORTEST_LIFE

    def looks(self) -> Iterator[int]:
        """Yield a few times, a little later each time: for what is written already and may not be visible yet."""
        yield 0
        for look, pause in enumerate(_PAUSES, 1):
            self._clock.sleep(pause)
            yield look
