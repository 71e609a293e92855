"""Where a construct is: its path, and its stack's name and place, each read once per scope and remembered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar
from weakref import WeakKeyDictionary

from aws_cdk import Stack

from constructs_lib.model import InvalidInputError, is_unresolved
from constructs_lib.model.naming import stack_prefix
from constructs_lib.shared.policies import Place

if TYPE_CHECKING:
    from constructs import Construct, IConstruct

__all__ = ["OnePerStack", "StackInfo", "path_of", "stack_of"]

Shared = TypeVar("Shared")


@dataclass(frozen=True, slots=True)
class StackInfo:
    """A stack and what names and ARNs are made of.

    Parameters
    ----------
    stack : Stack
    name : str
        The stack's name; a nested stack's is only known at deploy, so its path stands in.
    path : str
        The construct path.
    place : Place
        Partition, region and account.
    root : IConstruct
        The app.
    """

    stack: Stack
    name: str
    path: str
    place: Place
    root: IConstruct

    @property
    def prefix(self) -> str:
        """The start of every name that belongs to the stack."""
        return stack_prefix(self.name)


_stacks: WeakKeyDictionary[Stack, StackInfo] = WeakKeyDictionary()
_of: WeakKeyDictionary[Construct, tuple[StackInfo, str]] = WeakKeyDictionary()


def stack_of(scope: Construct) -> StackInfo:
    """Return the stack that ``scope`` is in."""
    return _look_up(scope)[0]


def path_of(scope: Construct, construct_id: str) -> str:
    """Return the path of a child of ``scope``."""
    return f"{_look_up(scope)[1]}/{construct_id}"


def _look_up(scope: Construct) -> tuple[StackInfo, str]:
    if scope not in _of:
        stack = Stack.of(scope)
        if stack not in _stacks:
            _stacks[stack] = _read(stack)
        info = _stacks[stack]
        _of[scope] = info, info.path if scope is stack else scope.node.path
    return _of[scope]


def _read(stack: Stack) -> StackInfo:
    path, name = stack.node.path, stack.stack_name
    place = Place(partition=stack.partition, region=stack.region, account=stack.account)
    known = path if is_unresolved(name) else name
    return StackInfo(stack=stack, name=known, path=path, place=place, root=stack.node.root)


class OnePerStack(Generic[Shared]):
    """What a stack has one of, standing directly in it under a fixed id.

    Parameters
    ----------
    kind, noun : str
        The construct's class, and what people call it.
    construct_id : str
    before : str
        What makes one if there is none.
    """

    def __init__(self, kind: str, noun: str, construct_id: str, *, before: str) -> None:
        self._kind, self._noun, self._id, self._before = kind, noun, construct_id, before
        self._made: WeakKeyDictionary[Stack, Shared] = WeakKeyDictionary()

    def place(self, scope: Construct, construct_id: str) -> StackInfo:
        """Return the stack in which a new one may stand at ``scope``.

        Raises
        ------
        InvalidInputError
            If it would stand elsewhere or under another id, or the stack has one.
        """
        stack = stack_of(scope)
        if construct_id != self._id or scope is not stack.stack:
            raise InvalidInputError(
                f"{self._kind}: a {self._noun} stands directly in its stack and has the id {self._id!r}; "
                f"{construct_id!r} in {scope.node.path!r} was asked for"
            )
        if stack.stack in self._made:
            raise InvalidInputError(
                f"{self._kind}: the stack {stack.path!r} has its {self._noun} already; "
                f"make your own before {self._before}"
            )
        return stack

    def keep(self, stack: StackInfo, made: Shared) -> None:
        """Remember the one of a stack."""
        self._made[stack.stack] = made

    def of(self, scope: Construct) -> Shared | None:
        """Return the one of the stack that ``scope`` is in, if it was made."""
        return self._made.get(stack_of(scope).stack)
