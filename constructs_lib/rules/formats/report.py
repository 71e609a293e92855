"""What a check of files ended with, whatever format it is shown in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from constructs_lib.rules.findings import Severity

if TYPE_CHECKING:
    from constructs_lib.rules.findings import Finding
    from constructs_lib.rules.readers.reading import Unreadable

__all__ = ["Report"]

_LEVELS = {"error": (Severity.ERROR,), "warning": (Severity.ERROR, Severity.WARNING)}


@dataclass(slots=True)
class Report:
    """Findings over a number of files.

    Parameters
    ----------
    checked : int
        Files that were read and judged.
    findings : list of Finding
        Those that are neither acknowledged nor in the baseline.
    unreadable : list of Unreadable
    skipped : int
        Files in folders that are of no known kind.
    known : int
        Findings that the baseline holds.
    """

    checked: int
    findings: list[Finding]
    unreadable: list[Unreadable] = field(default_factory=list)
    skipped: int = 0
    known: int = 0

    def exit_code(self, fail_on: str) -> int:
        """Return 2 if anything was unreadable, 1 if a finding is at or above ``fail_on``, else 0."""
        if self.unreadable:
            return 2
        return int(any(finding.severity in _LEVELS[fail_on] for finding in self.findings))

    def count(self, severity: Severity) -> int:
        """Return the number of findings of one severity."""
        return sum(finding.severity is severity for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as the JSON contract has it."""
        keys = ("rule", "severity", "phase", "file", "resource", "path", "line", "message", "fix", "source")
        rows = [{key: getattr(finding, key) for key in keys} for finding in self.findings]
        unreadable = [{"file": u.file, "line": u.line, "reason": u.reason} for u in self.unreadable]
        return {"checked": self.checked, "findings": rows, "unreadable": unreadable}
