"""A reserved endpoint says how it leaves its plan."""

from collections.abc import Mapping
from typing import Any

from constructs_lib.rules.authoring import (
    App,
    Findings,
    Kind,
    Severity,
    Subject,
    error,
    is_unresolved,
    rule,
    unverified,
)
from constructs_lib.rules.endpoints._common import CONFIG_GROUPS
from constructs_lib.rules.known_plans import plan_of
from constructs_lib.rules.values import items, mapping, show

_ACTIONS = ("delete", "to_on_demand", "to_plan", "keep")
_LAST = ("delete", "keep")


@rule(
    "GPU-EP09",
    title="a reserved endpoint that does not say how it leaves its plan",
    kinds=(Kind.RESERVED_ENDPOINT,),
    finds={
        Severity.ERROR: "no OnExpiry, or one without what its action needs: a last resort and a configuration for "
        "to_on_demand, another plan for to_plan, a reason for keep"
    },
    why="an endpoint that stays on its plan stops to serve when the capacity is taken away, and a move that finds no "
    "capacity in time needs a second choice",
    fix="give on_expiry: OnExpiry.delete(), to_on_demand(..., last_resort=...), to_plan(...) or keep(acknowledge=...)",
    source="SageMaker guide, training-plan-utilization-for-inference-endpoints",
)
def way_out(subject: Subject, app: App) -> Findings:
    """Look for what each action needs."""
    raw = subject.data.get("OnExpiry")
    said, action = mapping(raw), mapping(raw).get("Action")
    if is_unresolved(raw) or is_unresolved(action):
        yield unverified("what happens when the plan ends is not known here", "OnExpiry")
    elif action not in _ACTIONS:
        yield error(f"OnExpiry.Action is {show(action)}; {', '.join(_ACTIONS)} are allowed", "OnExpiry.Action")
    else:
        if action in ("to_on_demand", "to_plan"):
            yield from _move(subject, said, app)
        yield from _reason(said)


def _move(subject: Subject, said: Mapping[str, Any], app: App) -> Findings:
    config, last = said.get("EndpointConfig"), said.get("LastResort")
    if config is None:
        yield error("OnExpiry.EndpointConfig is missing: there is nothing to move to", "OnExpiry.EndpointConfig")
    if is_unresolved(last):
        yield unverified("the last resort is not known here", "OnExpiry.LastResort")
    elif last not in _LAST:
        words = f"OnExpiry.LastResort is {show(last)}; {' or '.join(_LAST)} is needed for when no capacity is found"
        yield error(words, "OnExpiry.LastResort")
    if said["Action"] == "to_plan":
        yield from _next_plan(subject, said, app)
    elif any(mapping(variant).get("CapacityReservationConfig") is not None for variant in _variants(config)):
        yield error("the configuration on demand still names a reservation", "OnExpiry.EndpointConfig")


def _variants(config: Any) -> list[Any]:
    return [variant for group in CONFIG_GROUPS for variant in items(mapping(config).get(group))]


def _next_plan(subject: Subject, said: Mapping[str, Any], app: App) -> Findings:
    at, now, after = "OnExpiry.TrainingPlanArn", subject.data.get("TrainingPlanArn"), said.get("TrainingPlanArn")
    if after is None:
        yield error("OnExpiry.TrainingPlanArn is missing: there is no plan to move to", at)
        return
    plans = [plan_of(reference, subject, app) for reference in (now, after)]
    if now == after or (plans[0].name and plans[0].key == plans[1].key):
        yield error("the next plan is the plan itself, which is over then", at)
    elif None in (plans[0].name, plans[1].name):
        yield unverified("whether the next plan is another one is not known here", at)


def _reason(said: Mapping[str, Any]) -> Findings:
    given = said.get("Acknowledge")
    keeps = "keep" in (said["Action"], said.get("LastResort"))
    if keeps and is_unresolved(given):
        yield unverified("whether keeping the endpoint is acknowledged is not known here", "OnExpiry.Acknowledge")
    elif keeps and not (isinstance(given, str) and given.strip()):
        yield error("an endpoint that is kept stops to serve; OnExpiry.Acknowledge says why", "OnExpiry.Acknowledge")
