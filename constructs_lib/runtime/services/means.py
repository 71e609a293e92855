"""What every service works with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from constructs_lib.runtime.adapters.executions import Executions
    from constructs_lib.runtime.adapters.training_jobs import TrainingJobs
    from constructs_lib.runtime.ports import Clock, Writer
    from constructs_lib.runtime.run_table import RunTable
    from constructs_lib.runtime.services.patience import Patience

__all__ = ["Means"]


@dataclass(frozen=True, slots=True)
class Means:
    """The rows, the jobs, the executions, time, and where the log goes."""

    table: RunTable
    jobs: TrainingJobs
    executions: Executions
    patience: Patience
    clock: Clock
    write: Writer
