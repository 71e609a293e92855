"""What is known about a training plan that something refers to: bought in the same app, or declared."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from constructs_lib.model import InvalidInputError
from constructs_lib.model.plan_names import plan_name
from constructs_lib.rules.subjects import App, Kind, Subject
from constructs_lib.rules.values import UNKNOWN, Arn, arn, items, known_text, mapping, moment, number

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

__all__ = ["Plan", "bought_name", "plan_of"]


@dataclass(slots=True)
class Plan:
    """A training plan as far as it is known; ``None`` and empty mean "not known".

    ``bought_by`` is the purchase in the same app. ``zones`` are names and ids of the zones of its reserved capacity.
    ``shortest`` is the length of its shortest segment, or at least of the whole.
    """

    name: str | None = None
    arn: Arn | None = None
    instance_type: str | None = None
    instance_count: int | None = None
    targets: frozenset[str] = frozenset()
    starts: datetime | None = None
    ends: datetime | None = None
    zones: tuple[tuple[str, ...], ...] = ()
    shortest: timedelta | None = None
    status: str | None = None
    bought_by: Subject | None = field(default=None, repr=False)

    @property
    def label(self) -> str:
        """The plan in words."""
        return f"training plan {self.name!r}" if self.name else "the training plan"

    @property
    def key(self) -> tuple[str, ...]:
        """What tells plans apart."""
        where = (self.arn.region, self.arn.account) if self.arn else ("", "")
        return (self.name or "", *where)


def plan_of(reference: Any, subject: Subject, app: App) -> Plan:
    """Return what is known about the plan that ``reference`` names.

    Parameters
    ----------
    reference : Any
        An ARN or a plan name, partly known or not; or a Ref or Fn::GetAtt of a purchase in the same file and stack.
    subject : Subject
        Where the reference stands.
    app : App
    """
    # Several rules ask about one reference; it lives as long as its subject.
    return app.once((plan_of, subject, id(reference)), lambda app: _find(reference, subject, app))


def _find(reference: Any, subject: Subject, app: App) -> Plan:
    logical_id = _referred(reference)
    if logical_id is not None:
        bought = app.once("plans by resource", _by_resource).get((subject.file, subject.stack, logical_id))
        return _bought(bought) if bought else Plan()
    parsed = arn(reference)
    name = parsed.name if parsed and parsed.kind == "training-plan" else known_text(reference)
    if not name or UNKNOWN in name:
        return Plan(arn=parsed)
    for described in items(app.declared(subject, "plans")):
        if _matches(mapping(described), name, parsed):
            return _described(mapping(described))
    bought = app.once("plans by name", _by_name).get(name)
    plan = _bought(bought) if bought else Plan(name=name)
    plan.arn = parsed
    return plan


def bought_name(purchase: Subject) -> str | None:
    """Return the name that a purchase gives its plan, ``None`` if it is not known or none that the API takes."""
    name = known_text(purchase.data.get("TrainingPlanName"))
    generation = number(purchase.data.get("Generation", 1))
    try:
        return plan_name(name or "", int(generation or 0))
    except InvalidInputError:
        return None


def _referred(reference: Any) -> str | None:
    if not isinstance(reference, dict) or len(reference) != 1:
        return None
    function, argument = next(iter(reference.items()))
    if function == "Ref":
        return known_text(argument)
    if function == "Fn::GetAtt":
        first = argument.split(".")[0] if isinstance(argument, str) else next(iter(items(argument)), None)
        return known_text(first)
    return None


def _by_resource(app: App) -> dict[tuple[str | None, str | None, str | None], Subject]:
    return {(bought.file, bought.stack, bought.resource): bought for bought in app.of(Kind.TRAINING_PLAN)}


def _by_name(app: App) -> dict[str | None, Subject]:
    return {bought_name(bought): bought for bought in reversed(app.of(Kind.TRAINING_PLAN))}


def _matches(described: Mapping[str, Any], name: str, wanted: Arn | None) -> bool:
    known = arn(described.get("TrainingPlanArn"))
    if (known.name if known else described.get("TrainingPlanName")) != name:
        return False
    if known is None or wanted is None:
        return True
    pairs = ((known.region, wanted.region), (known.account, wanted.account))
    return all(a == b or UNKNOWN in a or UNKNOWN in b for a, b in pairs)


def _described(plan: Mapping[str, Any]) -> Plan:
    reserved = [mapping(summary) for summary in items(plan.get("ReservedCapacitySummaries"))]
    types = {known_text(summary.get("InstanceType")) for summary in reserved} - {None}
    count = number(plan.get("TotalInstanceCount"))
    parsed = arn(plan.get("TrainingPlanArn"))
    return Plan(
        name=known_text(plan.get("TrainingPlanName")) or (parsed.name if parsed else None),
        arn=parsed,
        instance_type=known_text(plan.get("InstanceType")) or (types.pop() if len(types) == 1 else None),
        instance_count=None if count is None else int(count),
        targets=frozenset(t for t in map(known_text, items(plan.get("TargetResources"))) if t),
        starts=moment(plan.get("StartTime")),
        ends=moment(plan.get("EndTime")),
        zones=tuple(
            zone
            for summary in reserved
            if (
                zone := tuple(
                    filter(None, map(known_text, map(summary.get, ("AvailabilityZone", "AvailabilityZoneId"))))
                )
            )
        ),
        shortest=min(filter(None, map(_length, reserved)), default=_length(plan)),
        status=known_text(plan.get("Status")),
    )


def _length(lasting: Mapping[str, Any]) -> timedelta | None:
    start, end = moment(lasting.get("StartTime")), moment(lasting.get("EndTime"))
    hours = number(lasting.get("DurationHours"))
    if start and end:
        return end - start
    return None if hours is None else timedelta(hours=hours, minutes=number(lasting.get("DurationMinutes")) or 0)


def _bought(purchase: Subject) -> Plan:
    """Return what a purchase asks for; when it starts and in which zones only the offering will say."""
    data = purchase.data
    count = number(data.get("InstanceCount"))
    return Plan(
        name=bought_name(purchase),
        instance_type=known_text(data.get("InstanceType")),
        instance_count=None if count is None else int(count),
        targets=frozenset(t for t in map(known_text, items(data.get("TargetResources"))) if t),
        shortest=_length({"DurationHours": data.get("DurationHours")}),
        bought_by=purchase,
    )
