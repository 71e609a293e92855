"""One rule a file, pure functions over AWS-shaped plain data: subjects in, findings out. No CDK, no AWS, no clock."""

from __future__ import annotations

from constructs_lib.rules.engine import check, check_request
from constructs_lib.rules.findings import Finding, Phase, Severity, raise_for_errors
from constructs_lib.rules.registry import find_rule, rule_ids, rules
from constructs_lib.rules.rule import Rule
from constructs_lib.rules.subjects import Carrier, Kind, Subject, run_time_value

__all__ = [
    "Carrier",
    "Finding",
    "Kind",
    "Phase",
    "Rule",
    "Severity",
    "Subject",
    "check",
    "check_request",
    "find_rule",
    "raise_for_errors",
    "rule_ids",
    "rules",
    "run_time_value",
]
