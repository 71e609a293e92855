"""Where a construct is: its path, and its stack's name and place, each read once per scope and remembered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from aws_cdk import Stack

from constructs_lib.model import is_unresolved
from constructs_lib.model.naming import stack_prefix
from constructs_lib.shared.policies import Place

if TYPE_CHECKING:
    from constructs import Construct, IConstruct

__all__ = ["StackInfo", "path_of", "stack_of"]


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
