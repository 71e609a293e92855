"""``gpucap resolve``: a person says that a purchase whose outcome stayed open was not made."""

from __future__ import annotations

import argparse
import json
from typing import Any

from constructs_lib.cli import aws
from constructs_lib.cli.errors import UsageError
from constructs_lib.cli.purchases import add_purchase, label_of, records

__all__ = ["add_parser", "run"]

DESCRIPTION = """\
For what only a person can settle: a purchase call got no clear answer, and no look-up shows whether it took effect.
Nothing buys again by itself then. Look first: CloudTrail for CreateTrainingPlan or ExtendTrainingPlan, the console
for the plan and its extensions, and the bill. Only if nothing was bought, say so; a later deploy may buy then.

If this is said of a purchase that was made, the next deploy can buy a second one.
"""


def add_parser(subparsers: Any) -> None:
    """Add ``resolve``."""
    parser = subparsers.add_parser(
        "resolve",
        help="say that a purchase whose outcome is open was not made",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_purchase(parser)
    parser.add_argument(
        "--nothing-was-bought",
        action="store_true",
        help="you looked, and nothing was bought; needed",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Take the open claim back."""
    if not args.nothing_was_bought:
        raise UsageError("look into CloudTrail and the console first; if nothing was bought, add --nothing-was-bought")
    label = label_of(args)
    with aws.in_words():
        records(args).nothing_was_bought(args.name, label)
    if args.format == "json":
        print(json.dumps({"name": args.name, "purchase": label, "resolved": "nothing was bought"}, indent=2))
    else:
        print(f"resolved: nothing was bought of {args.name}#{label}; a later deploy may buy it")
    return 0
