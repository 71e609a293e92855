"""AWS's Query protocol for CloudFormation, driven by botocore's own model of the service."""

from __future__ import annotations

import functools
import json
import uuid
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import botocore.session

from constructs_lib.sandbox.errors import ServiceError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["parse", "render"]

_NAMESPACE = "http://cloudformation.amazonaws.com/doc/2010-05-15/"


@functools.cache
def _model() -> Any:
    return botocore.session.get_session().get_service_model("cloudformation")


def _operation(action: str) -> Any:
    if action not in _model().operation_names:
        raise ServiceError("InvalidAction", f"The action {action} is not valid for this web service.")
    return _model().operation_model(action)


def parse(action: str, params: Mapping[str, str]) -> dict[str, Any]:
    """Turn a form such as ``Tags.member.1.Key=a`` into nested plain data.

    Raises
    ------
    ServiceError
        ``InvalidAction`` for an unknown action, ``ValidationError`` for a missing or malformed member.
    """
    shape = _operation(action).input_shape
    tree: dict[str, Any] = {}
    for key, value in params.items():
        *path, last = key.split(".")
        node = tree
        for part in path:
            node = node.setdefault(part, {})
        node[last] = value
    request: dict[str, Any] = _read(shape, tree) if shape else {}
    missing = [name for name in (shape.required_members if shape else []) if name not in request]
    if missing:
        raise ServiceError("ValidationError", f"{action} needs {', '.join(missing)}")
    return request


def _read(shape: Any, node: Any) -> Any:
    if shape.type_name == "structure":
        return {name: _read(member, node[name]) for name, member in shape.members.items() if name in node}
    if shape.type_name == "list":
        items = node.get("member", {}) if isinstance(node, dict) else {}
        return [_read(shape.member, items[index]) for index in sorted(items, key=int)]
    if shape.type_name == "map":
        entries = (node.get("entry", {}) if isinstance(node, dict) else {}).values()
        return {entry["key"]: _read(shape.value, entry["value"]) for entry in entries}
    if shape.type_name == "boolean":
        return node == "true"
    if shape.type_name in ("integer", "long"):
        try:
            return int(node)
        except ValueError:
            raise ServiceError("ValidationError", f"{node!r} is not a whole number") from None
    return node


def render(action: str, result: Mapping[str, Any]) -> bytes:
    """Write an action's answer; a member the model does not know is a mistake of ours and raises `KeyError`."""
    shape = _operation(action).output_shape
    root = ET.Element(f"{action}Response", xmlns=_NAMESPACE)
    if shape is not None:
        _write(ET.SubElement(root, shape.serialization.get("resultWrapper", f"{action}Result")), shape, result)
    ET.SubElement(ET.SubElement(root, "ResponseMetadata"), "RequestId").text = str(uuid.uuid4())
    text: bytes = ET.tostring(root, encoding="utf-8")
    return b'<?xml version="1.0" encoding="UTF-8"?>' + text


def _write(element: ET.Element, shape: Any, value: Any) -> None:
    if shape.type_name == "structure":
        for name, member in value.items():
            if member is not None:
                _write(ET.SubElement(element, name), shape.members[name], member)
    elif shape.type_name == "list":
        for item in value:
            _write(ET.SubElement(element, "member"), shape.member, item)
    else:
        element.text = _text(shape, value)


def _text(shape: Any, value: Any) -> str:
    if shape.type_name == "timestamp":
        return datetime.fromtimestamp(value, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
    if shape.type_name == "boolean":
        return "true" if value else "false"
    return value if isinstance(value, str) else json.dumps(value)
