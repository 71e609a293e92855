"""Background work that ends with the sandbox."""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Tasks"]

LOG = logging.getLogger(__name__)


class Tasks:
    """Threads that are told to stop and waited for when the sandbox stops.

    Attributes
    ----------
    stopping
        Set once the sandbox stops; what waits in a task waits on this too.
    """

    def __init__(self) -> None:
        self.stopping = threading.Event()
        self._threads: set[threading.Thread] = set()
        self._lock = threading.Lock()

    def spawn(self, name: str, work: Callable[..., Any], *args: Any, **given: Any) -> None:
        """Run `work` on a thread of its own; an exception is logged, and nothing starts once the sandbox stops."""
        with self._lock:
            if self.stopping.is_set():
                return
            thread = threading.Thread(target=self._run, args=(work, args, given), name=f"sandbox-{name}", daemon=True)
            self._threads.add(thread)
            thread.start()

    def close(self, patience: float = 10.0) -> list[str]:
        """Stop, wait up to `patience` real seconds and return the names of tasks that still run."""
        with self._lock:
            self.stopping.set()
            threads = list(self._threads)
        deadline = time.monotonic() + patience
        for thread in threads:
            if thread is not threading.current_thread():
                thread.join(max(0.0, deadline - time.monotonic()))
        return [thread.name for thread in threads if thread.is_alive()]

    def _run(self, work: Callable[..., Any], args: tuple[Any, ...], given: dict[str, Any]) -> None:
        try:
            work(*args, **given)
        except Exception:
            # What a stop interrupts is no news.
            if not self.stopping.is_set():
                LOG.exception("background work of the sandbox failed")
        finally:
            with self._lock:
                self._threads.discard(threading.current_thread())
