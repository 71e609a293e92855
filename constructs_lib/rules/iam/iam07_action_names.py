"""An action that does not exist, or never carries the key that its statement asks for."""

from constructs_lib.facts import iam
from constructs_lib.rules.authoring import (
    App,
    Findings,
    Kind,
    Severity,
    Subject,
    error,
    is_unresolved,
    rule,
    unverified,
)
from constructs_lib.rules.iam._common import guards_of, names, statements_of
from constructs_lib.rules.policies.guards import carrying, expand
from constructs_lib.rules.policies.spelling import nearest

SERVICE = "sagemaker:"


@rule(
    "GPU-IAM07",
    title="an action that does not exist, or that never carries its instance types",
    kinds=(Kind.IAM_DOCUMENT,),
    finds={
        Severity.ERROR: "a name within two letters of a real action; an action without the key where it is asked for",
        Severity.UNVERIFIED: "another action that is not known here",
    },
    why="IAM accepts any action name, so a typo grants or forbids nothing; and a Deny of the absent key always denies "
    "an action that never carries it",
    fix="name the actions that carry sagemaker:InstanceTypes; docs/cookbook/guardrails.md lists the others and what "
    "closes them",
    source="service-authorization reference: Amazon SageMaker",
)
def action_names(subject: Subject, _app: App) -> Findings:
    """Hold every named action against the known ones, then the actions of each type condition against the key."""
    for one in statements_of(subject):
        for pattern in (*one.actions, *one.not_actions):
            if not isinstance(pattern, str) or is_unresolved(pattern):
                yield unverified("the action is not known here", f"{one.path}.Action")
            elif pattern.lower().startswith(SERVICE) and not expand(pattern):
                near = nearest(pattern, iam.actions())
                if near:
                    yield error(
                        f"there is no action {pattern}; {near} is meant", f"{one.path}.Action", fix=f"write {near}"
                    )
                else:
                    yield unverified(f"{pattern} is no action that is known here", f"{one.path}.Action")
    yield from _never_carry(subject)


def _never_carry(subject: Subject) -> Findings:
    for guard in guards_of(subject):
        for pattern in guard.statement.actions:
            named = expand(pattern) if isinstance(pattern, str) else frozenset()
            never = frozenset(n for n in named if iam.actions()[n].carries(iam.INSTANCE_TYPES_KEY) is False)
            if guard.allows and guard.needs_the_key and never and not named & carrying():
                yield error(
                    f"{names(never)} never carries a type, so this Allow never applies to it",
                    f"{guard.statement.path}.Action",
                )
            elif guard.is_absence_guard and not guard.allows and never:
                yield error(
                    f"{names(never)} never carries a type, so this always denies it", f"{guard.statement.path}.Action"
                )
