"""Which statuses a Choice state has a branch for."""

from __future__ import annotations

import re
from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Any

from constructs_lib import facts
from constructs_lib.rules.values import items, mapping

__all__ = ["STATUS_MEMBERS", "compared", "covers", "looks_like", "status_job"]

STATUS_MEMBERS = {
    "TrainingJobStatus": "training",
    "ProcessingJobStatus": "processing",
    "HyperParameterTuningJobStatus": "tuning",
    "TransformJobStatus": "transform",
    "EndpointStatus": "endpoint",
}
Truth = bool | None
_LITERALS = re.compile(r"['\"]([A-Za-z]+)['\"]")
# JSONata that is more than "one value is one of these": its truth is left open.
_INVOLVED = re.compile(r"\$not\b|!=|\band\b|[<>]")


def status_job(variable: str) -> str | None:
    """Return the job whose status a variable or a condition reads, by the API's name for it."""
    return next((job for member, job in STATUS_MEMBERS.items() if re.search(rf"\b{member}\b", variable)), None)


def compared(rule: Any) -> dict[str, set[str]]:
    """Return the values that a choice rule compares, by variable; a JSONata condition is its own variable."""
    found: dict[str, set[str]] = {}
    _collect(mapping(rule), found)
    return found


def _collect(rule: Any, found: dict[str, set[str]]) -> None:
    for key in ("And", "Or"):
        for inner in items(rule.get(key)):
            _collect(mapping(inner), found)
    if rule.get("Not") is not None:
        _collect(mapping(rule["Not"]), found)
    if isinstance(condition := rule.get("Condition"), str):
        found.setdefault(condition, set()).update(_LITERALS.findall(condition))
    if isinstance(variable := rule.get("Variable"), str):
        values = {value for key, value in rule.items() if key.startswith("String") and isinstance(value, str)}
        found.setdefault(variable, set()).update(values - {variable})


def covers(rule: Any, status: str, reads: Callable[[str], bool]) -> Truth:
    """Tell whether a choice rule holds for a status; ``None`` if something else decides it too.

    Parameters
    ----------
    rule : Any
        One member of Choices, or a rule inside it.
    status : str
        Such as ``Stopped``.
    reads : callable
        Whether a variable or condition reads the status.
    """
    rule = mapping(rule)
    if "Or" in rule:
        return _any([covers(inner, status, reads) for inner in items(rule["Or"])])
    if "And" in rule:
        inner = [covers(one, status, reads) for one in items(rule["And"])]
        return False if False in inner else None if None in inner else True
    if "Not" in rule:
        negated = covers(rule["Not"], status, reads)
        return None if negated is None else not negated
    if isinstance(condition := rule.get("Condition"), str):
        if not reads(condition) or _INVOLVED.search(condition):
            return None
        return status in _LITERALS.findall(condition)
    return _compare(rule, status) if reads(str(rule.get("Variable", ""))) else None


def _compare(rule: Any, status: str) -> Truth:
    if isinstance(wanted := rule.get("StringEquals"), str):
        return wanted == status
    if isinstance(pattern := rule.get("StringMatches"), str):
        return fnmatchcase(status, pattern)
    if rule.get("IsPresent") is True or rule.get("IsString") is True:
        return True
    return None


def _any(truths: list[Truth]) -> Truth:
    return True if True in truths else None if None in truths else False


def looks_like(values: set[str]) -> str | None:
    """Return ``training`` for values that can only be the statuses of a SageMaker job."""
    statuses = set(facts.job_states("training"))
    return "training" if "Completed" in values and len(values & statuses) >= 2 else None
