"""What people see of a rehearsal: progress while it runs, then a table and a timeline."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING

from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from constructs_lib.cli.demo.scenarios import Scenario
    from constructs_lib.cli.demo.watch import Run
    from constructs_lib.sandbox import Sandbox

__all__ = ["show_intro", "show_result", "watching"]

_TIMELINE_WIDTH = 60
_PHASES = {"Pending": "yellow", "Starting": "cyan", "Downloading": "cyan", "Training": "green", "Uploading": "blue"}


def show_intro(console: Console, scenario: Scenario) -> None:
    """Say what will happen."""
    console.print(Panel(scenario.story, title=f"scenario {scenario.name}: {scenario.title}", title_align="left"))


class View:
    """A live table of the preferences: what was needed, what was free, what came of it."""

    def __init__(self, live: Live, sandbox: Sandbox) -> None:
        self._live = live
        self._sandbox = sandbox

    def update(self, run: Run) -> None:
        """Draw ``run`` as it is now."""
        self._live.update(preferences_table(run, clock(self._sandbox.clock.now())), refresh=True)


@contextmanager
def watching(console: Console, sandbox: Sandbox) -> Iterator[View]:
    """Show the run live while the body follows it; leaves nothing behind on the terminal."""
    with Live(console=console, auto_refresh=False, transient=True) as live:
        yield View(live, sandbox)


def preferences_table(run: Run, title: str) -> Table:
    """Return the list as asked for, with the last look at each entry."""
    table = Table(
        title=f"{title} UTC (virtual) - job {run.job_status}, execution {run.terminal_state}", title_justify="left"
    )
    table.add_column("#", justify="right")
    table.add_column("instance type")
    table.add_column("needed", justify="right")
    table.add_column("free", justify="right")
    table.add_column("")
    resources = run.request.get("ResourceConfig", {})
    last = {e["type"]: e for e in run.evaluations}
    for rank, entry in enumerate(resources.get("InstancePreferences", []), 1):
        kind = entry["InstanceType"]
        seen = last.get(kind, {})
        won = rank == run.rank
        verdict = "[green]won[/green]" if won else ("[yellow]tried, not enough free[/yellow]" if seen else "not tried")
        needed = entry.get("InstanceCount", resources.get("InstanceCount"))
        table.add_row(str(rank), kind, str(needed), str(seen.get("free", "?")), verdict, style="bold" if won else None)
    return table


def show_result(console: Console, run: Run, *, seconds: float) -> None:
    """Print the table, the timeline and one line on how it ended."""
    console.print(preferences_table(run, "at the end"))
    console.print(timeline(run))
    good = run.terminal_state == "Completed"
    waited = "" if run.pending_seconds is None else f", waited {duration(run.pending_seconds)} for capacity"
    winner = f"{run.selected_count} x {run.selected_type}" if run.selected_type else "no type"
    colour = "green" if good else "yellow"
    console.print(
        f"[{colour}]{run.terminal_state}[/{colour}]: {winner}{waited}; job {run.request.get('TrainingJobName')}"
    )
    console.print(
        f"looks at the list: {len({e['time'] for e in run.evaluations})}; the whole rehearsal took {seconds:.0f} s"
    )


def timeline(run: Run) -> Text:
    """Return the job's phases as one bar, each as long as its share of the time."""
    points = run.transitions
    if not points:
        return Text("no job was created")
    end = points[-1]["start"]
    total = max(end - points[0]["start"], 1.0)
    text = Text(f"{clock(points[0]['start'])} ")
    for this, following in pairwise(points):
        share = round((following["start"] - this["start"]) / total * _TIMELINE_WIDTH)
        text.append("█" * max(share, 1), style=_PHASES.get(this["status"], "white"))
    text.append(f" {clock(end)}\n")
    for this, following in pairwise(points):
        text.append("█ ", style=_PHASES.get(this["status"], "white"))
        text.append(f"{this['status']} {duration(following['start'] - this['start'])}   ")
    text.append(points[-1]["status"], style="bold")
    return text


def clock(epoch: float) -> str:
    """Return a time of day in UTC."""
    return datetime.fromtimestamp(epoch, tz=UTC).strftime("%H:%M:%S")


def duration(seconds: float) -> str:
    """Return a length of time for people.

    Examples
    --------
    >>> duration(42), duration(1500), duration(7260)
    ('42 s', '25 min', '2 h 1 min')
    """
    minutes, rest = divmod(round(seconds), 60)
    if minutes == 0:
        return f"{rest} s"
    hours, minutes = divmod(minutes + (rest >= 30), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"
