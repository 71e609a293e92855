"""Names of state machines and jobs: equal over retries of one entry of a state, different over entries."""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Any

from constructs_lib.model.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["JOB_NAME_MAX", "PREFIX_MAX", "TUNING_NAME_MAX", "job_name", "name_prefix", "stack_prefix"]

JOB_NAME_MAX = 63
TUNING_NAME_MAX = 32
_ENTRY_HASH = 16
_PATH_HASH = 8
_STACK_MAX = 20
_STEP_DIGITS = 2
# prefix - entry hash - step
PREFIX_MAX = JOB_NAME_MAX - _ENTRY_HASH - _STEP_DIGITS - 2
# stack prefix without its dash - entry hash - step
_SHORT_HASH = TUNING_NAME_MAX - _STACK_MAX - _STEP_DIGITS - 2
_BASE36 = "0123456789abcdefghijklmnopqrstuvwxyz"
_NOT_ALLOWED = re.compile(r"[^A-Za-z0-9]+")


def _words(text: str, limit: int) -> str:
    return _NOT_ALLOWED.sub("-", text).strip("-")[:limit].strip("-") or "x"


def stack_prefix(stack_name: str) -> str:
    """Return the start of every name that belongs to a stack; events, IAM and grants filter by it.

    Examples
    --------
    >>> stack_prefix("ResearchPlatform-Production-eu")
    'ResearchPlatform-Pro-'
    """
    return _words(stack_name, _STACK_MAX) + "-"


def name_prefix(stack_name: str, construct_id: str, path: str) -> str:
    """Return ``<stack>-<id>-<hash8>``: readable, stable for a construct path, and short enough for a job name.

    Parameters
    ----------
    stack_name, construct_id : str
        Both are cut and cleaned to ``[A-Za-z0-9-]``.
    path : str
        The construct's path, which the hash is taken of.

    Examples
    --------
    >>> name_prefix("Research", "Fine Tune", "Research/Fine Tune")
    'Research-Fine-Tune-7720d14c'
    """
    digest = hashlib.sha256(path.encode()).hexdigest()[:_PATH_HASH]
    stack = stack_prefix(stack_name)
    return f"{stack}{_words(construct_id, PREFIX_MAX - len(stack) - _PATH_HASH - 1)}-{digest}"


def job_name(
    prefix: str, execution: str, state: str, entry: Mapping[str, Any], step: int = 1, *, kind: str = "training"
) -> str:
    """Return the name of the job that one entry of a state launches as its ``step``.

    The same for every retry of the entry, so that a launcher that runs again finds the job of the first; different
    for each execution, Map item, loop turn and redrive, so that a state entered again never takes an older job.

    Parameters
    ----------
    prefix : str
        From `name_prefix`; at most ``PREFIX_MAX`` characters.
    execution, state : str
        The execution's ARN and the state's name.
    entry : Mapping
        What tells entries of one state apart: redrive count, Map index, loop counter, entered time.
    step : int
        The step of the launch strategy, from 1 to 99.
    kind : str
        ``tuning`` jobs have names of at most 32 characters: what follows the stack's part is cut, and is in the hash.

    Raises
    ------
    InvalidInputError
        If the prefix is too long or the step is out of range.

    Examples
    --------
    >>> job_name("Research-FineTune-0011aabb", "arn:aws:states:us-east-1:1:execution:m:e", "Launch", {"redrive": 0})
    'Research-FineTune-0011aabb-705eb0143a31891c-1'
    >>> job_name("Research-FineTune-0011aabb", "arn:aws:states:us-east-1:1:execution:m:e", "Launch", {}, kind="tuning")
    'Research-FineTune-00-zg4nob1d-1'
    """
    if not prefix or len(prefix) > PREFIX_MAX:
        raise InvalidInputError(f"job name prefix {prefix!r}: 1 to {PREFIX_MAX} characters are allowed")
    if not 1 <= step < 10**_STEP_DIGITS:
        raise InvalidInputError(f"step {step}: 1 to {10**_STEP_DIGITS - 1} is allowed")
    identity = [execution, state, dict(sorted(entry.items()))]
    if kind == "tuning":
        # The cut keeps the whole of the stack's part, by which events, IAM and grants filter.
        return f"{prefix[:_STACK_MAX].rstrip('-')}-{_base36(_digest([prefix, *identity]))}-{step}"
    return f"{prefix}-{_digest(identity)[:_ENTRY_HASH]}-{step}"


def _digest(identity: list[Any]) -> str:
    text = json.dumps(identity, separators=(",", ":"), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _base36(digest: str) -> str:
    number, letters = int(digest, 16), ""
    for _ in range(_SHORT_HASH):
        number, digit = divmod(number, len(_BASE36))
        letters += _BASE36[digit]
    return letters
