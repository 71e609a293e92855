"""Types that the sandbox makes nothing of, and says so."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import TYPE_CHECKING

from .base import Made, ResourceType

if TYPE_CHECKING:
    from .base import Request

__all__ = ["CompositeAlarm", "Metadata", "QueryDefinition", "Stub", "WaitConditionHandle"]


class _NoOp(ResourceType):
    def create(self, request: Request) -> Made:
        """Make nothing."""
        return Made(self.reference(request))

    def update(self, request: Request) -> Made:
        """Change nothing."""
        return Made(request.physical_id)

    def delete(self, request: Request) -> None:
        """Remove nothing."""

    def reference(self, request: Request) -> str:
        """Return what `Ref` gives."""
        return request.name(128)


class Metadata(_NoOp):
    """The CDK's usage metadata."""

    type = "AWS::CDK::Metadata"
    note = "(nothing to make)"


class WaitConditionHandle(_NoOp):
    """A handle nobody can signal; the CDK uses it as an empty resource."""

    type = "AWS::CloudFormation::WaitConditionHandle"
    note = "(nothing to make; the sandbox has no wait conditions)"

    def reference(self, request: Request) -> str:
        """Return an address in the form of a handle."""
        return f"{request.context.url}/_cloudformation/wait/{request.name(128)}"


class QueryDefinition(_NoOp):
    """A saved query; moto keeps none."""

    type = "AWS::Logs::QueryDefinition"
    attributes = frozenset({"QueryDefinitionId"})
    note = "(kept in the stack only; the sandbox has no saved queries)"

    def create(self, request: Request) -> Made:
        """Make an ID."""
        return self.update(replace(request, physical_id=str(uuid.uuid4())))

    def update(self, request: Request) -> Made:
        """Keep the ID."""
        return Made(request.physical_id, {"QueryDefinitionId": request.physical_id})


class CompositeAlarm(_NoOp):
    """An alarm over alarms; moto keeps none."""

    type = "AWS::CloudWatch::CompositeAlarm"
    attributes = frozenset({"Arn"})
    note = "(kept in the stack only; the sandbox has no composite alarms)"

    def create(self, request: Request) -> Made:
        """Make a name and an ARN."""
        return self.update(replace(request, physical_id=request.properties.get("AlarmName") or request.name(255)))

    def update(self, request: Request) -> Made:
        """Keep the name."""
        return Made(request.physical_id, {"Arn": request.arn("cloudwatch", f"alarm:{request.physical_id}")})


class _MadeUp(dict[str, str]):
    """Attributes of a placeholder: whatever is asked for is there, and says what it is."""

    def __init__(self, logical_id: str) -> None:
        super().__init__()
        self._logical_id = logical_id

    def __contains__(self, key: object) -> bool:
        return True

    def __missing__(self, key: str) -> str:
        return f"stub-{self._logical_id}-{key}"


class Stub(_NoOp):
    """A placeholder of any type."""

    type = "stub"
    attributes = None
    note = "(stub)"

    def create(self, request: Request) -> Made:
        """Make a name and made-up attributes."""
        return Made(self.reference(request), _MadeUp(request.logical_id))

    def update(self, request: Request) -> Made:
        """Keep the name."""
        return Made(request.physical_id, _MadeUp(request.logical_id))
