"""sagemaker:InstanceTypes is a list, and a list needs a set operator."""

from constructs_lib.rules.authoring import App, Findings, Kind, Severity, Subject, error, rule
from constructs_lib.rules.iam._common import guards_of, unknown_conditions


@rule(
    "GPU-IAM05",
    title="an operator on instance types without ForAllValues or ForAnyValue",
    kinds=(Kind.IAM_DOCUMENT,),
    finds={Severity.ERROR: "an operator without a set qualifier, Null excepted"},
    why="the key holds a list, and what an operator for single values does with a list is not documented",
    fix='in an Allow use "ForAllValues:StringLike" with Null=false, in a Deny "ForAnyValue:StringNotLike" with a '
    "second Deny for the absent key",
    source="service-authorization reference: sagemaker:InstanceTypes is an ArrayOfString; IAM user guide",
)
def no_set_operator(subject: Subject, _app: App) -> Findings:
    """Look at every operator on the key."""
    for guard in guards_of(subject):
        for clause in guard.clauses:
            if not clause.qualifier and not clause.is_null:
                yield error(
                    "sagemaker:InstanceTypes is a list; without a set operator the result is not defined", clause.at
                )
    for effect in ("Allow", "Deny"):
        yield from unknown_conditions(subject, effect)
