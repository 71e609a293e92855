"""The actions that only look."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import describe
from .configure import needed_capabilities, template_of
from .intrinsics import invalid

if TYPE_CHECKING:
    from .stacks import Configuration
    from .store import Store

__all__ = ["ReadActions"]

_Data = dict[str, Any]


class ReadActions:
    """Describe, list and get; every answer is complete, so there is never a NextToken."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def describe_stacks(self, request: _Data) -> _Data:
        """Return one stack, or all that were not deleted."""
        if "StackName" in request:
            return {"Stacks": [describe.stack(self._store.find(request["StackName"]))]}
        stacks = reversed(list(self._store.stacks.values()))
        return {"Stacks": [describe.stack(stack) for stack in stacks if not stack.gone]}

    def list_stacks(self, request: _Data) -> _Data:
        """Return all stacks, deleted ones too."""
        wanted = request.get("StackStatusFilter")
        stacks = reversed(list(self._store.stacks.values()))
        return {"StackSummaries": [describe.stack_summary(s) for s in stacks if not wanted or s.status in wanted]}

    def describe_stack_events(self, request: _Data) -> _Data:
        """Return a stack's history, newest first."""
        stack = self._store.find(request["StackName"])
        with stack.lock:
            return {"StackEvents": [describe.event(stack, line) for line in reversed(stack.events)]}

    def describe_events(self, request: _Data) -> _Data:
        """Return the events of a stack or operation, newest first; a change set has none."""
        if "ChangeSetName" in request or "StackName" not in request:
            return {"OperationEvents": []}
        stack = self._store.find(request["StackName"])
        failed_only = (request.get("Filters") or {}).get("FailedEvents", False)
        with stack.lock:
            events = [describe.event(stack, line) for line in reversed(stack.events)]
        return {
            "OperationEvents": [
                {"EventType": "STACK_EVENT", **{k: v for k, v in event.items() if k != "StackName"}}
                for event in events
                if not failed_only or event["ResourceStatus"].endswith("_FAILED")
            ]
        }

    def describe_stack_resources(self, request: _Data) -> _Data:
        """Return a stack's resources, or one of them."""
        if "StackName" not in request:
            raise invalid("the sandbox finds resources by StackName: give it")
        stack = self._store.find(request["StackName"])
        with stack.lock:
            chosen = [r for r in stack.resources.values() if request.get("LogicalResourceId") in (None, r.logical_id)]
            return {"StackResources": [describe.stack_resource(stack, resource) for resource in chosen]}

    def describe_stack_resource(self, request: _Data) -> _Data:
        """Return one resource with its metadata."""
        stack = self._store.find(request["StackName"])
        return {"StackResourceDetail": describe.resource_detail(stack, stack.resource(request["LogicalResourceId"]))}

    def list_stack_resources(self, request: _Data) -> _Data:
        """Return a stack's resources in short."""
        stack = self._store.find(request["StackName"])
        with stack.lock:
            return {"StackResourceSummaries": [describe.resource_summary(r) for r in stack.resources.values()]}

    def get_template(self, request: _Data) -> _Data:
        """Return the template of a stack or of a change set, as it was given."""
        if "ChangeSetName" in request:
            configuration: Configuration | None = self._store.find_change_set(request).wanted
        else:
            configuration = self._store.find(request["StackName"]).configuration
        body = configuration.template.body if configuration else ""
        return {"TemplateBody": body, "StagesAvailable": ["Original", "Processed"]}

    def get_template_summary(self, request: _Data) -> _Data:
        """Return what a template declares."""
        configuration = self._store.find(request["StackName"]).configuration if "StackName" in request else None
        template = configuration.template if configuration else template_of(self._store.context, request, None)
        template.check()
        return describe.template_summary(template)

    def validate_template(self, request: _Data) -> _Data:
        """Return what a template declares if it is well-formed."""
        template = template_of(self._store.context, request, None)
        template.check()
        summary = describe.template_summary(template)
        members = ("ParameterKey", "DefaultValue", "NoEcho", "Description")
        return {
            "Parameters": [{member: p[member] for member in members} for p in summary["Parameters"]],
            "Description": summary["Description"],
            "Capabilities": needed_capabilities(template),
            "CapabilitiesReason": summary["CapabilitiesReason"],
        }

    def list_exports(self, request: _Data) -> _Data:  # noqa: ARG002 - the request has nothing to choose by
        """Return every export."""
        exports = [
            {"ExportingStackId": stack.stack_id, "Name": name, "Value": value}
            for stack in list(self._store.stacks.values())
            for name, value in stack.exported().items()
        ]
        return {"Exports": exports}

    def list_imports(self, request: _Data) -> _Data:
        """Return the stacks that use an export."""
        users = self._store.importers(request["ExportName"])
        if not users:
            raise invalid(f"Export '{request['ExportName']}' is not imported by any stack.")
        return {"Imports": users}

    def list_hook_results(self, request: _Data) -> _Data:
        """Return no results: the sandbox runs no hooks."""
        return {"TargetType": request.get("TargetType"), "TargetId": request.get("TargetId"), "HookResults": []}
