"""A cloud assembly (``cdk.out``): which templates deploy as which stack and where, nested stacks and stages too."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["StackTemplate", "construct_paths", "is_assembly", "stack_templates"]


@dataclass(frozen=True, slots=True)
class StackTemplate:
    """One template of an assembly.

    Parameters
    ----------
    file : Path
    stack : str
        The artifact that deploys it; a nested stack's template belongs to its parent's.
    construct_path : str
        Of the stack itself, such as ``Prod/Api`` or ``App/Stack/Nested``.
    account, region : str or None
        As far as they are known at synth.
    """

    file: Path
    stack: str
    construct_path: str
    account: str | None = None
    region: str | None = None


def is_assembly(folder: Path) -> bool:
    """Tell whether a folder is a cloud assembly."""
    return bool(_artifacts(folder))


def stack_templates(folder: Path) -> Iterator[StackTemplate]:
    """Yield the templates of every stack of the assembly, then those of its stages' assemblies."""
    for name, artifact in _artifacts(folder).items():
        properties = _mapping(artifact.get("properties"))
        if artifact.get("type") == "cdk:cloud-assembly" and "directoryName" in properties:
            yield from stack_templates(folder / properties["directoryName"])
        elif artifact.get("type") == "aws:cloudformation:stack" and "templateFile" in properties:
            account, region = _environment(str(artifact.get("environment", "")))
            path = str(artifact.get("displayName", name)).split(" ")[0]
            stack = StackTemplate(folder / properties["templateFile"], name, path, account, region)
            yield stack
            for nested, file in _nested(folder, artifact, stack.file.name).items():
                yield replace(stack, file=folder / file, construct_path=nested)


def construct_paths(folder: Path) -> dict[tuple[str, str], str]:
    """Return the construct path of each resource, by template file name and logical id.

    Reads the metadata that CDK writes beside the templates; resources without it are left out.
    """
    found: dict[tuple[str, str], str] = {}
    for artifact in _artifacts(folder).values():
        metadata = _metadata(folder, artifact)
        files = _template_files(metadata)
        for path, entries in metadata.items():
            ids = [entry["data"] for entry in entries if entry.get("type") == "aws:cdk:logicalId"]
            stack = max((p for p in files if path == p or path.startswith(f"{p}/")), key=len, default=None)
            if stack is not None:
                found |= {(files[stack], str(logical_id)): path.lstrip("/") for logical_id in ids}
    return found


def _nested(folder: Path, artifact: Mapping[str, Any], own: str) -> dict[str, str]:
    files = _template_files(_metadata(folder, artifact))
    return {path.lstrip("/"): file for path, file in files.items() if file != own and (folder / file).is_file()}


def _template_files(metadata: Mapping[str, Any]) -> dict[str, str]:
    return {
        path: str(entry["data"])
        for path, entries in metadata.items()
        for entry in entries
        if entry.get("type") == "aws:cdk:templateFile"
    }


def _metadata(folder: Path, artifact: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    metadata = dict(_mapping(artifact.get("metadata")))
    if file := artifact.get("additionalMetadataFile"):
        metadata |= _json(folder / str(file))
    return {path: entries for path, entries in metadata.items() if isinstance(entries, list)}


def _artifacts(folder: Path) -> dict[str, dict[str, Any]]:
    manifest = _json(folder / "manifest.json")
    artifacts = _mapping(manifest.get("artifacts")) if "version" in manifest else {}
    return {name: artifact for name, artifact in artifacts.items() if isinstance(artifact, dict)}


def _json(file: Path) -> dict[str, Any]:
    try:
        return dict(_mapping(json.loads(file.read_bytes())))
    except (OSError, ValueError):
        return {}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _environment(text: str) -> tuple[str | None, str | None]:
    """Return account and region of ``aws://account/region``, each ``None`` where it is unknown at synth."""
    parts = text.removeprefix("aws://").split("/")
    known = [part if part and not part.startswith("unknown-") else None for part in parts]
    return (known[0], known[1]) if len(known) == 2 else (None, None)
