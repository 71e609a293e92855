"""An explained policy for people: a table of verdicts, what no key covers, and what the rules say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from constructs_lib.facts import iam
from constructs_lib.rules import Severity
from constructs_lib.rules.policies import Decision, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from constructs_lib.rules import Finding, Subject
    from constructs_lib.rules.policies.explain import Explanation, Row

__all__ = ["print_explanation"]

_STYLES = {
    Verdict.ALLOWED: "green",
    Verdict.DENIED: "bold red",
    Verdict.NOT_ALLOWED: "red",
    Verdict.UNVERIFIED: "cyan",
}
_LEVELS = {Severity.ERROR: "bold red", Severity.WARNING: "yellow"}


def print_explanation(subject: Subject, table: Explanation, findings: Sequence[Finding]) -> None:
    """Print one policy to standard output."""
    console = Console(highlight=False)
    place = " ".join(part for part in (subject.file, subject.resource) if part)
    console.print(f"[bold underline]{escape(place or 'policy')}[/], read as {table.assumed}")
    for actions, row in _alike(row for row in table.rows if row.carries):
        console.print(", ".join(actions))
        console.print(_verdicts(table, row))
    never = [row for row in table.rows if not row.carries]
    if never:
        console.print("these never carry their instance types; what each leaves open, and what closes it:")
    for row in never:
        console.print(_gap(row), soft_wrap=True)
    if not table.rows:
        console.print("it names no action that starts instances")
    for finding in findings:
        if finding.severity in _LEVELS:
            console.print(f"[{_LEVELS[finding.severity]}]{finding.severity}[/] {escape(str(finding))}", soft_wrap=True)


def _alike(rows: Iterable[Row]) -> Iterator[tuple[list[str], Row]]:
    """Yield the actions that the policy treats alike, with one of their rows."""
    groups: dict[tuple[Decision, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(row.decisions, []).append(row)
    for group in groups.values():
        yield [row.action for row in group], group[0]


def _verdicts(table: Explanation, row: Row) -> Table:
    grid = Table("request", "verdict", "by")
    for shape, decision in zip(table.shapes, row.decisions, strict=True):
        grid.add_row(shape.name, f"[{_STYLES[decision.verdict]}]{decision.verdict}[/]", escape(_by(decision)))
    return grid


def _gap(row: Row) -> str:
    verdict = row.decisions[-1].verdict
    gap = iam.gaps().get(row.action)
    words = f": {gap.opens}; {gap.closes}" if gap else ""
    return f"  [{_STYLES[verdict]}]{verdict}[/] {row.action}{escape(words)}"


def _by(decision: Decision) -> str:
    words = ", ".join(decision.by)
    return f"nothing in the {words} allows it" if decision.verdict is Verdict.NOT_ALLOWED else words
