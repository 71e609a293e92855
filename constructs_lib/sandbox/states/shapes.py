"""Between a Task state's fields and a service's: names, types, and the fields that Step Functions knows.

Step Functions checks fields against its own snapshot of each service, taken at dates it lists, and fails a state with
an uncatchable States.Runtime at run time for a field the snapshot lacks. Which snapshot is in use today is an open
question, ``states.sagemaker-snapshot``: ``current`` is botocore's model as it is, else the date of a listed refresh.
"""

from __future__ import annotations

import functools
import re
from datetime import datetime
from typing import Any

from . import engine

__all__ = ["UnknownField", "operation", "pascal", "service_name", "to_request", "to_result"]

# What the SageMaker model gained after a snapshot: (structure, member), and numbers that the older model refuses.
# Source: botocore 1.43.89 and 1.43.90 (2026-09-08); the refresh dates are those of Step Functions' release history.
_SINCE: dict[str, frozenset[tuple[str, str]]] = {
    "2026-06-03": frozenset(
        (structure, member)
        for structure in ("ResourceConfig", "ProcessingClusterConfig")
        for member in ("InstancePreferences", "SelectedInstanceType", "SelectedInstanceCount")
    )
}
_LEAST: dict[str, dict[tuple[str, str], int]] = {"2026-06-03": {("StoppingCondition", "MaxPendingTimeInSeconds"): 7200}}
_SDK_NAMES = {
    "applicationautoscaling": "application-autoscaling",
    "cloudwatchlogs": "logs",
    "costexplorer": "ce",
    "databasemigration": "dms",
    "efs": "efs",
    "elasticloadbalancingv2": "elbv2",
    "eventbridge": "events",
    "sfn": "stepfunctions",
    "states": "stepfunctions",
}


class UnknownField(Exception):  # noqa: N818 - named after what Step Functions reports
    """A field that Step Functions does not support."""

    def __init__(self, field: str) -> None:
        super().__init__(f"The field '{field}' is not supported by Step Functions")


def pascal(member: str) -> str:
    """Return the name of a service's field in an SDK integration: PascalCase as the Java SDK forms it.

    Examples
    --------
    >>> [pascal(m) for m in ("executionArn", "DBInstances", "VolumeSizeInGB", "ETag", "MD5OfBody", "S3Uri")]
    ['ExecutionArn', 'DbInstances', 'VolumeSizeInGB', 'ETag', 'Md5OfBody', 'S3Uri']
    """
    acronym = re.match(r"[A-Z]{2,}(?=[A-Z][a-z]|\d|$)", member)
    head = acronym.group() if acronym else member[:1]
    return head.capitalize() + member[len(head) :]


def service_name(api_name: str) -> str:
    """Return botocore's name of a service from its name in a Task's resource."""
    name = _SDK_NAMES.get(api_name, api_name)
    if name in _services():
        return name
    return next((known for known in _services() if known.replace("-", "") == name), name)


@functools.cache
def operation(api_name: str, action: str) -> Any:
    """Return botocore's model of an operation named in a Task's resource; None if there is none."""
    name = service_name(api_name)
    if name not in _services():
        return None
    model = engine.session().get_service_model(name)
    wanted = action.replace("_", "").lower()
    found = next((known for known in model.operation_names if known.lower() == wanted), None)
    return model.operation_model(found) if found is not None else None


def to_request(value: Any, shape: Any, *, sdk: bool) -> Any:
    """Return a Task's parameters as the service's operation takes them.

    Raises
    ------
    UnknownField
        If Step Functions does not know one of them.
    """
    kind = shape.type_name
    if kind == "structure" and isinstance(value, dict):
        members = {_name(member, sdk=sdk): member for member in shape.members}
        known = {field: _known(shape, members, field, item) for field, item in value.items()}
        return {member: to_request(value[field], shape.members[member], sdk=sdk) for field, member in known.items()}
    if kind == "list" and isinstance(value, list):
        return [to_request(item, shape.member, sdk=sdk) for item in value]
    if kind == "map" and isinstance(value, dict):
        return {key: to_request(item, shape.value, sdk=sdk) for key, item in value.items()}
    if kind == "string" and isinstance(value, dict | list):
        return engine.text(value)
    if kind == "blob" and not isinstance(value, bytes):
        return (value if isinstance(value, str) else engine.text(value)).encode()
    return value


def to_result(value: Any, shape: Any, *, sdk: bool, epoch: bool = False) -> Any:
    """Return an operation's answer as a Task's result: fields renamed and limited to the snapshot, times as JSON.

    Parameters
    ----------
    epoch
        Times as milliseconds instead of text.
    """
    if isinstance(value, datetime):
        return int(value.timestamp() * 1000) if epoch else engine.iso(value)
    if hasattr(value, "read"):
        return value.read().decode()
    if isinstance(value, bytes):
        return value.decode()
    kind = getattr(shape, "type_name", None)
    if isinstance(value, dict):
        members = shape.members if kind == "structure" else {}
        hidden = {member for structure, member in _hidden() if structure == getattr(shape, "name", None)}
        inner = shape.value if kind == "map" else None
        return {
            (_name(key, sdk=sdk) if key in members else key): to_result(
                item, members.get(key, inner), sdk=sdk, epoch=epoch
            )
            for key, item in value.items()
            if key not in hidden
        }
    if isinstance(value, list):
        inner = shape.member if kind == "list" else None
        return [to_result(item, inner, sdk=sdk, epoch=epoch) for item in value]
    return value


def _known(shape: Any, members: dict[str, str], field: str, value: Any) -> str:
    snapshot = _snapshot()
    member = members.get(field)
    if member is None or (shape.name, member) in _SINCE.get(snapshot, ()):
        raise UnknownField(field)
    least = _LEAST.get(snapshot, {}).get((shape.name, member))
    if least is not None and isinstance(value, int) and value < least:
        raise UnknownField(field)
    return member


def _hidden() -> frozenset[tuple[str, str]]:
    return _SINCE.get(_snapshot(), frozenset())


def _snapshot() -> str:
    return engine.reading("states.sagemaker-snapshot")


def _name(member: str, *, sdk: bool) -> str:
    return pascal(member) if sdk else member[:1].upper() + member[1:]


@functools.cache
def _services() -> frozenset[str]:
    return frozenset(engine.session().get_available_services())
