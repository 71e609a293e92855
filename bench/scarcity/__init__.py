"""Virtual time to start over a week of generated scarcity: one type, a retry script, one list, steps."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bench.scarcity.figures import Prices, figures_of
from bench.scarcity.histories import REGIMES, arrivals, spells
from bench.scarcity.play import play
from bench.scarcity.plot import draw
from bench.scarcity.report import markdown, table, with_figures
from bench.scarcity.strategies import STRATEGIES

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from rich.console import Console

    from bench.scarcity.figures import Figures
    from bench.scarcity.histories import Regime
    from bench.scarcity.play import Run

__all__ = ["JOBS", "SEED", "TITLE", "add_arguments", "compare", "report", "week"]

SEED, JOBS = 1, 240
TITLE = "a week of scarcity"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the bench takes."""
    group = parser.add_argument_group("scarcity")
    group.add_argument("--seed", type=int, default=SEED, help="of capacity and arrivals (default: %(default)s)")
    group.add_argument("--jobs", type=_some, default=JOBS, help="that arrive in the week (default: %(default)s)")
    group.add_argument("--plot", type=Path, metavar="SVG", help="write the distributions of the waits to a file")
    group.add_argument("--page", type=Path, metavar="MD", help="renew the figures between the marks of a page")


def _some(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(text)
    return int(text)


def week(seed: int, jobs: int, regimes: Sequence[Regime] = REGIMES) -> dict[tuple[str, str], list[Run]]:
    """Return the runs of every strategy in every regime: the same arrivals for all, the same history in a regime."""
    coming = arrivals(seed, jobs)
    histories = {regime.name: spells(regime, seed) for regime in regimes}
    return {
        (name, strategy.name): play(strategy, history, coming)
        for name, history in histories.items()
        for strategy in STRATEGIES
    }


def compare(runs: Mapping[tuple[str, str], Sequence[Run]]) -> dict[tuple[str, str], Figures]:
    """Return the figures of every strategy in every regime."""
    prices = Prices.given()
    plans = {strategy.name: strategy.has_plan for strategy in STRATEGIES}
    return {key: figures_of(rows, prices, has_plan=plans[key[1]]) for key, rows in runs.items()}


def report(console: Console, options: argparse.Namespace) -> None:
    """Play the week, print the figures side by side, and write what the options ask for."""
    with console.status(TITLE):
        runs = week(options.seed, options.jobs)
    results, prices = compare(runs), Prices.given()
    title = f"{TITLE}: {options.jobs} jobs, seed {options.seed}; each strategy meets the same jobs and the same history"
    caption = f"{prices.currency}, {prices.as_of}: {prices.source}. Assumptions: docs/cookbook/what-a-list-buys.md"
    console.print(table(results, options.jobs, title, caption))
    if options.plot:
        waits = {
            regime.name: {s.name: [run.waited for run in runs[regime.name, s.name]] for s in STRATEGIES}
            for regime in REGIMES
        }
        draw(waits, options.plot, f"{options.jobs} jobs over a week of generated scarcity (seed {options.seed})")
    if options.page:
        page = with_figures(options.page.read_text(encoding="utf-8"), markdown(results, options.jobs))
        options.page.write_text(page, encoding="utf-8")
