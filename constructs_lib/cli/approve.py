"""``gpucap approve``: a person consents to one purchase, up to a fee, for some days. It never buys."""

from __future__ import annotations

import argparse
import json
from datetime import UTC, datetime
from typing import Any

from constructs_lib.cli import aws
from constructs_lib.cli.errors import UsageError
from constructs_lib.cli.purchases import add_purchase, label_of, records
from constructs_lib.model.price import PriceCeiling
from constructs_lib.model.purchase_names import ASK_AGAIN_CONTEXT
from constructs_lib.model.window import moment_text

__all__ = ["add_parser", "run"]

DESCRIPTION = f"""\
Writes a consent into the purchase table: this plan, this generation, at most this fee, until it expires. Whether you
may is IAM's decision: the call is signed with your credentials and needs dynamodb:GetItem and UpdateItem on the table
(and CreateTable, if nothing was ever bought here). There is no other way in.

Nothing is bought by it. The next deploy that holds the purchase key buys within it. A deploy that changes nothing
sends no request: if the key was there already, deploy with a new word for -c {ASK_AGAIN_CONTEXT}=WORD.
"""
_MOST_DAYS = 90


def add_parser(subparsers: Any) -> None:
    """Add ``approve``."""
    parser = subparsers.add_parser(
        "approve",
        help="consent to one purchase of a training plan, up to a fee",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_purchase(parser)
    parser.add_argument("--max-fee", required=True, metavar="F", help="the most it may cost, in plain digits: 60000.00")
    parser.add_argument("--currency", default="USD", metavar="CODE", help="of the fee (default: USD)")
    parser.add_argument("--days", type=int, default=7, metavar="N", help="how long it holds (default: 7)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write the consent and say what it means."""
    ceiling, label = PriceCeiling(args.max_fee, args.currency), label_of(args)
    if not 1 <= args.days <= _MOST_DAYS:
        raise UsageError(f"--days {args.days}: 1 to {_MOST_DAYS} is allowed")
    with aws.in_words():
        sts = aws.client(args, "sts")
        by, region = str(sts.get_caller_identity()["Arn"]), sts.meta.region_name
        approval = records(args).approve(args.name, label, ceiling, seconds=args.days * 86400, by=by)
    expires = moment_text(datetime.fromtimestamp(approval.expires, UTC))
    if args.format == "json":
        row = {"name": args.name, "purchase": label, "max_fee": approval.max_fee, "currency": approval.currency}
        print(json.dumps(row | {"expires": expires, "region": region, "by": by}, indent=2))
    else:
        print(f"approved in {region}: {args.name}#{label} for at most {ceiling}, until {expires}, by {by}")
        print("nothing is bought by this; the next deploy with the purchase key buys within it")
        print(f"(if the key was there already, deploy with a new word for -c {ASK_AGAIN_CONTEXT}=WORD)")
    return 0
