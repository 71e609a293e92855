"""``gpucap endpoint``: what a reserved endpoint does next, and what a person may ask of it."""

from __future__ import annotations

import argparse
from typing import Any

from constructs_lib.cli import aws
from constructs_lib.cli.endpoint import change, show

__all__ = ["add_parser"]

DESCRIPTION = """\
Reserved endpoints are kept by a function in their stack: it looks once a period and makes at most one change. These
commands read what it remembers, or leave it a wish; nothing here calls SageMaker to change anything.

  gpucap endpoint status                 every endpoint of the region: state, plan, use, what comes next and when
  gpucap endpoint plan chat              the plan's window, and what the next look would do now
  gpucap endpoint scale chat 3           another number of instances, within the plan
  gpucap endpoint migrate chat --to end  do now what on_expiry declares for the end of the plan
  gpucap endpoint adopt chat             take over an endpoint that exists already, also with a config of a fixed name

A wish lasts until it is taken back or until the next deploy that changes the declaration.
"""


def add_parser(subparsers: Any) -> None:
    """Add ``endpoint`` with its commands."""
    parser = subparsers.add_parser(
        "endpoint",
        help="show reserved endpoints, and scale, migrate or adopt one",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    status = _command(
        commands, "status", "state, plan use and next action; exit code 1 if one needs a person", show.status
    )
    status.add_argument("name", nargs="?", metavar="NAME", help="the endpoint (default: all)")
    plan = _command(commands, "plan", "the plan's window, and what would be done now", show.plan)
    plan.add_argument("name", metavar="NAME")
    scale = _command(commands, "scale", "another number of instances, within the plan", change.scale)
    scale.add_argument("name", metavar="NAME")
    amount = scale.add_mutually_exclusive_group(required=True)
    amount.add_argument("count", nargs="?", type=int, metavar="COUNT", help="instances")
    amount.add_argument("--as-declared", action="store_true", help="take the wish back")
    migrate = _command(commands, "migrate", "leave the plan now, or come back to what is declared", change.migrate)
    migrate.add_argument("name", metavar="NAME")
    migrate.add_argument(
        "--to",
        required=True,
        choices=("end", "delete", "declared"),
        help="end: what on_expiry declares, now; delete: no endpoint; declared: take the wish back",
    )
    adopt = _command(commands, "adopt", "take over an endpoint that exists already", change.adopt)
    adopt.add_argument("name", metavar="NAME")
    for parser in (scale, migrate, adopt):
        parser.add_argument("--yes", action="store_true", help="do not ask")


def _command(commands: Any, name: str, words: str, run: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=words, description=f"{words[0].upper()}{words[1:]}."
    )
    parser.add_argument("--table", metavar="TABLE", help="the endpoint table of one stack (default: of all)")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="json for machines")
    aws.add_options(parser)
    parser.set_defaults(run=run)
    return parser
