"""Turning template properties into API parameters by botocore's model of the API."""

from __future__ import annotations

import json
from typing import Any

from .base import ResourceError

__all__ = ["fit", "request_shape"]


def request_shape(client: Any, operation: str) -> Any:
    """Return the model of an operation's request."""
    return client.meta.service_model.operation_model(operation).input_shape


def fit(shape: Any, value: Any, path: str = "#") -> Any:
    """Return a template's value in the form an API shape wants.

    Member names match whatever their case is, scalars become the shape's type as CloudFormation converts them, tags
    become a map or a list as needed, and a document becomes JSON text where the API takes text.

    Raises
    ------
    ResourceError
        For a key that the API does not know and for a value of the wrong kind.
    """
    kind = shape.type_name
    if kind == "structure":
        return _structure(shape, value, path)
    if kind == "list":
        if isinstance(value, dict) and _is_tag(shape.member):
            value = [{"Key": k, "Value": v} for k, v in value.items()]
        _expect(isinstance(value, list), "a list", value, path)
        return [fit(shape.member, item, f"{path}/{index}") for index, item in enumerate(value)]
    if kind == "map":
        if isinstance(value, list) and all(
            isinstance(item, dict) and item.keys() == {"Key", "Value"} for item in value
        ):
            value = {item["Key"]: item["Value"] for item in value}
        _expect(isinstance(value, dict), "an object", value, path)
        return {key: fit(shape.value, item, f"{path}/{key}") for key, item in value.items()}
    return _scalar(kind, value, path)


def _structure(shape: Any, value: Any, path: str) -> dict[str, Any]:
    _expect(isinstance(value, dict), "an object", value, path)
    if getattr(shape, "is_document_type", False):
        return dict(value)
    names = {name.lower(): name for name in shape.members}
    fitted = {}
    for key, item in value.items():
        name = names.get(key.lower())
        if name is None:
            raise ResourceError(f"Model validation failed ({path}: extraneous key [{key}] is not permitted)")
        fitted[name] = fit(shape.members[name], item, f"{path}/{key}")
    return fitted


def _is_tag(shape: Any) -> bool:
    return shape.type_name == "structure" and {name.lower() for name in shape.members} == {"key", "value"}


def _scalar(kind: str, value: Any, path: str) -> Any:
    if kind == "string":
        if isinstance(value, dict | list):
            return json.dumps(value)
        return ("true" if value else "false") if isinstance(value, bool) else str(value)
    _expect(not isinstance(value, dict | list), f"a {kind}", value, path)
    if kind == "boolean":
        word = str(value).lower()
        _expect(word in ("true", "false"), "a boolean", value, path)
        return word == "true"
    if kind in ("integer", "long", "float", "double"):
        try:
            return int(str(value)) if kind in ("integer", "long") else float(value)
        except ValueError:
            _expect(False, "a number", value, path)
    return value


def _expect(is_right: bool, what: str, value: Any, path: str) -> None:
    if not is_right:
        raise ResourceError(f"Model validation failed ({path}: expected {what}, found {value!r})")
