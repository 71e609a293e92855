"""``python -m bench [NAME ...]``: print the ratios that the budgets speak of, and what else is measured."""

from __future__ import annotations

import argparse
import statistics
import sys
from typing import Any

from rich.console import Console
from rich.table import Table

from bench import lambda_init, lint_files, scarcity, synth_jobs, synth_rules
from bench.runner import ratio

BENCHES: dict[str, Any] = {
    "synth": synth_jobs,
    "rules": synth_rules,
    "lint": lint_files,
    "lambda-init": lambda_init,
    "scarcity": scarcity,
}


def main(arguments: list[str]) -> int:
    """Run the named benches (all by default) and print a table each."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(BENCHES)}; all when left out")
    scarcity.add_arguments(parser)
    options = parser.parse_args(arguments)
    if unknown := sorted(set(options.names) - set(BENCHES)):
        parser.error(f"unknown bench {', '.join(unknown)}; choose of: {', '.join(BENCHES)}")
    console = Console()
    for name in options.names or BENCHES:
        bench = BENCHES[name]
        if hasattr(bench, "report"):
            bench.report(console, options)
        else:
            _report_ratios(console, bench)
    return 0


def _report_ratios(console: Console, bench: Any) -> None:
    with console.status(bench.TITLE):
        figures = bench.run()
    medians = ", ".join(f"{name} {statistics.median(values):.3g}" for name, values in figures.items())
    table = Table(
        title=bench.TITLE, caption=f"medians of this run (seconds unless said): {medians}", title_justify="left"
    )
    for column in ("", "ratio", "least", "greatest", "budget", ""):
        table.add_column(column)
    for of, to, budget in bench.BUDGETS:
        median, low, high = ratio(figures, of, to)
        verdict = "[green]within[/green]" if median <= budget else "[red]over[/red]"
        table.add_row(f"{of} / {to}", f"{median:.2f}", f"{low:.2f}", f"{high:.2f}", f"{budget:.2f}", verdict)
    console.print(table)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
