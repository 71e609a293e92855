"""``gpucap lint``: the rules over anyone's files, without CDK and without an account."""

from __future__ import annotations

import argparse
import gc
import json
import sys
import tomllib
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from constructs_lib.cli.errors import UsageError
from constructs_lib.rules import check, rule_ids
from constructs_lib.rules.formats.report import Report
from constructs_lib.rules.readers.baseline import Baseline
from constructs_lib.rules.readers.files import Input, Library, expand, read_inputs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from constructs_lib.rules import Finding

__all__ = ["add_parser", "run"]

FORMATS = ("text", "json", "sarif", "github")
LEVELS = ("error", "warning")
DESCRIPTION = """\
Checks CloudFormation and SAM templates, cdk.out folders, Step Functions definitions, SageMaker Pipelines definitions,
IAM policies and bare API requests against the capacity rules. Reads files only: no account, no CDK.

PATH is a file, a folder, a glob, or - for standard input. Defaults stand in pyproject.toml:

  [tool.gpucap.lint]
  paths = ["templates"]          # when no PATH is given
  fail-on = "warning"
  ignore = ["GPU-PL21"]
  baseline = "gpucap-baseline.json"

To accept one finding in a template, with a reason:

  Metadata: {gpucap: {ignore: [GPU-PL12], reason: "both types run the same image"}}
"""
EPILOG = """\
exit codes: 0 nothing at or above --fail-on, 1 findings, 2 something could not be read (wins over 1)

examples:
  gpucap lint cdk.out
  gpucap lint templates/ --update-baseline --baseline gpucap-baseline.json    # first day on an old repo
  gpucap lint '**/*.asl.json' --format github
"""


def add_parser(subparsers: Any) -> None:
    """Add ``lint``."""
    parser = subparsers.add_parser(
        "lint",
        help="check templates, state machines, pipelines, policies and requests",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files, folders, globs, or - for standard input")
    parser.add_argument("--format", choices=FORMATS, help="how to print (default: text)")
    parser.add_argument(
        "--fail-on", choices=LEVELS, help="the least severity that makes the exit code 1 (default: error)"
    )
    parser.add_argument("--ignore", action="append", metavar="RULE", help="do not ask this rule; may be repeated")
    parser.add_argument("--baseline", type=Path, metavar="FILE", help="findings listed in FILE are known, not new")
    parser.add_argument("--update-baseline", action="store_true", help="write all findings to the baseline, exit 0")
    parser.add_argument("--summary", type=Path, metavar="FILE", help="append a Markdown table, for a CI job's summary")
    parser.add_argument("--now", metavar="T", help="judge windows as of this time, such as 2027-01-31T12:00Z")
    parser.add_argument(
        "--show-unverified", action="store_true", help="list what could not be judged, not only its count"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Check the paths and print the report in the asked format."""
    settings = _settings(args)
    if unknown := sorted(set(settings["ignore"]) - rule_ids()):
        raise UsageError(f"--ignore {', '.join(unknown)}: no such rule; `gpucap explain` lists the ids")
    if not settings["paths"]:
        raise UsageError(
            "nothing to check: name files or folders, or set paths in [tool.gpucap.lint] of pyproject.toml"
        )
    with _no_garbage():
        library = _read(settings["paths"])
        findings = _findings(library, settings["ignore"], _now(args.now))
    baseline_file = settings["baseline"]
    if args.update_baseline:
        return _update_baseline(baseline_file, findings, library)
    baseline = Baseline.read(baseline_file) if baseline_file else Baseline()
    new = baseline.without_known(findings)
    report = Report(
        checked=library.checked,
        findings=new,
        unreadable=library.reading.unreadable,
        skipped=len(library.skipped),
        known=len(findings) - len(new),
    )
    _print(report, settings["format"], show_unverified=args.show_unverified)
    if args.summary:
        _append_summary(report, args.summary)
    return report.exit_code(settings["fail_on"])


@contextmanager
def _no_garbage() -> Iterator[None]:
    """Keep the collector out: what is read lives until the report is out, and looking through it takes a fifth more."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _settings(args: argparse.Namespace) -> dict[str, Any]:
    """Return what holds: the command line, else pyproject.toml, else the default."""
    file = Path("pyproject.toml")
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: {error}") from error
    said = table.get("tool", {}).get("gpucap", {}).get("lint", {})
    allowed = {"paths": list, "ignore": list, "format": str, "fail-on": str, "baseline": str}
    for key, value in said.items():
        if key not in allowed or not isinstance(value, allowed[key]):
            names = ", ".join(f"{name} ({kind.__name__})" for name, kind in allowed.items())
            raise UsageError(f"{file}: [tool.gpucap.lint] {key} = {value!r}; allowed are {names}")
    for key, values in (("format", FORMATS), ("fail-on", LEVELS)):
        if said.get(key, values[0]) not in values:
            raise UsageError(f"{file}: [tool.gpucap.lint] {key} = {said[key]!r}; allowed are {', '.join(values)}")
    baseline = args.baseline or (Path(said["baseline"]) if "baseline" in said else None)
    return {
        "paths": args.paths or said.get("paths", []),
        "ignore": args.ignore or said.get("ignore", []),
        "format": args.format or said.get("format", "text"),
        "fail_on": args.fail_on or said.get("fail-on", "error"),
        "baseline": baseline,
    }


def _now(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        now = datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(f"--now {text!r} is no time; write it like 2027-01-31T12:00Z") from error
    if now.tzinfo is None:
        raise UsageError(f"--now {text!r} has no time zone; write it like 2027-01-31T12:00Z")
    return now


def _read(paths: Sequence[str]) -> Library:
    files = [path for path in paths if path != "-"]
    inputs = expand(files)
    library = read_inputs(inputs.files)
    library.reading.unreadable[:0] = inputs.unreadable
    if "-" in paths:
        library.add(sys.stdin.buffer.read(), Input(Path("-")))
    return library


def _findings(library: Library, ignore: Sequence[str], now: datetime | None) -> list[Finding]:
    found = check(library.reading.subjects, now=now, ignore=ignore)
    return [replace(finding, line=_line(library, finding)) for finding in found]


def _line(library: Library, finding: Finding) -> int | None:
    document = library.documents.get(finding.file or "")
    return document.line(finding.path) if document else finding.line


def _update_baseline(file: Path | None, findings: list[Finding], library: Library) -> int:
    if file is None:
        raise UsageError("--update-baseline needs --baseline FILE, the file to write")
    Baseline.of(findings).write(file)
    sys.stderr.write(f"{file}: {len(findings)} findings are known from now on\n")
    for unreadable in library.reading.unreadable:
        sys.stderr.write(f"{unreadable.file}:{unreadable.line or 1}: {unreadable.reason}\n")
    return 2 if library.reading.unreadable else 0


def _append_summary(report: Report, file: Path) -> None:
    from constructs_lib.rules.formats.markdown import to_markdown  # noqa: PLC0415 - only a summary needs it

    try:
        with file.open("a", encoding="utf-8") as sink:
            sink.write(to_markdown(report))
    except OSError as error:
        raise UsageError(f"--summary {file}: {error.strerror}") from error


def _print(report: Report, form: str, *, show_unverified: bool) -> None:
    if form == "json":
        print(json.dumps(report.to_dict(), indent=2))
    elif form == "sarif":
        from constructs_lib.rules.formats.sarif import to_sarif  # noqa: PLC0415 - only this format needs it

        print(json.dumps(to_sarif(report, version("gpu-capacity-constructs")), indent=2))
    elif form == "github":
        from constructs_lib.rules.formats.github import to_annotations  # noqa: PLC0415

        for line in to_annotations(report):
            print(line)
    else:
        from constructs_lib.cli.lint_text import print_text  # noqa: PLC0415

        print_text(report, show_unverified=show_unverified)
