"""The jobs of a fleet as JSON Lines: one `TrainingJobSpec` a line, its fields by their names."""

from __future__ import annotations

import json
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any

from constructs_lib.model.errors import InvalidInputError
from constructs_lib.model.jobs import InputChannel, TrainingJobSpec
from constructs_lib.model.preferences import InstancePreference

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["read_lines", "spec_of"]

_FIELDS = {field.name: field for field in fields(TrainingJobSpec)}
_REQUIRED = [name for name, field in _FIELDS.items() if field.default is MISSING and field.default_factory is MISSING]
_OF_TEXTS = ("hyperparameters", "environment", "tags")


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file that hold something, with their numbers from 1.

    Raises
    ------
    InvalidInputError
        If the file cannot be read as UTF-8 text.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInputError(f"jobs_file: {path} cannot be read as UTF-8 text: {error}") from None
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            yield number, line


def spec_of(line: str) -> TrainingJobSpec:
    """Return the job of one line.

    ``preferences`` is a list of types, or of objects with ``instance_type``, ``instance_count``, ``training_plan`` and
    ``reason``; ``inputs`` maps a channel to a prefix, or to an object with the fields of `InputChannel`; times are
    seconds.

    Raises
    ------
    InvalidInputError

    Examples
    --------
    >>> spec_of('{"name": "lr-1", "image": "x", "output": "s3://b/o", "max_runtime": 60,'
    ...         ' "preferences": ["ml.p5.48xlarge"], "instance_count": 1}').preferences[0].instance_type
    'ml.p5.48xlarge'
    """
    try:
        data = json.loads(line)
    except ValueError as error:
        raise InvalidInputError(f"no JSON: {error}") from None
    if not isinstance(data, dict):
        raise InvalidInputError(f"an object with the fields of a TrainingJobSpec is needed, {line[:60]} was given")
    _require_known(data, set(_FIELDS), "TrainingJobSpec")
    if missing := [name for name in _REQUIRED if name not in data]:
        raise InvalidInputError(f"{', '.join(missing)}: missing; a TrainingJobSpec needs {', '.join(_REQUIRED)}")
    for name in _OF_TEXTS:
        _require_texts(name, data.get(name, {}))
    preferences = [_preference(entry) for entry in _list("preferences", data["preferences"])]
    inputs = {name: _channel(name, given) for name, given in _mapping("inputs", data.get("inputs", {})).items()}
    return TrainingJobSpec(**{**data, "preferences": preferences, "inputs": inputs})


def _preference(entry: Any) -> InstancePreference:
    if isinstance(entry, str):
        return InstancePreference(entry)
    given = _mapping("preferences", entry)
    _require_known(given, {field.name for field in fields(InstancePreference)}, "InstancePreference")
    return InstancePreference(**{"instance_type": None, **given})


def _channel(name: str, given: Any) -> str | InputChannel:
    if isinstance(given, str):
        return given
    channel = _mapping(f"inputs.{name}", given)
    _require_known(channel, {field.name for field in fields(InputChannel)}, "InputChannel")
    if "s3_uri" not in channel:
        raise InvalidInputError(f"inputs.{name}: s3_uri is missing")
    return InputChannel(**channel)


def _require_known(data: dict[str, Any], known: set[str], what: str) -> None:
    if unknown := sorted(data.keys() - known):
        raise InvalidInputError(f"{', '.join(unknown)}: no field of {what}; it has {', '.join(sorted(known))}")


def _require_texts(name: str, given: Any) -> None:
    for key, value in _mapping(name, given).items():
        if not isinstance(value, str):
            raise InvalidInputError(f"{name}.{key}: SageMaker takes text, {json.dumps(value)} was given; quote it")


def _mapping(name: str, given: Any) -> dict[str, Any]:
    if isinstance(given, dict):
        return given
    raise InvalidInputError(f"{name}: an object is needed, {json.dumps(given)[:60]} was given")


def _list(name: str, given: Any) -> list[Any]:
    if isinstance(given, list):
        return given
    raise InvalidInputError(f"{name}: a list is needed, {json.dumps(given)[:60]} was given")
