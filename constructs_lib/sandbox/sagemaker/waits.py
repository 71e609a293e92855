"""How long a job waits for capacity, and in which words it gives up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from constructs_lib.sandbox.switches import reading

if TYPE_CHECKING:
    from constructs_lib.sandbox.faults import Faults

__all__ = ["DAY", "KEY_REFUSED", "PLAN_WAIT", "no_capacity", "patience"]

DAY: Final = 86400
# Source: SageMaker guide, training-plan-utilization-for-training-jobs.
PLAN_WAIT: Final = 2 * DAY
KEY_REFUSED: Final = "ClientError: VolumeKmsKeyId can't be used with an instance type that has local storage."

_PATIENCE = {"2d": 2 * DAY, "28d": 28 * DAY, "at-once": None}
_NO_CAPACITY = "Unable to provision requested ML compute capacity. Please retry using a different ML instance type."
_PLAN_OVER = "The reserved capacity of the training plan has ended."


def patience(faults: Faults, switch: str) -> float | None:
    """Return the seconds that a switch's reading lets a job wait; None: it is evaluated once."""
    return _PATIENCE[reading(faults, switch)]


def no_capacity(faults: Faults, *, plan_is_over: bool = False) -> str:
    """Return the FailureReason of a job that found no capacity."""
    word = reading(faults, "sagemaker.capacity-failure-reason")
    return f"{word}: {_PLAN_OVER if plan_is_over else _NO_CAPACITY}"
