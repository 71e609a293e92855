"""A lint report for people: grouped by file and resource, coloured, each finding with its fix."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape

from constructs_lib.rules import Severity

if TYPE_CHECKING:
    from constructs_lib.rules import Finding
    from constructs_lib.rules.formats.report import Report

__all__ = ["print_text"]

_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.UNVERIFIED: "cyan"}


def print_text(report: Report, *, show_unverified: bool) -> None:
    """Print the report to standard output."""
    console = Console(soft_wrap=True, highlight=False)
    shown = [f for f in report.findings if show_unverified or f.severity is not Severity.UNVERIFIED]
    order = sorted(shown, key=lambda f: (f.file or "", f.resource or ""))
    for (file, resource), group in groupby(order, key=lambda f: (f.file, f.resource)):
        place = " ".join(part for part in (file, resource) if part)
        console.print(f"[bold underline]{escape(place or 'input')}[/]")
        for finding in group:
            _print_finding(console, finding)
        console.print()
    for unreadable in report.unreadable:
        where = f"{unreadable.file}:{unreadable.line}" if unreadable.line else unreadable.file
        console.print(f"[bold magenta]unreadable[/] {escape(where)}: {escape(unreadable.reason)}")
    console.print(_summary(report, show_unverified=show_unverified))


def _print_finding(console: Console, finding: Finding) -> None:
    style = _STYLES[finding.severity]
    line = f":{finding.line}" if finding.line else ""
    console.print(f"  [{style}]{finding.severity}[/] [bold]{finding.rule}[/] {escape(finding.path)}[dim]{line}[/]")
    console.print(f"    {escape(finding.message)}")
    console.print(f"    [green]fix:[/] {escape(finding.fix)}")


def _summary(report: Report, *, show_unverified: bool) -> str:
    counts = [f"{report.count(severity)} {severity}{_s(report.count(severity))}" for severity in _COUNTED]
    parts = [f"{report.checked} file{_s(report.checked)} checked", *counts]
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


_COUNTED = (Severity.ERROR, Severity.WARNING)


def _s(count: int) -> str:
    return "" if count == 1 else "s"
