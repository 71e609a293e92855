"""What ``gpucap approve`` and ``gpucap resolve`` share: which purchase is meant, and the record of it."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

from constructs_lib.cli import aws
from constructs_lib.cli.errors import UsageError
from constructs_lib.model.plan_names import plan_name
from constructs_lib.model.purchase_keys import purchase_label

if TYPE_CHECKING:
    import argparse

    from constructs_lib.runtime.services.resolving import Resolving

__all__ = ["add_purchase", "label_of", "records"]


def add_purchase(parser: argparse.ArgumentParser) -> None:
    """Add what names one purchase."""
    parser.add_argument("name", metavar="NAME", help="the declared training_plan_name")
    parser.add_argument("--generation", type=int, default=1, metavar="N", help="the plan's generation (default: 1)")
    parser.add_argument(
        "--extend-until", metavar="DAY", help="an extension to end on this day, 2027-02-12, instead of the plan itself"
    )
    parser.add_argument("--format", choices=("text", "json"), default="text", help="json for machines")
    aws.add_options(parser)


def label_of(args: argparse.Namespace) -> str:
    """Return what the purchase is called in its record.

    Raises
    ------
    UsageError
        For a day that is none; a name or generation that is none raises in its own words.
    """
    plan_name(args.name, args.generation)
    if args.extend_until is None:
        return purchase_label(args.generation)
    try:
        return purchase_label(args.generation, date.fromisoformat(args.extend_until))
    except ValueError:
        raise UsageError(f"--extend-until {args.extend_until!r}: a day such as 2027-02-12 is needed") from None


def records(args: argparse.Namespace) -> Resolving:
    """Return what writes into the purchase table, with the caller's own permissions."""
    from constructs_lib.runtime.buyer import resolving, table_name  # noqa: PLC0415 - loads botocore

    dynamodb: Any = aws.client(args, "dynamodb")
    return resolving(dynamodb, table_name())
