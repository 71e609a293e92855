"""``gpucap explain``: what a rule wants, why, where that is written, and an example of each kind."""

from __future__ import annotations

import argparse
import json
from functools import cache
from importlib.resources import files
from typing import Any

from constructs_lib.cli.errors import UsageError
from constructs_lib.rules import Rule, find_rule, rule_ids, rules

__all__ = ["add_parser", "run"]


def add_parser(subparsers: Any) -> None:
    """Add ``explain``."""
    parser = subparsers.add_parser(
        "explain",
        help="say what a rule wants, why, and how to fix a finding",
        description="Prints a rule's reason, source and examples; without an id, the list of all rules.",
    )
    parser.add_argument("rule", nargs="?", metavar="RULE-ID", help="such as GPU-PL02; a list of all when left out")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="json for machines")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Explain one rule, or list all."""
    if args.rule is None:
        return _list(args.format)
    rule_id = args.rule.upper()
    if rule_id not in rule_ids():
        raise UsageError(f"{args.rule!r} is no rule; `gpucap explain` without an id lists them")
    rule = find_rule(rule_id)
    if args.format == "json":
        print(json.dumps(_plain(rule), indent=2))
    else:
        _print(rule)
    return 0


def _list(form: str) -> int:
    if form == "json":
        print(json.dumps([_plain(rule) for rule in rules()], indent=2))
        return 0
    for rule in rules():
        print(f"{rule.id:<11} {'/'.join(rule.finds):<27} {rule.title}")
    return 0


def _plain(rule: Rule) -> dict[str, Any]:
    return {
        "rule": rule.id,
        "title": rule.title,
        "finds": {str(severity): words for severity, words in rule.finds.items()},
        "phase": str(rule.phase),
        "why": rule.why,
        "fix": rule.fix,
        "source": rule.source,
        "examples": _examples()[rule.id],
    }


@cache
def _examples() -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Return a bad and a good example of each rule: the first fixtures that the rule is tested with."""
    document: dict[str, dict[str, list[dict[str, Any]]]] = json.loads(
        (files(__package__) / "rule_examples.json").read_text(encoding="utf-8")
    )
    return document


def _print(rule: Rule) -> None:
    from rich.console import Console  # noqa: PLC0415 - machines do not need it

    console = Console(highlight=False)
    console.print(f"[bold]{rule.id}[/] {rule.title}  [dim](phase: {rule.phase})[/]\n")
    for severity, words in rule.finds.items():
        console.print(f"  [bold]{severity}[/]: {words}")
    console.print(f"\n[bold]why[/]     {rule.why}")
    console.print(f"[bold]fix[/]     {rule.fix}")
    console.print(f"[bold]source[/]  {rule.source}")
    for name, subjects in _examples()[rule.id].items():
        console.print(f"\n[bold]{name}[/]")
        for subject in subjects:
            console.print(json.dumps(subject, indent=2), markup=False, soft_wrap=True)
