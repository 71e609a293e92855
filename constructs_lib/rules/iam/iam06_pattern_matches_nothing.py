"""A value that matches no known type approves, or blocks, nothing."""

from dataclasses import replace

from constructs_lib import facts
from constructs_lib.model.wildcards import has_wildcard
from constructs_lib.rules.authoring import (
    App,
    Findings,
    Found,
    Kind,
    Severity,
    Subject,
    error,
    rule,
    unverified,
    warning,
)
from constructs_lib.rules.iam._common import guards_of
from constructs_lib.rules.policies.guards import Clause, covered_types

# CreateApp names this type for the apps that run on SageMaker's own instance.
SYSTEM = "system"


@rule(
    "GPU-IAM06",
    title="a value that matches no known instance type",
    kinds=(Kind.IAM_DOCUMENT,),
    finds={
        Severity.WARNING: "in an Allow or an allow-list, or a pattern with ml. that no known type matches",
        Severity.ERROR: "in a Deny block-list, without ml. or with a wildcard that is compared as text",
        Severity.UNVERIFIED: "a full type name that nobody knows yet",
    },
    why="SageMaker's types start with ml., the comparison sees case, and only StringLike reads wildcards",
    fix='write types as SageMaker names them, such as "ml.m5.*", with a Like operator if there is a wildcard',
    source="botocore: TrainingInstanceType and the other enums; IAM user guide on StringLike",
)
def pattern_matches_nothing(subject: Subject, _app: App) -> Findings:
    """Hold every value against every known type."""
    for guard in guards_of(subject):
        for clause in guard.clauses:
            if clause.values is None:
                yield unverified("the types are not known here", clause.at)
            elif not clause.is_null:
                blocks = not guard.allows and not clause.negated
                yield from (
                    _judge(clause, value, blocks=blocks) for value in clause.values if _matches_nothing(clause, value)
                )


def _matches_nothing(clause: Clause, value: str) -> bool:
    return value not in ("*", SYSTEM) and not covered_types(replace(clause, values=(value,)))


def _judge(clause: Clause, value: str, *, blocks: bool) -> Found:
    as_text = has_wildcard(value) and not clause.base.endswith("like")
    if value.startswith("ml.") and not as_text:
        if not has_wildcard(value):
            return unverified(f"{value} is no type that is known here", clause.at)
        return warning(f"{value!r} matches none of {len(facts.instance_types())} known types", clause.at)
    words = "its wildcard is compared as text" if as_text else "SageMaker's types start with 'ml.'"
    return (error if blocks else warning)(f"{value!r} matches no type: {words}", clause.at)
