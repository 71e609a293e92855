"""A lint report for people: grouped by file and resource, coloured, each finding with its fix."""

from __future__ import annotations

import sys
from itertools import groupby
from typing import TYPE_CHECKING

from rich.console import Console
from rich.style import Style

from constructs_lib.rules import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constructs_lib.rules import Finding
    from constructs_lib.rules.formats.report import Report

__all__ = ["print_text"]

_STYLES = {
    "error": Style(bold=True, color="red"),
    "warning": Style(color="yellow"),
    "unverified": Style(color="cyan"),
    "unreadable": Style(bold=True, color="magenta"),
    "place": Style(bold=True, underline=True),
    "rule": Style(bold=True),
    "fix": Style(color="green"),
}


class Painter:
    """Colours words on a terminal, leaves them alone elsewhere; rich's markup would take longer than the rules."""

    def __init__(self) -> None:
        console = Console()
        self._on = console.is_terminal and not console.no_color

    def __call__(self, style: str, text: str) -> str:
        """Return ``text`` in a style of this report."""
        return _STYLES[style].render(text) if self._on else text


def print_text(report: Report, *, show_unverified: bool) -> None:
    """Print the report to standard output."""
    paint = Painter()
    sys.stdout.writelines(f"{line}\n" for line in _lines(report, paint, show_unverified=show_unverified))


def _lines(report: Report, paint: Painter, *, show_unverified: bool) -> Iterator[str]:
    shown = [f for f in report.findings if show_unverified or f.severity is not Severity.UNVERIFIED]
    order = sorted(shown, key=lambda f: (f.file or "", f.resource or ""))
    for (file, resource), group in groupby(order, key=lambda f: (f.file, f.resource)):
        yield paint("place", " ".join(part for part in (file, resource) if part) or "input")
        for finding in group:
            yield from _finding(finding, paint)
        yield ""
    for unreadable in report.unreadable:
        where = f"{unreadable.file}:{unreadable.line}" if unreadable.line else unreadable.file
        yield f"{paint('unreadable', 'unreadable')} {where}: {unreadable.reason}"
    yield _summary(report, show_unverified=show_unverified)


def _finding(finding: Finding, paint: Painter) -> Iterator[str]:
    line = f":{finding.line}" if finding.line else ""
    yield f"  {paint(finding.severity, finding.severity)} {paint('rule', finding.rule)} {finding.path}{line}"
    yield f"    {finding.message}"
    yield f"    {paint('fix', 'fix:')} {finding.fix}"


def _summary(report: Report, *, show_unverified: bool) -> str:
    counted = (Severity.ERROR, Severity.WARNING)
    parts = [f"{report.checked} file{_s(report.checked)} checked"]
    parts += [f"{report.count(severity)} {severity}{_s(report.count(severity))}" for severity in counted]
    if unverified := report.count(Severity.UNVERIFIED):
        hint = "" if show_unverified else " (--show-unverified lists them)"
        parts.append(f"{unverified} not verifiable here{hint}")
    if report.unreadable:
        parts.append(f"{len(report.unreadable)} unreadable")
    if report.skipped:
        parts.append(f"{report.skipped} of no known kind skipped")
    if report.known:
        parts.append(f"{report.known} known from the baseline")
    return ", ".join(parts)


def _s(count: int) -> str:
    return "" if count == 1 else "s"
