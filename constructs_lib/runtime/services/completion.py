"""The end of a run: describe, record, answer the task, close the row, count it once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from constructs_lib.model import FailureClass, RunEnd, RunRecord
from constructs_lib.runtime.telemetry import run_line

if TYPE_CHECKING:
    from constructs_lib.runtime.adapters.jobs import Job
    from constructs_lib.runtime.run_table import Row
    from constructs_lib.runtime.services.means import Means

__all__ = ["Completion", "record_of", "taken_by_another"]


@dataclass(frozen=True, slots=True)
class Completion:
    """Ends runs, however often and in whatever order it hears of them."""

    means: Means

    def heard_of(self, name: str) -> None:
        """Look at a job because of an event, which is only a hint: the row and Describe say what is true."""
        row = self.means.table.get(name)
        if row is None or not row.open:
            return
        job = self.means.jobs.find(row.identity.kind, name)
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
            record = record_of(current, job) if owned else taken_by_another(current)
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
        record = _complete(row, record)
        following = row.terms.following(record)
        self.means.gate.ended(row, record)
        self.means.executions.answer(row.token, record.to_dict(), following)
        if not self.means.table.close(row, record):
            return False
        self.means.write(run_line(row, record, self.means.clock.time(), goes_on=following is not None))
        return True


def record_of(row: Row, job: Job) -> RunRecord:
    """Return what there is to say of a row's job."""
    return job.record(reasons=row.reasons, stopped_for=row.limit, cut_for=row.cut_for, declared=row.declared)


def _complete(row: Row, record: RunRecord) -> RunRecord:
    """Return a record with what only the row knows: its price, its place in the strategy, what was not checked."""
    if row.terms.prices is not None and record.status != "NotCreated":
        record = record.priced(row.terms.prices, free=row.free)
    return replace(row.terms.complete(record), unverified=row.unverified)


def taken_by_another(row: Row) -> RunRecord:
    """Return the record of a launch whose job name somebody else's job has."""
    cause = (
        f"a job named {row.name} exists already and its tags do not name this launch, so it is neither adopted nor "
        "stopped; find out who made it, and launch again"
    )
    return RunRecord.not_created(
        row.name, RunEnd.INVALID_REQUEST, cause, failure=FailureClass.CONFIG, kind=row.identity.kind
    )
