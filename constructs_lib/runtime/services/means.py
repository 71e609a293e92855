"""What every service works with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from constructs_lib.runtime.adapters.executions import Executions
    from constructs_lib.runtime.adapters.jobs import Jobs
    from constructs_lib.runtime.ports import Clock, Writer
    from constructs_lib.runtime.run_table import RunTable
    from constructs_lib.runtime.services.gates import Gate
    from constructs_lib.runtime.services.patience import Patience

__all__ = ["Means"]


@dataclass(frozen=True, slots=True)
class Means:
    """The rows, the jobs, the executions, the gate, time, and where the log goes."""

    table: RunTable
    jobs: Jobs
    executions: Executions
    gate: Gate
    patience: Patience
    clock: Clock
    write: Writer
