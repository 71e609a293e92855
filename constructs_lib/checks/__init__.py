"""The rules inside a CDK app: a validation plugin, an aspect that brings it along, and a strict synth for tests."""

from __future__ import annotations

from constructs_lib.checks.aspect import CapacityRules
from constructs_lib.checks.plugin import CapacityRulesPlugin
from constructs_lib.checks.strict import RulesBrokenError, synth_checked

__all__ = ["CapacityRules", "CapacityRulesPlugin", "RulesBrokenError", "synth_checked"]
