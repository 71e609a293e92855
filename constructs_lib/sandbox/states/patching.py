"""How a patch of moto's engine is declared, checked against the installed moto, and applied once."""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from constructs_lib.sandbox.errors import SandboxError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ENGINE", "MOTO_VERSION", "adds", "apply", "check", "needs", "original", "replaces", "wraps"]

MOTO_VERSION = "5.2.5"
ENGINE = "moto.stepfunctions.parser."


@dataclass(frozen=True)
class _Patch:
    """One name of moto: ``module:attribute`` or ``module:Class.attribute``, and what takes its place."""

    target: str
    parameters: tuple[str, ...] | None
    replacement: Any = None
    wraps: bool = False
    new: bool = False


_patches: list[_Patch] = []
_originals: dict[str, Any] = {}


def replaces(target: str, parameters: str | None) -> Callable[[Any], Any]:
    """Declare that the decorated object takes the place of `target`, whose parameters must be these words."""
    return functools.partial(_declare, target, parameters, wraps=False)


def wraps(target: str, parameters: str) -> Callable[[Any], Any]:
    """Declare a replacement that receives the original function as its first argument."""
    return functools.partial(_declare, target, parameters, wraps=True)


def adds(owner: str, name: str) -> Callable[[Any], Any]:
    """Declare a new attribute of `owner`, a class or module that must exist and must not have it yet."""

    def declare(replacement: Any) -> Any:
        _patches.append(_Patch(f"{owner}.{name}" if ":" in owner else f"{owner}:{name}", None, replacement, new=True))
        return replacement

    return declare


def needs(target: str, parameters: str | None = None) -> None:
    """Declare a name that the patches use without changing it."""
    _patches.append(_Patch(target, None if parameters is None else tuple(parameters.split())))


def original(target: str) -> Any:
    """Return what moto had at a patched name."""
    return _originals[target]


def check() -> None:
    """Compare every declared name with the installed moto.

    Raises
    ------
    SandboxError
        Naming every difference: another version, a missing name, another signature.
    """
    installed = importlib.metadata.version("moto")
    problems = [] if installed == MOTO_VERSION else [f"moto {installed} is installed"]
    if not _originals:
        problems += [problem for patch in _patches if (problem := _problem(patch)) is not None]
    if problems:
        raise SandboxError(
            f"the state machine engine is written for moto {MOTO_VERSION} and does not fit: {'; '.join(problems)}"
            f" (install moto=={MOTO_VERSION})"
        )


def apply() -> None:
    """Put every patch in place; a second call changes nothing."""
    if _originals:
        return
    for patch in _patches:
        if patch.replacement is None:
            continue
        owner, name = _owner(patch.target)
        if patch.new:
            setattr(owner, name, patch.replacement)
            _originals[patch.target] = None
            continue
        there = inspect.getattr_static(owner, name)
        plain = there.__func__ if isinstance(there, classmethod | staticmethod) else there
        _originals[patch.target] = plain
        replacement = _bound_to(plain, patch.replacement) if patch.wraps else patch.replacement
        kind = type(there) if isinstance(there, classmethod | staticmethod) else None
        setattr(owner, name, kind(replacement) if kind else replacement)


def _declare(target: str, parameters: str | None, replacement: Any, *, wraps: bool) -> Any:
    _patches.append(_Patch(target, None if parameters is None else tuple(parameters.split()), replacement, wraps))
    return replacement


def _bound_to(plain: Any, replacement: Any) -> Any:
    @functools.wraps(plain)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return replacement(plain, *args, **kwargs)

    return wrapper


def _owner(target: str) -> tuple[Any, str]:
    module, _, path = target.partition(":")
    owner: Any = importlib.import_module(module)
    *parents, name = path.split(".")
    for parent in parents:
        owner = getattr(owner, parent)
    return owner, name


def _problem(patch: _Patch) -> str | None:
    try:
        owner, name = _owner(patch.target)
    except (ImportError, AttributeError):
        return f"{patch.target} has no owner"
    if patch.new:
        return f"{patch.target} exists already" if name in vars(owner) else None
    if name not in vars(owner):
        return f"{patch.target} is missing"
    if patch.parameters is None:
        return None
    there = inspect.getattr_static(owner, name)
    plain = there.__func__ if isinstance(there, classmethod | staticmethod) else there
    found = tuple(inspect.signature(plain).parameters)
    if found != patch.parameters:
        return f"{patch.target} takes ({', '.join(found)}), not ({', '.join(patch.parameters)})"
    return None
