"""What a rule file imports: one line instead of five."""

from __future__ import annotations

from collections.abc import Iterator

from constructs_lib.model import is_unresolved
from constructs_lib.rules.findings import Found, Phase, Severity, error, unverified, warning
from constructs_lib.rules.rule import rule
from constructs_lib.rules.subjects import App, Carrier, Kind, Subject

__all__ = [
    "App",
    "Carrier",
    "Findings",
    "Found",
    "Kind",
    "Phase",
    "Severity",
    "Subject",
    "error",
    "is_unresolved",
    "rule",
    "unverified",
    "warning",
]

Findings = Iterator[Found]
