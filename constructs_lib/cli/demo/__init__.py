"""``gpucap demo``: the reference app on a sandbox, deployed by the real CDK CLI, and a job that meets scarcity."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from rich.console import Console

from constructs_lib.cli import sandbox as sandbox_command
from constructs_lib.cli.demo.deploy import deploy
from constructs_lib.cli.demo.scenarios import Scenario, load_scenarios
from constructs_lib.cli.demo.show import show_intro, show_result, watching
from constructs_lib.cli.demo.watch import Run, follow
from constructs_lib.cli.errors import UsageError

__all__ = ["add_parser", "run"]

DESCRIPTION = """\
Starts a sandbox, deploys the app in this folder to it with the real CDK CLI, and runs one training job with an
ordered list of instance types through scarce capacity. Shows which preference was tried, what was free, which one
won, how long it waited and how it ended. Nothing leaves this machine and nothing is billed.

scenarios:
"""


def add_parser(subparsers: Any) -> None:
    """Add ``demo``."""
    listing = "\n".join(f"  {s.name:<11} {s.title}" for s in load_scenarios().values())
    parser = subparsers.add_parser(
        "demo",
        help="rehearse: deploy the reference app to a sandbox and run a job through scarce capacity",
        description=DESCRIPTION + listing,
        epilog="exit codes: 0 the scenario ended as its name says, 1 it did not, 2 input that cannot be used",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--scenario", default="fallback", metavar="NAME", help="one of the above (default: fallback)")
    parser.add_argument("--app", type=Path, default=Path(), metavar="DIR", help="folder with cdk.json (default: here)")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="json prints the runs for machines")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run the scenario; 0 if it ended as its name says."""
    scenarios = load_scenarios()
    if args.scenario not in scenarios:
        raise UsageError(f"--scenario {args.scenario!r} is unknown; choose one of: {', '.join(scenarios)}")
    scenario = scenarios[args.scenario]
    console = Console(stderr=args.format == "json")
    started = time.monotonic()
    result = play(scenario, args.app, console)
    problems = scenario.problems(result)
    if args.format == "json":
        json.dump({"scenario": scenario.name, "runs": [result.to_dict()]}, sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        show_result(console, result, seconds=time.monotonic() - started)
    for problem in problems:
        console.print(f"[red]the scenario did not end as its name says:[/red] {problem}")
    return 1 if problems else 0


def play(scenario: Scenario, app: Path, console: Console) -> Run:
    """Deploy, act as the scenario says, and return what happened to its run."""
    options = argparse.Namespace(port=0, speed=scenario.speed, capacity=scenario.capacity_file, stub=[])
    show_intro(console, scenario)
    with console.status("starting the sandbox"):
        sandbox = sandbox_command.start(options)
        sandbox.start()
    try:
        # A deployment takes real time; the scenario's own time begins after it.
        with sandbox.clock.held():
            outputs = deploy(sandbox, app, console)
        with watching(console, sandbox) as view:
            return follow(sandbox, outputs, scenario, view.update)
    finally:
        sandbox.stop()
