"""A Markdown table of a report, as job summaries of CI services show it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from constructs_lib.rules.findings import Severity

if TYPE_CHECKING:
    from constructs_lib.rules.formats.report import Report

__all__ = ["to_markdown"]

_HEAD = "| severity | rule | where | finding | fix |\n|---|---|---|---|---|"


def to_markdown(report: Report) -> str:
    """Return the errors and warnings as a table under a line that counts everything."""
    errors, warnings, unverified = (report.count(severity) for severity in Severity)
    counts = f"{report.checked} files checked: {errors} errors, {warnings} warnings, {unverified} not verifiable"
    shown = [finding for finding in report.findings if finding.severity is not Severity.UNVERIFIED]
    rows = [
        (str(f.severity), f.rule, f"{f.file}:{f.line or 1} {f.resource or ''}".strip(), f.message, f.fix) for f in shown
    ]
    rows += [("unreadable", "", f"{u.file}:{u.line or 1}", u.reason, "") for u in report.unreadable]
    table = "\n".join("| " + " | ".join(_cell(str(cell)) for cell in row) + " |" for row in rows)
    return f"### Capacity rules\n\n{counts}\n" + (f"\n{_HEAD}\n{table}\n" if rows else "")


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
