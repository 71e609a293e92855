"""SARIF 2.1.0: what code-scanning services take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from constructs_lib.rules.findings import Severity
from constructs_lib.rules.registry import find_rule

if TYPE_CHECKING:
    from constructs_lib.rules.findings import Finding
    from constructs_lib.rules.formats.report import Report

__all__ = ["to_sarif"]

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.UNVERIFIED: "note"}
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def to_sarif(report: Report, version: str) -> dict[str, Any]:
    """Return the report as one SARIF run.

    Parameters
    ----------
    report : Report
    version : str
        Of this tool.
    """
    used = sorted({finding.rule for finding in report.findings})
    notes = [
        {
            "level": "error",
            "message": {"text": f"{unreadable.file}: {unreadable.reason}"},
            "locations": [_location(unreadable.file, unreadable.line)],
        }
        for unreadable in report.unreadable
    ]
    run = {
        "tool": {
            "driver": {
                "name": "gpucap",
                "version": version,
                "rules": [_rule(rule_id) for rule_id in used],
            }
        },
        "results": [_result(finding, used.index(finding.rule)) for finding in report.findings],
        "invocations": [{"executionSuccessful": not report.unreadable, "toolExecutionNotifications": notes}],
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(rule_id: str) -> dict[str, Any]:
    rule = find_rule(rule_id)
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.why},
        "help": {"text": f"{rule.fix}\nSource: {rule.source}"},
    }


def _result(finding: Finding, index: int) -> dict[str, Any]:
    return {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": _LEVELS[finding.severity],
        "message": {"text": f"{finding.message}. {finding.fix}"},
        "locations": [_location(finding.file or "-", finding.line, finding.path)],
        "partialFingerprints": {"gpucap/v1": "|".join((finding.rule, finding.resource or "", finding.path))},
    }


def _location(file: str, line: int | None, path: str = "") -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": {"uri": file.replace("\\", "/").replace(" ", "%20")}}
    if line:
        physical["region"] = {"startLine": line}
    location: dict[str, Any] = {"physicalLocation": physical}
    if path:
        location["logicalLocations"] = [{"fullyQualifiedName": path}]
    return location
