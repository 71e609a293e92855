"""Training plans: their life on the clock, what of them is in use, and their describe calls."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from constructs_lib.sandbox.errors import ServiceError
from constructs_lib.sandbox.switches import reading

from .paging import page, sort_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence, Set

    from constructs_lib.sandbox.context import Context

    from .agenda import Agenda
    from .seeds import PlanSeed
    from .tags import Tags

__all__ = ["DEAD", "LEADS", "Plan", "Plans", "Segment", "hours_and_minutes"]

DEAD = ("Expired", "Failed")
# How long before a segment's end its instances go, by target.
# Source: SageMaker guide, reserve-capacity-with-training-plans; endpoints are not stated: an open question.
_LEAD = {"hyperpod-cluster": 3600}
_LEAD_OTHERS = 1800
LEADS = (3600, 1800, 0)


@dataclass
class Segment:
    """One reserved capacity: from `start` to `end`, with instances from `opens` until `lead` seconds before its end."""

    arn: str
    start: float
    end: float
    lead: Callable[[], float]
    opens: float
    count: int
    zone: str
    in_use: int = 0

    @property
    def cut(self) -> float:
        """When its instances go."""
        return self.end - self.lead()


@dataclass
class Plan:
    """One training plan: Pending until `paid_at`, Failed from `fails_at`, Describe shows it from `shown_from`."""

    arn: str
    seed: PlanSeed
    segments: list[Segment] = field(default_factory=list)
    paid_at: float = float("-inf")
    fails_at: float = float("inf")
    failure: str = ""
    shown_from: float = float("-inf")

    def status(self, now: float) -> str:
        """Return the plan's status."""
        if self.seed.status:
            return self.seed.status
        if now >= self.fails_at:
            return "Failed"
        if now < self.paid_at:
            return "Pending"
        if now >= self.segments[-1].end:
            return "Expired"
        return "Active" if any(s.opens <= now < s.end for s in self.segments) else "Scheduled"

    def segment(self, now: float) -> Segment:
        """Return the segment under way, else the next, else the last."""
        return next((s for s in self.segments if now < s.end), self.segments[-1])

    def usable(self, now: float) -> Segment | None:
        """Return the segment whose instances can be used now."""
        if self.status(now) != "Active":
            return None
        return next((s for s in self.segments if s.opens <= now < s.cut), None)

    def over(self, now: float) -> bool:
        """Say whether the plan will never give instances again."""
        return self.status(now) in DEAD or now >= self.segments[-1].cut


class Plans:
    """All training plans of the account.

    The switch ``lag.describe-training-plan`` (seconds) is how long Describe and List do not see a plan that is bought
    from then on, ``lag.training-plan-tags`` how long ListTags does not see its tags.

    Parameters
    ----------
    context
        Account, region and switches.
    agenda
        The order of time.
    seeds, start
        The plans, and the epoch seconds from which their offsets count.
    tags
        Where tags are kept.
    """

    def __init__(self, context: Context, agenda: Agenda, seeds: tuple[PlanSeed, ...], start: float, tags: Tags) -> None:
        self._agenda, self._context, self._tags = agenda, context, tags
        self._prefix = f"arn:aws:sagemaker:{context.region}:{context.account}"
        self._plans: dict[str, Plan] = {}
        for seed in seeds:
            self.add(seed, start)

    def __iter__(self) -> Iterator[Plan]:
        return iter(self._plans.values())

    def arn(self, name: str) -> str:
        """Return the ARN that follows from a plan's name."""
        return f"{self._prefix}:training-plan/{name}"

    def get(self, arn: str) -> Plan | None:
        """Return a plan by its ARN."""
        return self._plans.get(arn)

    def add(self, seed: PlanSeed, start: float) -> Plan:
        """Keep a plan whose offsets count from `start`; it takes the place of one of its name."""
        plan = Plan(self.arn(seed.name), seed)
        for number, part in enumerate(seed.segments, 1):
            begin, end = part.start.after(start), part.end.after(start)
            lead = functools.partial(self._lead, seed.target)
            arn = f"{self._prefix}:reserved-capacity/{seed.name}-{number}"
            zone = part.zone or f"{self._context.region}a"
            plan.segments.append(Segment(arn, begin, end, lead, begin + part.late, part.count, zone))
        plan.segments.sort(key=lambda s: s.start)
        self._plans[plan.arn] = plan
        self._tags.create(plan.arn, [{"Key": key, "Value": value} for key, value in seed.tags])
        return plan

    def buy(self, seed: PlanSeed, tags: Sequence[dict[str, str]], now: float) -> Plan:
        """Keep a plan that is bought now, with the tags of the same call."""
        plan = self.add(seed, now)
        faults = self._context.faults
        plan.shown_from = now + float(faults.state("lag.describe-training-plan", "0"))
        self._tags.create(plan.arn, tags, seen_from=now + float(faults.state("lag.training-plan-tags", "0")))
        return plan

    def free(self, arn: str, now: float, zones: Set[str] | None = None) -> int:
        """Return how many instances a plan can give now."""
        segment = self._plans[arn].usable(now)
        if segment is None or (zones is not None and segment.zone not in zones):
            return 0
        return segment.count - segment.in_use

    def use(self, arn: str, count: int, now: float) -> Segment:
        """Take instances of the segment under way; ask `free` before."""
        segment = self._plans[arn].segment(now)
        segment.in_use += count
        return segment

    def shown(self, arn: str, now: float) -> Plan | None:
        """Return a plan by its ARN if Describe and List know it."""
        plan = self._plans.get(arn)
        return plan if plan and self._is_shown(plan, now) else None

    def operations(self) -> dict[str, Callable[[dict[str, Any]], dict[str, Any]]]:
        """Return the API operations by name."""
        return {
            "DescribeTrainingPlan": self._describe,
            "ListTrainingPlans": self._list,
            "DescribeReservedCapacity": self._describe_reserved_capacity,
        }

    def keeps(self, plan: Plan) -> bool:
        """Say whether who holds a plan's instances keeps them when it is extended."""
        return (
            plan.seed.target != "endpoint" or reading(self._context.faults, "sagemaker.endpoint-extension") == "keeps"
        )

    def _lead(self, target: str) -> float:
        if target == "endpoint":
            return 60 * float(reading(self._context.faults, "sagemaker.endpoint-plan-cut"))
        return _LEAD.get(target, _LEAD_OTHERS)

    def _is_shown(self, plan: Plan, now: float) -> bool:
        forgets = reading(self._context.faults, "sagemaker.dead-plans") == "forgotten"
        return now >= plan.shown_from and not (forgets and plan.status(now) in DEAD)

    def _describe(self, request: dict[str, Any]) -> dict[str, Any]:
        name = request["TrainingPlanName"]
        with self._agenda.moment() as now:
            plan = self.shown(name if name.startswith("arn:") else self.arn(name), now)
            if plan is None:
                raise ServiceError("ResourceNotFound", f"Training plan {name} does not exist.")
            return _summary(plan, now)

    def _list(self, request: dict[str, Any]) -> dict[str, Any]:
        with self._agenda.moment() as now:
            rows = [_summary(plan, now) for plan in self._plans.values() if self._is_shown(plan, now)]
        wanted = {f["Value"] for f in request.get("Filters", ()) if f["Name"] == "Status"}
        rows = [row for row in rows if not wanted or row["Status"] in wanted]
        keys = (request.get("SortBy", "TrainingPlanName"), "TrainingPlanName")
        rows = sort_rows(rows, request, {"StartTime": "StartTime"}, *keys)
        return page(rows, request, "TrainingPlanSummaries", keys)

    def _describe_reserved_capacity(self, request: dict[str, Any]) -> dict[str, Any]:
        arn = request["ReservedCapacityArn"]
        with self._agenda.moment() as now:
            for plan in self._plans.values():
                for segment in plan.segments:
                    if segment.arn == arn:
                        counts = {
                            "AvailableInstanceCount": segment.count - segment.in_use,
                            "InUseInstanceCount": segment.in_use,
                        }
                        return _reserved_capacity(plan, segment, now) | counts
        raise ServiceError("ResourceNotFound", f"Reserved capacity {arn} does not exist.")


def _summary(plan: Plan, now: float) -> dict[str, Any]:
    current = plan.segment(now)
    hours, minutes = hours_and_minutes(sum(s.end - s.start for s in plan.segments))
    fee = {"UpfrontFee": plan.seed.upfront_fee, "CurrencyCode": plan.seed.currency} if plan.seed.upfront_fee else {}
    failed = plan.failure and plan.status(now) == "Failed"
    return {
        "TrainingPlanArn": plan.arn,
        "TrainingPlanName": plan.seed.name,
        "Status": plan.status(now),
        **({"StatusMessage": plan.failure} if failed else {}),
        "DurationHours": hours,
        "DurationMinutes": minutes,
        "StartTime": plan.segments[0].start,
        "EndTime": plan.segments[-1].end,
        **fee,
        "TotalInstanceCount": current.count,
        "AvailableInstanceCount": current.count - current.in_use,
        "InUseInstanceCount": current.in_use,
        "TargetResources": [plan.seed.target],
        "ReservedCapacitySummaries": [_reserved_capacity(plan, s, now) for s in plan.segments],
    }


def _reserved_capacity(plan: Plan, segment: Segment, now: float) -> dict[str, Any]:
    hours, minutes = hours_and_minutes(segment.end - segment.start)
    phase = "Scheduled" if now < segment.opens else "Active" if now < segment.end else "Expired"
    status = plan.status(now)
    return {
        "ReservedCapacityArn": segment.arn,
        "ReservedCapacityType": "Instance",
        "InstanceType": plan.seed.instance_type,
        "TotalInstanceCount": segment.count,
        "Status": status if plan.seed.status or status in ("Pending", "Failed") else phase,
        "AvailabilityZone": segment.zone,
        "DurationHours": hours,
        "DurationMinutes": minutes,
        "StartTime": segment.start,
        "EndTime": segment.end,
    }


def hours_and_minutes(seconds: float) -> tuple[int, int]:
    """Return a duration as SageMaker tells it."""
    hours, rest = divmod(int(seconds), 3600)
    return hours, rest // 60
