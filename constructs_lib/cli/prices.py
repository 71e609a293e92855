"""``gpucap prices``: write a dated price book from the Price List API, for the limits of jobs to count with."""

from __future__ import annotations

import argparse
import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from constructs_lib.cli import aws
from constructs_lib.cli.errors import UsageError
from constructs_lib.model.prices import PriceBook

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["add_parser", "run"]

DESCRIPTION = """\
Asks the Price List API what an On-Demand hour of each type costs in a region, and writes a price book: JSON with the
day and the source, to be kept beside the app and read with PriceBook.from_file. So a price changes in a commit that
somebody reads, and synth asks nobody.

A type without exactly one price is left out and named; exit code 1 then. Nothing is ever guessed.
"""
_USES = ("training", "processing", "hosting")
# Which attribute names the type is not documented: tools in the field filter by either.
_NAMES = ("instanceName", "instanceType")
# The Price List API is served from a few regions, this one among them, for all.
_API_REGION = "us-east-1"
_CURRENCY = "USD"


def add_parser(subparsers: Any) -> None:
    """Add ``prices``."""
    parser = subparsers.add_parser(
        "prices",
        help="write a price book from the Price List API",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("instance_types", nargs="+", metavar="TYPE", help="such as ml.p5.48xlarge ml.p4d.24xlarge")
    parser.add_argument("--for", dest="use", choices=_USES, default=_USES[0], help=f"the use (default: {_USES[0]})")
    parser.add_argument("--out", metavar="FILE", help="write the book there (default: to the terminal)")
    aws.add_options(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Ask, write, and name what has no price; 1 if a type is left out."""
    for name in args.instance_types:
        if not name.startswith("ml."):
            raise UsageError(f"{name}: a SageMaker type with its ml. prefix is needed, such as ml.p5.48xlarge")
    region = aws.region(args)
    if region is None:
        raise UsageError("no region is set; give --region or set AWS_REGION")
    with aws.in_words():
        client = aws.client(args, "pricing", region=_API_REGION)
        found = {name: _prices(client, region, args.use, name) for name in dict.fromkeys(args.instance_types)}
    known = {name: str(amounts[0]) for name, amounts in found.items() if len(amounts) == 1}
    source = f"Price List API, AmazonSageMaker, {args.use} in {region}"
    book = PriceBook(known, _CURRENCY, datetime.now(UTC).date().isoformat(), source)
    text = json.dumps(book.to_payload(known), indent=2) + "\n"
    if args.out:
        _write(args.out, text)
        print(f"{args.out}: {len(known)} of {len(found)} prices, {source}, {book.as_of}")
    else:
        print(text, end="")
    return _say_unknown(found, region, args.use)


def _prices(client: Any, region: str, use: str, instance_type: str) -> list[Decimal]:
    """Return the different prices of a type's hour, without those of nothing."""
    for name in _NAMES:
        fields = {"regionCode": region, name: instance_type}
        filters = [{"Type": "TERM_MATCH", "Field": field, "Value": value} for field, value in fields.items()]
        products = [
            json.loads(text)
            for page in client.get_paginator("get_products").paginate(ServiceCode="AmazonSageMaker", Filters=filters)
            for text in page["PriceList"]
        ]
        amounts = {amount for product in products if _is_for(product, use) for amount in _amounts(product)}
        if amounts:
            return sorted(amounts)
    return []


def _is_for(product: dict[str, Any], use: str) -> bool:
    return use in product["product"]["attributes"].get("component", "").lower()


def _amounts(product: dict[str, Any]) -> Iterator[Decimal]:
    for term in product.get("terms", {}).get("OnDemand", {}).values():
        for dimension in term["priceDimensions"].values():
            amount = Decimal(dimension["pricePerUnit"].get(_CURRENCY, "0"))
            if amount and dimension.get("unit", "").lower().startswith(("hr", "hour")):
                yield amount


def _write(path: str, text: str) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path}: the price book cannot be written there: {error}") from None


def _say_unknown(found: dict[str, list[Decimal]], region: str, use: str) -> int:
    from rich.console import Console  # noqa: PLC0415

    left = {name: amounts for name, amounts in found.items() if len(amounts) != 1}
    console = Console(stderr=True)
    for name, amounts in left.items():
        several = f"{len(amounts)} prices ({', '.join(map(str, amounts))})" if amounts else "no price"
        console.print(f"{name}: {several} for {use} in {region}; left out", highlight=False)
    return 1 if left else 0
