"""An Allow that asks for any approved type lets a list with an unapproved one through."""

from constructs_lib.rules.authoring import App, Findings, Kind, Severity, Subject, error, rule, unverified
from constructs_lib.rules.iam._common import guards_of, unknown_conditions
from constructs_lib.rules.policies.guards import ALL, ANY


@rule(
    "GPU-IAM01",
    title="an Allow with ForAnyValue on instance types",
    kinds=(Kind.IAM_DOCUMENT,),
    finds={Severity.ERROR: "ForAnyValue on sagemaker:InstanceTypes in an Allow, with no ForAllValues beside it"},
    why="one approved type is enough: a preference list or instance groups may hold any other type as well",
    fix='use "ForAllValues:StringLike" with the approved types, and "Null": {"sagemaker:InstanceTypes": "false"}',
    source="IAM user guide, https://docs.aws.amazon.com/IAM/latest/UserGuide/"
    "reference_policies_condition-single-vs-multi-valued-context-keys.html",
)
def any_value_in_allow(subject: Subject, _app: App) -> Findings:
    """Look at each Allow; beside a ForAllValues it is a guard against a request without types."""
    for guard in guards_of(subject):
        if not guard.allows or any(not c.if_exists for c in guard.having(ALL, negated=False)):
            continue
        for clause in guard.having(ANY, negated=False) + guard.having(ANY, negated=True):
            yield error("ForAnyValue in an Allow: a list with one approved and one unapproved type passes", clause.at)
    for found in unknown_conditions(subject, "Allow"):
        yield unverified(f"{found.message}: ForAnyValue on instance types must not stand in an Allow", found.at)
