"""An Allow without a condition beside a guarded one."""

from constructs_lib.rules.authoring import App, Findings, Kind, Severity, Subject, error, rule, unverified
from constructs_lib.rules.iam._common import actions_of, guards_of, names
from constructs_lib.rules.policies.guards import ANY, Guard


@rule(
    "GPU-IAM11",
    title="an unconditional Allow that undoes a type condition",
    kinds=(Kind.IAM_DOCUMENT,),
    finds={
        Severity.ERROR: "an Allow of the same actions on every resource without a condition, and no allow-list Deny"
    },
    why="one Allow is enough: a condition in another Allow restricts nothing that this one gives",
    fix="take the guarded actions out of the unconditional Allow, or restrict them with a Deny instead",
    source="IAM user guide: policy evaluation logic, statements are combined with OR",
)
def unguarded_allow(subject: Subject, _app: App) -> Findings:
    """Compare the guarded Allows with the Allows that ask nothing."""
    guards = guards_of(subject)
    denied = frozenset().union(*(guard.actions or () for guard in guards if _denies_unlisted(guard)))
    for one, given in actions_of(subject) if guards else ():
        if one.effect != "Allow" or one.condition or "*" not in one.resources:
            continue
        for guard in guards:
            if not guard.allows:
                continue
            if given is None or guard.actions is None:
                yield unverified("the actions are not known here", f"{one.path}.Action")
            elif both := (given & guard.actions) - denied:
                words = f"{names(both)} allowed without a condition, although {guard.statement.name} asks for types"
                yield error(words, f"{one.path}.Action")


def _denies_unlisted(guard: Guard) -> bool:
    return not guard.allows and bool(guard.having(ANY, negated=True))
