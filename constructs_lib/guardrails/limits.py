"""What a guardrail asks of a request, one condition key at a time, in the form for an Allow and in that for a Deny."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from constructs_lib.facts import iam

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Limit", "companions", "instance_types"]

Condition = dict[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Limit:
    """One condition key: what an Allow asks, and what a Deny refuses, each refusal by a name for its Sid.

    ``absence`` holds the refusals that meet only a request without the key.
    """

    key: str
    name: str
    allow: Condition
    deny: Mapping[str, Condition]
    absence: Mapping[str, Condition]


def instance_types(patterns: Sequence[str]) -> Limit:
    """Return the limit on instance types."""
    return _only_values(iam.INSTANCE_TYPES_KEY, "Types", patterns, like=True)


def companions(
    *,
    max_runtime: int | None = None,
    max_keep_alive: int | None = None,
    volume_keys: Sequence[str] = (),
    output_keys: Sequence[str] = (),
    subnets: Sequence[str] = (),
    security_groups: Sequence[str] = (),
    network_isolation: bool = False,
) -> tuple[Limit, ...]:
    """Return the limits that were asked for; times in seconds, keys as ARNs or ARN patterns."""
    limits = []
    if max_runtime is not None:
        limits.append(_at_most("sagemaker:MaxRuntimeInSeconds", "Runtime", max_runtime, required=True))
    if max_keep_alive is not None:
        limits.append(_at_most("sagemaker:KeepAlivePeriod", "KeepAlive", max_keep_alive, required=False))
    if volume_keys:
        limits.append(_encrypted_with("sagemaker:VolumeKmsKeyArn", "VolumeKey", volume_keys))
    if output_keys:
        limits.append(_encrypted_with("sagemaker:OutputKmsKeyArn", "OutputKey", output_keys))
    if subnets:
        limits.append(_only_values("sagemaker:VpcSubnets", "Subnets", subnets, like=False))
    if security_groups:
        limits.append(_only_values("sagemaker:VpcSecurityGroupIds", "SecurityGroups", security_groups, like=False))
    if network_isolation:
        limits.append(_isolated())
    return tuple(limits)


def _only_values(key: str, name: str, values: Sequence[str], *, like: bool) -> Limit:
    """Return a limit on a multivalued key: every value must be one of these, and there must be a value.

    Whether an empty list counts as an absent key is not documented. ``ForAnyValue`` is false and ``ForAllValues`` true
    for both, so one of them stands beside each ``Null``.
    """
    compare, text = ("StringLike", "StringNotLike") if like else ("StringEquals", "StringNotEquals"), list(values)
    return Limit(
        key,
        name,
        allow={
            f"ForAllValues:{compare[0]}": {key: text},
            "ForAnyValue:StringLike": {key: "*"},
            "Null": {key: "false"},
        },
        deny={f"Other{name}": {f"ForAnyValue:{compare[1]}": {key: text}}},
        absence={
            f"No{name}": {"Null": {key: "true"}},
            f"Empty{name}": {"ForAllValues:StringNotLike": {key: "*"}},
        },
    )


def _at_most(key: str, name: str, seconds: int, *, required: bool) -> Limit:
    """Return a limit on a number; without ``required`` a request without the key passes."""
    suffix = "" if required else "IfExists"
    absence = {f"No{name}": {"Null": {key: "true"}}} if required else {}
    return Limit(
        key,
        name,
        allow={f"NumericLessThanEquals{suffix}": {key: str(seconds)}},
        deny={f"Long{name}": {"NumericGreaterThan": {key: str(seconds)}}},
        absence=absence,
    )


def _encrypted_with(key: str, name: str, arns: Sequence[str]) -> Limit:
    """Return a limit on a KMS key's ARN; ``ArnNotLike`` is true without the key, so one Deny refuses both."""
    return Limit(key, name, {"ArnLike": {key: list(arns)}}, {f"Other{name}": {"ArnNotLike": {key: list(arns)}}}, {})


def _isolated() -> Limit:
    """Return the limit that asks for network isolation."""
    key = "sagemaker:NetworkIsolation"
    return Limit(key, "Isolation", {"Bool": {key: "true"}}, {"NoIsolation": {"BoolIfExists": {key: "false"}}}, {})
