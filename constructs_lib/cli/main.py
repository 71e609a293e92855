"""Entry point of ``gpucap``: each command is a module with ``add_parser(subparsers)`` and ``run(args) -> int``."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from importlib.metadata import version
from typing import TYPE_CHECKING

from constructs_lib.cli.errors import UsageError
from constructs_lib.model import CapacityError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

COMMANDS = ("demo", "sandbox", "lint", "explain", "policy", "quote", "prices", "approve", "resolve", "endpoint")
EPILOG = """\
first steps:
  gpucap demo                     watch a job find capacity: the CDK CLI deploys to a sandbox on this machine
  gpucap demo --scenario queue    nothing is free at first; a type frees after 25 virtual minutes
  gpucap sandbox start            a sandbox of your own for `cdk deploy`

exit codes: 0 done, 1 findings or a scenario that ended otherwise, 2 input that cannot be used
"""


def build_parser() -> argparse.ArgumentParser:
    """Return the parser with every command on it."""
    parser = argparse.ArgumentParser(
        prog="gpucap",
        description="Reserve, use, guard and rehearse scarce accelerators on AWS.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"gpucap {version('gpu-capacity-constructs')}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name in COMMANDS:
        module = importlib.import_module(f"constructs_lib.cli.{name}")
        module.add_parser(subparsers)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments; those of the process by default.
    """
    args = build_parser().parse_args(argv)
    try:
        code: int = args.run(args)
    except (UsageError, CapacityError) as error:
        sys.stderr.write(f"gpucap: {error}\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("gpucap: stopped\n")
        return 130
    except BrokenPipeError:
        # The reader of our output went away (head, less): that is not an error, and Python must not complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code


if __name__ == "__main__":
    sys.exit(main())
