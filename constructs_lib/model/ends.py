"""How a run ends: the classes of failure, and the named ends that a state machine shows."""

from __future__ import annotations

import re
from enum import StrEnum
from functools import cache

from constructs_lib import facts

__all__ = ["FailureClass", "RunEnd", "classify", "end_of"]


class FailureClass(StrEnum):
    """What kind of thing went wrong; decides whether another step may help."""

    CAPACITY = "capacity"
    QUOTA = "quota"
    CONFIG = "config"
    PERMISSION = "permission"
    THROTTLE = "throttle"
    TRANSIENT = "transient"
    ALGORITHM = "algorithm"
    UNKNOWN = "unknown"


class RunEnd(StrEnum):
    """The named ends of a launch: the error of the state that launches, or success."""

    COMPLETED = "Completed"
    INSUFFICIENT_CAPACITY = "InsufficientCapacity"
    QUOTA_EXCEEDED = "QuotaExceeded"
    INVALID_REQUEST = "InvalidRequest"
    PERMISSION_DENIED = "PermissionDenied"
    THROTTLED = "Throttled"
    SERVICE_ERROR = "ServiceError"
    ALGORITHM_ERROR = "AlgorithmError"
    MAX_RUNTIME_EXCEEDED = "MaxRuntimeExceeded"
    STOPPED = "Stopped"
    TIMED_OUT = "TimedOut"
    LAUNCHER_FAILED = "LauncherFailed"
    STACK_DELETED = "StackDeleted"
    START_BY_PASSED = "StartByPassed"
    FINISH_BY_PASSED = "FinishByPassed"
    COST_LIMIT_REACHED = "CostLimitReached"
    PLAN_NOT_USABLE = "PlanNotUsable"
    UNKNOWN = "Unknown"


_END_OF_CLASS = {
    FailureClass.CAPACITY: RunEnd.INSUFFICIENT_CAPACITY,
    FailureClass.QUOTA: RunEnd.QUOTA_EXCEEDED,
    FailureClass.CONFIG: RunEnd.INVALID_REQUEST,
    FailureClass.PERMISSION: RunEnd.PERMISSION_DENIED,
    FailureClass.THROTTLE: RunEnd.THROTTLED,
    FailureClass.TRANSIENT: RunEnd.SERVICE_ERROR,
    FailureClass.ALGORITHM: RunEnd.ALGORITHM_ERROR,
    FailureClass.UNKNOWN: RunEnd.UNKNOWN,
}


@cache
def _patterns() -> tuple[tuple[FailureClass, re.Pattern[str]], ...]:
    return tuple((FailureClass(p.failure_class), re.compile(p.pattern)) for p in facts.failure_patterns())


def classify(text: str | None) -> FailureClass:
    """Return the class of a failure from its error code and message.

    Matching ignores case and spacing. Text that nothing matches is ``unknown``, which never loops.

    Parameters
    ----------
    text : str or None
        ``"<error code>: <message>"`` of a refused call, or a job's FailureReason.

    Examples
    --------
    >>> classify("CapacityError: Unable to provision requested ML compute capacity"), classify("")
    (<FailureClass.CAPACITY: 'capacity'>, <FailureClass.UNKNOWN: 'unknown'>)

    Notes
    -----
    The patterns and their sources: ``facts/failure_patterns.json``. They are tried in order: a quota answer and an
    internal error both may mention capacity, and neither is scarcity.
    """
    words = " ".join((text or "").lower().split())
    return next((kind for kind, pattern in _patterns() if pattern.search(words)), FailureClass.UNKNOWN)


def end_of(failure: FailureClass) -> RunEnd:
    """Return the named end of a failure class.

    Examples
    --------
    >>> str(end_of(FailureClass.QUOTA))
    'QuotaExceeded'
    """
    return _END_OF_CLASS[failure]
