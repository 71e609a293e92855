"""The comparison as tables: for a terminal and for a page."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich.table import Table

from bench.scarcity.histories import HOUR, MINUTE, PATIENCE, REGIMES
from bench.scarcity.strategies import STRATEGIES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bench.scarcity.figures import Figures

__all__ = ["BEGIN", "END", "duration", "markdown", "table", "with_figures"]

HEADERS = ("started in 30 min", "median", "p95", "never", "on p5", "creates", "on demand", "plan fee", "USD a start")
BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"

if TYPE_CHECKING:
    Results = Mapping[tuple[str, str], Figures]


def table(results: Results, jobs: int, title: str, caption: str) -> Table:
    """Return a table for a terminal, one section a regime."""
    made = Table(title=title, caption=caption, title_justify="left", caption_justify="left")
    made.add_column("")
    for header in HEADERS:
        made.add_column(header, justify="right")
    for regime, rows in _rows(results, jobs):
        made.add_row(f"[bold]{regime}[/bold]")
        for row in rows:
            made.add_row(*row)
        made.add_section()
    return made


def markdown(results: Results, jobs: int) -> str:
    """Return the same as Markdown, one table a regime."""
    parts = []
    for regime, rows in _rows(results, jobs):
        lines = [(f"**{regime}**", *HEADERS), (":--", *["--:"] * len(HEADERS)), *rows]
        parts.append("\n".join(f"| {' | '.join(cells)} |" for cells in lines))
    return "\n\n".join(parts)


def with_figures(page: str, figures: str) -> str:
    """Return a page with other figures between its marks.

    Raises
    ------
    ValueError
        If the page lacks the marks.
    """
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"the page has no place for figures: put {BEGIN} and {END} where they belong")
    return f"{before}{begin}\n{figures}\n{end}{after}"


def _rows(results: Results, jobs: int) -> Iterator[tuple[str, list[tuple[str, ...]]]]:
    for regime in REGIMES:
        rows = [
            (strategy.name, *_cells(results[regime.name, strategy.name], jobs))
            for strategy in STRATEGIES
            if (regime.name, strategy.name) in results
        ]
        if rows:
            yield regime.name, rows


def _cells(figures: Figures, jobs: int) -> tuple[str, ...]:
    started = jobs - figures.never
    return (
        f"{figures.soon:.0%}",
        duration(figures.median),
        duration(figures.late),
        str(figures.never),
        str(figures.on_best),
        f"{figures.calls:,}",
        f"{figures.on_demand:,.0f}",
        f"{figures.fee:,.0f}",
        f"{figures.cost / started:,.0f}" if started else "-",
    )


def duration(seconds: float) -> str:
    """Return a duration for people.

    >>> duration(60), duration(5400), duration(float("inf"))
    ('1 min', '90 min', 'not in 48 h')
    """
    if seconds == math.inf:
        return f"not in {PATIENCE // HOUR} h"
    return f"{seconds / MINUTE:.0f} min" if seconds < 2 * HOUR else f"{seconds / HOUR:.1f} h"
