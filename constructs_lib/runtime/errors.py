"""The errors of the runtime. One that leaves the launcher makes Step Functions repeat the same try of the same job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from constructs_lib.model import CapacityError

if TYPE_CHECKING:
    from constructs_lib.model import FailureClass

__all__ = [
    "CallRefusedError",
    "CallThrottledError",
    "JobExistsError",
    "KeepError",
    "LaunchUnclear",
    "LookUpError",
    "PurchaseRefusedError",
    "PurchaseUnclearError",
    "RecordBusyError",
    "ReportIncompleteError",
    "ServiceModelError",
    "SweepError",
    "WatchError",
]


class LaunchUnclear(CapacityError):  # noqa: N818  people read this name in Step Functions
    """It is open whether a job was created: the same launch must be repeated under the same name, never the next."""


class CallThrottledError(CapacityError):
    """AWS turned the create call away for now; nothing was created, and the same launch may be repeated."""


class JobExistsError(CapacityError):
    """A job of that name exists already."""


class CallRefusedError(CapacityError):
    """AWS refused the create call for good; nothing was created.

    Parameters
    ----------
    cause : str
        AWS's code and words.
    failure : FailureClass
        The class of the refusal.
    """

    def __init__(self, cause: str, failure: FailureClass) -> None:
        super().__init__(cause)
        self.failure = failure


class LookUpError(CapacityError):
    """Something that was to be checked before a launch could not be asked; it stops nothing."""


class ServiceModelError(CapacityError):
    """The SDK's SageMaker model is older than the fields we send."""


class SweepError(CapacityError):
    """Some rows of a sweep could not be looked at; the others were, and the next sweep looks again."""


class ReportIncompleteError(CapacityError):
    """The ends of a fleet's jobs are not all to be seen yet."""


class KeepError(CapacityError):
    """Some endpoints could not be looked at; the others were, and the next run looks again."""


class PurchaseRefusedError(CapacityError):
    """A purchase, or the search before it, was refused: surely nothing was bought by it; the words say why."""


class PurchaseUnclearError(CapacityError):
    """It is open whether something was bought, or cannot be seen what was: nothing may be bought, nor refused."""


class RecordBusyError(PurchaseUnclearError):
    """The record of a purchase could not be written."""


class WatchError(CapacityError):
    """Some plans could not be looked at; the others were, and the next watch looks again."""
