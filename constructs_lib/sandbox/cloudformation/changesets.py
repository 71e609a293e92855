"""Change sets: what an update would do, foreseen without doing it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .intrinsics import is_unknown
from .registry import facts_of
from .scopes import ForeseenScope

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .registry import Registry
    from .scopes import Identity
    from .stacks import Configuration, Resource, Stack
    from .templates import Declared

__all__ = ["NO_CHANGES", "NO_UPDATES", "ChangeSet", "foresee", "is_change"]

NO_CHANGES = "The submitted information didn't contain changes. Submit different information to create a change set."
NO_UPDATES = "No updates are to be performed."


@dataclass
class ChangeSet:
    """A change set and what became of it."""

    change_set_id: str
    name: str
    stack: Stack
    kind: str
    created: float
    wanted: Configuration
    request: Mapping[str, Any]
    changes: list[dict[str, Any]] = field(default_factory=list)
    status: str = "CREATE_COMPLETE"
    reason: str | None = None
    execution: str = "AVAILABLE"

    def describe(self, *, property_values: bool) -> dict[str, Any]:
        """Return the change set as DescribeChangeSet shows it."""
        changes = self.changes if property_values else [_without_values(change) for change in self.changes]
        return {
            "ChangeSetName": self.name,
            "ChangeSetId": self.change_set_id,
            "StackId": self.stack.stack_id,
            "StackName": self.stack.name,
            "Description": self.request.get("Description"),
            "Parameters": [parameter.describe(key) for key, parameter in self.wanted.parameters.items()],
            "CreationTime": self.created,
            "ExecutionStatus": self.execution,
            "Status": self.status,
            "StatusReason": self.reason,
            "NotificationARNs": [],
            "RollbackConfiguration": {},
            "Capabilities": self.request.get("Capabilities", []),
            "Tags": [{"Key": k, "Value": v} for k, v in self.wanted.tags.items()],
            "Changes": [{"Type": "Resource", "ResourceChange": change} for change in changes],
            "IncludeNestedStacks": self.request.get("IncludeNestedStacks", False),
            "OnStackFailure": self.request.get("OnStackFailure"),
        }

    def summary(self) -> dict[str, Any]:
        """Return the change set as ListChangeSets shows it."""
        shown = self.describe(property_values=False)
        members = ("ChangeSetName", "ChangeSetId", "StackId", "StackName", "Description", "CreationTime")
        return {
            key: shown[key] for key in (*members, "ExecutionStatus", "Status", "StatusReason", "IncludeNestedStacks")
        }


def _without_values(change: dict[str, Any]) -> dict[str, Any]:
    details = [
        {**detail, "Target": {k: v for k, v in detail["Target"].items() if k not in ("BeforeValue", "AfterValue")}}
        for detail in change["Details"]
    ]
    return {**{k: v for k, v in change.items() if k not in ("BeforeContext", "AfterContext")}, "Details": details}


def is_change(stack: Stack, wanted: Configuration, changes: list[dict[str, Any]]) -> bool:
    """Return whether there is anything to do: resources, outputs, tags, or a failure to make good."""
    now = stack.configuration
    if changes or now is None or stack.journal is not None:
        return True
    same_outputs = now.outputs == wanted.outputs and _visible(now) == _visible(wanted)
    return not (same_outputs and now.tags == wanted.tags)


def _visible(configuration: Configuration) -> Any:
    """Return the parameters that outputs may show."""
    return (
        {key: parameter.value for key, parameter in configuration.parameters.items()} if configuration.outputs else {}
    )


def foresee(stack: Stack, identity: Identity, types: Registry, wanted: Configuration) -> list[dict[str, Any]]:
    """Return the ResourceChange of every resource that would be added, modified or removed.

    Attributes of a resource that is changed in place count as known, except those of a custom resource or nested stack.
    """
    scope = ForeseenScope.of(identity, wanted, stack.resources)
    changes = []
    for logical_id, declared in wanted.resources.items():
        resource = stack.resources.get(logical_id)
        if resource is None or not resource.exists or resource.status == "CREATE_FAILED":
            scope.new_ids.add(logical_id)
            changes.append(_added(declared, scope, types, wanted))
            continue
        properties = types.with_tags(declared.type, scope.resolve(declared.properties), wanted.tags)
        change = _modified(resource, declared, properties, types)
        if change is None:
            continue
        if change["Replacement"] != "False":
            scope.new_ids.add(logical_id)
        elif types.decides_attributes(declared.type):
            scope.new_attributes.add(logical_id)
        changes.append(change)
    for logical_id, resource in stack.resources.items():
        if logical_id not in wanted.resources and resource.exists:
            changes.append(_removed(resource))
    return changes


def _added(declared: Declared, scope: ForeseenScope, types: Registry, wanted: Configuration) -> dict[str, Any]:
    properties = types.with_tags(declared.type, scope.resolve(declared.properties), wanted.tags)
    return {
        "Action": "Add",
        "LogicalResourceId": declared.logical_id,
        "ResourceType": declared.type,
        "Scope": [],
        "Details": [],
        "AfterContext": json.dumps({"Properties": properties}),
    }


def _removed(resource: Resource) -> dict[str, Any]:
    return {
        "PolicyAction": "Delete" if resource.declared.deletion_policy == "Delete" else "Retain",
        "Action": "Remove",
        "LogicalResourceId": resource.logical_id,
        "PhysicalResourceId": resource.physical_id,
        "ResourceType": resource.type,
        "Scope": [],
        "Details": [],
        "BeforeContext": json.dumps({"Properties": resource.properties}),
    }


def _modified(resource: Resource, declared: Declared, new: dict[str, Any], types: Registry) -> dict[str, Any] | None:
    old = resource.properties
    details = [
        _detail(name, old, new, resource.type)
        for name in sorted({*old, *new})
        if old.get(name) != new.get(name) or (resource.dirty and name in new)
    ]
    before = resource.declared
    attributes = {
        "Metadata": (before.metadata, declared.metadata),
        "DeletionPolicy": (before.deletion_policy, declared.deletion_policy),
        "UpdateReplacePolicy": (before.update_replace_policy, declared.update_replace_policy),
    }
    touched = [name for name, (was, is_now) in attributes.items() if was != is_now]
    if not details and not touched:
        return None
    replacement = _replacement(resource, declared, new, types)
    policy = "Delete" if declared.update_replace_policy == "Delete" else "Retain"
    return {
        "PolicyAction": None if replacement == "False" else f"ReplaceAnd{policy}",
        "Action": "Modify",
        "LogicalResourceId": resource.logical_id,
        "PhysicalResourceId": resource.physical_id,
        "ResourceType": resource.type,
        "Replacement": replacement,
        "Scope": [*(["Properties"] if details else []), *touched],
        "Details": [*details, *(_attribute_detail(name) for name in touched)],
        "BeforeContext": json.dumps({"Properties": old}),
        "AfterContext": json.dumps({"Properties": new}),
    }


def _replacement(resource: Resource, declared: Declared, new: dict[str, Any], types: Registry) -> str:
    paths = types.replaces(declared, resource.properties, new)
    if not paths:
        return "False"
    return "Conditional" if all(is_unknown(new.get(path.split("/")[0])) for path in paths) else "True"


def _detail(name: str, old: Mapping[str, Any], new: Mapping[str, Any], type_name: str) -> dict[str, Any]:
    dynamic = is_unknown(new.get(name))
    recreation = any(path.split("/")[0] == name for path in facts_of(type_name).create_only)
    kind = "Add" if name not in old else "Remove" if name not in new else "Modify"
    target = {
        "Attribute": "Properties",
        "Name": name,
        "RequiresRecreation": ("Conditionally" if dynamic else "Always") if recreation else "Never",
        "Path": f"/Properties/{name}",
        "BeforeValue": _shown(old.get(name)),
        "AfterValue": _shown(new.get(name)),
        "AttributeChangeType": kind,
    }
    return {
        "Target": target,
        "Evaluation": "Dynamic" if dynamic else "Static",
        "ChangeSource": "ResourceReference" if dynamic else "DirectModification",
    }


def _shown(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value)


def _attribute_detail(name: str) -> dict[str, Any]:
    target = {"Attribute": name, "RequiresRecreation": "Never"}
    return {"Target": target, "Evaluation": "Static", "ChangeSource": "DirectModification"}
