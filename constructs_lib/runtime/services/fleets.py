"""A fleet's items: started once and not again when they completed, and never more at once than a type allows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from constructs_lib.model import RunEnd, RunRecord
from constructs_lib.model.ends import FailureClass
from constructs_lib.model.fleets import WAITING
from constructs_lib.runtime.fleet_entry import item_of, may_give_back

if TYPE_CHECKING:
    from collections.abc import Collection

    from constructs_lib.runtime.adapters.executions import Executions
    from constructs_lib.runtime.adapters.jobs import Jobs
    from constructs_lib.runtime.fleet_entry import FleetEntry
    from constructs_lib.runtime.fleet_table import FleetTable, Mark
    from constructs_lib.runtime.launch import Launch
    from constructs_lib.runtime.run_table import Row, RunTable, Taken

__all__ = ["Fleets"]

_KIND = "training"


@dataclass(frozen=True, slots=True)
class Fleets:
    """Slots and marks around a launch; each write may be the last one of a function that dies.

    The row of a job is written first and closed last. Whoever holds a slot or an item therefore has a row, and one
    whose row is closed holds nothing any more, whatever the table still says: see `sweep` and `_is_over`.
    """

    table: FleetTable
    rows: RunTable
    executions: Executions
    jobs: Jobs

    def before(self, launch: Launch) -> str | None:
        """Settle what needs no job, before anything is written for it.

        Returns
        -------
        str or None
            What was done, for the log; ``None`` when the launch goes on.
        """
        if (fleet := launch.fleet) is None:
            return None
        mark = self.table.mark(launch.fleet_name, fleet.item.name)
        if mark is not None and mark.done == fleet.digest:
            self.table.seen(launch.fleet_name, mark, fleet.file)
            return self._answer_done(launch, mark)
        if mark is not None and mark.holder not in (None, launch.name) and not self._is_over(mark.holder):
            return self._wait(launch, f"another execution runs the item {fleet.item.name} as {mark.holder}")
        if fleet.limits and (full := self.table.slots(launch.fleet_name).full(launch.name, fleet.limits)):
            return self._wait(launch, _no_slot(fleet, full))
        return None

    def enter(self, launch: Launch, taken: Taken) -> str | None:
        """Take the item and its slots, after the row was written and before anything is created.

        Returns
        -------
        str or None
            What was done instead of launching, for the log; ``None`` when item and slots are the job's.
        """
        if (fleet := launch.fleet) is None:
            return None
        waits = None if self._claim(launch, fleet) else f"another execution took the item {fleet.item.name}"
        if waits is None and fleet.limits:
            free = self.table.take_slots(launch.fleet_name, launch.name, fleet.limits)
            waits = None if free else _no_slot(fleet, list(fleet.limits))
        if waits is None:
            return None
        if taken.alone:
            self.rows.settle(taken.row)
        return self._wait(launch, waits)

    def refusal(self, launch: Launch) -> RunRecord | None:
        """Return the record of an item that was refused when the fleet was declared, or ``None``."""
        if launch.fleet is None or not (words := launch.fleet.item.refused):
            return None
        return RunRecord.not_created(launch.name, RunEnd.INVALID_REQUEST, words, failure=FailureClass.CONFIG)

    def ended(self, row: Row, record: RunRecord) -> None:
        """Give slots back and note the end, before the job's task is answered; a second time changes nothing."""
        if (found := item_of(row.identity)) is None:
            return
        name, digest = found
        fleet = row.identity.machine
        self._free(fleet, row.name)
        self.table.end(fleet, name, job=row.name, digest=digest, record=record)

    def selected(self, row: Row, record: RunRecord) -> None:
        """Give back the slots of the types that a job did not take."""
        if record.instance_type and may_give_back(row.identity):
            self._free(row.identity.machine, row.name, keep=record.instance_type)

    def sweep(self, waiting: Collection[str]) -> None:
        """Take their slots from jobs that are over.

        Parameters
        ----------
        waiting : collection of str
            Jobs whose rows were just seen open, which need no second look.
        """
        for slots in self.table.all_slots():
            for job in frozenset().union(*slots.holders.values()) - frozenset(waiting):
                if self._is_over(job):
                    self._free(slots.fleet, job)

    def _claim(self, launch: Launch, fleet: FleetEntry) -> bool:
        name, item = launch.fleet_name, fleet.item.name
        mine = {"job": launch.name, "digest": fleet.digest, "file": fleet.file, "run": fleet.run}
        if self.table.claim(name, item, **mine):
            return True
        mark = self.table.mark(name, item)
        holder = mark.holder if mark is not None else None
        return holder is not None and self._is_over(holder) and self.table.claim(name, item, **mine, over=holder)

    def _is_over(self, name: str) -> bool:
        row = self.rows.get(name)
        if row is not None:
            return not row.open
        # Somebody removed the row.
        job = self.jobs.find(_KIND, name)
        return job is None or job.terminal

    def _free(self, fleet: str, job: str, keep: str = "") -> None:
        held = self.table.slots(fleet).types_of(job)
        if given_back := [kind for kind in held if kind != keep]:
            self.table.free_slots(fleet, job, given_back)

    def _answer_done(self, launch: Launch, mark: Mark) -> str:
        record = RunRecord(job_name=mark.job or "", status="Completed", end=RunEnd.COMPLETED)
        self.executions.answer(launch.token, record.to_dict())
        return "done already"

    def _wait(self, launch: Launch, why: str) -> str:
        self.executions.fail(launch.token, WAITING, why)
        return "waits"


def _no_slot(fleet: FleetEntry, full: list[str]) -> str:
    limits = ", ".join(f"{kind} {fleet.limits[kind]}" for kind in full)
    return f"as many jobs run as the fleet allows at once: {limits}"
