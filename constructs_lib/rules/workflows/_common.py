"""What the rules on state machines share: how a job's name comes about."""

from __future__ import annotations

import re
from typing import Any

from constructs_lib.rules.asl import Task
from constructs_lib.rules.values import mapping

__all__ = ["changes_per_try", "expression", "is_constant"]

_FRESH = re.compile(r"States\.UUID|\$uuid\(|\$random\(|\$now\(|\$millis\(|State\.RetryCount")
_MAYBE_FRESH = re.compile(r"State\.EnteredTime")


def expression(value: Any) -> str | None:
    """Return the expression of a value that only an execution knows, or ``None`` for any other value."""
    found = value.get("Fn::RunTime") if isinstance(value, dict) else None
    return found if isinstance(found, str) else None


def changes_per_try(task: Task) -> bool | None:
    """Tell whether each try of a task gives its job another name; ``None`` if that is not known."""
    words = expression(task.name)
    if words is None:
        # The whole request may come from an expression; a missing name is the API's to refuse.
        return False if mapping(task.request) and task.name is not None else None
    if _FRESH.search(words):
        return True
    return None if _MAYBE_FRESH.search(words) else False


def is_constant(task: Task) -> bool | None:
    """Tell whether every execution gives the job one name; ``None`` if the request is not known here."""
    if not mapping(task.request):
        return None
    return task.name is not None and expression(task.name) is None
