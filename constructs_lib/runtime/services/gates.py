"""What bounds how many launches go on at once, and remembers which need not be repeated; usually nothing does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection

    from constructs_lib.model import RunRecord
    from constructs_lib.runtime.launch import Launch
    from constructs_lib.runtime.run_table import Row, Taken

__all__ = ["Gate", "Open"]


class Gate(Protocol):
    """Asked around a launch; every call may come again."""

    def before(self, launch: Launch) -> str | None:
        """Settle a launch that needs no job, before its row is written; say what was done, or nothing."""
        ...

    def enter(self, launch: Launch, taken: Taken) -> str | None:
        """Let a launch whose row is written create its job, or answer it otherwise and say what was done."""
        ...

    def refusal(self, launch: Launch) -> RunRecord | None:
        """Return the record of a launch that was refused before it came."""
        ...

    def selected(self, row: Row, record: RunRecord) -> None:
        """Hear what a job that goes on has got."""
        ...

    def ended(self, row: Row, record: RunRecord) -> None:
        """Hear that nothing of a run goes on any more, before its task is answered."""
        ...

    def sweep(self, waiting: Collection[str]) -> None:
        """Look after what launches left behind; ``waiting`` are jobs whose rows were just seen open."""
        ...


class Open:
    """The gate of launches that nothing bounds."""

    def before(self, launch: Launch) -> str | None:
        """Nothing is settled."""

    def enter(self, launch: Launch, taken: Taken) -> str | None:
        """Every launch may go on."""

    def refusal(self, launch: Launch) -> RunRecord | None:
        """Nothing is refused."""

    def selected(self, row: Row, record: RunRecord) -> None:
        """Nothing is given back."""

    def ended(self, row: Row, record: RunRecord) -> None:
        """Nothing is given back."""

    def sweep(self, waiting: Collection[str]) -> None:
        """Nothing is left behind."""
