"""What a rule or a schedule hands to its target."""

from __future__ import annotations

import json
import re
from typing import Any

from jsonpath_ng.ext.parser import parse

__all__ = ["fill", "rule_input"]

_PLACEHOLDER = re.compile(r"<([A-Za-z0-9_.-]+)>")
_MISSING = object()


def rule_input(target: dict[str, Any], event: dict[str, Any], rule_arn: str, received: str, missing: str = '""') -> str:
    """Return the text that a rule's target receives.

    Parameters
    ----------
    target
        The target as PutTargets took it.
    event
        The matched event.
    rule_arn
        The rule.
    received
        When the bus received the event, ISO 8601.
    missing
        What a transformer puts outside of quotes for a path that the event lacks.
    """
    if target.get("Input"):
        return str(target["Input"])
    if target.get("InputPath"):
        value = _find(target["InputPath"], event)
        return json.dumps(None if value is _MISSING else value)
    if transformer := target.get("InputTransformer"):
        return _transform(transformer, event, rule_arn, received, missing)
    return json.dumps(event)


def fill(text: str, values: dict[str, str]) -> str:
    """Replace ``<name>`` by its value wherever the name is known."""
    return _PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), text)


def _transform(transformer: dict[str, Any], event: dict[str, Any], rule_arn: str, received: str, missing: str) -> str:
    values: dict[str, Any] = {
        "aws.events.rule-arn": rule_arn,
        "aws.events.rule-name": rule_arn.rpartition("/")[2],
        "aws.events.event.ingestion-time": received,
        "aws.events.event": {key: value for key, value in event.items() if key != "detail"},
        "aws.events.event.json": event,
    }
    values |= {name: _find(path, event) for name, path in (transformer.get("InputPathsMap") or {}).items()}
    template: str = transformer["InputTemplate"]
    parts, position = [], 0
    for found in _PLACEHOLDER.finditer(template):
        parts.append(template[position : found.start()])
        position = found.end()
        if found[1] in values:
            quoted = _inside_string(template[: found.start()])
            absent = "" if quoted else missing
            parts.append(absent if values[found[1]] is _MISSING else _spell(values[found[1]], quoted=quoted))
        else:
            parts.append(found[0])
    return "".join([*parts, template[position:]])


def _spell(value: Any, *, quoted: bool) -> str:
    """Spell a value inside or outside of quotes."""
    if not quoted:
        return json.dumps(value)
    if isinstance(value, str):
        return json.dumps(value)[1:-1]
    return json.dumps(json.dumps(value))[1:-1]


def _inside_string(before: str) -> bool:
    """Say whether the text so far ends within a JSON string."""
    return len(re.findall(r'(?<!\\)(?:\\\\)*"', before)) % 2 == 1


def _find(path: str, event: dict[str, Any]) -> Any:
    matches = parse(path).find(event)
    return matches[0].value if matches else _MISSING
