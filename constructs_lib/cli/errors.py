"""How a command refuses: in words, with exit code 2, never with a traceback."""

from __future__ import annotations

__all__ = ["UsageError"]


class UsageError(Exception):
    """The user's input cannot be used; the text says what was given, what is allowed and the fix."""
