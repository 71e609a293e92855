"""The rules as a CDK validation plugin: it reads the synthesized templates, whoever wrote the resources."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import aws_cdk as cdk
import jsii

from constructs_lib.rules import Finding, Severity, check, rule_ids
from constructs_lib.rules.readers.assembly import construct_paths, stack_templates
from constructs_lib.rules.readers.files import Input, read_inputs

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from constructs_lib.rules.readers.assembly import StackTemplate
    from constructs_lib.rules.readers.files import Library

__all__ = ["NAME", "CapacityRulesPlugin"]

NAME = "GpuCapacity"
_SELF = "rule-engine"

# What a plugin without scopes has judged, by app: a second plugin has nothing to add for the very same templates.
_judged: WeakKeyDictionary[Any, tuple[CapacityRulesPlugin, list[tuple[str, int]]]] = WeakKeyDictionary()


@jsii.implements(cdk.IPolicyValidationPlugin)
class CapacityRulesPlugin:
    """Judges every template of the app at synth, and fails the synth on an error.

    Findings carry the ids of the catalogue (docs/rules.md). Acknowledge one, on the resource or on anything above it,
    with ``Validations.of(x).acknowledge(Acknowledgment(id="GpuCapacity::GPU-PL12", reason=...))``; it then stands in
    the report with its reason and fails nothing. Warnings and what cannot be known at synth never fail a synth.

    Parameters
    ----------
    ignore : collection of str, optional
        Rule ids that are not asked at all.
    scopes : list of str, optional
        Construct paths; findings elsewhere are left out. `CapacityRules` fills it. By default everything is judged.

    Examples
    --------
    >>> import aws_cdk as cdk
    >>> app = cdk.App()
    >>> cdk.Validations.of(app).add_plugins(CapacityRulesPlugin())
    """

    def __init__(self, *, ignore: Collection[str] = (), scopes: list[str] | None = None) -> None:
        self._ignore = tuple(ignore)
        self._scopes = scopes

    @property
    def name(self) -> str:
        """The prefix of acknowledged ids."""
        return NAME

    @property
    def version(self) -> str:
        """Of this package."""
        return version("gpu-capacity-constructs")

    @property
    def rule_ids(self) -> list[str]:
        """Every id that the plugin may report."""
        return sorted(rule_ids() - set(self._ignore))

    def validate(self, context: cdk.IPolicyValidationContext) -> cdk.PolicyValidationPluginReport:
        """Return the report of one synth; any failure of ours is an error in it, never a silent pass."""
        try:
            return self._validate(context)
        except Exception as failure:  # noqa: BLE001 - a plugin that raises lets `cdk synth` exit 0
            words = f"the capacity rules could not be asked: {type(failure).__name__}: {failure}"
            resource = cdk.PolicyViolatingResource(construct_path="", locations=[])
            violation = cdk.PolicyViolation(
                rule_name=_SELF, description=words, violating_resources=[resource], severity=str(Severity.ERROR)
            )
            return cdk.PolicyValidationPluginReport(success=False, violations=[violation])

    def _validate(self, context: cdk.IPolicyValidationContext) -> cdk.PolicyValidationPluginReport:
        paths = context.template_paths
        if self._is_told_already(context.app_construct, paths):
            return cdk.PolicyValidationPluginReport(success=True, violations=[])
        templates = _templates(paths)
        library = read_inputs(Input(t.file, True, t.stack, t.region, t.account) for t in templates)
        findings = self._in_scope(check(library.reading.subjects, ignore=self._ignore), templates)
        unreadable = _unreadable(library)
        success = not unreadable and all(finding.severity is not Severity.ERROR for finding in findings)
        return cdk.PolicyValidationPluginReport(success=success, violations=[*map(_violation, findings), *unreadable])

    def _is_told_already(self, app: Any, paths: list[str]) -> bool:
        """Tell whether another plugin has judged these templates with at least our rules, and note what we judge."""
        state = [(path, Path(path).stat().st_mtime_ns) for path in paths]
        earlier, judged = _judged.get(app, (self, []))
        if earlier is not self and judged == state and set(earlier._ignore) <= set(self._ignore):  # noqa: SLF001
            return True
        if self._scopes is None:
            _judged[app] = (self, state)
        return False

    def _in_scope(self, findings: list[Finding], templates: list[StackTemplate]) -> list[Finding]:
        if self._scopes is None or "" in self._scopes:
            return findings
        stacks = {str(t.file): t.construct_path for t in templates}
        paths: dict[Path, dict[tuple[str, str], str]] = {}
        kept = []
        for finding in findings:
            file = Path(finding.file or "")
            if file.parent not in paths:
                paths[file.parent] = construct_paths(file.parent)
            where = paths[file.parent].get((file.name, finding.resource or ""), stacks.get(str(file), ""))
            if any(where == scope or where.startswith(f"{scope}/") for scope in self._scopes):
                kept.append(finding)
        return kept


def _templates(paths: Iterable[str]) -> list[StackTemplate]:
    """Return the templates at ``paths`` and those of their nested stacks, which CDK does not name."""
    given = {Path(path) for path in paths}
    found = [t for folder in sorted({path.parent for path in given}) for t in stack_templates(folder)]
    asked = {t.stack for t in found if t.file in given}
    # A stage's assembly is below the app's: it is read once, whichever folder named it.
    return list({t.file: t for t in found if t.stack in asked}.values())


def _violation(finding: Finding) -> cdk.PolicyViolation:
    where = finding.path.removeprefix(f"Resources.{finding.resource}.").replace(".", "/")
    resource = cdk.PolicyViolatingResource(
        resource_logical_id=finding.resource, template_path=finding.file, locations=[where]
    )
    return cdk.PolicyViolation(
        rule_name=finding.rule,
        description=f"{finding.message} (at {finding.path})",
        fix=finding.fix,
        # A finding that cannot be judged here is told, and counts for nothing.
        severity="info" if finding.severity is Severity.UNVERIFIED else str(finding.severity),
        violating_resources=[resource],
        rule_metadata={"severity": str(finding.severity), "phase": str(finding.phase), "source": finding.source},
    )


def _unreadable(library: Library) -> list[cdk.PolicyViolation]:
    return [
        cdk.PolicyViolation(
            rule_name=_SELF,
            description=f"{unreadable.reason} (line {unreadable.line or '?'})",
            severity=str(Severity.ERROR),
            violating_resources=[
                cdk.PolicyViolatingResource(template_path=unreadable.file, construct_path="", locations=[])
            ],
        )
        for unreadable in library.reading.unreadable
    ]
