"""IAM's wildcards: ``*`` for any run of characters, ``?`` for exactly one."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["has_wildcard", "matches", "unmatched"]


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile("".join({"*": ".*", "?": "."}.get(char, re.escape(char)) for char in pattern), re.DOTALL)


def matches(pattern: str, text: str) -> bool:
    """Tell whether ``text`` matches a pattern, as ``StringLike`` compares: case counts, the whole text must match.

    Examples
    --------
    >>> matches("ml.g5.*", "ml.g5.xlarge"), matches("g5.*", "ml.g5.xlarge"), matches("ml.p?.48xlarge", "ml.p5.48xlarge")
    (True, False, True)
    """
    return _compiled(pattern).fullmatch(text) is not None


def has_wildcard(pattern: str) -> bool:
    """Tell whether a pattern can match more than itself."""
    return "*" in pattern or "?" in pattern


def unmatched(texts: Iterable[str], patterns: Iterable[str]) -> list[str]:
    """Return the texts that no pattern matches, in order.

    Examples
    --------
    >>> unmatched(["ml.g5.xlarge", "ml.p5.48xlarge"], ["ml.g5.*"])
    ['ml.p5.48xlarge']
    """
    allowed = tuple(patterns)
    return [text for text in texts if not any(matches(pattern, text) for pattern in allowed)]
