"""How far a program got: what a redrive needs to go on where an execution failed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["Progress"]


@dataclass
class Progress:
    """The progress of one program: a whole machine, a branch of a Parallel or an iteration of a Map.

    Attributes
    ----------
    state, input, variables, entered
        The state entered last, its input, the program's variables and the moment at that time.
    children
        Progress of the branches or iterations of that state, by index.
    done, output
        Whether the program succeeded, and with what.
    resuming, resumed
        A redrive goes on with `state`; the entry under way is such a one.
    map_run, items
        The Map Run of that state, if it is a Distributed Map, and what it iterates over.
    execution
        The execution that an item of a Distributed Map is.
    """

    state: str | None = None
    input: Any = None
    variables: dict[str, Any] = field(default_factory=dict)
    entered: str = ""
    children: dict[int, Progress] = field(default_factory=dict)
    done: bool = False
    output: Any = None
    resuming: bool = False
    resumed: bool = False
    map_run: Any = None
    items: list[Any] | None = None
    execution: Any = None

    def enter(self, state: str, value: Any, variables: dict[str, Any]) -> None:
        """Remember that `state` begins; the state that a redrive goes on with keeps its branches."""
        self.resumed, self.resuming = self.resuming, False
        if not self.resumed:
            self.state, self.input, self.variables, self.children = state, value, dict(variables), {}
            self.map_run = self.items = None

    def begin_children(self, retry_count: int) -> None:
        """Begin the branches of the state: afresh, unless this is a redrive's first try."""
        if retry_count or not self.resumed:
            self.children = {}

    def child(self, index: int) -> Progress:
        """Return the progress of one branch or iteration."""
        return self.children.setdefault(index, Progress())

    def resume(self) -> None:
        """Prepare this program and all unfinished ones in it for a redrive."""
        self.resuming = self.state is not None
        for child in self.children.values():
            if not child.done:
                child.resume()
