"""Two allow-list Denies that approve different types together deny everything."""

from itertools import combinations

from constructs_lib.model.wildcards import matches
from constructs_lib.rules.authoring import App, Findings, Kind, Severity, Subject, error, rule, unverified
from constructs_lib.rules.iam._common import guards_of, names
from constructs_lib.rules.policies.documents import Statement, as_list
from constructs_lib.rules.policies.guards import ANY, Clause, Guard, covered_types


@rule(
    "GPU-IAM08",
    title="allow-list Denies that together deny every type",
    kinds=(Kind.IAM_DOCUMENT, Kind.ROLE),
    finds={Severity.ERROR: "two ForAnyValue:StringNot* Denies over the same actions that approve no type in common"},
    why="each Deny forbids what the other approves: an allow-list that is split to save space denies everything",
    fix="keep one Deny with the whole list; shorten it with wildcards, as InstanceTypeGuardrail does on request",
    source="IAM user guide: policy evaluation logic, an explicit deny overrides",
)
def split_deny(subject: Subject, app: App) -> Findings:
    """Compare each pair of a document, and of a role the pairs that stand in different documents."""
    for one, other in _pairs(subject, app):
        together, unknown = _approved_by_both(one[1], other[1])
        if unknown:
            yield unverified("a list of approved types is not known here", one[1].at)
        elif not together:
            yield error(
                f"no type passes this and {other[0].statement.name}: each denies what the other approves", one[1].at
            )


def _pairs(subject: Subject, app: App) -> list[tuple[tuple[Guard, Clause], tuple[Guard, Clause]]]:
    lists = [(g, c) for g in _guards(subject) if not g.allows for c in g.having(ANY, negated=True)]
    pairs = [(one, other) for one, other in combinations(lists, 2) if _overlap(one[0], other[0])]
    if subject.kind is not Kind.ROLE or not pairs:
        return pairs
    homes = app.once("iam08", _homes)
    raw = as_list(subject.data.get("Statements", []))

    def home(guard: Guard) -> int | None:
        return homes.get(id(raw[int(guard.statement.path.removeprefix("Statement[").removesuffix("]"))]))

    return [(a, b) for a, b in pairs if home(a[0]) is None or home(a[0]) != home(b[0])]


def _homes(app: App) -> dict[int, int]:
    """Return for each statement of the app the document that holds it."""
    documents = app.of(Kind.IAM_DOCUMENT)
    raw = ((i, one) for i, document in enumerate(documents) for one in _raw(document))
    return {id(one): i for i, one in raw}


def _raw(document: Subject) -> list[object]:
    raw = document.data.get("Statement", [])
    return raw if isinstance(raw, list) else [raw]


def _guards(subject: Subject) -> tuple[Guard, ...]:
    if subject.kind is Kind.IAM_DOCUMENT:
        return guards_of(subject)
    return guards_of(
        Subject(Kind.IAM_DOCUMENT, {"Version": "2012-10-17", "Statement": subject.data.get("Statements", [])})
    )


def _overlap(one: Guard, other: Guard) -> bool:
    if one.statement is other.statement:
        return False  # the operators of one statement are combined with AND
    same_actions = one.actions is None or other.actions is None or one.actions & other.actions
    return bool(same_actions) and one.rest == other.rest and _same_resources(one.statement, other.statement)


def _same_resources(one: Statement, other: Statement) -> bool:
    texts = [(a, b) for a in one.resources for b in other.resources if isinstance(a, str) and isinstance(b, str)]
    return any(a == b or matches(a, b) or matches(b, a) for a, b in texts)


def _approved_by_both(one: Clause, other: Clause) -> tuple[str, bool]:
    first, second = covered_types(one), covered_types(other)
    return names((first or frozenset()) & (second or frozenset())), first is None or second is None
