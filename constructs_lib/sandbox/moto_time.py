"""moto's idea of now, moved to the sandbox's clock while one runs."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from moto.core import utils

if TYPE_CHECKING:
    from .clock import Clock

__all__ = ["use"]

_clock: list[Clock] = []  # at most one; modules that moto loads later bind `_utcnow`, so it must outlive each sandbox
_original = utils.utcnow


def use(clock: Clock | None) -> None:
    """Let moto tell the time of a clock, of the real one again after None."""
    _clock[:] = [clock] if clock else []
    for name, module in list(sys.modules.items()):
        if name.startswith("moto.") and vars(module).get("utcnow") is _original:
            setattr(module, "utcnow", _utcnow)  # noqa: B010 - mypy does not know these modules


def _utcnow() -> datetime:
    if not _clock:
        now: datetime = _original()
        return now
    return datetime.fromtimestamp(_clock[0].now(), UTC).replace(tzinfo=None)
