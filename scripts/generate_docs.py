"""Write the pages and data that follow from the code: run after a rule, its words or its fixtures change.

``python scripts/generate_docs.py`` rewrites the files, ``--check`` exits 1 when one is stale and writes nothing.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from constructs_lib.rules import Rule, rules

sys.path.insert(0, str(Path(__file__).parent))
from api_page import api_page

ROOT = Path(__file__).parent.parent
FIXTURES = ROOT / "tests" / "fixtures" / "rules"
WIDTH = 112

HEAD = """\
# Rules

Generated from the rules' own metadata by `scripts/generate_docs.py`; edit the rule, not this page.

- **error**: AWS refuses it, or it buys or runs something else than was meant. Fails `cdk synth` and `gpucap lint`.
- **warning**: legal, and probably not what was meant. Fails only `gpucap lint --fail-on warning`.
- **unverified**: a value, or AWS's behaviour, is not known here. Never fails anything.

Phases: `synth` is judged from the text alone; `deploy` needs the account or a clock; `run` needs live capacity. What a
phase cannot know yet is unverified in it. Ids are public: never renamed, never used again.
"""
TITLES = {
    "GPU-PL": "Preference lists",
    "GPU-TP": "Training plans",
    "GPU-CB": "Capacity blocks",
    "GPU-EP": "Endpoints",
    "GPU-IAM": "IAM",
    "GPU-WF": "State machines",
}


def rules_page() -> str:
    """Return docs/rules.md: a table, then a section a rule."""
    parts = [HEAD]
    for prefix, title in TITLES.items():
        members = [rule for rule in rules() if rule.id.rstrip("0123456789") == prefix]
        rows = [
            f"| [{r.id}](#{r.id.lower()}) | {' / '.join(r.finds)} | {r.phase} | {_cell(r.title)} |" for r in members
        ]
        parts.append("\n".join([f"## {title}\n", "| id | severity | phase | finds |", "|---|---|---|---|", *rows, ""]))
        parts += [section(rule) for rule in members]
    return "\n".join(parts)


def section(rule: Rule) -> str:
    """Return what the page says about one rule."""
    lines = [f"### {rule.id}", "", f"**{rule.title}** ({rule.phase}; {', '.join(rule.kinds)})", ""]
    lines += [f"- {severity}: {words}" for severity, words in rule.finds.items()]
    lines += ["", f"Why: {rule.why}.", "", f"Fix: {rule.fix}.", "", f"Source: {rule.source}."]
    if rule.suppresses:
        lines += ["", f"Where it speaks, {', '.join(rule.suppresses)} stays silent."]
    for name in ("bad", "good"):
        for example in example_of(rule.id)[name]:
            place = "".join(
                f", {key} `{json.dumps(value)}`" for key, value in example.items() if key not in ("kind", "data")
            )
            lines += [
                "",
                f"{name.capitalize()} ({example['kind']}{place}):",
                "```json",
                compact(example["data"]),
                "```",
            ]
    return "\n".join([*lines, ""])


def example_of(rule_id: str) -> dict[str, list[dict[str, Any]]]:
    """Return the subjects of a rule's first bad and first good fixture, with what is declared."""
    found = {}
    for name in ("bad", "good"):
        raw = json.loads((FIXTURES / rule_id / f"{name}.json").read_text())
        around = {key: raw[key] for key in ("declared", "now") if key in raw}
        found[name] = [_example(subject, around) for subject in raw.get("subjects", [raw])]
    return found


def _example(subject: dict[str, Any], around: dict[str, Any]) -> dict[str, Any]:
    keep = ("kind", "data", "carrier", "stack", "resource", "region", "account", "about")
    return {key: subject[key] for key in keep if key in subject} | around


def examples() -> str:
    """Return the examples that ``gpucap explain`` prints, one rule a line."""
    rows = [f"  {json.dumps(rule.id)}: {json.dumps(example_of(rule.id))}" for rule in rules()]
    return "{\n" + ",\n".join(rows) + "\n}\n"


def compact(value: Any, indent: int = 0) -> str:
    """Return JSON with what fits on a line on one line."""
    flat = json.dumps(value)
    if len(flat) + indent <= WIDTH or not isinstance(value, dict | list) or not value:
        return flat
    pad = " " * (indent + 2)
    inner = ",\n".join(pad + line for line in _members(value, indent + 2))
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return f"{opening}\n{inner}\n{' ' * indent}{closing}"


def _members(value: Any, indent: int) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (f"{json.dumps(key)}: {compact(member, indent)}" for key, member in value.items())
    else:
        yield from (compact(member, indent) for member in value)


def _cell(words: str) -> str:
    return words.replace("|", "\\|")


GENERATED: dict[Path, Callable[[], str]] = {
    ROOT / "docs" / "api.md": api_page,
    ROOT / "docs" / "rules.md": rules_page,
    ROOT / "constructs_lib" / "cli" / "rule_examples.json": examples,
}


def main() -> int:
    """Write or check every generated file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="exit 1 when a file is stale, write nothing")
    check = parser.parse_args().check
    if missing := {rule.id.rstrip("0123456789") for rule in rules()} - set(TITLES):
        print(f"no title for {', '.join(sorted(missing))}")
        return 1
    stale = []
    for path, make in GENERATED.items():
        text = make()
        if not path.exists() or path.read_text() != text:
            stale.append(str(path.relative_to(ROOT)))
            if not check:
                path.write_text(text)
    if stale:
        print(("stale: " if check else "written: ") + ", ".join(stale))
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
