"""``gpucap endpoint status`` and ``gpucap endpoint plan``."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from constructs_lib.cli import aws
from constructs_lib.cli.endpoint import kept
from constructs_lib.cli.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from rich.table import Table

    from constructs_lib.model.endpoints_item import EndpointItem
    from constructs_lib.model.endpoints_rules import Decision
    from constructs_lib.runtime.endpoint_table import EndpointTable

__all__ = ["plan", "status"]

_NEEDS_A_PERSON = ("RolledBack", "NoHeadRoom", "NotOurs", "PlanNotUsable", "KeptPastEnd", "Failed")


def status(args: argparse.Namespace) -> int:
    """Print endpoints; 1 if one needs a person."""
    with aws.in_words():
        items = [kept.one(args)[1]] if args.name else [item for _, item in kept.every(args)]
    if args.format == "json":
        print(json.dumps({"endpoints": [_plain(item) for item in items]}, indent=2))
    else:
        _print(items)
    return 1 if any(item.state in _NEEDS_A_PERSON for item in items) else 0


def plan(args: argparse.Namespace) -> int:
    """Print the window of an endpoint's plan and what would be done now."""
    with aws.in_words():
        table, item = kept.one(args)
        decision = _preview(args, table, item)
    action = decision.action
    would = {"call": action.call, "name": action.name, "why": action.why} if action else None
    if args.format == "json":
        known = {"state": decision.item.state, "reason": decision.item.reason, "would": would}
        print(json.dumps({**_plain(item), "now": known}, indent=2))
        return 0
    _print([item])
    _print_window(item)
    if action:
        print(f"the next look would {action.call} {action.name}: {action.why or decision.item.reason}")
    else:
        print(f"the next look would change nothing: {decision.item.state}, {decision.item.reason or 'as declared'}")
    return 0


def _preview(args: argparse.Namespace, table: EndpointTable, item: EndpointItem) -> Decision:
    """Look at everything with the caller's own permissions, as the keeper does, and decide without doing it."""
    from constructs_lib.runtime.adapters.endpoint_clients import require_endpoint_model  # noqa: PLC0415
    from constructs_lib.runtime.adapters.endpoints import Endpoints  # noqa: PLC0415
    from constructs_lib.runtime.services.keeper_means import KeeperMeans  # noqa: PLC0415
    from constructs_lib.runtime.services.reconciling import Reconciling  # noqa: PLC0415
    from constructs_lib.runtime.services.reconciling_notices import Noticing  # noqa: PLC0415

    sagemaker, scaling = aws.client(args, "sagemaker"), aws.client(args, "application-autoscaling")
    endpoints = Endpoints(sagemaker, sagemaker, scaling, require_endpoint_model)
    noticing = Noticing(aws.client(args, "sns"), "", print)
    decision = Reconciling(KeeperMeans(table, endpoints, noticing, _KeepersClock(item.updated), print)).preview(
        item.name
    )
    if decision is None:
        raise UsageError(f"endpoint {item.name!r} was deleted just now")
    return decision


@dataclass(frozen=True, slots=True)
class _KeepersClock:
    """The time, but never before the keeper looked last: a sandbox's clock is ahead of this machine's."""

    looked: float

    def time(self) -> float:
        return max(time.time(), self.looked)

    def sleep(self, seconds: float, /) -> None:
        time.sleep(seconds)


def _plain(item: EndpointItem) -> dict[str, Any]:
    return {
        "name": item.name,
        "state": item.state,
        "reason": item.reason,
        "next_action": item.next_action,
        "next_at": item.next_at,
        "config": item.served.get("config", ""),
        "wishes": dict(item.overrides),
        "plan": {**item.plan, "on_expiry": item.declared.on_expiry.action},
        "owner": item.owner,
    }


def _print(items: list[EndpointItem]) -> None:
    from rich.console import Console  # noqa: PLC0415

    console = Console()
    if not items:
        console.print("no stack in this region declares a reserved endpoint")
        return
    console.print(_table(items))
    for item in items:
        if item.reason:
            console.print(f"{item.name}: {item.reason}", highlight=False)
        if item.overrides:
            wishes = ", ".join(f"{name} {value}" for name, value in item.overrides.items())
            console.print(f"{item.name}: wishes besides its declaration: {wishes}", highlight=False)


def _table(items: list[EndpointItem]) -> Table:
    from rich.table import Table  # noqa: PLC0415

    table = Table()
    for column in ("endpoint", "state", "plan", "in use", "next", "at (UTC)"):
        table.add_column(column)
    for item in items:
        name = item.declared.plan_arn.rpartition("/")[2]
        color = "red" if item.state in _NEEDS_A_PERSON else "green"
        table.add_row(
            item.name,
            f"[{color}]{item.state or 'declared'}[/{color}]",
            f"{name} ({item.plan.get('status', 'not seen yet')})",
            _use(item),
            item.next_action or "-",
            item.next_at[:16].replace("T", " ") or "-",
        )
    return table


def _use(item: EndpointItem) -> str:
    total, available = item.plan.get("total"), item.plan.get("available")
    return "unknown" if total is None or available is None else f"{total - available} of {total}"


def _print_window(item: EndpointItem) -> None:
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    table = Table(title="the plan's segments (UTC)", title_justify="left")
    for column in ("starts", f"{item.declared.on_expiry.action} at", "ends", "instances"):
        table.add_column(column)
    for part in item.plan.get("segments", ()):
        table.add_row(part["start"], part["cut"], part["end"], str(part["count"]))
    Console().print(table)
