"""The errors of this library: each names what was given, what is allowed and the fix."""

from __future__ import annotations

__all__ = ["CapacityError", "InvalidInputError", "UnresolvedListError"]


class CapacityError(Exception):
    """Base of every error this library raises on purpose; its text is for people."""


class InvalidInputError(CapacityError, ValueError):
    """A value that AWS or this library does not accept."""


class UnresolvedListError(InvalidInputError):
    """A list that is known only at deploy time, where its length or its members are needed at synth.

    Parameters
    ----------
    prop : str
        The property that was given a list token.

    Examples
    --------
    >>> str(UnresolvedListError("subnets"))
    'subnets: a list token was given, whose members are unknown at synth; pass a list of strings (each may be a token)'
    """

    def __init__(self, prop: str) -> None:
        super().__init__(
            f"{prop}: a list token was given, whose members are unknown at synth; "
            "pass a list of strings (each may be a token)"
        )
