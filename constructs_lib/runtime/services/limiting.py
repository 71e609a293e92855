"""The limits of a launch, held against what its job does."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

if TYPE_CHECKING:
    from constructs_lib.model import RunEnd
    from constructs_lib.model.job_kinds import ResourceEntry
    from constructs_lib.runtime.adapters.jobs import Job
    from constructs_lib.runtime.run_table import Row
    from constructs_lib.runtime.services.means import Means
    from constructs_lib.runtime.terms import Terms

__all__ = ["Limiting", "hourly"]


@dataclass(frozen=True, slots=True)
class Limiting:
    """Says which limit a job has passed."""

    means: Means

    def passed(self, row: Row, job: Job) -> RunEnd | None:
        """Return the limit that stops the job of an open row now, or ``None``."""
        bounds, created = row.terms.bounds, job.described.created
        if not bounds.to_dict() or created is None:
            return None
        now = self.means.clock.time()
        waited_for = bounds.start_by is not None or bounds.max_pending is not None or bounds.budget is not None
        try:
            started = self.means.jobs.started(job) if waited_for else None
        except (BotoCoreError, ClientError):
            # Nobody can say whether it waits: what may run is not stopped for having waited. Other limits still hold.
            started = created.timestamp()
        selected = job.described.has_instances
        return bounds.passed(now, created=created.timestamp(), started=started, rate=_rate(row, job), selected=selected)


def _rate(row: Row, job: Job) -> Decimal | None:
    """Return what an hour of the whole job costs, at most; a tuning job may run all it is allowed to at once."""
    seen = job.described
    if seen.kind_name == "tuning":
        parallel: int = seen.answer["HyperParameterTuningJobConfig"]["ResourceLimits"]["MaxParallelTrainingJobs"]
        rates = [hourly(entry, row.terms, row.free) for entry in seen.entries]
        return max((rate for rate in rates if rate is not None), default=Decimal(0)) * parallel
    return hourly(seen.winner, row.terms, row.free) if seen.winner else None


def hourly(entry: ResourceEntry, terms: Terms, free: frozenset[str]) -> Decimal | None:
    """Return what an hour of an entry's instances costs, or ``None`` if nobody said the price."""
    if entry.instance_type in free:
        return Decimal(0)
    rate = terms.prices.rate(entry.instance_type) if terms.prices else None
    return None if rate is None else rate * entry.instance_count
