"""Files and folders as subjects: what each file is, which files a path stands for, and how they belong together."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from constructs_lib.rules.readers.assembly import is_assembly, stack_templates
from constructs_lib.rules.readers.document import Document, UnreadableError, read_document
from constructs_lib.rules.readers.pipelines import is_pipeline, pipeline_subjects
from constructs_lib.rules.readers.reading import Reading, Unreadable
from constructs_lib.rules.readers.requests import policy_document, request_kind
from constructs_lib.rules.readers.states import fragment_subjects, is_machine, is_state_fragment, machine_subjects
from constructs_lib.rules.readers.template import is_template, read_template
from constructs_lib.rules.subjects import Kind, Subject

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Input", "Inputs", "Library", "expand", "read_inputs"]

_SUFFIXES = frozenset({".json", ".yaml", ".yml", ".template", ".asl"})
_SKIPPED_FOLDERS = frozenset({"node_modules", "__pycache__", "site-packages"})


@dataclass(frozen=True, slots=True)
class Input:
    """One file to read; ``named`` if the user gave this very file, not a folder that holds it."""

    path: Path
    named: bool = True
    stack: str | None = None
    region: str | None = None
    account: str | None = None


@dataclass(slots=True)
class Inputs:
    """The files that the given paths stand for, and the paths that stand for none."""

    files: list[Input] = field(default_factory=list)
    unreadable: list[Unreadable] = field(default_factory=list)


@dataclass(slots=True)
class Library:
    """Everything that was read: subjects, documents by name (for lines), what failed, what was of no known kind."""

    reading: Reading = field(default_factory=Reading)
    documents: dict[str, Document] = field(default_factory=dict)
    checked: int = 0
    skipped: list[str] = field(default_factory=list)

    def add(self, content: bytes, source: Input) -> None:
        """Read one file's content."""
        name = str(source.path)
        try:
            document = read_document(content, name)
        except UnreadableError as error:
            self.reading.unreadable.append(Unreadable(name, error.reason, error.line))
            return
        found = _recognise(document, source)
        if found is not None:
            self.checked += 1
            self.reading.add(found)
            # Only the lines are asked for later; the data lives on in the subjects that hold parts of it.
            document.data = None
            self.documents[name] = document
        elif source.named:
            reason = (
                "no known kind: neither a template, a state machine, a pipeline definition, an IAM policy nor a request"
            )
            self.reading.unreadable.append(Unreadable(name, reason))
        else:
            self.skipped.append(name)


def read_inputs(inputs: Iterable[Input]) -> Library:
    """Read the files; one that fails is named and does not stop the others."""
    library = Library()
    for source in inputs:
        try:
            content = source.path.read_bytes()
        except OSError as error:
            reason = f"cannot be opened: {error.strerror or error}"
            library.reading.unreadable.append(Unreadable(str(source.path), reason))
            continue
        library.add(content, source)
    return library


def expand(paths: Iterable[str]) -> Inputs:
    """Return the files that paths, folders and globs stand for.

    A folder with a cloud assembly's manifest stands for its stacks' templates, nested ones included, each with the
    account and region that the manifest states. Any other folder is walked; hidden folders, installed packages and
    the assets of assemblies are passed over.

    Parameters
    ----------
    paths : iterable of str
        As given on a command line; ``*``, ``?`` and ``[...]`` are matched here when the shell has not.
    """
    inputs = Inputs()
    for given in paths:
        path = Path(given)
        if path.is_dir():
            found = list(_folder(path))
            if not found:
                inputs.unreadable.append(Unreadable(given, "a folder without JSON or YAML files"))
            inputs.files += found
        elif path.exists():
            inputs.files.append(Input(path))
        elif matches := _glob(given):
            inputs.files += [Input(match, named=False) for match in matches if match.is_file()]
        else:
            inputs.unreadable.append(Unreadable(given, "no such file or folder"))
    return inputs


def _glob(pattern: str) -> list[Path]:
    if not any(sign in pattern for sign in "*?["):
        return []
    path = Path(pattern)
    anchor = Path(path.anchor) if path.is_absolute() else Path()
    return sorted(anchor.glob(str(path.relative_to(path.anchor) if path.is_absolute() else path)))


def _folder(folder: Path) -> Iterator[Input]:
    if is_assembly(folder):
        for found in stack_templates(folder):
            yield Input(found.file, False, found.stack, found.region, found.account)
        return
    for entry in sorted(folder.iterdir()):
        if entry.is_dir():
            if not entry.name.startswith((".", "asset.")) and entry.name not in _SKIPPED_FOLDERS:
                yield from _folder(entry)
        elif entry.suffix in _SUFFIXES:
            yield Input(entry, named=False)


def _recognise(document: Document, source: Input) -> Reading | None:
    data = document.data
    place: dict[str, Any] = {"file": document.name, "region": source.region, "account": source.account}
    if is_template(data):
        return read_template(document, stack=source.stack, region=source.region, account=source.account)
    if is_machine(data):
        return Reading(machine_subjects(data, (), None, **place))
    if is_pipeline(data):
        return Reading(list(pipeline_subjects(data, (), **place)))
    if policy_document(data):
        return Reading([Subject(Kind.IAM_DOCUMENT, data, **place)])
    if kind := request_kind(data):
        return Reading([Subject(kind, data, **place)])
    return Reading(list(fragment_subjects(data, **place))) if is_state_fragment(data) else None
