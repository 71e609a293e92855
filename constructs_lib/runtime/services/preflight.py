"""What AWS can be asked before a job is created: quotas, and the plans it means to use."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from constructs_lib.model import RunEnd
from constructs_lib.runtime.errors import LookUpError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from constructs_lib.model.job_kinds import ResourceEntry
    from constructs_lib.runtime.adapters.look_ups import LookUps
    from constructs_lib.runtime.launch import Launch

__all__ = ["Preflight", "Verdict"]

_OVER = ("Expired", "Failed")
_TARGET = "training-job"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What was found.

    Parameters
    ----------
    request : Mapping
        The request, without the entries that have no quota.
    end : RunEnd or None
        Why nothing may be created, if so; ``words`` say it.
    dropped : tuple of str
        The types without quota.
    free : frozenset of str
        The types that a plan pays for.
    unverified : tuple of str
        What could not be asked.
    """

    request: Mapping[str, Any]
    end: RunEnd | None = None
    words: str = ""
    dropped: tuple[str, ...] = ()
    free: frozenset[str] = frozenset()
    unverified: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Preflight:
    """Asks; what AWS does not let us ask is said, and stops nothing."""

    look_ups: LookUps

    def check(self, launch: Launch) -> Verdict:
        """Hold a launch's request against quotas and plans."""
        asking = _Asking(launch, self.look_ups)
        verdict = asking.quotas(Verdict(request=launch.wish.request))
        if verdict.end is None:
            verdict = asking.plans(verdict)
        return replace(verdict, unverified=tuple(asking.unverified))


@dataclass(slots=True)
class _Asking:
    launch: Launch
    look_ups: LookUps
    unverified: list[str] = field(default_factory=list)

    def quotas(self, verdict: Verdict) -> Verdict:
        """Refuse, or drop, what has no quota."""
        kind = self.launch.kind
        # Also of an entry on a plan: reserved instances count against the quota of their use.
        short: dict[str, str] = {}
        spot = "spot " if kind.spot(verdict.request) else ""
        for entry in kind.entries(verdict.request):
            name = f"{entry.instance_type} for {spot}{kind.quota} usage"
            quota = self._ask(self.look_ups.quota, name)
            if quota is not None and quota < entry.instance_count:
                short[entry.instance_type] = f"{name}: {quota:g} < {entry.instance_count}"
        if not short:
            return verdict
        words = "; ".join(short.values())
        left = kind.without(verdict.request, frozenset(short))
        if self.launch.wish.limits.on_quota != "drop" or left is None:
            return replace(
                verdict, end=RunEnd.QUOTA_EXCEEDED, words=words, dropped=tuple(short) if left is None else ()
            )
        return replace(verdict, request=left, dropped=tuple(short))

    def plans(self, verdict: Verdict) -> Verdict:
        """Refuse a plan that cannot be used for this, and say which types a plan pays for."""
        entries = self.launch.kind.entries(verdict.request)
        users: dict[str, list[ResourceEntry]] = {}
        for entry in entries:
            if arn := entry.plan or entry.job_plan:
                users.setdefault(arn, []).append(entry)
        free = {entry.instance_type for entry in entries if entry.plan or (entry.job_plan and len(entries) == 1)}
        for arn, uses in users.items():
            plan = self._ask(self.look_ups.plan, arn)
            if plan is None:
                continue
            if words := next(self._against(arn, plan, uses), None):
                return replace(verdict, end=RunEnd.PLAN_NOT_USABLE, words=words)
            free |= {use.instance_type for use in uses} & set(_types(plan))
        return replace(verdict, free=frozenset(free))

    def _against(self, arn: str, plan: Mapping[str, Any], uses: Sequence[ResourceEntry]) -> Iterator[str]:
        """Yield what speaks against a plan; how much of it is free does not, for jobs wait for that."""
        if not plan:
            yield f"{arn} does not exist in this account and region"
            return
        if plan.get("Status") in _OVER:
            yield f"{arn} is {plan['Status']}"
        targets = plan.get("TargetResources", [_TARGET])
        if _TARGET not in targets:
            yield f"{arn} is for {', '.join(targets)}, not for {_TARGET}; a plan's target cannot be changed"
        types = _types(plan)
        fitting = [use for use in uses if use.instance_type in types] if types else uses
        if not fitting or any(use.plan and use not in fitting for use in uses):
            asked = ", ".join(use.instance_type for use in uses)
            yield f"{arn} holds {', '.join(types)}, {asked} was asked for"
        total = plan.get("TotalInstanceCount")
        for use in fitting:
            if total is not None and use.instance_count > total:
                yield f"{arn} holds {total} of {use.instance_type}, {use.instance_count} were asked for"
        yield from self._against_zones(arn, plan)

    def _against_zones(self, arn: str, plan: Mapping[str, Any]) -> Iterator[str]:
        subnets = self.launch.kind.subnets(self.launch.wish.request)
        zones = self._ask(self.look_ups.zones, subnets) if subnets else None
        if zones is None:
            return
        for segment in plan.get("ReservedCapacitySummaries", ()):
            names = [segment[key] for key in ("AvailabilityZone", "AvailabilityZoneId") if key in segment]
            if names and not zones.intersection(names):
                yield (
                    f"{arn} has capacity in {' = '.join(names)}; the subnets {', '.join(subnets)} are in "
                    f"{', '.join(sorted(zones))}: add a subnet in each zone of the plan"
                )

    def _ask(self, question: Callable[[Any], Any], about: Any) -> Any:
        try:
            return question(about)
        except LookUpError as error:
            if str(error) not in self.unverified:
                self.unverified.append(str(error))
            return None


def _types(plan: Mapping[str, Any]) -> list[str]:
    found = [part["InstanceType"] for part in plan.get("ReservedCapacitySummaries", ()) if "InstanceType" in part]
    return list(dict.fromkeys(found))
