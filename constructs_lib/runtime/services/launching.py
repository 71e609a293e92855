"""Launching a job, and stopping it at a limit: the steps of the protocol, in its order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from constructs_lib.model import FailureClass, RunEnd, RunRecord, end_of
from constructs_lib.runtime.errors import CallRefusedError, CallThrottledError, JobExistsError, LaunchUnclear
from constructs_lib.runtime.services.completion import taken_by_another

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from constructs_lib.runtime.launch import Launch
    from constructs_lib.runtime.run_table import Row, Taken
    from constructs_lib.runtime.services.completion import Completion
    from constructs_lib.runtime.services.means import Means
    from constructs_lib.runtime.services.preparing import Preparing
    from constructs_lib.runtime.services.sweeping import Sweeping

__all__ = ["Launching"]


@dataclass(frozen=True, slots=True)
class Launching:
    """Creates the one job of one step of one entry of a state, or finds the one that an earlier try created."""

    means: Means
    completion: Completion
    sweeping: Sweeping
    preparing: Preparing

    def launch(self, launch: Launch) -> str:
        """Launch, or adopt; the job's end answers the task later.

        Returns
        -------
        str
            What was done, for the log.

        Raises
        ------
        LaunchUnclear, CallThrottledError
            The same launch has to be repeated.
        ServiceModelError
            Before anything was written or created.
        """
        self.means.jobs.check_model()
        if settled := self.means.gate.before(launch):
            return settled
        if launch.anew is not None:
            self.means.executions.go_on(launch.token, launch.anew)
            return "sent back to the first step"
        self._end_what_was_redriven(launch)
        taken = self.means.table.take(launch, self._began(launch))
        if taken is None:
            return self._lost(launch)
        # After an earlier try the job may be there: look first, and repeat the create only under the same name.
        if taken.alone or self.means.jobs.find(launch.kind.name, launch.name) is None:
            return self._begin(launch, taken)
        return self._settled(taken, self._adopt(taken.row))

    def _began(self, launch: Launch) -> float | None:
        """Return when the run began, where its limits count from then; a redriven one begins with its first row."""
        if not launch.wish.limits.relative:
            return None
        if launch.wish.began is not None and not launch.identity.redrive:
            return launch.wish.began
        first = self.means.table.get(launch.identity.first.name)
        return first.created if first is not None else None

    def _begin(self, launch: Launch, taken: Taken) -> str:
        """Create the job, if nothing speaks against it."""
        if waits := self.means.gate.enter(launch, taken):
            return waits
        if refusal := self._reason_against(launch):
            return self._refuse(taken, refusal)
        prepared = self.preparing.prepare(launch, taken.row)
        if isinstance(prepared, RunRecord):
            return self._refuse(taken, prepared)
        taken = taken.of(self.means.table.prepare(taken.row, prepared))
        return self._settled(taken, self._create(launch, taken, prepared.request))

    def _settled(self, taken: Taken, refusal: RunRecord | None) -> str:
        return self._stop_if_ended(taken.row) if refusal is None else self._refuse(taken, refusal)

    def _end_what_was_redriven(self, launch: Launch) -> None:
        """Stop the jobs of this entry from before a redrive; two jobs of one launch never run at once."""
        if not launch.identity.redrive:
            return
        left = [
            row for row in self.means.table.rows_of(launch.identity.execution) if launch.identity.follows(row.identity)
        ]
        for row in left:
            self.sweeping.check(row)
        if left:
            names = ", ".join(row.name for row in left)
            raise LaunchUnclear(f"{names}, from before the redrive, has not ended: the same launch is repeated")

    def stop(self, launch: Launch) -> str:
        """Stop the job of a launch whose limit fired; its end answers the new task later."""
        taken = self.means.table.take(launch)
        if taken is None:
            return self._lost(launch)
        if taken.alone and launch.limit is not None:
            words = "no job had been created"
            return self._refuse(taken, self._not_created(launch, launch.limit, words))
        self.sweeping.check(taken.row)
        return "stopping"

    def _lost(self, launch: Launch) -> str:
        """Leave, because the row is a later try's, or give the answer that the row holds already."""
        row = self.means.table.get(launch.name)
        if row is None:
            raise LaunchUnclear(f"the row of {launch.name} is gone: the same launch is repeated")
        if row.identity != launch.identity:
            return self._answer(launch, taken_by_another(row))
        if row.try_number > launch.try_number:
            return "late"
        if not row.open:
            record = row.terms.complete(RunRecord.from_dict(row.record))
            return self._answer(launch, record, row.terms.following(record))
        if row.try_number == launch.try_number:
            return self._answer(launch, _entered_twice(launch))
        raise LaunchUnclear(f"the row of {launch.name} changed while it was read: the same launch is repeated")

    def _answer(self, launch: Launch, record: RunRecord, following: Mapping[str, Any] | None = None) -> str:
        """Answer a try that has no row of its own."""
        self.means.executions.answer(launch.token, record.to_dict(), following)
        return "answered"

    def _reason_against(self, launch: Launch) -> RunRecord | None:
        """Return the record of a launch that must not create anything, or ``None``; asked after its row is written."""
        if refused := self.means.gate.refusal(launch):
            return refused
        if self.means.table.draining():
            return self._not_created(launch, RunEnd.STACK_DELETED, "the stack is being deleted")
        if self._is_over(launch):
            return self._not_created(launch, RunEnd.STOPPED, "the execution ended before the create")
        return None

    def _is_over(self, launch: Launch) -> bool:
        """Tell whether the execution ended or was redriven: a redriven launch saw the row, or this sees the redrive."""
        return not self.means.executions.runs(launch.identity)

    def _create(self, launch: Launch, taken: Taken, request: Mapping[str, Any]) -> RunRecord | None:
        """Create the job; return the record of a refusal, or ``None`` when there is a job that is ours."""
        try:
            self.means.jobs.create(launch.kind, launch.named(request))
        except JobExistsError:
            return self._adopt(taken.row)
        except CallThrottledError:
            if taken.alone:
                self.means.table.settle(taken.row)
            raise
        except CallRefusedError as refused:
            return self._not_created(launch, end_of(refused.failure), str(refused), refused.failure)
        return None

    def _adopt(self, row: Row) -> RunRecord | None:
        """Make an existing job this launch's, if its tags say so; one that ended already is answered at once."""
        for _ in self.means.patience.looks():
            job = self.means.jobs.find(row.identity.kind, row.name)
            if job is None or (owned := row.identity.owns(self.means.jobs.tags(job))) is None:
                continue
            if not owned:
                return taken_by_another(row)
            if job.terminal:
                self.completion.finish(row, job)
            return None
        raise LaunchUnclear(f"a job named {row.name} exists but its tags cannot be seen: the same launch is repeated")

    def _refuse(self, taken: Taken, record: RunRecord) -> str:
        if taken.alone:
            self.completion.answer(taken.row, record)
            return "refused"
        # An earlier create call of the same name may still be under way: the sweep answers once none can arrive.
        self.means.table.refuse_later(taken.row, record)
        return "refused later"

    def _stop_if_ended(self, row: Row) -> str:
        """Stop the job of an execution that ended meanwhile; the row stays open until the job is terminal."""
        if self.means.executions.runs(row.identity):
            return "launched"
        self.means.jobs.stop(row.identity.kind, row.name)
        return "launched and stopped"

    @staticmethod
    def _not_created(launch: Launch, end: RunEnd, words: str, failure: FailureClass | None = None) -> RunRecord:
        return RunRecord.not_created(launch.name, end, words, failure=failure, kind=launch.kind.name)


def _entered_twice(launch: Launch) -> RunRecord:
    cause = (
        f"the state {launch.identity.state!r} was entered twice at once in this execution and nothing tells the "
        "entries apart; give as_step an item that does, such as the Map's index"
    )
    return RunRecord.not_created(
        launch.name, RunEnd.INVALID_REQUEST, cause, failure=FailureClass.CONFIG, kind=launch.kind.name
    )
