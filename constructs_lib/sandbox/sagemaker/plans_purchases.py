"""The calls that spend, and the searches before them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from constructs_lib.sandbox.errors import ServiceError
from constructs_lib.sandbox.switches import reading

from .plans import DEAD
from .plans_extensions import Extensions
from .plans_offerings import PAID_BEFORE
from .quotas import PLANS_QUOTA, limit_exceeded, reserved_quota

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from constructs_lib.sandbox.faults import Faults

    from .placement import Placement
    from .plans import Plan
    from .plans_offerings import Offering, Offerings

__all__ = ["Purchases"]

Request = dict[str, Any]


@dataclass
class Purchases:
    """Buys plans and extensions.

    Parameters
    ----------
    placement
        The plans, and who waits for them.
    offerings
        What is on sale.
    quotas
        Limits by name; what is not named is unlimited.
    faults
        Holds the switches.

    Attributes
    ----------
    made
        Every purchase: ``time``, ``operation``, ``plan`` (its ARN), ``offering``, ``fee``, ``currency`` and ``tags``.
    """

    placement: Placement
    offerings: Offerings
    quotas: Mapping[str, int]
    faults: Faults
    made: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._agenda, self._plans = self.placement.agenda, self.placement.plans
        self._extensions = Extensions(self.placement, self.faults)

    def operations(self) -> dict[str, Callable[[Request], Request]]:
        """Return the API operations by name."""
        return {
            "SearchTrainingPlanOfferings": self._search,
            "CreateTrainingPlan": self._create,
            "ExtendTrainingPlan": self._extend,
            "DescribeTrainingPlanExtensionHistory": self._history,
        }

    def _search(self, request: Request) -> Request:
        with self._agenda.moment() as now:
            if "TrainingPlanArn" in request:
                plan = self._shown(request["TrainingPlanArn"], now)
                rows = self._extensions.search(plan, request, now)
                return {"TrainingPlanOfferings": [], "TrainingPlanExtensionOfferings": rows}
            if "InstanceType" in request:
                self._check_quotas(request["InstanceType"], request.get("InstanceCount", 1), now)
            found = self.offerings.search(request, now)
            return {"TrainingPlanOfferings": [offering.row(request) for offering in found]}

    def _create(self, request: Request) -> Request:
        name, given, tags = request["TrainingPlanName"], request["TrainingPlanOfferingId"], request.get("Tags", ())
        with self._agenda.moment() as now:
            if self._is_taken(self._plans.get(self._plans.arn(name)), now):
                raise ServiceError("ResourceInUse", f"A training plan with the name {name} already exists.")
            offering = self.offerings.take(given, now)
            count = max(part.count for part in offering.segments)
            self._check_quotas(offering.sale.seed.instance_type, count, now)
            self.offerings.sold(given)
            plan = self._plans.buy(offering.plan(name), tags, now)
            _pay(plan, offering, now)
            self.placement.follow_plan(plan)
            self._note("CreateTrainingPlan", plan, now, offering=given, fee=offering.fee, tags=tags)
            return {"TrainingPlanArn": plan.arn}

    def _extend(self, request: Request) -> Request:
        given = request["TrainingPlanExtensionOfferingId"]
        with self._agenda.moment() as now:
            plan, row = self._extensions.buy(given, now)
            self._note("ExtendTrainingPlan", plan, now, offering=given, fee=row["UpfrontFee"])
            return {"TrainingPlanExtensions": [row]}

    def _history(self, request: Request) -> Request:
        with self._agenda.moment() as now:
            return self._extensions.history(self._shown(request["TrainingPlanArn"], now), request, now)

    def _shown(self, arn: str, now: float) -> Plan:
        plan = self._plans.shown(arn, now)
        if plan is None:
            raise ServiceError("ResourceNotFound", f"Training plan {arn} does not exist.")
        return plan

    def _is_taken(self, namesake: Plan | None, now: float) -> bool:
        taken = reading(self.faults, "sagemaker.plan-name-taken")
        if namesake is None or taken == "never":
            return False
        return taken == "for ever" or namesake.status(now) not in DEAD

    def _check_quotas(self, instance_type: str, count: int, now: float) -> None:
        live = [plan for plan in self._plans if plan.status(now) not in DEAD]
        limit = self.quotas.get(PLANS_QUOTA)
        if limit is not None and len(live) + 1 > limit:
            raise limit_exceeded(PLANS_QUOTA, limit, len(live), 1, "Training plans")
        name = reserved_quota(instance_type)
        limit = self.quotas.get(name)
        used = sum(plan.segment(now).count for plan in live if plan.seed.instance_type == instance_type)
        if limit is not None and used + count > limit:
            raise limit_exceeded(name, limit, used, count)

    def _note(self, operation: str, plan: Plan, now: float, *, offering: str, fee: str, tags: Any = ()) -> None:
        what = {"time": now, "operation": operation, "plan": plan.arn, "offering": offering, "fee": fee}
        pairs = {tag["Key"]: tag["Value"] for tag in tags}
        self.made.append(what | {"currency": plan.seed.currency, "tags": pairs})


def _pay(plan: Plan, offering: Offering, now: float) -> None:
    """Let a plan be Pending until its payment succeeds or fails, at the latest 5 minutes before it starts."""
    payment, latest = offering.sale.seed.payment, offering.start - PAID_BEFORE
    plan.paid_at = now + payment.takes
    if payment.fail is not None or plan.paid_at > latest:
        plan.fails_at = min(plan.paid_at, latest)
        plan.failure = payment.fail or "The payment was not completed 5 minutes before the start of the plan."
