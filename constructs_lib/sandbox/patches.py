"""Changes to moto's own code that are checked when made and undone when the sandbox stops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .errors import SandboxError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Patches"]


class Patches:
    """A list of replaced attributes.

    Examples
    --------
    >>> class Moto:
    ...     answer = 41
    >>> patches = Patches()
    >>> patches.set(Moto, "answer", 42)
    >>> patches.wrap(Moto, "answer", lambda original: original + 1)
    >>> Moto.answer
    43
    >>> patches.undo()
    >>> Moto.answer
    41
    """

    def __init__(self) -> None:
        self._undo: list[tuple[Any, str, Any, bool]] = []

    def set(self, owner: Any, name: str, value: Any) -> None:
        """Replace an attribute that must exist.

        Raises
        ------
        SandboxError
            If it does not exist: the installed moto is not the version the sandbox was written for.
        """
        if not hasattr(owner, name):
            where = getattr(owner, "__name__", owner)
            raise SandboxError(f"this moto has no {where}.{name}: install the version the sandbox extra pins")
        # A static or class method must go back as the descriptor it was, an inherited attribute must only go away.
        self._undo.append((owner, name, vars(owner).get(name), name in vars(owner)))
        setattr(owner, name, value)

    def wrap(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        """Replace an attribute by what `make` makes of it."""
        self.set(owner, name, make(getattr(owner, name, None)))

    def undo(self) -> None:
        """Put everything back, last change first."""
        while self._undo:
            owner, name, value, own = self._undo.pop()
            if own:
                setattr(owner, name, value)
            else:
                delattr(owner, name)
