"""``python -m bench [NAME ...]``: print the ratios that the budgets speak of."""

from __future__ import annotations

import statistics
import sys

from rich.console import Console
from rich.table import Table

from bench import lambda_init, lint_files, synth_jobs, synth_rules
from bench.runner import ratio

BENCHES = {"synth": synth_jobs, "rules": synth_rules, "lint": lint_files, "lambda-init": lambda_init}


def main(names: list[str]) -> int:
    """Run the named benches (all by default) and print a table each."""
    unknown = set(names) - set(BENCHES)
    if unknown:
        sys.stderr.write(f"unknown bench {', '.join(sorted(unknown))}; choose of: {', '.join(BENCHES)}\n")
        return 2
    console = Console()
    for name in names or BENCHES:
        bench = BENCHES[name]
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
            row = (f"{of} / {to}", f"{median:.2f}", f"{low:.2f}", f"{high:.2f}", f"{budget:.2f}", verdict)
            table.add_row(*row)
        console.print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
