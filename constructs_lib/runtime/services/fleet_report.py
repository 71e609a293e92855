"""The one answer of a fleet: how many of its jobs ended how, and which failed first."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from constructs_lib.model import RunEnd
from constructs_lib.model.fleets import JOBS_FAILED, REPORT_TRIES
from constructs_lib.runtime.errors import ReportIncompleteError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from constructs_lib.runtime.fleet_table import FleetTable, Mark
    from constructs_lib.runtime.ports import Writer

__all__ = ["FleetReport"]

_SHOWN = 20
_COMPLETED = str(RunEnd.COMPLETED)


@dataclass(frozen=True, slots=True)
class FleetReport:
    """Counts the marks of a fleet's items."""

    table: FleetTable
    write: Writer

    def report(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Return what became of the jobs of one version of a fleet's file.

        Parameters
        ----------
        asked : Mapping
            What the state says: ``job`` (the fleet), ``run``, ``file``, ``jobs`` (how many), ``tolerated``, ``map``
            (the error that ended the Map, if one did) and ``try``.

        Raises
        ------
        ReportIncompleteError
            While the index may not show all ends yet.
        """
        marks = [mark for mark in self.table.marks(asked["job"]) if mark.file == asked["file"]]
        answer = _answer(asked, marks)
        open_ends = answer["jobs"] - sum(answer["ends"].values())
        if open_ends and not answer.get("stopped") and asked["try"] < REPORT_TRIES:
            raise ReportIncompleteError(f"the ends of {open_ends} of {answer['jobs']} jobs are not to be seen yet")
        self.write(json.dumps({"fleet": asked["job"], "run": asked["run"], **answer}, separators=(",", ":")))
        return answer


def _answer(asked: Mapping[str, Any], marks: Sequence[Mark]) -> dict[str, Any]:
    ended = sorted((mark for mark in marks if mark.end), key=lambda mark: mark.ended)
    completed = [mark for mark in ended if mark.end == _COMPLETED]
    failed = [mark for mark in ended if mark.end != _COMPLETED]
    jobs = int(asked["jobs"])
    stopped = str(asked.get("map", {}).get("Error", ""))
    fine = jobs - len(completed) <= asked["tolerated"] and not stopped
    answer: dict[str, Any] = {
        "status": _COMPLETED if fine else JOBS_FAILED,
        "jobs": jobs,
        "completed": len(completed),
        "completed_before": sum(mark.run != asked["run"] for mark in completed),
        "ends": dict(Counter(str(mark.end) for mark in ended).most_common()),
        "running": sum(mark.holder is not None for mark in marks),
        "not_started": max(0, jobs - len(marks)),
        "failed_first": [_line(mark) for mark in failed[:_SHOWN]],
    }
    return answer | ({"stopped": stopped} if stopped else {})


def _line(mark: Mark) -> dict[str, Any]:
    return {"name": mark.item, "end": mark.end, "job_name": mark.job, "cause": mark.cause}
