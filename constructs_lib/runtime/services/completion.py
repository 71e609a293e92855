"""The end of a run: describe, record, answer the task, close the row, count it once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from constructs_lib.model import FailureClass, RunEnd, RunRecord
from constructs_lib.runtime.telemetry import run_line

if TYPE_CHECKING:
    from constructs_lib.runtime.adapters.training_jobs import Job
    from constructs_lib.runtime.run_table import Row
    from constructs_lib.runtime.services.means import Means

__all__ = ["Completion", "taken_by_another"]


@dataclass(frozen=True, slots=True)
class Completion:
    """Ends runs, however often and in whatever order it hears of them."""

    means: Means

    def heard_of(self, name: str) -> None:
        """Look at a job because of an event, which is only a hint: the row and Describe say what is true."""
        row = self.means.table.get(name)
        if row is None or not row.open:
            return
        job = self.means.jobs.find(name)
        if job is not None and job.terminal:
            self.finish(row, job)

    def owner(self, row: Row, job: Job) -> bool | None:
        """Tell whether a job is the row's own; ``None`` while its tags may not be visible yet."""
        owned = row.identity.owns(self.means.jobs.tags(job))
        return False if owned is None and self.means.patience.over(row) else owned

    def finish(self, row: Row, job: Job) -> None:
        """Answer and close the row of a job that is terminal, or that turns out to be somebody else's."""
        owned = self.owner(row, job)
        if owned is None:
            return
        current: Row | None = row
        while current is not None and current.open:
            record = (
                job.record(reasons=current.reasons, stopped_for=current.limit)
                if owned
                else taken_by_another(current.name)
            )
            if self.answer(current, record):
                return
            # A later try has written its own token meanwhile, and waits for the same end.
            current = self.means.table.get(row.name)

    def answer(self, row: Row, record: RunRecord) -> bool:
        """Answer the row's token, then close the row with the record.

        Returns
        -------
        bool
            Whether this call closed the row. In this order, because a row that is still open is answered again.
        """
        if row.token is None:
            return False
        self.means.executions.answer(row.token, record.to_dict())
        if not self.means.table.close(row, record):
            return False
        self.means.write(run_line(row, record, self.means.clock.time()))
        return True


def taken_by_another(name: str) -> RunRecord:
    """Return the record of a launch whose job name somebody else's job has."""
    cause = (
        f"a job named {name} exists already and its tags do not name this launch, so it is neither adopted nor "
        "stopped; find out who made it, and launch again"
    )
    return RunRecord.not_created(name, RunEnd.INVALID_REQUEST, cause, failure=FailureClass.CONFIG)
