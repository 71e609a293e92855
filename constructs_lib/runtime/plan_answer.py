"""What CloudFormation is told of a plan: every attribute, in every state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from constructs_lib.model import Offering
from constructs_lib.model.window import moment_text

if TYPE_CHECKING:
    from constructs_lib.runtime.plan_request import PlanRequest

__all__ = ["ATTRIBUTES", "PlanAnswer", "offering_terms"]

ATTRIBUTES = (
    "TrainingPlanArn",
    "TrainingPlanName",
    "Status",
    "StartTime",
    "EndTime",
    "AvailabilityZones",
    "UpfrontFee",
    "CurrencyCode",
    "InstanceType",
    "InstanceCount",
    "Quote",
    "QuotedFee",
    "QuotedStartTime",
    "QuotedEndTime",
)
_BOUGHT = {
    "StartTime": "start",
    "EndTime": "end",
    "AvailabilityZones": "zones",
    "UpfrontFee": "fee",
    "CurrencyCode": "currency",
    "InstanceType": "type",
    "InstanceCount": "count",
}


@dataclass(frozen=True, slots=True)
class PlanAnswer:
    """A success: the plan's status and what is known of it.

    Parameters
    ----------
    status : str
        Quote, AwaitingApproval, Unconfirmed, Pending, Scheduled, Active, Expired or Failed.
    words : str
        One line for people.
    terms : Mapping
        What was bought.
    quoted : Offering or None
        What would be bought.
    """

    status: str
    words: str = ""
    terms: Mapping[str, Any] = field(default_factory=dict)
    quoted: Offering | None = None

    def attributes(self, ask: PlanRequest) -> dict[str, str]:
        """Return every attribute; what is not known is "", so that GetAtt never fails."""
        known: dict[str, Any] = {
            "TrainingPlanArn": ask.arn,
            "TrainingPlanName": ask.plan.name,
            "Status": self.status,
            "CurrencyCode": ask.ceiling.currency,
            "InstanceType": ask.wanted.instance_type,
            "InstanceCount": ask.wanted.instance_count,
            "Quote": self.words,
            **{name: self.terms[term] for name, term in _BOUGHT.items() if term in self.terms},
        }
        if self.quoted is not None:
            known |= {
                "QuotedFee": f"{self.quoted.fee.amount:f}",
                "QuotedStartTime": moment_text(self.quoted.start),
                "QuotedEndTime": moment_text(self.quoted.end),
            }
        return {name: str(known.get(name, "")) for name in ATTRIBUTES}


def offering_terms(offering: Offering, target: str) -> dict[str, Any]:
    """Return what an offering sells, as it is remembered."""
    part = offering.segments[0]
    return {
        "offering": offering.id,
        "fee": f"{offering.fee.amount:f}",
        "currency": offering.fee.currency,
        "type": part.instance_type,
        "count": part.instance_count,
        "target": target,
        "zones": ",".join(offering.zones),
        "hours": float(offering.hours),
        "start": moment_text(offering.start),
        "end": moment_text(offering.end),
    }
