"""The scenarios: what is free when, what someone does meanwhile, and how it must end. One YAML file each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from constructs_lib.cli.demo.watch import Run

__all__ = ["Scenario", "load_scenarios"]


@dataclass(frozen=True, slots=True)
class Scenario:
    """One rehearsal.

    Parameters
    ----------
    name, title, story : str
        Its name on the command line, one line, and a paragraph for the terminal.
    machine : str
        The output of the app's stack that holds the state machine's ARN.
    speed : float
        Virtual seconds per second.
    capacity_file : Path
        What is free when.
    action : str or None
        ``stop-while-pending`` or ``lose-job-events``.
    frees : dict or None
        ``instance_type``, ``count`` and ``after_minutes``: what comes free how long after the run's start.
    expect : dict
        ``terminal_state`` and, where one wins, ``rank``; ``pending_minutes`` bounds the wait as [low, high].
    """

    name: str
    title: str
    story: str
    machine: str
    speed: float
    capacity_file: Path
    expect: dict[str, Any]
    action: str | None = None
    frees: dict[str, Any] | None = None

    def problems(self, run: Run) -> list[str]:
        """Return, in words, where ``run`` ended otherwise than this scenario's name says."""
        found = [
            f"{key} is {getattr(run, key)!r}, {self.expect[key]!r} was expected"
            for key in ("terminal_state", "rank", "job_status")
            if key in self.expect and getattr(run, key) != self.expect[key]
        ]
        low, high = self.expect.get("pending_minutes", (0, float("inf")))
        waited = run.pending_seconds
        if waited is not None and not low * 60 <= waited <= high * 60:
            found.append(f"it waited {waited / 60:.0f} min, {low} to {high} was expected")
        return found


@cache
def load_scenarios() -> dict[str, Scenario]:
    """Return the packaged scenarios by name, in the order in which they teach."""
    folder = files(__package__) / "scenarios"
    order = ("fallback", "queue", "timeout", "abort", "lost-event")
    return {name: _load(name, folder) for name in order}


def _load(name: str, folder: Any) -> Scenario:
    document = yaml.safe_load((folder / f"{name}.yaml").read_text(encoding="utf-8"))
    with as_file(folder / f"{name}.capacity.yaml") as capacity_file:
        return Scenario(name=name, capacity_file=Path(capacity_file), **document)
