"""Things to do at virtual moments: done in order, each at its own moment, and never behind a request's back."""

from __future__ import annotations

import contextlib
import heapq
import itertools
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from constructs_lib.sandbox.clock import Clock

    Action = Callable[[float], None]

__all__ = ["Agenda", "Task"]


class Task:
    """One thing to do, made by `Agenda.at`."""

    def __init__(self, action: Action) -> None:
        self._action: Action | None = action

    def cancel(self) -> None:
        """Do not do it."""
        self._action = None

    def run(self, t: float) -> None:
        """Do it, as of the moment `t`."""
        if self._action is not None:
            self._action(t)


class Agenda:
    """The lock and the order of time of everything in the fake.

    An accelerated clock calls late: at 600 times the wall's speed, a callback that comes 10 ms late is 6 virtual
    seconds late. So each action is told the moment it was due, and whoever looks at the state first does everything
    that is due by then: the state is a function of virtual time alone.
    """

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self._lock = threading.RLock()
        self._due: list[tuple[float, int, Task]] = []
        self._sequence = itertools.count()
        self._armed: float | None = None
        self._now = float("-inf")
        self._running = False

    @contextlib.contextmanager
    def moment(self) -> Iterator[float]:
        """Hold the state as of now, and yield now."""
        with self._lock:
            yield self._catch_up()

    def at(self, t: float, action: Action) -> Task:
        """Do something at `t`, at once after what is under way if `t` has passed; call it within `moment`."""
        task = Task(action)
        heapq.heappush(self._due, (max(t, self._now), next(self._sequence), task))
        self._arm()
        return task

    def _catch_up(self) -> float:
        if self._running:  # an action looks at the state it is changing
            return self._now
        now = max(self.clock.now(), self._now)
        self._running = True
        try:
            while self._due and self._due[0][0] <= now:
                self._now, _, task = heapq.heappop(self._due)
                task.run(self._now)
            self._now = now
        finally:
            self._running = False
            self._arm()
        return now

    def _arm(self) -> None:
        """Ask the clock for a call at the earliest task, unless one comes that early anyway."""
        if self._due and (self._armed is None or self._due[0][0] < self._armed):
            self._armed = self._due[0][0]
            self.clock.call_at(self._armed, self._ring)

    def _ring(self) -> None:
        with self._lock:
            self._armed = None
            self._catch_up()
