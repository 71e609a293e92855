"""Telling a typo from a name that is only new."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["nearest"]

LETTERS = 2


def nearest(name: str, known: Iterable[str], letters: int = LETTERS) -> str | None:
    """Return the known name that is at most so many inserted, removed or changed letters away, case aside.

    Examples
    --------
    >>> nearest("sagemaker:CreateTraningJob", ["sagemaker:CreateTrainingJob", "sagemaker:CreateTrial"])
    'sagemaker:CreateTrainingJob'
    >>> nearest("sagemaker:CreateWormhole", ["sagemaker:CreateTrainingJob"]) is None
    True
    """
    near = [one for one in known if abs(len(one) - len(name)) <= letters]
    distances = ((_distance(name.lower(), one.lower()), one) for one in near)
    best = min(distances, default=(letters + 1, ""))
    return best[1] if best[0] <= letters else None


def _distance(left: str, right: str) -> int:
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        before, row[0] = row[0], i
        for j, b in enumerate(right, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (a != b))
    return row[-1]
