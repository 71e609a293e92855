"""Virtual time: one clock that runs faster than the wall and that everything in the sandbox shares."""

from __future__ import annotations

import contextlib
import heapq
import itertools
import logging
import threading
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from .errors import SandboxError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Clock", "Hold", "Line", "Timer"]

LOG = logging.getLogger(__name__)
_LONGEST_SLICE = 0.1  # real seconds after which a wait that listens to an event looks at the clock again
_SHORTEST_SLICE = 0.002


class Line(NamedTuple):
    """Virtual time as a line over real time; replaced as a whole, so that reading it needs no lock."""

    virtual: float
    real: float
    rate: float
    skipped: float

    def now(self) -> float:
        """Return virtual epoch seconds."""
        return self.virtual + (time.monotonic() - self.real) * self.rate


class Timer:
    """One call on the clock's timer thread, made by `Clock.call_at`."""

    def __init__(self, at: float, callback: Callable[[], None]) -> None:
        self.at = at
        self.callback = callback
        self.cancelled = False

    def cancel(self) -> None:
        """Do not call; a call that already began is not stopped."""
        self.cancelled = True


class Hold:
    """A reason for virtual time to run no faster than the wall, made by `Clock.held`."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._paused = 0
        self._ended = False
        self._lock = threading.Lock()
        clock.count_holder(1)

    def end(self) -> None:
        """Hold no longer, whoever still waits in `paused`."""
        with self._lock:
            if not self._ended and not self._paused:
                self._clock.count_holder(-1)
            self._ended = True

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Let virtual time run at full speed while the holder itself only waits."""
        self._step(1)
        try:
            yield
        finally:
            self._step(-1)

    def _step(self, by: int) -> None:
        with self._lock:  # a handler with several threads may sleep in each of them
            was, self._paused = self._paused, self._paused + by
            if (was == 0) != (self._paused == 0) and not self._ended:
                self._clock.count_holder(-by)


class Clock:
    """Virtual time that runs `speed` times as fast as the wall.

    Parameters
    ----------
    speed
        Virtual seconds per real second; above 0.
    start
        Epoch seconds at which virtual time begins; the real now when left out.

    Examples
    --------
    >>> clock = Clock(speed=600, start=0)
    >>> clock.jump(3600)
    >>> clock.iso(clock.now() // 60 * 60)
    '1970-01-01T01:00:00.000Z'
    """

    def __init__(self, speed: float = 60.0, start: float | None = None) -> None:
        if not speed > 0:
            raise SandboxError(f"speed {speed!r} is not above 0: give virtual seconds per real second, such as 60")
        self.speed = float(speed)
        self._line = Line(time.time() if start is None else float(start), time.monotonic(), self.speed, 0.0)
        self._changed = threading.Condition()
        self._holders = 0
        self._timers: list[tuple[float, int, Timer]] = []
        self._sequence = itertools.count()
        self._thread: threading.Thread | None = None
        self._watchers: list[Callable[[Line], None]] = []
        self._closed = False

    def now(self) -> float:
        """Return virtual epoch seconds."""
        return self._line.now()

    def elapsed(self) -> float:
        """Return virtual seconds that ran by, without those that `jump` skipped."""
        line = self._line
        return line.now() - line.skipped

    def iso(self, t: float | None = None) -> str:
        """Return a moment, now when left out, as ``2026-11-29T12:00:00.000Z``."""
        moment = datetime.fromtimestamp(self.now() if t is None else t, UTC)
        return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"

    def sleep(self, seconds: float) -> None:
        """Sleep for virtual seconds."""
        self.wait_until(self.now() + seconds)

    def wait_until(self, t: float, wake: threading.Event | None = None) -> bool:
        """Wait for the virtual moment `t`.

        Parameters
        ----------
        t
            Epoch seconds.
        wake
            An event that ends the wait early.

        Returns
        -------
        bool
            True if `t` was reached, False if woken before or if the clock was closed.
        """
        if wake is None:
            with self._changed:
                while (left := t - self.now()) > 0 and not self._closed:
                    self._changed.wait(min(left / self._line.rate, threading.TIMEOUT_MAX))
            return left <= 0
        while not (wake.is_set() or self._closed):
            left = t - self.now()
            if left <= 0:
                return True
            # Exact at full speed; while the clock is held it looks again before full speed could overshoot.
            wake.wait(max(_SHORTEST_SLICE, min(left / max(self.speed, 1.0), _LONGEST_SLICE)))
        return False

    def call_at(self, t: float, callback: Callable[[], None]) -> Timer:
        """Call `callback` on the one timer thread once `t` is reached; it must be quick."""
        timer = Timer(t, callback)
        with self._changed:
            if self._closed:
                timer.cancel()
                return timer
            heapq.heappush(self._timers, (t, next(self._sequence), timer))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run_timers, name="sandbox-clock", daemon=True)
                self._thread.start()
            self._changed.notify_all()
        return timer

    @contextlib.contextmanager
    def held(self) -> Iterator[Hold]:
        """Keep virtual time at the wall's speed while the block runs."""
        hold = Hold(self)
        try:
            yield hold
        finally:
            hold.end()

    def count_holder(self, by: int) -> None:
        """Add or remove a holder; for `Hold`."""
        with self._changed:
            self._holders += by
            rate = min(1.0, self.speed) if self._holders > 0 else self.speed
            if rate != self._line.rate:
                self._move(rate=rate)

    def jump(self, seconds: float) -> None:
        """Move virtual time forward at once."""
        if seconds < 0:
            raise SandboxError(f"cannot jump {seconds!r} seconds: virtual time only moves forward")
        with self._changed:
            self._move(skip=seconds)

    def watch(self, watcher: Callable[[Line], None]) -> None:
        """Call `watcher` with the clock's line, now and each time it changes."""
        with self._changed:
            self._watchers.append(watcher)
            watcher(self._line)

    def _move(self, *, rate: float | None = None, skip: float = 0.0) -> None:
        line, real = self._line, time.monotonic()
        virtual = line.virtual + (real - line.real) * line.rate + skip
        self._line = Line(virtual, real, line.rate if rate is None else rate, line.skipped + skip)
        for watcher in self._watchers:
            watcher(self._line)
        self._changed.notify_all()

    def close(self) -> None:
        """End all waits, drop all timers and end the timer thread."""
        with self._changed:
            self._closed = True
            self._timers.clear()
            self._watchers.clear()
            self._changed.notify_all()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def _run_timers(self) -> None:
        while (timer := self._next_due()) is not None:
            try:
                if not timer.cancelled:
                    timer.callback()
            except Exception:
                LOG.exception("a timer of the sandbox's clock failed")

    def _next_due(self) -> Timer | None:
        with self._changed:
            while not self._closed:
                if not self._timers:
                    self._changed.wait()
                elif (left := self._timers[0][0] - self.now()) <= 0:
                    return heapq.heappop(self._timers)[2]
                else:
                    self._changed.wait(min(left / self._line.rate, threading.TIMEOUT_MAX))
        return None
