"""A synth that raises: for tests and for CI that does not run the CDK CLI."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aws_cdk as cdk

from constructs_lib.checks.plugin import NAME, CapacityRulesPlugin
from constructs_lib.model import CapacityError

if TYPE_CHECKING:
    from aws_cdk.cx_api import CloudAssembly

__all__ = ["RulesBrokenError", "synth_checked"]

_REPORT = "validation-report.json"


class RulesBrokenError(CapacityError):
    """The app breaks capacity rules; the text lists every error with its fix.

    Parameters
    ----------
    violations : list of dict
        The violations as the synth's report has them.
    """

    def __init__(self, violations: list[dict[str, Any]]) -> None:
        self.violations = violations
        lines = [f"  {v['ruleName']}: {v['description']}\n    fix: {v['suggestedFix']}" for v in violations]
        super().__init__(f"{len(violations)} capacity rule(s) broken:\n" + "\n".join(lines))


def synth_checked(app: cdk.App) -> CloudAssembly:
    """Synthesize with the rules and raise on every error that nobody acknowledged.

    ``app.synth()`` alone returns normally outside the CLI when only annotations report an error; this never does.

    Parameters
    ----------
    app : aws_cdk.App

    Returns
    -------
    CloudAssembly

    Raises
    ------
    RulesBrokenError
        With all errors, not only the first.

    Examples
    --------
    >>> import aws_cdk as cdk
    >>> app = cdk.App()
    >>> stack = cdk.Stack(app, "Fine")
    >>> synth_checked(app).get_stack_by_name("Fine").stack_name
    'Fine'
    """
    cdk.Validations.of(app).add_plugins(CapacityRulesPlugin())
    report = Path(app.outdir) / _REPORT
    report.unlink(missing_ok=True)
    try:
        # Forced: an app that was synthesized before would hand out its old assembly without asking anyone.
        assembly = app.synth(force=True)
    except RuntimeError as failure:  # jsii's form of an error thrown in the kernel
        if report.is_file() and (broken := _errors(report)):
            raise RulesBrokenError(broken) from failure
        raise
    if broken := _errors(report):
        raise RulesBrokenError(broken)
    return assembly


def _errors(report: Path) -> list[dict[str, Any]]:
    plugins = json.loads(report.read_text(encoding="utf-8"))["pluginReports"]
    ours = [plugin for plugin in plugins if plugin["pluginName"] == NAME]
    return [v for plugin in ours for v in plugin["violations"] if v["severity"] == "error"]
