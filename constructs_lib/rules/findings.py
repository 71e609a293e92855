"""What a rule says: a severity, a place and three sentences."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from constructs_lib.model import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Finding", "Found", "Phase", "Severity", "error", "raise_for_errors", "unverified", "warning"]


class Severity(StrEnum):
    """How much a finding weighs; ``unverified`` means that a value is unknown here, and never fails anything."""

    ERROR = "error"
    WARNING = "warning"
    UNVERIFIED = "unverified"


class Phase(StrEnum):
    """When a rule can know: from the text alone, from the account and the clock, or from live capacity."""

    SYNTH = "synth"
    DEPLOY = "deploy"
    RUN = "run"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that one rule found in one subject.

    Parameters
    ----------
    rule : str
        The rule's id, such as ``GPU-PL02``.
    severity : Severity
    phase : Phase
    message : str
        What was given and what is allowed.
    fix : str
        What to write instead.
    source : str
        The document or model shape that says so.
    path : str
        Where in the file or request, such as ``ResourceConfig.InstancePreferences[1].InstanceType``.
    file, resource, line : optional
        The file, the resource's logical id and the line, as far as the reader knows them.
    """

    rule: str
    severity: Severity
    phase: Phase
    message: str
    fix: str
    source: str
    path: str = ""
    file: str | None = None
    resource: str | None = None
    line: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as plain JSON data, every key present."""
        return asdict(self) | {"severity": str(self.severity), "phase": str(self.phase)}

    def __str__(self) -> str:
        place = f" at {self.path}" if self.path else ""
        return f"{self.rule}{place}: {self.message}; {self.fix}"


@dataclass(frozen=True, slots=True)
class Found:
    """What a rule yields: the engine adds the rule's id, source and the subject's place."""

    severity: Severity
    message: str
    at: str
    fix: str | None
    phase: Phase | None


def error(message: str, at: str = "", *, fix: str | None = None, phase: Phase | None = None) -> Found:
    """Return an error at a path inside the subject; ``fix`` and ``phase`` default to the rule's own."""
    return Found(Severity.ERROR, message, at, fix, phase)


def warning(message: str, at: str = "", *, fix: str | None = None, phase: Phase | None = None) -> Found:
    """Return a warning at a path inside the subject; ``fix`` and ``phase`` default to the rule's own."""
    return Found(Severity.WARNING, message, at, fix, phase)


def unverified(message: str, at: str = "", *, fix: str | None = None, phase: Phase | None = None) -> Found:
    """Return "cannot be judged here" at a path inside the subject."""
    return Found(Severity.UNVERIFIED, message, at, fix, phase)


def raise_for_errors(findings: Iterable[Finding]) -> None:
    """Raise if any of the findings is an error, with the words of all that are.

    Raises
    ------
    InvalidInputError
        One line an error: id, place, message and fix.
    """
    errors = [str(finding) for finding in findings if finding.severity is Severity.ERROR]
    if errors:
        raise InvalidInputError("\n".join(errors))
