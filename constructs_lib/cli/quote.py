"""``gpucap quote``: what reserved capacity is offered, and for how much an instance-hour. It never buys."""

from __future__ import annotations

import argparse
import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from constructs_lib.cli import aws
from constructs_lib.cli.errors import UsageError
from constructs_lib.facts import api_instance_types, instance_types
from constructs_lib.facts.capacity import plan_targets, purchase_limits
from constructs_lib.model.choice import Choice, longer, neighbours
from constructs_lib.model.offerings import Offering, Requirement
from constructs_lib.model.window import CapacityWindow, moment_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rich.table import Table

    Search = Callable[[Requirement], list[Offering]]

__all__ = ["add_parser", "run"]

DESCRIPTION = """\
Searches offerings of SageMaker training plans and prints them, the best first, with the price of one instance for one
hour: the only figure that compares offerings of different length. Nothing is bought, reserved or changed.

If nothing fits, other durations and dates nearby are searched too and shown as near misses; exit code 1 then.
"""
_NEAR = 5


def add_parser(subparsers: Any) -> None:
    """Add ``quote``."""
    parser = subparsers.add_parser(
        "quote",
        help="show what reserved capacity is offered, and its price",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("instance_type", metavar="TYPE", help="such as ml.p5.48xlarge")
    parser.add_argument("--count", type=int, required=True, metavar="N", help="instances: 1, 2, 4 ... 64")
    parser.add_argument("--days", type=int, required=True, metavar="N", help="sold in whole days, 1 to 182")
    parser.add_argument("--after", metavar="T", help="start then or later: ISO 8601 with a zone, 2027-01-27T00:00Z")
    parser.add_argument("--before", metavar="T", help="end then or earlier")
    targets = tuple(plan_targets())
    parser.add_argument("--target", choices=targets, default=targets[0], help=f"the plan's use (default: {targets[0]})")
    parser.add_argument("--choice", default="cheapest", help="cheapest, earliest, longest, or several with commas")
    parser.add_argument("--allow-discontinuous", action="store_true", help="take segments with gaps between them too")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="json for machines")
    aws.add_options(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Search, choose and print; 1 if nothing fits."""
    wanted, choice = _wanted(args), Choice.parse(args.choice)
    with aws.in_words():
        search = _searcher(args)
        found = [offering for one in (wanted, *_more(wanted, choice)) for offering in search(one)]
        fitting = choice.fitting(found, wanted)
        near = [] if fitting else _near(search, wanted, found)
    if args.format == "json":
        answer = {"offerings": [_plain(one) for one in fitting], "near": [_plain(one) for one in near]}
        print(json.dumps(answer, indent=2))
    else:
        _print(wanted, choice, fitting, near)
    return 0 if fitting else 1


def _wanted(args: argparse.Namespace) -> Requirement:
    limits, sold = purchase_limits("training-plan"), api_instance_types("training-plan")
    # A type that nobody knows yet is AWS's to judge.
    if args.instance_type in instance_types() and args.instance_type not in sold:
        raise UsageError(f"no training plan holds {args.instance_type}; they hold {', '.join(sorted(sold))}")
    for option, value, most in (("--count", args.count, limits.max_count), ("--days", args.days, limits.max_days)):
        if not 1 <= value <= most:
            raise UsageError(f"{option} {value}: 1 to {most} is allowed")
    window = CapacityWindow(start_after=args.after, end_before=args.before)
    if reason := window.refusal(24 * args.days):
        raise UsageError(f"{reason}; give a later --before, or fewer --days")
    return Requirement(args.instance_type, args.count, 24 * args.days, window, args.target, args.allow_discontinuous)


def _searcher(args: argparse.Namespace) -> Search:
    """Return a function that asks AWS for what a requirement finds."""
    sagemaker = aws.client(args, "sagemaker")

    def search(wanted: Requirement) -> list[Offering]:
        answer = sagemaker.search_training_plan_offerings(**wanted.to_search())
        return [Offering.of(row) for row in answer["TrainingPlanOfferings"]]

    return search


def _more(wanted: Requirement, choice: Choice) -> Iterable[Requirement]:
    return longer(wanted) if choice.takes_longer else ()


def _near(search: Search, wanted: Requirement, found: list[Offering]) -> list[Offering]:
    """Return what lies near: offerings that do not fit, and those of other durations and dates."""
    from botocore.exceptions import ClientError  # noqa: PLC0415 - only commands that call AWS pay for it

    rows = {offering.id: offering for offering in found}
    for neighbour in neighbours(wanted, datetime.now(UTC)):
        try:
            rows |= {offering.id: offering for offering in search(neighbour)}
        except ClientError as error:
            if error.response["Error"]["Code"] != "ValidationException":
                raise  # a quota that is too low, for one, is no lack of capacity
    return sorted(rows.values(), key=lambda offering: (offering.price.amount, offering.start, offering.id))[:_NEAR]


def _plain(offering: Offering) -> dict[str, Any]:
    return {
        "id": offering.id,
        "upfront_fee": f"{offering.fee.amount:f}",
        "currency": offering.fee.currency,
        "price_per_instance_hour": f"{offering.price.amount:f}",
        "hours": float(offering.hours),
        "start": moment_text(offering.start),
        "end": moment_text(offering.end),
        "targets": list(offering.targets),
        "zones": list(offering.zones),
        "segments": [
            {
                "instance_type": part.instance_type,
                "instance_count": part.instance_count,
                "availability_zone": part.availability_zone,
                "start": moment_text(part.start),
                "end": moment_text(part.end),
            }
            for part in offering.segments
        ],
    }


def _print(wanted: Requirement, choice: Choice, fitting: list[Offering], near: list[Offering]) -> None:
    from rich.console import Console  # noqa: PLC0415

    console = Console()
    if fitting:
        console.print(f"offered for {wanted}, {choice} first:")
        console.print(_table(fitting))
        console.print("nothing was bought; a TrainingPlan in your app buys, with its ceiling and the purchase key")
        return
    console.print(f"nothing is offered for {wanted}")
    if near:
        console.print("near misses, by price:")
        console.print(_table(near))


def _table(offerings: list[Offering]) -> Table:
    from rich.table import Table  # noqa: PLC0415

    table = Table(box=None, padding=(0, 1, 0, 0))
    for column in ("instance-hour", "upfront fee", "hours", "n"):
        table.add_column(column, justify="right", no_wrap=True)
    for column in ("start (UTC)", "end (UTC)", "zone"):
        table.add_column(column, no_wrap=True)
    for offering in offerings:
        hours = f"{offering.hours.quantize(Decimal('0.01')).normalize():f}"
        parts = offering.segments
        columns = (
            [str(part.instance_count) for part in parts],
            [f"{part.start:%Y-%m-%d %H:%M}" for part in parts],
            [f"{part.end:%Y-%m-%d %H:%M}" for part in parts],
            [part.availability_zone for part in parts],
        )
        table.add_row(str(offering.price), str(offering.fee), hours, *("\n".join(column) for column in columns))
    return table
