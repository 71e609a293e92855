"""Run variants in turn (A B C, A B C ...) and compare them inside one run."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parent.parent
CASES = Path(__file__).parent / "cases"


@dataclass(frozen=True)
class Variant:
    """One way of doing the work: a command whose last line of output is a JSON object of figures."""

    name: str
    command: list[str]
    environment: dict[str, str] = field(default_factory=dict)


def python(case: str, *args: str) -> list[str]:
    """Return the command of a Python case."""
    return [sys.executable, str(CASES / f"{case}.py"), *args]


def measure(variants: list[Variant], figure: str, rounds: int = 5) -> dict[str, list[float]]:
    """Return each variant's figure per round; a first round warms caches and is thrown away."""
    figures: dict[str, list[float]] = {variant.name: [] for variant in variants}
    for turn in range(rounds + 1):
        for variant in variants:
            value = _once(variant)[figure]
            if turn:
                figures[variant.name].append(value)
    return figures


def _once(variant: Variant) -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="gpucap-bench-") as folder:
        done = subprocess.run(
            variant.command,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT), "CDK_VALIDATION": "false", **variant.environment},
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        raise SystemExit(f"{variant.name} failed:\n{done.stderr[-2000:]}")
    figures: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return figures


def ratio(figures: dict[str, list[float]], of: str, to: str) -> tuple[float, float, float]:
    """Return the median, least and greatest of the rounds' ratios."""
    ratios = [a / b for a, b in zip(figures[of], figures[to], strict=True)]
    return statistics.median(ratios), min(ratios), max(ratios)
