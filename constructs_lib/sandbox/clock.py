"""Virtual time: one clock that runs faster than the wall and that everything in the sandbox shares."""

from __future__ import annotations

import contextlib
import heapq
import itertools
import logging
import threading
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from .errors import SandboxError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Clock", "Hold", "Timer"]

LOG = logging.getLogger(__name__)
_LONGEST_SLICE = 0.1  # real seconds after which a wait that listens to an event looks at the clock again
_SHORTEST_SLICE = 0.002


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
        self._lock = threading.Lock()

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
            if (was == 0) != (self._paused == 0):
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
        # (virtual origin, real origin, rate) is replaced as a whole, so that `now` needs no lock.
        self._line = (time.time() if start is None else float(start), time.monotonic(), self.speed)
        self._changed = threading.Condition()
        self._holders = 0
        self._timers: list[tuple[float, int, Timer]] = []
        self._sequence = itertools.count()
        self._thread: threading.Thread | None = None
        self._closed = False

    def now(self) -> float:
        """Return virtual epoch seconds."""
        virtual, real, rate = self._line
        return virtual + (time.monotonic() - real) * rate

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
            True if `t` was reached, False if woken before.
        """
        if wake is None:
            with self._changed:
                while (left := t - self.now()) > 0:
                    self._changed.wait(min(left / self._line[2], threading.TIMEOUT_MAX))
            return True
        while not wake.is_set():
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
        self.count_holder(1)
        try:
            yield hold
        finally:
            self.count_holder(-1)

    def count_holder(self, by: int) -> None:
        """Add or remove a holder; for `held` and `Hold.paused`."""
        with self._changed:
            self._holders += by
            rate = min(1.0, self.speed) if self._holders > 0 else self.speed
            if rate != self._line[2]:
                self._line = (self.now(), time.monotonic(), rate)
                self._changed.notify_all()

    def jump(self, seconds: float) -> None:
        """Move virtual time forward at once."""
        if seconds < 0:
            raise SandboxError(f"cannot jump {seconds!r} seconds: virtual time only moves forward")
        with self._changed:
            self._line = (self.now() + seconds, time.monotonic(), self._line[2])
            self._changed.notify_all()

    def close(self) -> None:
        """Drop all timers and end the timer thread."""
        with self._changed:
            self._closed = True
            self._timers.clear()
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
                    self._changed.wait(min(left / self._line[2], threading.TIMEOUT_MAX))
        return None
