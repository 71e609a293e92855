"""What follows when a step's job has ended: the next step, or the end of the launch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from constructs_lib.model.ends import FailureClass

if TYPE_CHECKING:
    from constructs_lib.model.records import RunRecord

__all__ = ["goes_on"]


def goes_on(record: RunRecord, *, on_quota: str = "stop") -> bool:
    """Tell whether another step may help where this one ended so.

    Scarcity goes on. A missing quota goes on if the launch drops what it has no quota for. Everything else stops at
    once: a wrong request, a missing permission and a failing container would fail again, and what nobody understands
    is not tried again with somebody's money.

    Parameters
    ----------
    record : RunRecord
        How the step ended.
    on_quota : str
        ``stop`` or ``drop``, as `Limits` says.

    Examples
    --------
    >>> from constructs_lib.model import FailureClass, RunEnd, RunRecord
    >>> scarce = RunRecord.not_created("a-1", RunEnd.INSUFFICIENT_CAPACITY, failure=FailureClass.CAPACITY)
    >>> goes_on(scarce)
    True
    """
    if record.failure is FailureClass.QUOTA:
        return on_quota == "drop"
    return record.failure is FailureClass.CAPACITY
