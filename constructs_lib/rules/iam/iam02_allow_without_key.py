"""ForAllValues is true when the key is absent, so an Allow needs a guard beside it."""

from constructs_lib.facts import iam
from constructs_lib.rules.authoring import App, Findings, Kind, Severity, Subject, error, rule, unverified
from constructs_lib.rules.iam._common import absent_denied, guards_of, names, unknown_conditions
from constructs_lib.rules.policies.guards import ALL, Guard


@rule(
    "GPU-IAM02",
    title="an Allow with ForAllValues on instance types that a request without types passes",
    kinds=(Kind.IAM_DOCUMENT,),
    finds={Severity.ERROR: "no Null=false beside ForAllValues, and no Deny of the absent key in the same document"},
    why="ForAllValues is true when the key is absent: requests that carry no type, and every action that never "
    "carries it, are allowed",
    fix='add "Null": {"sagemaker:InstanceTypes": "false"} to the condition, and name only actions that carry the key',
    source="IAM user guide, https://docs.aws.amazon.com/IAM/latest/UserGuide/"
    "reference_policies_condition-single-vs-multi-valued-context-keys.html",
)
def allow_without_key(subject: Subject, _app: App) -> Findings:
    """Look for the guard in the same statement, then for a Deny of the absent key in the same document."""
    for guard in guards_of(subject):
        if not guard.allows or guard.needs_the_key:
            continue
        for clause in guard.having(ALL, negated=False) + guard.having(ALL, negated=True):
            if guard.actions is None:
                yield unverified("the actions are not known here; without a type they are allowed", clause.at)
            elif guard.actions - absent_denied(subject, guard):
                yield error(_words(guard), clause.at)
    yield from unknown_conditions(subject, "Allow")


def _words(guard: Guard) -> str:
    never = frozenset(
        name for name in guard.actions or () if iam.actions()[name].carries(iam.INSTANCE_TYPES_KEY) is False
    )
    also = f"; these never carry a type and are always allowed: {names(never)}" if never else ""
    return f"ForAllValues is true when a request carries no type{also}"
