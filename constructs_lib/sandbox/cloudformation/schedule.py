"""In which order resources are worked on, and how long ones run beside the others."""

from __future__ import annotations

import logging
import queue
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from contextlib import AbstractContextManager

    from .halt import Halt

__all__ = ["work"]

LOG = logging.getLogger(__name__)


def work(
    order: Iterable[str],
    after: Mapping[str, Iterable[str]],
    step: Callable[[str], bool],
    *,
    beside: Callable[[str], bool],
    stop: Halt | None,
    idle: Callable[[], AbstractContextManager[None]],
) -> set[str]:
    """Carry out a step for each name, each after the names it comes after, and return those that failed.

    Parameters
    ----------
    order
        The names; of those that are ready the first is taken.
    after
        For each name the names whose step has to succeed first; names that are not in `order` count as done.
    step
        Returns whether it succeeded.
    beside
        Whether a name's step may take long and gets a thread of its own; all others run one by one in this thread, so
        that two runs do the same things in the same order.
    stop
        Ends the work: no step begins once it is set, and the first failure sets it. None: whatever does not depend on
        a failed step is still done.
    idle
        A context around the time in which this thread only waits for others.
    """
    board = _Board(list(order), after)
    done: queue.SimpleQueue[tuple[str, bool]] = queue.SimpleQueue()

    def attempt(name: str) -> bool:
        try:
            return step(name)
        except Exception:
            LOG.exception("the sandbox's CloudFormation failed at %s", name)
            return False

    def finish(name: str, succeeded: bool) -> None:
        board.finish(name, succeeded=succeeded)
        if stop is not None and not succeeded:
            stop.set()

    while True:
        name = None if stop is not None and stop.is_set() else board.take()
        if name is not None and beside(name):
            threading.Thread(target=lambda n: done.put((n, attempt(n))), args=(name,), daemon=True, name=name).start()
        elif name is not None:
            finish(name, attempt(name))
        elif board.running:
            with idle():
                outcome = done.get()
            finish(*outcome)
        else:
            return board.failed
        while not done.empty():
            finish(*done.get())


class _Board:
    """What waits, what runs, what failed."""

    def __init__(self, order: list[str], after: Mapping[str, Iterable[str]]) -> None:
        self.running: set[str] = set()
        self.failed: set[str] = set()
        self._waiting = order
        self._blocked = {name: set(after.get(name, ())) & set(order) for name in order}

    def take(self) -> str | None:
        """Return the first name that is ready and count it as running."""
        name = next((name for name in self._waiting if not self._blocked[name]), None)
        if name is not None:
            self._waiting.remove(name)
            self.running.add(name)
        return name

    def finish(self, name: str, *, succeeded: bool) -> None:
        """Count a name as done; what comes after a failed one stays where it is."""
        self.running.discard(name)
        if not succeeded:
            self.failed.add(name)
            return
        for others in self._blocked.values():
            others.discard(name)
