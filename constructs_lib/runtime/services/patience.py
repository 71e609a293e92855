"""How long something that cannot be seen may still come."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constructs_lib.runtime.ports import Clock
    from constructs_lib.runtime.run_table import Row

__all__ = ["LAG", "Patience"]

# Within this time Describe, tags and indexes show what was written. AWS states no bound for SageMaker.
LAG = 120.0
_PAUSES = (1.0, 2.0, 4.0)


class Patience:
    """The bounds behind "there is no such job" and the short waits before believing it.

    Parameters
    ----------
    clock : Clock
    launcher_timeout : float
        Seconds that one run of the launcher can live.
    call_life : float
        Seconds for which a create call can still take effect after its caller gave up.
    """

    def __init__(self, clock: Clock, launcher_timeout: float, call_life: float) -> None:
        self._clock = clock
        self.bound = launcher_timeout + call_life + LAG

    def over(self, row: Row) -> bool:
        """Tell whether no create call of this row can arrive any more, nor be invisible still."""
        return self._clock.time() - row.tried > self.bound

    def looks(self) -> Iterator[int]:
        """Yield a few times, a little later each time: for what is written already and may not be visible yet."""
        yield 0
        for look, pause in enumerate(_PAUSES, 1):
            self._clock.sleep(pause)
            yield look
