"""Draining a stack that is being deleted: no new job, stop what runs, and wait, since the sweep goes with the stack."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from constructs_lib.model import RunEnd

if TYPE_CHECKING:
    from constructs_lib.runtime.run_table import Row
    from constructs_lib.runtime.services.means import Means
    from constructs_lib.runtime.services.sweeping import Sweeping

__all__ = ["Draining"]

_FIRST_PAUSE = 2.0
_LONGEST_PAUSE = 30.0


@dataclass(frozen=True, slots=True)
class Draining:
    """Ends every job of a stack, and waits for the ends for at most ``budget`` seconds."""

    means: Means
    sweeping: Sweeping
    budget: float

    def allow(self) -> None:
        """Let jobs be launched, as a stack that is created or updated wants."""
        self.means.table.clear_draining()

    def drain(self) -> list[str]:
        """Stop every job and wait for the ends.

        Returns
        -------
        list of str
            What has not ended in time, each with what is known of it; empty when the stack may go.
        """
        until = self.means.clock.time() + self.budget
        # The launcher writes its row and then reads the mark; the mark is set here before the rows are read: one of
        # the two sees the other.
        self.means.table.mark_draining()
        pause = _FIRST_PAUSE
        while rows := self.means.table.all_open_rows():
            left = [self._end(row) for row in rows]
            if self.means.clock.time() + pause > until:
                return left
            self.means.clock.sleep(pause)
            pause = min(pause * 1.5, _LONGEST_PAUSE)
        return []

    def _end(self, row: Row) -> str:
        """Do what brings a row nearer to its end, and say what is known of it."""
        try:
            self.means.table.limit(row, RunEnd.STACK_DELETED)
            self.sweeping.check(replace(row, limit=row.limit or RunEnd.STACK_DELETED))
        except (BotoCoreError, ClientError) as error:
            return f"{row.name} ({error})"
        return f"{row.name} ({row.record.get('status', 'not seen yet')})"
