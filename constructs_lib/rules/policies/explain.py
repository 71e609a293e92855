"""What a policy does for a list of instance types: each action against each shape of request."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from constructs_lib import facts
from constructs_lib.facts import iam
from constructs_lib.model import InvalidInputError
from constructs_lib.model.wildcards import unmatched
from constructs_lib.rules.policies.documents import Statement, statements
from constructs_lib.rules.policies.evaluator import Decision, Policies, Request, evaluate
from constructs_lib.rules.policies.guards import carrying, covered_types, guards, known_actions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["Explanation", "Layers", "Row", "Shape", "default_types", "explain", "named_actions"]

ALLOW_ALL: Mapping[str, Any] = {
    "Version": "2012-10-17",
    "Statement": [{"Sid": "FullAccess", "Effect": "Allow", "Action": "*", "Resource": "*"}],
}
ACCOUNT, REGION = "111122223333", "us-east-1"
FAMILIAR = ("ml.m5.xlarge", "ml.p5.48xlarge")


@dataclass(frozen=True, slots=True)
class Shape:
    """A request as far as its types go: a list, possibly empty, or ``None`` for no key at all."""

    name: str
    types: tuple[str, ...] | None


_NO_TYPES = Shape("no types", None)


@dataclass(frozen=True, slots=True)
class Row:
    """One action on one resource, with a decision for each shape; ``carries`` is ``False`` if it has no types."""

    action: str
    resource: str
    carries: bool
    decisions: tuple[Decision, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """The table: shapes across, actions down, and what was assumed around the policy."""

    shapes: tuple[Shape, ...]
    rows: tuple[Row, ...]
    assumed: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Layers:
    """What stands around the explained document.

    Parameters
    ----------
    role : str
        What the document is: ``identity``, ``boundary`` or ``scp``; ``auto`` takes a document without an Allow for a
        service control policy, and any other for an identity policy.
    boundary : Mapping, optional
        A permissions boundary to hold beside it.
    scps : sequence of Mapping
        Service control policies to hold beside it, one level each; AWS's FullAWSAccess is assumed beside a document
        that allows nothing itself.
    """

    role: str = "auto"
    boundary: Mapping[str, Any] | None = None
    scps: Sequence[Mapping[str, Any]] = field(default_factory=tuple)


def explain(
    document: Mapping[str, Any],
    *,
    types: Sequence[str] = (),
    actions: Sequence[str] = (),
    layers: Layers | None = None,
    context: Mapping[str, str | list[str]] | None = None,
    resource: str | None = None,
) -> Explanation:
    """Explain a policy document.

    Parameters
    ----------
    document : Mapping
        The policy document.
    types : sequence of str
        The instance types to ask about, alone and together; by default one that the policy names and one that it
        does not.
    actions : sequence of str
        The actions to ask about; by default those of the document that start instances.
    layers : Layers, optional
        What the document is and what stands beside it.
    context : Mapping, optional
        Other condition keys that the requests carry.
    resource : str, optional
        The ARN to ask about; by default one that the document's statements name for the action.

    Raises
    ------
    InvalidInputError
        If a document is no policy document or an action does not exist.

    Examples
    --------
    >>> guard = {"ForAllValues:StringLike": {"sagemaker:InstanceTypes": ["ml.m5.*"]}}
    >>> allow = {"Effect": "Allow", "Action": "sagemaker:CreateTrainingJob", "Resource": "*", "Condition": guard}
    >>> table = explain({"Version": "2012-10-17", "Statement": [allow]})
    >>> [(shape.name, str(cell.verdict)) for shape, cell in zip(table.shapes, table.rows[0].decisions)][-1]
    ('no types', 'allowed')
    """
    parsed = statements(document)
    policies, assumed = _policies(document, parsed, layers or Layers())
    shapes = _shapes(tuple(types) or default_types(parsed))
    rows = []
    for action in map(_known, actions or named_actions(parsed)):
        carries = action.carries(iam.INSTANCE_TYPES_KEY) is not False
        target = resource or _example(action, parsed)
        requests = (_request(action, target, shape if carries else _NO_TYPES, context or {}) for shape in shapes)
        rows.append(Row(action.name, target, carries, tuple(evaluate(request, policies) for request in requests)))
    return Explanation(shapes, tuple(rows), assumed)


def default_types(parsed: Iterable[Statement]) -> tuple[str, ...]:
    """Return one type that the statements' conditions name and one that they do not."""
    clauses = [clause for guard in guards(parsed) for clause in guard.clauses if not clause.is_null]
    named = [name for clause in clauses for name in sorted(covered_types(clause) or ())]
    if not named:
        return FAMILIAR
    patterns = [value for clause in clauses for value in clause.values or ()]
    others = unmatched((*reversed(FAMILIAR), *sorted(facts.instance_types())), patterns)
    return (named[0], *others[:1])


def named_actions(parsed: Iterable[Statement]) -> tuple[str, ...]:
    """Return the actions that the statements name and that start or grow instances: first those that carry types."""
    named = frozenset[str]().union(*(known_actions(one) or iam.actions().keys() for one in parsed))
    gaps = [action for action in iam.gaps() if action in named]
    return (*sorted(named & carrying()), *gaps)


def _known(action: str) -> iam.Action:
    known = {name.lower(): one for name, one in iam.actions().items()}
    if action.lower() not in known:
        raise InvalidInputError(
            f"{action!r} is no action that is known here; write it like sagemaker:CreateTrainingJob"
        )
    return known[action.lower()]


def _policies(document: Mapping[str, Any], parsed: tuple[Statement, ...], layers: Layers) -> tuple[Policies, str]:
    role = layers.role
    if role == "auto":
        role = "identity" if any(one.effect == "Allow" for one in parsed) else "scp"
    levels = tuple(_level(one) for one in layers.scps)
    boundary = (layers.boundary,) if layers.boundary is not None else None
    if role == "scp":
        policies = Policies(identity=(ALLOW_ALL,), boundary=boundary, scps=(*levels, _level(document)))
        return policies, "a service control policy over a caller who may do everything"
    if role == "boundary":
        policies = Policies(identity=(ALLOW_ALL,), boundary=(document,), scps=levels)
        return policies, "the permissions boundary of a caller who may otherwise do everything"
    return Policies(identity=(document,), boundary=boundary, scps=levels), "the only identity policy of the caller"


def _level(document: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    gives = any(one.effect == "Allow" for one in statements(document))
    return (document,) if gives else (ALLOW_ALL, document)


def _shapes(types: tuple[str, ...]) -> tuple[Shape, ...]:
    alone = tuple(Shape(name, (name,)) for name in dict.fromkeys(types))
    together = (Shape(" + ".join(types), types),) if len(alone) > 1 else ()
    return (*alone, *together, Shape("empty list", ()), _NO_TYPES)


def _request(action: iam.Action, resource: str, shape: Shape, context: Mapping[str, str | list[str]]) -> Request:
    types = {} if shape.types is None else {iam.INSTANCE_TYPES_KEY: list(shape.types)}
    return Request(action=action.name, resource=resource, context={**context, **types})


def _example(action: iam.Action, parsed: tuple[Statement, ...]) -> str:
    """Return an ARN for the action: one that a statement names, made concrete, else any."""
    if not action.resources:
        return "*"
    kind = action.resources[0]
    service = action.name.partition(":")[0]
    for pattern in (p for one in parsed for p in one.resources if isinstance(p, str)):
        parts = pattern.split(":", 5)
        if len(parts) == 6 and "${" not in pattern and parts[5].partition("/")[0] == kind:
            partition, _, region, account, name = parts[1:]
            concrete = [_fill(partition, "aws"), service, _fill(region, REGION), _fill(account, ACCOUNT)]
            return ":".join(["arn", *concrete, name.replace("*", "example").replace("?", "x")])
    return f"arn:aws:{service}:{REGION}:{ACCOUNT}:{kind}/example"


def _fill(part: str, value: str) -> str:
    return value if part == "*" else part.replace("*", value).replace("?", "x")
