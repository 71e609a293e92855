"""How a stack operation tells its waiting resources to stop waiting."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constructs_lib.sandbox.clock import Clock

__all__ = ["Halt"]


class Halt:
    """A flag that, once set, wakes whoever waits under it; it is never cleared.

    Attributes
    ----------
    closed
        Whether the sandbox stops: then nothing is called any more.
    """

    def __init__(self) -> None:
        self.closed = False
        self._set = False
        self._waiting: set[threading.Event] = set()
        self._lock = threading.Lock()

    def is_set(self) -> bool:
        """Return whether waiting is over."""
        return self._set

    def set(self) -> None:
        """End all waits."""
        with self._lock:
            self._set = True
            for event in self._waiting:
                event.set()

    def close(self) -> None:
        """End all waits and all calls."""
        self.closed = True
        self.set()

    @contextlib.contextmanager
    def waking(self, event: threading.Event) -> Iterator[None]:
        """Set `event` too if the flag is set while the block runs, or was before."""
        with self._lock:
            self._waiting.add(event)
            if self._set:
                event.set()
        try:
            yield
        finally:
            with self._lock:
                self._waiting.discard(event)

    def sleep(self, clock: Clock, seconds: float) -> bool:
        """Wait for virtual seconds; return False if the flag ended the wait early."""
        event = threading.Event()
        with self.waking(event):
            return clock.wait_until(clock.now() + seconds, event)
