"""Training plans, in the words of the protocol: found, bought, in use, refused, or unclear."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from constructs_lib.model import ExtensionOffering, FailureClass, InvalidInputError, Offering
from constructs_lib.model.purchase_tags import PURCHASE_TAGS
from constructs_lib.model.window import as_moment, moment_text
from constructs_lib.runtime.adapters.outcomes import Outcome, is_absent, outcome_of, words_of
from constructs_lib.runtime.errors import PurchaseRefusedError, PurchaseUnclearError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from constructs_lib.model import Requirement
    from constructs_lib.runtime.ports import PlansClient

__all__ = ["Extension", "Plan", "PlanExistsError", "TrainingPlans"]

_DENIED_ACTION = re.compile(r"perform: ([\w:-]+)")


class PlanExistsError(PurchaseUnclearError):
    """A plan of that name exists; whose it is has to be looked up."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan as DescribeTrainingPlan shows it."""

    described: Mapping[str, Any]

    @property
    def arn(self) -> str:
        """The plan's ARN."""
        return str(self.described["TrainingPlanArn"])

    @property
    def status(self) -> str:
        """Pending, Scheduled, Active, Expired or Failed."""
        return str(self.described.get("Status", ""))

    @property
    def message(self) -> str:
        """What AWS says of the status."""
        return str(self.described.get("StatusMessage", ""))

    @property
    def end(self) -> datetime | None:
        """When its last segment ends."""
        return as_moment(self.described["EndTime"]) if "EndTime" in self.described else None

    @property
    def terms(self) -> dict[str, Any]:
        """What was bought, as it is remembered."""
        described = self.described
        segments = described.get("ReservedCapacitySummaries", ())
        types = [segment["InstanceType"] for segment in segments if "InstanceType" in segment]
        zones = dict.fromkeys(segment["AvailabilityZone"] for segment in segments if "AvailabilityZone" in segment)
        known = {
            "fee": described.get("UpfrontFee"),
            "currency": described.get("CurrencyCode"),
            "type": types[0] if types else None,
            "count": described.get("TotalInstanceCount"),
            "target": next(iter(described.get("TargetResources", ())), None),
            "zones": ",".join(zones) or None,
            "hours": described.get("DurationHours", 0) + described.get("DurationMinutes", 0) / 60 or None,
            "start": moment_text(as_moment(described["StartTime"])) if "StartTime" in described else None,
            "end": moment_text(self.end) if self.end else None,
        }
        return {key: value for key, value in known.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Extension:
    """One row of a plan's extension history."""

    described: Mapping[str, Any]

    @property
    def end(self) -> datetime:
        """The end that was bought."""
        return as_moment(self.described["EndDate"])

    @property
    def failed(self) -> bool:
        """Whether it was not paid; the service model says only that both texts are texts."""
        said = (self.described.get("Status", ""), self.described.get("PaymentStatus", ""))
        return any("fail" in text.lower() for text in said)


class TrainingPlans:
    """The training plans of the account.

    Parameters
    ----------
    create : PlansClient
        Makes each call once; every purchase goes through it.
    client : PlansClient
        Makes the calls that may be repeated.
    require_model : callable
        Raises if the client's model is too old to send what we send.
    """

    def __init__(self, create: PlansClient, client: PlansClient, require_model: Callable[[Any], None]) -> None:
        self._create = create
        self._client = client
        self._require_model = require_model

    def check_model(self) -> None:
        """Refuse, before anything is bought, to work with a model that is too old."""
        self._require_model(self._create)

    def find(self, name: str) -> Plan | None:
        """Return the plan of that name, or ``None`` while there is none to be seen.

        Raises
        ------
        PurchaseUnclearError
            If the look-up itself failed, which is not the same as none.
        """
        try:
            return Plan(self._client.describe_training_plan(TrainingPlanName=name))
        except (BotoCoreError, ClientError) as error:
            if is_absent(error):
                return None
            raise PurchaseUnclearError(f"plan {name!r} could not be looked up ({words_of(error)})") from error

    def owner(self, plan: Plan) -> dict[str, str]:
        """Return the tags that say whose purchase a plan is; empty while none are to be seen.

        Raises
        ------
        PurchaseUnclearError
            If they cannot be read.
        """
        tags: dict[str, str] = {}
        start: dict[str, str] = {}
        while True:
            try:
                page = self._client.list_tags(ResourceArn=plan.arn, **start)
            except (BotoCoreError, ClientError) as error:
                if is_absent(error):
                    return {}
                raise PurchaseUnclearError(f"the tags of {plan.arn} could not be read ({words_of(error)})") from error
            tags |= {tag["Key"]: tag["Value"] for tag in page.get("Tags", ()) if tag["Key"] in PURCHASE_TAGS}
            if not (following := page.get("NextToken")):
                return tags
            start = {"NextToken": following}

    def tag(self, arn: str, tags: Mapping[str, str]) -> str | None:
        """Add tags; return why they could not be added, or ``None``."""
        try:
            self._client.add_tags(ResourceArn=arn, Tags=_pairs(tags))
        except (BotoCoreError, ClientError) as error:
            return f"the tags could not be added ({words_of(error)})"
        return None

    def search(self, wanted: Requirement) -> list[Offering]:
        """Return what is offered.

        Raises
        ------
        PurchaseRefusedError
            If the search is refused, or gives no answer: nothing was bought by it.
        """
        try:
            rows = self._client.search_training_plan_offerings(**wanted.to_search())["TrainingPlanOfferings"]
            return [Offering.of(row) for row in rows]
        except (BotoCoreError, ClientError) as error:
            raise PurchaseRefusedError(_refusal("SearchTrainingPlanOfferings", outcome_of(error))) from error
        except InvalidInputError as error:
            raise PurchaseRefusedError(f"an offering cannot be read, so none is bought: {error}") from error

    def buy(self, name: str, offering: str, tags: Mapping[str, str]) -> str:
        """Buy a plan, in one call.

        Returns
        -------
        str
            Its ARN.

        Raises
        ------
        PurchaseRefusedError
            If surely nothing was bought.
        PlanExistsError
            If the name is taken.
        PurchaseUnclearError
            If it is open whether something was bought.
        """
        try:
            answer = self._create.create_training_plan(
                TrainingPlanName=name, TrainingPlanOfferingId=offering, Tags=_pairs(tags)
            )
        except (BotoCoreError, ClientError) as error:
            outcome = outcome_of(error)
            if outcome.kind == "exists":
                raise PlanExistsError(f"a plan named {name!r} exists ({outcome.cause})") from error
            raise _meaning("CreateTrainingPlan", outcome) from error
        return str(answer["TrainingPlanArn"])

    def extensions_offered(self, arn: str, days: int) -> list[ExtensionOffering]:
        """Return what a plan can be extended by; errors are those of `search`."""
        try:
            answer = self._client.search_training_plan_offerings(TrainingPlanArn=arn, DurationHours=24 * days)
            return [ExtensionOffering.of(row) for row in answer.get("TrainingPlanExtensionOfferings", ())]
        except (BotoCoreError, ClientError) as error:
            raise PurchaseRefusedError(_refusal("SearchTrainingPlanOfferings", outcome_of(error))) from error
        except InvalidInputError as error:
            raise PurchaseRefusedError(f"an extension offering cannot be read, so none is bought: {error}") from error

    def extend(self, offering: str) -> None:
        """Buy an extension, in one call; errors are those of `buy`."""
        try:
            self._create.extend_training_plan(TrainingPlanExtensionOfferingId=offering)
        except (BotoCoreError, ClientError) as error:
            raise _meaning("ExtendTrainingPlan", outcome_of(error)) from error

    def extensions(self, arn: str) -> list[Extension]:
        """Return everything that a plan was extended by.

        Raises
        ------
        PurchaseUnclearError
            If the history cannot be read.
        """
        return [Extension(row) for row in self._history(arn) if "EndDate" in row]

    def _history(self, arn: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        start: dict[str, str] = {}
        while True:
            try:
                page = self._client.describe_training_plan_extension_history(TrainingPlanArn=arn, **start)
            except (BotoCoreError, ClientError) as error:
                raise PurchaseUnclearError(
                    f"the extensions of {arn} could not be looked up ({words_of(error)})"
                ) from error
            rows += page.get("TrainingPlanExtensions", ())
            if not (following := page.get("NextToken")):
                return rows
            start = {"NextToken": following}


def _pairs(tags: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in tags.items()]


def _meaning(operation: str, outcome: Outcome) -> PurchaseRefusedError | PurchaseUnclearError:
    if outcome.kind == "unclear":
        return PurchaseUnclearError(f"{operation}: {outcome.cause}")
    return PurchaseRefusedError(_refusal(operation, outcome))


def _refusal(operation: str, outcome: Outcome) -> str:
    """Say what was refused, and what helps."""
    said = f"{operation}: {outcome.cause}"
    match outcome.failure:
        case FailureClass.PERMISSION:
            denied = _DENIED_ACTION.search(outcome.cause)
            action = denied[1] if denied else f"sagemaker:{operation}"
            return (
                f"permission denied for {action}: a purchase needs sagemaker:CreateTrainingPlan, "
                "sagemaker:CreateReservedCapacity and sagemaker:AddTags, and a service control policy (SCP) of the "
                f"organization may deny them even where the role allows them ({said})"
            )
        case FailureClass.QUOTA:
            return f"a quota is too low, which is no lack of capacity; ask for a higher one in Service Quotas ({said})"
        case FailureClass.THROTTLE:
            return f"SageMaker throttled the call and did nothing; deploy again ({said})"
    if outcome.cause.startswith("ResourceNotFound") and operation != "SearchTrainingPlanOfferings":
        return f"the offering is gone, or its price has changed; nothing was bought, deploy again ({said})"
    return f"nothing was bought ({said})"
