"""``gpucap sandbox start``: the embedded AWS, for `cdk deploy` and for tests of your own."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from constructs_lib.cli.errors import UsageError

if TYPE_CHECKING:
    from constructs_lib.sandbox import Sandbox

__all__ = ["add_parser", "options", "run", "start"]

DESCRIPTION = """\
Starts one process on one port of 127.0.0.1 that answers as AWS does: SageMaker with scarce capacity on a virtual
clock, CloudFormation, Step Functions, Lambda, EventBridge and what else a stack needs. No account, no cost.
It prints the variables to export; point the CDK CLI or any AWS SDK at it with them. Stop it with Ctrl-C.

A capacity file says what is free when:

  types:
    ml.p5.48xlarge: 0
    ml.p4d.24xlarge: [{at: 0m, free: 0}, {at: 25m, free: 8}]
"""


def add_parser(subparsers: Any) -> None:
    """Add ``sandbox`` and its ``start``."""
    parser = subparsers.add_parser("sandbox", help="run the embedded AWS on this machine")
    verbs = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    start_parser = verbs.add_parser(
        "start",
        help="start it and print the variables to export",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    options(start_parser)
    start_parser.set_defaults(run=run)


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options that every command with a sandbox of its own takes."""
    parser.add_argument("--port", type=int, default=0, metavar="P", help="port on 127.0.0.1 (default: a free one)")
    parser.add_argument(
        "--speed", type=float, default=60.0, metavar="X", help="virtual seconds per second (default: 60)"
    )
    parser.add_argument("--capacity", type=Path, metavar="FILE", help="what is free when (YAML; default: everything)")
    parser.add_argument(
        "--stub",
        action="append",
        default=[],
        metavar="TYPE",
        help="accept this CloudFormation type as a placeholder; may be repeated",
    )


def start(args: argparse.Namespace, **changes: Any) -> Sandbox:
    """Return a sandbox as the options say, with its user's mistakes as `UsageError`."""
    try:
        from constructs_lib.sandbox import Sandbox, SandboxError  # noqa: PLC0415 - an optional extra, and slow to load
    except ModuleNotFoundError as error:
        raise UsageError(
            f"the sandbox needs the package {error.name!r}; "
            "install it with: pip install 'gpu-capacity-constructs[sandbox]'"
        ) from error
    given = {"port": args.port, "speed": args.speed, "capacity": args.capacity, "stubs": tuple(args.stub)} | changes
    if not 0 <= given["port"] <= 65535:
        raise UsageError(f"--port {given['port']}: 0 (any free one) to 65535 is allowed")
    if not 0 < given["speed"] <= 3600:
        raise UsageError(f"--speed {given['speed']:g}: more than 0, at most 3600 virtual seconds per second is allowed")
    try:
        return Sandbox(**given)
    except SandboxError as error:
        raise UsageError(str(error)) from error


def run(args: argparse.Namespace) -> int:
    """Start the sandbox, print what to export, and serve until interrupted."""
    from constructs_lib.sandbox import SandboxError  # noqa: PLC0415

    sandbox = start(args)
    try:
        with sandbox:
            print(f"# sandbox on {sandbox.url}, {args.speed:g} virtual seconds per second; Ctrl-C stops it")
            for stub in args.stub:
                print(f"# {stub} is a stub: accepted, but nothing is behind it")
            for name, value in sandbox.environment().items():
                print(f"export {name}={value}", flush=True)
            sandbox.wait()
    except SandboxError as error:
        raise UsageError(str(error)) from error
    return 0
