"""Which constructs of an app declare which plan: two with one identity would take one plan for their own."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from constructs_lib.model import InvalidInputError, is_unresolved

if TYPE_CHECKING:
    from constructs import IConstruct

    from constructs_lib.shared.scopes import StackInfo

__all__ = ["declare"]

_apps: WeakKeyDictionary[IConstruct, dict[tuple[str, ...], str]] = WeakKeyDictionary()


def declare(stack: StackInfo, identity: str, path: str) -> None:
    """Note that a construct declares an identity.

    Stacks whose account or region only a deploy will know are compared by the rule GPU-TP15 instead.

    Raises
    ------
    InvalidInputError
        If another construct of the app declares it in the same place.
    """
    place = (stack.place.account, stack.place.region)
    where = (stack.path,) if any(map(is_unresolved, place)) else place
    declared = _apps.setdefault(stack.root, {})
    if other := declared.get((*where, identity)):
        raise InvalidInputError(
            f"{path}: training_plan_name {identity!r} is declared by {other} already; give each plan its own name, "
            "and raise generation in the one construct to buy again"
        )
    declared[*where, identity] = path
