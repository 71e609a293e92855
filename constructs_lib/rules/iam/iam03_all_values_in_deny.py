"""A Deny that asks whether all types are bad lets a mixed list through."""

from constructs_lib.rules.authoring import App, Findings, Kind, Severity, Subject, error, rule
from constructs_lib.rules.iam._common import guards_of, unknown_conditions
from constructs_lib.rules.policies.guards import ALL


@rule(
    "GPU-IAM03",
    title="a Deny with ForAllValues on instance types",
    kinds=(Kind.IAM_DOCUMENT,),
    finds={Severity.ERROR: "ForAllValues on sagemaker:InstanceTypes in a Deny"},
    why="the Deny applies only when every type is unapproved, so one approved type in the list lets the others "
    "through; and it denies every request without a type",
    fix='use "ForAnyValue:StringNotLike" with the approved types, and a second Deny with "Null": '
    '{"sagemaker:InstanceTypes": "true"} for the actions that carry the key',
    source="IAM user guide, https://docs.aws.amazon.com/IAM/latest/UserGuide/"
    "reference_policies_condition-single-vs-multi-valued-context-keys.html",
)
def all_values_in_deny(subject: Subject, _app: App) -> Findings:
    """Pass only "no value is like *", which means that there is no value."""
    for guard in guards_of(subject):
        if guard.allows:
            continue
        for clause in guard.having(ALL, negated=True) + guard.having(ALL, negated=False):
            if not (clause.negated and clause.values == ("*",)):
                yield error(
                    "ForAllValues in a Deny: a list with one approved type passes, whatever else it holds", clause.at
                )
    yield from unknown_conditions(subject, "Deny")
