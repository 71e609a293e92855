"""Requests held against botocore's own model of a service, in the words in which AWS refuses them.

botocore's client checks only required members, types and minima; a service also checks enums, patterns, maxima and
lengths. Everything the model says is checked here, for every service, so that a request which passes would not be
refused by AWS for its form.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

import botocore.session
from botocore.model import OperationNotFoundError
from botocore.utils import parse_timestamp

from .errors import ServiceError
from .patterns import matches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from botocore.model import OperationModel, ServiceModel, Shape

__all__ = ["check", "epoch", "operation_model", "service_model", "violations"]

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "character": (str,),
    "integer": (int,),
    "long": (int,),
    "float": (int, float),
    "double": (int, float),
    "boolean": (bool,),
    "blob": (bytes, bytearray, str),
    "structure": (Mapping,),
    "map": (Mapping,),
    "list": (list, tuple),
}
_NUMBERS = ("integer", "long", "float", "double")


@functools.cache
def service_model(service: str) -> ServiceModel:
    """Return botocore's model of a service by botocore's name, such as ``stepfunctions``."""
    return botocore.session.get_session().get_service_model(service)


def operation_model(service: str, operation: str) -> OperationModel:
    """Return the model of one operation.

    Raises
    ------
    ServiceError
        ``UnknownOperationException`` if the service has no such operation.
    """
    try:
        return service_model(service).operation_model(operation)
    except OperationNotFoundError:
        raise ServiceError("UnknownOperationException", f"{service} has no operation {operation!r}") from None


def check(service: str, operation: str, request: Mapping[str, Any]) -> None:
    """Refuse a request that breaks its model.

    Parameters
    ----------
    service
        botocore's name of the service.
    operation
        The operation, such as ``CreateTrainingJob``.
    request
        The request's members by name; timestamps as epoch seconds, text or `datetime`.

    Raises
    ------
    ServiceError
        ``SerializationException`` if a value has the wrong type, else ``ValidationException`` naming every violation.

    Examples
    --------
    >>> check("sagemaker", "StopTrainingJob", {"TrainingJobName": "a_b"})
    Traceback (most recent call last):
    ...
    constructs_lib.sandbox.errors.ServiceError: ValidationException: 1 validation error detected: Value 'a_b' at \
'trainingJobName' failed to satisfy constraint: Member must satisfy regular expression pattern: \
[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}
    """
    found = violations(service, operation, request)
    if found:
        plural = "s" if len(found) > 1 else ""
        raise ServiceError(
            "ValidationException", f"{len(found)} validation error{plural} detected: " + "; ".join(found)
        )


def violations(service: str, operation: str, message: Mapping[str, Any], *, answer: bool = False) -> list[str]:
    """Return one sentence for each constraint that a request, or with `answer` an answer, breaks; see `check`."""
    model = operation_model(service, operation)
    shape = model.output_shape if answer else model.input_shape
    if shape is None:
        return [f"Unknown member '{name}': {operation} has none" for name in message]
    return list(_structure(shape, message, ""))


def epoch(value: Any) -> float:
    """Return a request's timestamp as epoch seconds."""
    if isinstance(value, datetime):
        return value.timestamp()
    return float(value) if isinstance(value, (int, float)) else float(parse_timestamp(value).timestamp())


def _walk(shape: Shape, value: Any, path: str) -> Iterator[str]:
    if getattr(shape, "is_document_type", False):
        return
    _check_type(shape, value, path)
    if shape.type_name == "structure":
        yield from _structure(shape, value, path)
    elif shape.type_name == "list":
        yield from _list(shape, value, path)
    elif shape.type_name == "map":
        yield from _map(shape, value, path)
    else:
        shown = None if "sensitive" in shape.metadata else value
        yield from (_sentence(shown, path, constraint) for constraint in _broken(shape, value))


def _structure(shape: Shape, value: Mapping[str, Any], path: str) -> Iterator[str]:
    for name in shape.required_members:
        if value.get(name) is None:
            yield f"Value null at '{_join(path, name)}' failed to satisfy constraint: Member must not be null"
    present = {name: inner for name, inner in value.items() if inner is not None}
    if getattr(shape, "is_tagged_union", False) and len(present) != 1:
        names = ", ".join(shape.members)
        yield f"Value at '{path}' failed to satisfy constraint: Exactly one member must be set of: [{names}]"
    for name, inner in present.items():
        member = shape.members.get(name)
        if member is None:
            yield f"Unknown member '{_join(path, name)}': {shape.name} has no member {name!r}"
        else:
            yield from _walk(member, inner, _join(path, name))


def _list(shape: Shape, value: list[Any], path: str) -> Iterator[str]:
    yield from (_sentence(_java(value), path, constraint) for constraint in _length(shape, len(value)))
    member = shape.member
    if member.type_name in ("structure", "list", "map"):
        for number, inner in enumerate(value, 1):
            yield from _walk(member, inner, f"{path}.{number}.member")
        return
    for inner in value:
        _check_type(member, inner, path)
    if any(True for inner in value for _ in _broken(member, inner)):
        yield _sentence(_java(value), path, f"Member must satisfy constraint: [{', '.join(_constraints(member))}]")


def _map(shape: Shape, value: Mapping[str, Any], path: str) -> Iterator[str]:
    shown = _java(value)
    yield from (_sentence(shown, path, constraint) for constraint in _length(shape, len(value)))
    for key in value:
        _check_type(shape.key, key, path)
    if any(True for key in value for _ in _broken(shape.key, key)):
        yield _sentence(shown, path, f"Map keys must satisfy constraint: [{', '.join(_constraints(shape.key))}]")
    member = shape.value
    if member.type_name in ("structure", "list", "map"):
        for key, inner in value.items():
            yield from _walk(member, inner, f"{path}.{key}.member")
        return
    for inner in value.values():
        _check_type(member, inner, path)
    if any(True for inner in value.values() for _ in _broken(member, inner)):
        yield _sentence(shown, path, f"Map value must satisfy constraint: [{', '.join(_constraints(member))}]")


def _broken(shape: Shape, value: Any) -> Iterator[str]:
    """Yield the constraints of a scalar shape that a value of the right type breaks."""
    limits = shape.metadata
    if shape.type_name == "string":
        if shape.enum and value not in shape.enum:
            yield f"Member must satisfy enum value set: [{', '.join(shape.enum)}]"
        yield from _length(shape, len(value))
        if "pattern" in limits and not matches(limits["pattern"], value):
            yield f"Member must satisfy regular expression pattern: {limits['pattern']}"
    elif shape.type_name == "blob":
        yield from _length(shape, len(value))
    elif shape.type_name in _NUMBERS:
        if "max" in limits and value > limits["max"]:
            yield f"Member must have value less than or equal to {limits['max']}"
        if "min" in limits and value < limits["min"]:
            yield f"Member must have value greater than or equal to {limits['min']}"


def _length(shape: Shape, length: int) -> Iterator[str]:
    limits = shape.metadata
    if "max" in limits and length > limits["max"]:
        yield f"Member must have length less than or equal to {limits['max']}"
    if "min" in limits and length < limits["min"]:
        yield f"Member must have length greater than or equal to {limits['min']}"


def _constraints(shape: Shape) -> Iterator[str]:
    """Yield all constraints of a scalar shape, as AWS lists them for the members of a list or map."""
    limits, what = shape.metadata, "value" if shape.type_name in _NUMBERS else "length"
    if "max" in limits:
        yield f"Member must have {what} less than or equal to {limits['max']}"
    if "min" in limits:
        yield f"Member must have {what} greater than or equal to {limits['min']}"
    if "pattern" in limits:
        yield f"Member must satisfy regular expression pattern: {limits['pattern']}"
    if getattr(shape, "enum", None):
        yield f"Member must satisfy enum value set: [{', '.join(shape.enum)}]"
    yield "Member must not be null"


def _check_type(shape: Shape, value: Any, path: str) -> None:
    if shape.type_name == "timestamp":
        fits = _is_timestamp(value)
    else:
        kinds = _TYPES.get(shape.type_name)
        is_flag = isinstance(value, bool)  # which Python takes for an integer
        fits = kinds is None or (isinstance(value, kinds) and (not is_flag or bool in kinds))
    if not fits:
        raise ServiceError(
            "SerializationException",
            f"{type(value).__name__} value at '{path}' can not be converted to {shape.type_name}",
        )


def _is_timestamp(value: Any) -> bool:
    if isinstance(value, bool):
        return False
    try:
        epoch(value)
    except (TypeError, ValueError, AttributeError, RuntimeError):
        return False
    return True


def _sentence(value: Any, path: str, constraint: str) -> str:
    shown = "Value" if value is None else f"Value '{value}'"
    return f"{shown} at '{path}' failed to satisfy constraint: {constraint}"


def _java(value: Any) -> str:
    """Write a list or map the way Java does."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}={_java(inner)}" for key, inner in value.items()) + "}"
    return "[" + ", ".join(map(_java, value)) + "]" if isinstance(value, (list, tuple)) else str(value)


def _join(path: str, name: str) -> str:
    name = name[:1].lower() + name[1:]
    return f"{path}.{name}" if path else name
