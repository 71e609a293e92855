"""Throttling on purpose: an operation is refused for a while, or beyond a rate, on the virtual clock."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .errors import SandboxError

if TYPE_CHECKING:
    from collections.abc import Callable

    from .clock import Clock
    from .faults import Fault, Faults

__all__ = ["throttle"]


def throttle(
    faults: Faults,
    clock: Clock,
    service: str,
    operation: str,
    *,
    seconds: float | None = None,
    rate: float | None = None,
    burst: int = 1,
) -> Fault:
    """Refuse an operation with ``ThrottlingException`` (HTTP status 400), as AWS does.

    Parameters
    ----------
    faults, clock
        The sandbox's, as its `Context` holds them.
    service, operation
        As in `Faults.add`.
    seconds
        How long from now on, in virtual seconds; without end until `Faults.clear` if left out.
    rate
        Requests a virtual second that pass; none if left out.
    burst
        How many requests pass at once after a pause.

    Returns
    -------
    Fault
        The planned failure; `Faults.hits` counts how often it took effect.

    Raises
    ------
    SandboxError
        If nothing would ever be throttled, or the operation does not exist.
    """
    for name, value in (("seconds", seconds), ("rate", rate), ("burst", burst)):
        if value is not None and not value > 0:
            raise SandboxError(f"{name}={value!r} throttles nothing sensible: use a number above 0")
    until = float("inf") if seconds is None else clock.now() + seconds
    passes = _Bucket(clock.now, rate, burst).take if rate is not None else lambda: False

    def is_refused(_: dict[str, Any]) -> bool:
        return clock.now() < until and not passes()

    refusal = ("ThrottlingException", "Rate exceeded", 400)
    return faults.add(service, operation, error=refusal, times=None, match=is_refused)


class _Bucket:
    """A token bucket: it holds `burst` at most and gains `rate` a second."""

    def __init__(self, now: Callable[[], float], rate: float, burst: int) -> None:
        self._now, self._rate, self._burst = now, rate, burst
        self._tokens, self._filled = float(burst), now()

    def take(self) -> bool:
        now = self._now()
        self._tokens = min(self._burst, self._tokens + (now - self._filled) * self._rate)
        self._filled = now
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True
