"""What a guardrail cannot see: said as findings, so that nobody takes it for more than it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from constructs_lib import facts
from constructs_lib.facts import iam
from constructs_lib.guardrails.forms import carries
from constructs_lib.guardrails.type_lists import SYSTEM_TYPE, approved_types
from constructs_lib.rules import Finding, Phase, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from constructs_lib.guardrails.forms import Declaration

__all__ = ["remaining_gaps"]

_REFERENCE = "service-authorization reference: Amazon SageMaker"


def remaining_gaps(declared: Declaration, allowed: Sequence[str]) -> Iterator[Finding]:
    """Yield what stays open, and what the declaration makes impossible."""
    for gap in iam.gaps().values():
        if gap.action not in declared.denied:
            yield _warning(
                "GPU-IAM07", f"{gap.action} never carries its instance types: it opens {gap.opens}", gap.closes
            )
    for limit in declared.others:
        if blind := [action for action in declared.actions if not carries(action, limit)]:
            words = f"{limit.key} is not carried by {', '.join(blind)}: requests of these are not limited by it"
            yield _warning("GPU-IAM07", words, "restrict fewer actions, or limit these by other means")
    yield from _unknown_types(allowed)
    if any(limit.key == "sagemaker:VolumeKmsKeyArn" for limit in declared.others):
        yield from _unencryptable(allowed)


def _unknown_types(allowed: Sequence[str]) -> Iterator[Finding]:
    for pattern in allowed:
        if not approved_types([pattern]):
            words = f"{pattern} is no type that is known here"
            yield _finding(Severity.UNVERIFIED, "GPU-IAM06", words, "check its spelling, or take a newer version")


def _unencryptable(allowed: Sequence[str]) -> Iterator[Finding]:
    """Yield the types on which a required volume key makes training impossible."""
    known = facts.instance_types()
    approved = sorted(approved_types(allowed) - {SYSTEM_TYPE})
    if nvme := [name for name in approved if known[name].local_storage_gb]:
        words = f"a volume key is required, which training refuses on types with local NVMe: {', '.join(nvme)}"
        yield _warning("GPU-PL09", words, "approve these types in a guardrail of their own, without volume_keys")


def _warning(rule: str, message: str, fix: str) -> Finding:
    return _finding(Severity.WARNING, rule, message, fix)


def _finding(severity: Severity, rule: str, message: str, fix: str) -> Finding:
    return Finding(rule=rule, severity=severity, phase=Phase.SYNTH, message=message, fix=fix, source=_REFERENCE)
