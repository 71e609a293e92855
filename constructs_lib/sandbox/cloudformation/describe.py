"""How stacks, resources and events look to who asks for them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from .configure import needed_capabilities
from .intrinsics import text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .stacks import Event, Resource, Stack
    from .templates import Template

__all__ = [
    "event",
    "resource_detail",
    "resource_summary",
    "stack",
    "stack_resource",
    "stack_summary",
    "template_summary",
]

_UNCHECKED = {"StackDriftStatus": "NOT_CHECKED"}
_RESOURCE_UNCHECKED = {"StackResourceDriftStatus": "NOT_CHECKED"}


def stack(of: Stack) -> dict[str, Any]:
    """Return a stack as DescribeStacks shows it."""
    with of.lock:
        wanted, options = of.configuration, of.options
        return {
            "StackId": of.stack_id,
            "StackName": of.name,
            "Description": wanted.template.data.get("Description") if wanted else options.get("Description"),
            "Parameters": [p.describe(key) for key, p in wanted.parameters.items()] if wanted else [],
            "CreationTime": of.created,
            "LastUpdatedTime": of.updated,
            "DeletionTime": of.deleted,
            "RollbackConfiguration": {},
            "StackStatus": of.status,
            "StackStatusReason": of.reason,
            "DisableRollback": bool(options.get("DisableRollback", False)),
            "NotificationARNs": [],
            "TimeoutInMinutes": options.get("TimeoutInMinutes"),
            "Capabilities": options.get("Capabilities", []),
            "Outputs": list(of.outputs),
            "RoleARN": options.get("RoleARN"),
            "Tags": [{"Key": k, "Value": v} for k, v in (wanted.tags if wanted else {}).items()],
            "EnableTerminationProtection": of.protected,
            "DriftInformation": _UNCHECKED,
        }


def stack_summary(of: Stack) -> dict[str, Any]:
    """Return a stack as ListStacks shows it."""
    shown = stack(of)
    members = ("CreationTime", "DeletionTime", "LastUpdatedTime", "StackId", "StackName", "StackStatus")
    return {
        **{member: shown[member] for member in (*members, "StackStatusReason", "DriftInformation")},
        "TemplateDescription": shown["Description"],
    }


def resource_summary(resource: Resource) -> dict[str, Any]:
    """Return a resource as ListStackResources shows it."""
    return {
        "LogicalResourceId": resource.logical_id,
        "PhysicalResourceId": resource.physical_id,
        "ResourceType": resource.type,
        "LastUpdatedTimestamp": resource.updated,
        "ResourceStatus": resource.status,
        "ResourceStatusReason": resource.reason,
        "DriftInformation": _RESOURCE_UNCHECKED,
    }


def stack_resource(of: Stack, resource: Resource) -> dict[str, Any]:
    """Return a resource as DescribeStackResources shows it."""
    shown = resource_summary(resource)
    return {"StackName": of.name, "StackId": of.stack_id, "Timestamp": shown.pop("LastUpdatedTimestamp"), **shown}


def resource_detail(of: Stack, resource: Resource) -> dict[str, Any]:
    """Return a resource as DescribeStackResource shows it."""
    metadata = resource.declared.metadata
    return {
        "StackName": of.name,
        "StackId": of.stack_id,
        **resource_summary(resource),
        "Metadata": None if metadata is None else json.dumps(metadata),
    }


def event(of: Stack, line: Event) -> dict[str, Any]:
    """Return a line of a stack's history."""
    return {
        "StackId": of.stack_id,
        "EventId": line.event_id,
        "StackName": of.name,
        "OperationId": line.operation_id,
        "LogicalResourceId": line.logical_id,
        "PhysicalResourceId": line.physical_id,
        "ResourceType": line.type,
        "Timestamp": line.timestamp,
        "ResourceStatus": line.status,
        "ResourceStatusReason": line.reason,
        "ResourceProperties": line.properties,
        "ClientRequestToken": line.token,
    }


def template_summary(template: Template) -> dict[str, Any]:
    """Return a template as GetTemplateSummary shows it."""
    needed = needed_capabilities(template)
    metadata = template.data.get("Metadata")
    return {
        "Parameters": list(_parameters(template)),
        "Description": template.data.get("Description"),
        "Capabilities": needed,
        "CapabilitiesReason": _reason(template) if needed else None,
        "ResourceTypes": sorted(set(template.types.values())),
        "Version": template.data.get("AWSTemplateFormatVersion"),
        "Metadata": None if metadata is None else json.dumps(metadata),
        "DeclaredTransforms": [],
    }


def _parameters(template: Template) -> Iterable[dict[str, Any]]:
    for key, declared in template.section("Parameters").items():
        allowed = declared.get("AllowedValues")
        yield {
            "ParameterKey": key,
            "DefaultValue": text(declared["Default"]) if "Default" in declared else None,
            "ParameterType": declared.get("Type"),
            "NoEcho": text(declared.get("NoEcho", False)).lower() == "true",
            "Description": declared.get("Description"),
            "ParameterConstraints": {"AllowedValues": [text(v) for v in allowed]} if allowed else None,
        }


def _reason(template: Template) -> str:
    kinds = sorted({kind for kind in template.types.values() if kind.startswith("AWS::IAM::")})
    return f"The following resource(s) require capabilities: [{', '.join(kinds)}]"
