"""A Condition block against a request's context, in three values: true, false, and ``None`` for "not modelled"."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from constructs_lib.model import is_unresolved
from constructs_lib.model.wildcards import has_wildcard, matches
from constructs_lib.rules.policies.documents import as_list

__all__ = ["all_of", "any_of", "arn_matches", "condition_holds", "negated", "split_operator"]

Truth = bool | None
ContextValue = str | list[str]

ARN_PARTS = 6
SET_OPERATORS = ("forallvalues", "foranyvalue")


def all_of(truths: Iterable[Truth]) -> Truth:
    """And, over three values."""
    seen = list(truths)
    return False if False in seen else None if None in seen else True


def any_of(truths: Iterable[Truth]) -> Truth:
    """Or, over three values."""
    return negated(all_of(negated(truth) for truth in truths))


def negated(truth: Truth) -> Truth:
    """Not, over three values."""
    return None if truth is None else not truth


def split_operator(operator: str) -> tuple[str, str, bool]:
    """Split an operator into set operator, base and whether it ends in ``IfExists``, all in lower case.

    Examples
    --------
    >>> split_operator("ForAnyValue:StringLikeIfExists")
    ('foranyvalue', 'stringlike', True)
    """
    qualifier, _, base = operator.lower().rpartition(":")
    return qualifier, base.removesuffix("ifexists"), base.endswith("ifexists")


def condition_holds(condition: Mapping[str, Any], context: Mapping[str, ContextValue], *, variables: bool) -> Truth:
    """Tell whether every operator of a Condition block holds.

    Parameters
    ----------
    condition : Mapping
        Operator to key to value or values, as in a statement.
    context : Mapping
        The request's context; an absent key is not in it. A list is a multivalued key, possibly empty.
    variables : bool
        Whether ``${...}`` in the block's values is a policy variable; those are not resolved here.
    """
    known = {key.lower(): value for key, value in context.items()}
    return all_of(
        _key_holds(operator, as_list(values), known.get(key.lower()), variables=variables)
        for operator, keys in condition.items()
        for key, values in (keys.items() if isinstance(keys, dict) else [("", None)])
    )


def _key_holds(operator: str, wanted: list[Any], given: ContextValue | None, *, variables: bool) -> Truth:
    qualifier, base, if_exists = split_operator(operator)
    compare = COMPARISONS.get(NEGATED.get(base, base))
    texts = [str(value).lower() if isinstance(value, bool) else str(value) for value in wanted]
    if not wanted or any(not isinstance(value, str | int | float) for value in wanted):
        return None
    if base == "null":
        return None if qualifier or if_exists else _null_holds(texts, given)
    # True or false, both at once: no document says that this is "any".
    if compare is None or qualifier not in ("", *SET_OPERATORS) or (base == "bool" and len(texts) > 1):
        return None
    is_negated = base in NEGATED
    if given is None:
        return _holds_without_key(qualifier, is_negated=is_negated, if_exists=if_exists)

    def holds(value: str) -> Truth:
        found = any_of(_compare(compare, text, value, variables=variables) for text in texts)
        return negated(found) if is_negated else found

    return _holds_with_key(qualifier, given, holds)


def _holds_with_key(qualifier: str, given: ContextValue, holds: Callable[[str], Truth]) -> Truth:
    if not qualifier:
        # A list without a set operator: no document says what IAM does.
        return holds(given) if isinstance(given, str) else None
    if "" in (values := as_list(given)):
        # The guide calls an empty string a null dataset, without saying how it counts beside other values.
        return None
    return (all_of if qualifier == "forallvalues" else any_of)(holds(value) for value in values)


def _holds_without_key(qualifier: str, *, is_negated: bool, if_exists: bool) -> Truth:
    if qualifier == "foranyvalue":
        # With IfExists the guide promises true and people have measured false.
        return None if if_exists else False
    return bool(qualifier) or if_exists or is_negated


def _null_holds(wanted: list[str], given: ContextValue | None) -> Truth:
    """Whether an empty list or string counts as null is not documented."""
    if any(text.lower() not in ("true", "false") for text in wanted):
        return None
    either = {text.lower() for text in wanted} == {"true", "false"}
    if either or given is None:
        return either or wanted[0].lower() == "true"
    return None if not given or "" in as_list(given) else wanted[0].lower() == "false"


def _compare(compare: Callable[[str, str], Truth], wanted: str, given: str, *, variables: bool) -> Truth:
    if is_unresolved(wanted) or (variables and "${" in wanted):
        return None
    return compare(wanted, given)


def _boolean(wanted: str, given: str) -> Truth:
    pair = wanted.lower(), given.lower()
    return pair[0] == pair[1] if set(pair) <= {"true", "false"} else None


def _numeric(order: Callable[[Decimal, Decimal], bool]) -> Callable[[str, str], Truth]:
    def compare(wanted: str, given: str) -> Truth:
        try:
            return order(Decimal(given), Decimal(wanted))
        except InvalidOperation:
            return None

    return compare


def arn_matches(pattern: str, arn: str) -> Truth:
    """Match an ARN part by part.

    ``None`` for a pattern that is no ARN of six parts, where matching it as one text would differ, and for a wildcard
    in the resource's type (``*/x``, ``t*``), which the guide forbids without saying what it does.
    """
    wanted, given = pattern.split(":", ARN_PARTS - 1), arn.split(":", ARN_PARTS - 1)
    if len(wanted) != ARN_PARTS:
        return None
    if not matches(pattern, arn):
        return False
    by_parts = len(given) == ARN_PARTS and all(matches(*pair) for pair in zip(wanted, given, strict=True))
    any_type = wanted[-1] != "*" and has_wildcard(wanted[-1].partition("/")[0])
    return None if any_type or not by_parts else True


COMPARISONS: dict[str, Callable[[str, str], Truth]] = {
    "stringequals": lambda wanted, given: wanted == given,
    "stringequalsignorecase": lambda wanted, given: wanted.lower() == given.lower(),
    "stringlike": matches,
    "arnequals": arn_matches,
    "arnlike": arn_matches,
    "bool": _boolean,
    "numericequals": _numeric(lambda given, wanted: given == wanted),
    "numericlessthan": _numeric(lambda given, wanted: given < wanted),
    "numericlessthanequals": _numeric(lambda given, wanted: given <= wanted),
    "numericgreaterthan": _numeric(lambda given, wanted: given > wanted),
    "numericgreaterthanequals": _numeric(lambda given, wanted: given >= wanted),
}
NEGATED = {
    "stringnotequals": "stringequals",
    "stringnotequalsignorecase": "stringequalsignorecase",
    "stringnotlike": "stringlike",
    "arnnotequals": "arnequals",
    "arnnotlike": "arnlike",
    "numericnotequals": "numericequals",
}
