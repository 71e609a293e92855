"""``gpucap endpoint scale``, ``migrate`` and ``adopt``: wishes that the keeper fulfils."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from constructs_lib.cli import aws
from constructs_lib.cli.endpoint import kept
from constructs_lib.cli.errors import UsageError
from constructs_lib.model.endpoints_strategy import counts_of

if TYPE_CHECKING:
    import argparse

    from constructs_lib.model.endpoints_item import EndpointItem

__all__ = ["adopt", "migrate", "scale"]


def scale(args: argparse.Namespace) -> int:
    """Wish for another number of instances, or for the declared one."""
    with aws.in_words():
        table, item = kept.one(args)
        declared = sum(counts_of(item.declared.config).values())
        wish = None if args.as_declared else args.count
        if wish is not None:
            _check_count(item, wish)
        words = f"{item.name} runs on {declared if wish is None else wish} instances from the next look on"
        return _leave(args, table, item, words, instance_count=wish)


def migrate(args: argparse.Namespace) -> int:
    """Wish to leave the plan now, or take that back."""
    with aws.in_words():
        table, item = kept.one(args)
        end = item.declared.on_expiry.action
        wish = {"end": end, "delete": "delete", "declared": None}[args.to]
        if wish == "keep":
            raise UsageError(f"{item.name} declares keep for its end, which moves it nowhere; --to delete is allowed")
        words = {
            None: f"{item.name} is what its declaration says again, from the next look on",
            "delete": f"{item.name} is deleted at the next look; its plan stays paid",
        }.get(wish, f"{item.name} does now what it declares for its plan's end: {end}; its plan stays paid")
        return _leave(args, table, item, words, on_expiry_now=wish)


def adopt(args: argparse.Namespace) -> int:
    """Let the keeper take over an endpoint that exists already."""
    with aws.in_words():
        table, item = kept.one(args)
        if item.state and item.state != "NotOurs":
            raise UsageError(
                f"{item.name} is {item.state}: there is nothing to adopt; that is for an endpoint which the keeper "
                "found there and left alone, and that is NotOurs"
            )
        words = (
            f"{item.name} exists and bears no mark of {item.owner}; it is taken over as it runs, marked, and updated "
            "to its declaration without going down; its old configuration is left alone"
        )
        return _leave(args, table, item, words, adopted=True)


def _check_count(item: EndpointItem, wish: int) -> None:
    if scaling := item.declared.scaling:
        raise UsageError(
            f"{item.name} has autoscaling, {scaling.least} to {scaling.most} instances, which decides; declare other "
            "bounds"
        )
    total = item.plan.get("total")
    if total is not None and wish > total:
        raise UsageError(
            f"{item.name}: {wish} instances are more than the {total} that its plan holds; the most that can run is "
            f"{total}, more needs another plan or on-demand capacity"
        )


def _leave(args: argparse.Namespace, table: Any, item: EndpointItem, words: str, **wish: Any) -> int:
    """Write a wish, after a yes; a changed mind costs nothing."""
    item.with_override(**wish)  # refuses in words, before anybody is asked
    if not args.yes and not _agreed(words):
        print("nothing was changed")
        return 1
    stored = table.change(item.name, lambda current: current.with_override(**wish))
    minutes = item.declared.period.total_seconds() / 60
    if args.format == "json":
        print(json.dumps({"name": item.name, "wishes": dict(stored.overrides), "within_minutes": minutes}, indent=2))
    else:
        print(f"{words}; the keeper looks every {minutes:g} minutes: gpucap endpoint status {item.name}")
    return 0


def _agreed(words: str) -> bool:
    if not sys.stdin.isatty():
        raise UsageError("nobody is here to be asked; add --yes")
    return input(f"{words}. Do it? [y/N] ").strip().lower() in ("y", "yes")
