"""The rules as an aspect: added to an app, a stage, a stack or any construct, it judges what lies below."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import aws_cdk as cdk
import jsii

from constructs_lib.checks.plugin import CapacityRulesPlugin

if TYPE_CHECKING:
    from constructs import IConstruct

__all__ = ["CapacityRules"]

# One plugin an app, however many aspects bring it; its scopes grow as aspects are visited.
_scopes_of_app: WeakKeyDictionary[Any, list[str]] = WeakKeyDictionary()


@jsii.implements(cdk.IAspect)
class CapacityRules:
    """Judges all resources below the construct that it is added to.

    The first visit registers `CapacityRulesPlugin` on the app, once; the plugin reads the final templates, so what
    other aspects change is seen. Every other visit returns at once.

    Examples
    --------
    >>> import aws_cdk as cdk
    >>> app = cdk.App()
    >>> cdk.Aspects.of(app).add(CapacityRules())

    Notes
    -----
    Use one instance a scope. An instance that is added to several scopes is recognised on apps, stages and stacks
    only; asking every construct for its place would cost a kernel request a construct.
    """

    def __init__(self) -> None:
        self._known: list[str] = []

    def visit(self, node: IConstruct) -> None:
        """Note the scope on the first visit (and on stacks and stages outside it); do nothing otherwise."""
        if self._known and not isinstance(node, cdk.Stack | cdk.Stage):
            return
        path = node.node.path
        if any(_within(path, known) for known in self._known):
            return
        self._known.append(path)
        _add_scope(node, path)


def _add_scope(node: IConstruct, path: str) -> None:
    app = node.node.root
    scopes = _scopes_of_app.get(app)
    if scopes is None:
        scopes = _scopes_of_app[app] = []
        cdk.Validations.of(app).add_plugins(CapacityRulesPlugin(scopes=scopes))
    if path not in scopes:
        scopes.append(path)


def _within(path: str, scope: str) -> bool:
    return scope in ("", path) or path.startswith(f"{scope}/")
