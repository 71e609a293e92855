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
    """Run one variant; ``cpu`` is the processor time of its whole process tree, which a busy machine changes least."""
    with tempfile.TemporaryDirectory(prefix="gpucap-bench-") as folder, tempfile.TemporaryFile("w+") as output:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "CDK_VALIDATION": "false", **variant.environment}
        child = subprocess.Popen(variant.command, cwd=folder, env=environment, stdout=output, stderr=output)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read()
    if child.returncode:
        raise SystemExit(f"{variant.name} failed:\n{text[-2000:]}")
    lines = [line for line in text.splitlines() if line.startswith("{")]
    figures: dict[str, float] = json.loads(lines[-1])
    return {**figures, "cpu": usage.ru_utime + usage.ru_stime}


def beyond(figures: dict[str, list[float]], base: str) -> dict[str, list[float]]:
    """Return what each variant takes beyond the base of its round."""
    return {
        name: [value - floor for value, floor in zip(values, figures[base], strict=True)]
        for name, values in figures.items()
        if name != base
    }


def ratio(figures: dict[str, list[float]], of: str, to: str) -> tuple[float, float, float]:
    """Return the median, least and greatest of the rounds' ratios."""
    ratios = [a / b for a, b in zip(figures[of], figures[to], strict=True)]
    return statistics.median(ratios), min(ratios), max(ratios)
