"""What a reader brings back: subjects for the rules, and what it could not read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from constructs_lib.rules.subjects import Subject

__all__ = ["Reading", "Unreadable"]


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file, or a definition inside one, that could not be read."""

    file: str
    reason: str
    line: int | None = None


@dataclass(slots=True)
class Reading:
    """Subjects and what was unreadable, in the order of the input."""

    subjects: list[Subject] = field(default_factory=list)
    unreadable: list[Unreadable] = field(default_factory=list)

    def add(self, other: Reading) -> None:
        """Append what another reader brought."""
        self.subjects += other.subjects
        self.unreadable += other.unreadable
