"""ForAnyValue is false when the key is absent, so a Deny needs a second one."""

from constructs_lib.rules.authoring import App, Findings, Kind, Severity, Subject, rule, unverified, warning
from constructs_lib.rules.iam._common import absent_denied, guards_of, names, unknown_conditions
from constructs_lib.rules.policies.guards import ANY, carrying


@rule(
    "GPU-IAM04",
    title="an allow-list Deny that a request without types passes",
    kinds=(Kind.IAM_DOCUMENT,),
    finds={Severity.WARNING: "ForAnyValue:StringNot* in a Deny, and no Deny of the absent key for the same actions"},
    why="ForAnyValue is false when the key is absent: a request that carries no type is not denied",
    fix='add a Deny of the same actions with "Null": {"sagemaker:InstanceTypes": "true"}; leave out actions that are '
    "used without a type (serverless endpoints and jobs, updates that keep the type)",
    source="IAM user guide, https://docs.aws.amazon.com/IAM/latest/UserGuide/"
    "reference_policies_condition-single-vs-multi-valued-context-keys.html",
)
def deny_misses_absent_key(subject: Subject, _app: App) -> Findings:
    """Compare the actions of each allow-list Deny with those that are denied without a type."""
    for guard in guards_of(subject):
        for clause in () if guard.allows else guard.having(ANY, negated=True):
            if guard.actions is None:
                yield unverified("the actions are not known here; without a type they are not denied", clause.at)
            elif open_still := (guard.actions & carrying()) - absent_denied(subject, guard):
                yield warning(f"a request without a type is not denied: {names(open_still)}", clause.at)
    yield from unknown_conditions(subject, "Deny")
