"""The reserved time that a run was started for: how long its job may run, and what the container hears of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from constructs_lib.model import InvalidInputError
from constructs_lib.model.window import moment_text, zoned

__all__ = ["USABLE_UNTIL", "RunWindow"]

USABLE_UNTIL = "GPUCAP_CAPACITY_USABLE_UNTIL"
"""The container's variable: milliseconds since the epoch, as SageMaker writes the end of its own capacity blocks."""
_SHORTEST = 300


@dataclass(frozen=True, slots=True)
class RunWindow:
    """A plan and until when its capacity can be used."""

    plan: str
    usable_until: datetime

    @classmethod
    def of(cls, data: Any) -> RunWindow:
        """Read the ``window`` of an execution's input.

        Raises
        ------
        InvalidInputError
            If it is not what the start on a plan writes.
        """
        if not isinstance(data, dict) or not isinstance(data.get("plan"), str) or "usable_until" not in data:
            raise InvalidInputError(
                f"window: {data!r} was given; a plan's ARN and the end of its usable time are needed, such as "
                "{'plan': 'arn:...', 'usable_until': '2027-01-27T11:00:00Z'}"
            )
        return cls(data["plan"], zoned(data["usable_until"], "window.usable_until"))

    def to_input(self) -> dict[str, Any]:
        """Return what the input of an execution says."""
        return {"window": {"plan": self.plan, "usable_until": moment_text(self.usable_until)}}

    def seconds(self, now: float) -> int:
        """Return how long a job that starts now can run."""
        return int(self.usable_until.timestamp() - now)

    def refusal(self, now: float) -> str | None:
        """Return why nothing is started any more, or ``None``."""
        if (left := self.seconds(now)) >= _SHORTEST:
            return None
        return (
            f"{self.plan} can be used until {moment_text(self.usable_until)}, {max(0, left)} seconds from now: a job "
            f"needs at least {_SHORTEST}"
        )

    def environment(self) -> dict[str, str]:
        """Return what the container is told."""
        return {USABLE_UNTIL: str(int(self.usable_until.timestamp() * 1000))}
