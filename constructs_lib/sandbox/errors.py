"""The two ways the sandbox says no: to an AWS caller, and to the person who runs it."""

from __future__ import annotations

__all__ = ["SandboxError", "ServiceError"]


class ServiceError(Exception):
    """An error that an AWS caller receives.

    Parameters
    ----------
    code
        AWS's error code, such as ``ResourceLimitExceeded``.
    message
        The text the caller reads.
    status
        HTTP status, 400 unless told.
    """

    def __init__(self, code: str, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


class SandboxError(Exception):
    """A mistake in how the sandbox is used, in words for the person who made it."""
