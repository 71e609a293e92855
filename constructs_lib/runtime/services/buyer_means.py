"""What the services that buy and watch plans work with."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from constructs_lib.runtime.adapters.notices import Notices
    from constructs_lib.runtime.adapters.stacks import Stacks
    from constructs_lib.runtime.adapters.training_plans import TrainingPlans
    from constructs_lib.runtime.ports import Clock, Writer
    from constructs_lib.runtime.purchase_table import PurchaseTable
    from constructs_lib.runtime.services.patience import Patience

__all__ = ["BuyerMeans"]


@dataclass(frozen=True, slots=True)
class BuyerMeans:
    """The records, the plans, the stacks, who is told, time, and where the log goes."""

    table: PurchaseTable
    plans: TrainingPlans
    stacks: Stacks
    notices: Notices
    patience: Patience
    clock: Clock
    write: Writer

    def now(self) -> datetime:
        """Return the present, in UTC."""
        return datetime.fromtimestamp(self.clock.time(), UTC)
