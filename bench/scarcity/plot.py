"""The comparison as a plot: which part of the jobs has started after how long."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.scarcity.histories import HOUR, MINUTE, PATIENCE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes

__all__ = ["curve", "draw"]

# The shortest start in the sandbox is a minute; nothing lies left of this.
_LEFT = 0.8 * MINUTE
_TICKS = {MINUTE: "1 min", 5 * MINUTE: "5 min", 30 * MINUTE: "30 min", 2 * HOUR: "2 h", 8 * HOUR: "8 h"}
# Colour says which capacity is asked for, dashes that it is asked for in steps.
_LOOKS = {
    "one fixed type": ("#777777", "-"),
    "retry script, every 15 min": ("#d95f02", "-"),
    "one list": ("#1f5fbf", "-"),
    "steps: best 1 h, then list": ("#1f5fbf", (0, (4, 2))),
    "one list, plan first": ("#1b8a5a", "-"),
    "steps: plan 30 min, then list": ("#1b8a5a", (0, (4, 2))),
}


def curve(waits: Sequence[float | None]) -> tuple[list[float], list[float]]:
    """Return the steps of a distribution: after x seconds the part y of **all** jobs has started.

    Jobs that never start are counted, so a curve that ends below 1 says how many those are.
    """
    started = sorted(wait for wait in waits if wait is not None)
    shares = [rank / len(waits) for rank in range(1, len(started) + 1)]
    return [_LEFT, *started, PATIENCE], [0.0, *shares, shares[-1] if shares else 0.0]


def draw(waits: Mapping[str, Mapping[str, Sequence[float | None]]], path: Path, title: str) -> None:
    """Write an SVG with a panel for each regime; the same waits give the same bytes.

    Parameters
    ----------
    waits
        By regime and strategy.
    path
        The file to write.
    title
        What stands above the panels.
    """
    import matplotlib as mpl  # noqa: PLC0415 - slow, and only a plot needs it
    from matplotlib.figure import Figure  # noqa: PLC0415

    style = {"svg.hashsalt": "gpucap", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 9}
    with mpl.rc_context(style):
        figure = Figure(figsize=(10, 4.4), facecolor="white", layout="constrained")
        panels = figure.subplots(1, len(waits), sharey=True, squeeze=False)[0]
        for axes, (regime, rows) in zip(panels, waits.items(), strict=True):
            axes.set_title(regime, loc="left", fontweight="bold")
            for name, values in rows.items():
                colour, dashes = _LOOKS[name]
                (line,) = axes.step(*curve(values), where="post", color=colour, linestyle=dashes, linewidth=1.6)
                line.set_gid(f"{regime}/{name}")
                line.set_label(name)
            _frame(axes)
        panels[0].set_ylabel("jobs started, of all that came")
        figure.suptitle(title, x=0.01, ha="left")
        handles, names = panels[0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower center", ncols=3, frameon=False)
        figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})


def _frame(axes: Axes) -> None:
    axes.set_xscale("log")
    axes.set_xlim(_LEFT, PATIENCE)
    axes.set_ylim(0, 1.02)
    ticks = {**_TICKS, PATIENCE: f"{PATIENCE / HOUR:.0f} h"}
    axes.set_xticks(list(ticks), list(ticks.values()))
    axes.set_xticks([], minor=True)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "25 %", "50 %", "75 %", "100 %"])
    axes.grid(visible=True, color="#dddddd", linewidth=0.6)
    axes.axvline(30 * MINUTE, color="#999999", linewidth=0.8, linestyle=":")
    axes.set_xlabel("time from arrival to start (log)")
    axes.spines[["top", "right"]].set_visible(False)
