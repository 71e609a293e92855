"""Where endpoints are remembered: the tables of the stacks that declare them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from constructs_lib.cli import aws
from constructs_lib.cli.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from constructs_lib.model.endpoints_item import EndpointItem
    from constructs_lib.runtime.endpoint_table import EndpointTable

__all__ = ["every", "one"]

# CloudFormation names a table <stack>-<logical id>-<random>, and every keeper stands at this path.
_KEEPER = "GpuEndpoints"


def every(args: argparse.Namespace) -> list[tuple[EndpointTable, EndpointItem]]:
    """Return the declared endpoints, by name; those of which nothing is left are left out."""
    found = [(table, item) for table in _tables(args) for item in table.all() if item.declaration]
    alive = [(table, item) for table, item in found if (item.desired, item.state) != ("absent", "Deleted")]
    return sorted(alive, key=lambda row: row[1].name)


def one(args: argparse.Namespace) -> tuple[EndpointTable, EndpointItem]:
    """Return the endpoint that was named.

    Raises
    ------
    UsageError
        If none has this name, or several stacks declare one.
    """
    rows = every(args)
    named = [row for row in rows if row[1].name == args.name]
    if len(named) == 1:
        return named[0]
    if named:
        owners = ", ".join(item.owner for _, item in named)
        raise UsageError(f"endpoint {args.name!r} is declared by {owners}; say whose you mean with --table")
    known = ", ".join(item.name for _, item in rows) or "none"
    raise UsageError(
        f"no stack here declares an endpoint {args.name!r}; declared are: {known}; check --region and --table"
    )


def _tables(args: argparse.Namespace) -> list[EndpointTable]:
    from constructs_lib.runtime.endpoint_table import EndpointTable  # noqa: PLC0415 - loads botocore

    client: Any = aws.client(args, "dynamodb")
    if args.table:
        return [EndpointTable(client, args.table)]
    pages = client.get_paginator("list_tables").paginate()
    return [EndpointTable(client, name) for page in pages for name in page["TableNames"] if _KEEPER in name]
