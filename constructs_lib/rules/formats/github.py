"""GitHub Actions workflow commands: a finding becomes an annotation on its line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from constructs_lib.rules.findings import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constructs_lib.rules.formats.report import Report

__all__ = ["to_annotations"]

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.UNVERIFIED: "notice"}


def to_annotations(report: Report) -> Iterator[str]:
    """Yield one workflow command a finding and one an unreadable file."""
    for finding in report.findings:
        command = _COMMANDS[finding.severity]
        yield _command(command, finding.file, finding.line, finding.rule, f"{finding.message}. {finding.fix}")
    for unreadable in report.unreadable:
        yield _command("error", unreadable.file, unreadable.line, "unreadable", unreadable.reason)


def _command(command: str, file: str | None, line: int | None, title: str, message: str) -> str:
    properties = {"file": file, "line": line, "title": title}
    given = ",".join(f"{key}={_escape(str(value), ':,')}" for key, value in properties.items() if value)
    return f"::{command} {given}::{_escape(message)}"


def _escape(text: str, also: str = "") -> str:
    for sign in "%\r\n" + also:
        text = text.replace(sign, f"%{ord(sign):02X}")
    return text
