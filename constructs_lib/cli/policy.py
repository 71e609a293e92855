"""``gpucap policy``: what an IAM policy does for instance types, and how to ask AWS what nobody has documented."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from constructs_lib.cli.errors import UsageError
from constructs_lib.model import InvalidInputError
from constructs_lib.rules import Kind, Severity, Subject, check
from constructs_lib.rules.policies.explain import Explanation, Layers, explain
from constructs_lib.rules.readers.document import UnreadableError, read_document
from constructs_lib.rules.readers.files import Input, Library
from constructs_lib.rules.readers.requests import policy_document

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from constructs_lib.rules import Finding

__all__ = ["add_parser", "run"]

DESCRIPTION = """\
Shows what a policy does: each action that starts instances against each shape of request (every type alone, all of
them in one list, an empty list, no types at all), with the statement that decides.

FILE is a policy document (JSON or YAML) or a CloudFormation template that holds some; - reads standard input. The
evaluator is ours; where it does not model what decides it says "unverified".
"""
EPILOG = """\
exit codes: 0 explained, 1 the rules on policies found an error in it, 2 it could not be read

examples:
  gpucap policy explain policy.json --types ml.g5.xlarge,ml.p5.48xlarge
  gpucap policy explain scp.json --action sagemaker:CreateTrainingJob --format json
  gpucap policy explain role.json --boundary boundary.json --scp scp.json
"""
TYPE_OF = {"identity": "managed", "boundary": "permissions-boundary", "scp": "scp"}


def add_parser(subparsers: Any) -> None:
    """Add ``policy``."""
    policy = subparsers.add_parser("policy", help="explain an IAM policy; ask AWS what is not documented")
    commands = policy.add_subparsers(title="commands", metavar="COMMAND", required=True)
    one = commands.add_parser(
        "explain",
        help="what a policy allows, denies, and by which statement",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    one.add_argument("file", metavar="FILE", help="a policy document or a template; - for standard input")
    one.add_argument("--types", metavar="TYPE,...", help="instance types to ask about (default: taken from the policy)")
    one.add_argument(
        "--action", action="append", default=[], metavar="ACTION", help="ask about this one; may be repeated"
    )
    one.add_argument("--as", dest="role", choices=("auto", *TYPE_OF), default="auto", help="what the document is")
    one.add_argument("--boundary", metavar="FILE", help="a permissions boundary beside it")
    one.add_argument("--scp", action="append", default=[], metavar="FILE", help="a service control policy beside it")
    one.add_argument("--resource", metavar="ARN", help="ask about this resource")
    one.add_argument(
        "--context", action="append", default=[], metavar="KEY=VALUE,...", help="another condition key of the requests"
    )
    one.add_argument("--format", choices=("text", "json"), default="text", help="json for machines")
    one.set_defaults(run=run)
    from constructs_lib.cli import policy_probe  # noqa: PLC0415 - a command of this command

    policy_probe.add_parser(commands)


def run(args: argparse.Namespace) -> int:
    """Explain one file."""
    try:
        layers = Layers(
            role=args.role,
            boundary=_document(args.boundary) if args.boundary else None,
            scps=tuple(_document(file) for file in args.scp),
        )
        asked = {
            "types": tuple(name for name in (args.types or "").split(",") if name),
            "actions": args.action,
            "context": dict(_pair(text) for text in args.context),
            "resource": args.resource,
        }
        explained = [
            (s, explain(s.data, layers=layers, **asked), _findings(s, args.role)) for s in _subjects(args.file)
        ]
    except InvalidInputError as error:
        raise UsageError(str(error)) from error
    if args.format == "json":
        print(json.dumps([_plain(*one) for one in explained], indent=2))
    else:
        from constructs_lib.cli.policy_text import print_explanation  # noqa: PLC0415 - json needs no tables

        for one in explained:
            print_explanation(*one)
    return int(any(finding.severity is Severity.ERROR for _, _, findings in explained for finding in findings))


def _subjects(file: str) -> list[Subject]:
    library = Library()
    library.add(_bytes(file), Input(Path(file)))
    if library.reading.unreadable:
        bad = library.reading.unreadable[0]
        raise UsageError(f"{bad.file}:{bad.line or 1}: {bad.reason}")
    found = [subject for subject in library.reading.subjects if subject.kind is Kind.IAM_DOCUMENT]
    if not found:
        raise UsageError(f"{file}: no policy document in it; one has a Version and a list of Statements")
    return found


def _document(file: str) -> dict[str, Any]:
    try:
        data = read_document(_bytes(file), file).data
    except UnreadableError as error:
        raise UsageError(f"{file}:{error.line or 1}: {error.reason}") from error
    if not policy_document(data):
        raise UsageError(f"{file}: not a policy document; one has a Version and a list of Statements")
    return dict(data)


def _bytes(file: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror or error}") from error


def _pair(text: str) -> tuple[str, str | list[str]]:
    key, equals, value = text.partition("=")
    if not equals or ":" not in key:
        raise UsageError(f"--context {text!r}: write it like sagemaker:MaxRuntimeInSeconds=3600")
    return key, value.split(",") if "," in value else value


def _findings(subject: Subject, role: str) -> Sequence[Finding]:
    if role in TYPE_OF and "Type" not in subject.about:
        subject = Subject(subject.kind, subject.data, path=subject.path, about={"Type": TYPE_OF[role]})
    return check([subject])


def _plain(subject: Subject, table: Explanation, findings: Sequence[Finding]) -> dict[str, Any]:
    return {
        "file": subject.file,
        "resource": subject.resource,
        "path": subject.path,
        "assumed": table.assumed,
        "requests": {shape.name: shape.types for shape in table.shapes},
        "rows": list(_rows(table)),
        "findings": [finding.to_dict() for finding in findings],
    }


def _rows(table: Explanation) -> Iterator[dict[str, Any]]:
    for row in table.rows:
        cells = {
            shape.name: {"verdict": str(cell.verdict), "by": cell.by}
            for shape, cell in zip(table.shapes, row.decisions, strict=True)
        }
        yield {"action": row.action, "resource": row.resource, "carries_types": row.carries, "verdicts": cells}
