"""The sweep over rows that wait: alone it is enough to end every run, events only make it prompt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from constructs_lib.model import FailureClass, RunEnd, RunRecord
from constructs_lib.runtime.errors import SweepError
from constructs_lib.runtime.services.completion import record_of
from constructs_lib.runtime.services.limiting import Limiting

if TYPE_CHECKING:
    from collections.abc import Iterable

    from constructs_lib.runtime.adapters.jobs import Job
    from constructs_lib.runtime.run_table import Row
    from constructs_lib.runtime.services.completion import Completion
    from constructs_lib.runtime.services.means import Means

__all__ = ["Sweeping"]


@dataclass(frozen=True, slots=True)
class Sweeping:
    """Looks at rows that wait and does what each needs, for at most ``budget`` seconds."""

    means: Means
    completion: Completion
    budget: float

    def sweep(self) -> int:
        """Look at every row that waits, as far as time allows; what is left comes first the next time.

        Returns
        -------
        int
            How many rows were looked at.

        Raises
        ------
        SweepError
            After all rows were looked at, if some could not be.
        """
        rows = self.means.table.open_rows()
        looked = self.look_at(rows)
        self.means.gate.sweep([row.name for row in rows])
        return looked

    def execution_ended(self, execution: str) -> int:
        """Look at the rows of one execution at once: a state that waits for a task token gets no call when it ends."""
        return self.look_at(self.means.table.rows_of(execution))

    def look_at(self, rows: Iterable[Row]) -> int:
        """Look at some rows; one that fails does not keep the others waiting."""
        until = self.means.clock.time() + self.budget
        looked, failures = 0, []
        for row in rows:
            if self.means.clock.time() > until:
                break
            looked += 1
            try:
                self.check(row)
            except (BotoCoreError, ClientError) as error:
                failures.append(f"{row.name}: {error}")
        if failures:
            raise SweepError(f"{len(failures)} of {looked} rows could not be looked at: {'; '.join(failures)}")
        return looked

    def check(self, row: Row) -> None:
        """Do what one row that waits needs: end it, stop its job, or leave it."""
        job = self.means.jobs.find(row.identity.kind, row.name)
        if job is None:
            self._without_job(row)
        elif job.terminal:
            self.completion.finish(row, job)
        elif row.limit is not None or not self.means.executions.runs(row.identity):
            self._stop(row, job)
        elif passed := Limiting(self.means).passed(row, job):
            # Before the call: who dies after it must not leave a stopped job whose reason nobody knows.
            self.means.table.limit(row, passed)
            self._stop(row, job)
        else:
            self._note(row, job)

    def _stop(self, row: Row, job: Job) -> None:
        """Stop the row's job and keep the row until the job is terminal; what may be somebody else's is not touched."""
        owned = self.completion.owner(row, job)
        if owned is False:
            self.completion.finish(row, job)
        elif owned:
            if job.runs:
                self.means.jobs.stop(row.identity.kind, row.name)
            self._note(row, job)

    def _note(self, row: Row, job: Job) -> None:
        """Note what is known of a job that has not ended."""
        record = record_of(row, job)
        self.means.gate.selected(row, record)
        self.means.table.note(row, record)

    def _without_job(self, row: Row) -> None:
        """Close a row that has no job, but only once no create call can arrive any more."""
        if not self.means.patience.over(row):
            return
        if "status" in row.record:
            gone = "the job was there and is gone: somebody deleted it before its end was seen"
            end = {"end": RunEnd.UNKNOWN, "failure": FailureClass.UNKNOWN, "cause": gone}
            self.completion.answer(row, RunRecord.from_dict({**row.record, **end}))
        elif row.refused is not None:
            self.completion.answer(row, RunRecord.from_dict(row.refused))
        elif row.limit is not None:
            self._close(row, row.limit, "it was stopped before a job was created")
        elif not self.means.executions.runs(row.identity):
            self._close(row, RunEnd.STOPPED, "the execution ended before a job was created")
        elif row.token is not None:
            words = f"no job named {row.name} ever came; the launch is repeated under the same name"
            self.means.executions.fail(row.token, RunEnd.LAUNCHER_FAILED, words)

    def _close(self, row: Row, end: RunEnd, cause: str) -> None:
        self.completion.answer(row, RunRecord.not_created(row.name, end, cause, kind=row.identity.kind))
