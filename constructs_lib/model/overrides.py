"""What one run may ask for differently: the input of an execution, held against what the job allows."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from constructs_lib.model.errors import InvalidInputError
from constructs_lib.model.limits import moment_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from constructs_lib.model.job_kinds import JobKind

__all__ = ["OVERRIDES", "overridden", "overridden_limits"]


def overridden(kind: JobKind, request: Mapping[str, Any], given: Any, allowed: Sequence[str]) -> dict[str, Any]:
    """Return the request with the overrides of one run.

    Parameters
    ----------
    kind : JobKind
    request : Mapping
        As it was declared; it is not changed.
    given : Mapping
        The overrides by name, see `OVERRIDES`.
    allowed : sequence of str
        The names that the job allows.

    Raises
    ------
    InvalidInputError
        For a name that is not known or not allowed, and for a value of a wrong type. It says what was given, what is
        allowed and the fix.
    """
    _check_names(given, allowed)
    changed = copy.deepcopy(dict(request))
    for name, value in given.items():
        OVERRIDES[name](kind, changed, value)
    return changed


def overridden_limits(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the limits among overrides that `overridden` has accepted."""
    return {name: moment_of(given[name], f"overrides.{name}") for name in ("start_by", "finish_by") if name in given}


def _check_names(given: Any, allowed: Sequence[str]) -> None:
    if not isinstance(given, dict):
        raise InvalidInputError(f"overrides: {given!r} was given; an object is needed, such as {{'max_runtime': 3600}}")
    if unknown := [name for name in given if name not in OVERRIDES]:
        raise InvalidInputError(f"overrides: {_names(unknown)} is not known; the names are {_names(OVERRIDES)}")
    if refused := [name for name in given if name not in allowed]:
        raise InvalidInputError(
            f"overrides: {_names(refused)} may not be given for this job; it allows {_names(allowed) or 'none'}; "
            f"to allow it, declare run_overrides=({_names(dict.fromkeys([*allowed, *refused]), quoted=True)},)"
        )


def _names(names: Any, *, quoted: bool = False) -> str:
    return ", ".join(f'"{name}"' if quoted else str(name) for name in names)


def _texts(value: Any, name: str) -> dict[str, str]:
    if not isinstance(value, dict):
        raise InvalidInputError(f"overrides.{name}: {value!r} was given; an object of texts is needed")
    for key, text in value.items():
        if not isinstance(text, str):
            raise InvalidInputError(
                f"overrides.{name}.{key}: {text!r} was given; AWS takes texts only: write {_as_text(text)!r}"
            )
    return value


def _as_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _uri(value: Any, name: str) -> str:
    if not isinstance(value, str) or not value.startswith("s3://") or value == "s3://":
        raise InvalidInputError(f"overrides.{name}: {value!r} was given; a text such as 's3://bucket/prefix' is needed")
    return value


def _whole(value: Any, name: str, what: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise InvalidInputError(f"overrides.{name}: {value!r} was given; {what}, from 1, is needed")
    return value


def _hyperparameters(kind: JobKind, request: dict[str, Any], value: Any) -> None:
    if kind.name == "processing":
        raise InvalidInputError("overrides.hyperparameters: a processing job has none; give environment instead")
    key = "StaticHyperParameters" if kind.name == "tuning" else "HyperParameters"
    texts = _texts(value, "hyperparameters")
    for part in kind.definitions(request):
        part[key] = {**part.get(key, {}), **texts}


def _environment(kind: JobKind, request: dict[str, Any], value: Any) -> None:
    kind.set_environment(request, _texts(value, "environment"))


def _inputs(kind: JobKind, request: dict[str, Any], value: Any) -> None:
    places: dict[str, list[Any]] = {}
    for part in kind.definitions(request):
        for channel in part.get("InputDataConfig", ()):
            places.setdefault(channel["ChannelName"], []).append(channel.get("DataSource", {}).get("S3DataSource"))
        for channel in part.get("ProcessingInputs", ()):
            places.setdefault(channel["InputName"], []).append(channel.get("S3Input"))
    for name, uri in _texts(value, "inputs").items():
        sources = [source for source in places.get(name, ()) if source is not None]
        if not sources:
            known = _names(name for name, found in places.items() if any(found)) or "none"
            raise InvalidInputError(f"overrides.inputs.{name}: the job has no such input from S3; it has {known}")
        for source in sources:
            source["S3Uri"] = _uri(uri, f"inputs.{name}")


def _output(kind: JobKind, request: dict[str, Any], value: Any) -> None:
    if kind.name != "processing":
        for part in kind.definitions(request):
            part.setdefault("OutputDataConfig", {})["S3OutputPath"] = _uri(value, "output")
        return
    outputs = {out["OutputName"]: out for out in request.get("ProcessingOutputConfig", {}).get("Outputs", ())}
    if isinstance(value, str) and len(outputs) == 1:
        value = dict.fromkeys(outputs, value)
    if not isinstance(value, dict) or not set(value) <= set(outputs):
        raise InvalidInputError(
            f"overrides.output: {value!r} was given; an object of S3 URIs by output is needed, the outputs are "
            f"{_names(outputs) or 'none'}"
        )
    for name, uri in value.items():
        outputs[name].setdefault("S3Output", {})["S3Uri"] = _uri(uri, f"output.{name}")


def _instance_count(kind: JobKind, request: dict[str, Any], value: Any) -> None:
    count = _whole(value, "instance_count", "a number of instances")
    for part in kind.resources(request):
        entries = part.get("InstancePreferences") or part.get("InstanceConfigs") or ()
        own = [entry for entry in entries if "InstanceCount" in entry]
        for target in own or [part]:
            target["InstanceCount"] = count


def _max_runtime(kind: JobKind, request: dict[str, Any], value: Any) -> None:
    kind.set_max_runtime(request, _whole(value, "max_runtime", "a number of seconds"))


def _moment(name: str) -> Callable[[JobKind, dict[str, Any], Any], None]:
    def check(kind: JobKind, request: dict[str, Any], value: Any) -> None:  # noqa: ARG001  as the others
        moment_of(value, f"overrides.{name}")

    return check


OVERRIDES: Mapping[str, Callable[[JobKind, dict[str, Any], Any], None]] = {
    "hyperparameters": _hyperparameters,
    "environment": _environment,
    "inputs": _inputs,
    "output": _output,
    "instance_count": _instance_count,
    "start_by": _moment("start_by"),
    "finish_by": _moment("finish_by"),
    "max_runtime": _max_runtime,
}
"""What a run can override, by name; each changes a request or raises."""
