"""What only a person can say of a purchase: that it is approved, or that nothing was bought."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from constructs_lib.model import InvalidInputError
from constructs_lib.model.window import moment_text
from constructs_lib.runtime.purchase_record import Approval

if TYPE_CHECKING:
    from constructs_lib.model import PriceCeiling
    from constructs_lib.runtime.ports import Clock
    from constructs_lib.runtime.purchase_record import Record
    from constructs_lib.runtime.purchase_table import PurchaseTable
    from constructs_lib.runtime.services.patience import Patience

__all__ = ["Resolving", "purchase_options", "resolve_command"]


def purchase_options(label: str) -> str:
    """Return how ``gpucap`` is told which purchase of a plan is meant.

    Examples
    --------
    >>> purchase_options("1"), purchase_options("2+2027-02-12")
    ('', ' --generation 2 --extend-until 2027-02-12')
    """
    generation, _, day = label.partition("+")
    return (f" --generation {generation}" if generation != "1" else "") + (f" --extend-until {day}" if day else "")


def resolve_command(identity: str, label: str) -> str:
    """Return what a person runs who found that nothing was bought."""
    return f"gpucap resolve {identity}{purchase_options(label)} --nothing-was-bought"


@dataclass(frozen=True, slots=True)
class Resolving:
    """Writes what people say into the record, under their own permissions."""

    table: PurchaseTable
    patience: Patience
    clock: Clock

    def approve(self, identity: str, label: str, ceiling: PriceCeiling, *, seconds: float, by: str = "") -> Approval:
        """Approve one purchase.

        Parameters
        ----------
        identity, label : str
            The declared ``training_plan_name``, and what is approved of it (`constructs_lib.model.purchase_label`).
        ceiling : PriceCeiling
            The most it may cost.
        seconds : float
            How long the approval holds.
        by : str
            Who approves.

        Raises
        ------
        InvalidInputError
            If it is bought already.
        """
        now = self.clock.time()
        approval = Approval(ceiling.amount, ceiling.currency, now + seconds, now, by)

        def approved(record: Record) -> Record:
            purchase = record.purchases.get(label)
            if purchase is not None and purchase.bought:
                raise InvalidInputError(f"{identity}#{label} is bought already: nothing is left to approve")
            return replace(record, approvals={**record.approvals, label: approval})

        try:
            self.table.change(identity, approved)
        except ClientError as error:
            if error.response["Error"]["Code"] != "ResourceNotFoundException":
                raise
            self.table.ensure()  # nothing was ever bought here
            self.table.change(identity, approved)
        return approval

    def nothing_was_bought(self, identity: str, label: str) -> None:
        """Take back a claim whose outcome is open, after a person looked into CloudTrail and the console.

        Raises
        ------
        InvalidInputError
            If no outcome is open, or a call may still be under way.
        """

        def resolved(record: Record) -> Record:
            purchase = record.purchases.get(label)
            if purchase is None or purchase.bought:
                state = "is bought" if purchase else "was never begun"
                known = ", ".join(key for key, row in record.purchases.items() if not row.bought) or "none"
                raise InvalidInputError(f"{identity}#{label} {state}: there is nothing to resolve; open are: {known}")
            if not self.patience.over(purchase):
                wait = moment_text(datetime.fromtimestamp(purchase.tried + self.patience.bound + 1, UTC))
                raise InvalidInputError(
                    f"{identity}#{label}: a purchase call may still be under way; look, and resolve, after {wait}"
                )
            return record.released(label, purchase.attempt)

        self.table.change(identity, resolved)
