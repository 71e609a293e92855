"""Where a stack's names get their values: parameters, pseudo parameters, resources, other stacks' exports."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Self

from .intrinsics import KNOWN_AFTER_APPLY, NO_VALUE, evaluate_condition, invalid, resolve
from .parameters import parameter_store

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from constructs_lib.sandbox.context import Context

    from .parameters import Parameter
    from .stacks import Configuration, Resource
    from .templates import Template

__all__ = ["ForeseenScope", "Identity", "StackScope"]

_DYNAMIC = re.compile(r"\{\{resolve:([^:}]+):([^}]+)\}\}")
_HIDDEN = "****"


class Identity:
    """What pseudo parameters and imports need to know of a stack.

    Parameters
    ----------
    context
        The sandbox.
    stack_id, name
        The stack.
    exports
        Returns every export's value by name.
    """

    def __init__(
        self,
        context: Context,
        stack_id: str,
        name: str,
        exports: Callable[[], Mapping[str, str]],
    ) -> None:
        self.context = context
        self.stack_id = stack_id
        self.name = name
        self.exports = exports

    def pseudo(self, name: str) -> Any:
        """Return the value of a pseudo parameter."""
        return {
            "AWS::AccountId": self.context.account,
            "AWS::NoValue": NO_VALUE,
            "AWS::NotificationARNs": [],
            "AWS::Partition": "aws",
            "AWS::Region": self.context.region,
            "AWS::StackId": self.stack_id,
            "AWS::StackName": self.name,
            "AWS::URLSuffix": "amazonaws.com",
        }[name]


class StackScope:
    """The names of a stack whose resources have the values that its physical resources have now."""

    def __init__(
        self,
        identity: Identity,
        template: Template,
        parameters: Mapping[str, Parameter],
        resources: Mapping[str, Resource] | None = None,
        *,
        hide: bool = False,
    ) -> None:
        self.identity = identity
        self.template = template
        self.parameters = parameters
        self.resources = resources or {}
        self.imported: set[str] = set()
        self._hide = hide

    @classmethod
    def of(
        cls, identity: Identity, wanted: Configuration, resources: Mapping[str, Resource], *, hide: bool = False
    ) -> Self:
        """Return the scope of a configuration."""
        return cls(identity, wanted.template, wanted.parameters, resources, hide=hide)

    def ref(self, name: str) -> Any:
        """Return a parameter's value, a pseudo parameter or a resource's physical ID."""
        if name.startswith("AWS::"):
            return self.identity.pseudo(name)
        if name in self.parameters:
            return self.parameters[name].value
        return self._resource(name).physical_id

    def get_att(self, logical_id: str, attribute: str) -> Any:
        """Return an attribute that a resource has now."""
        resource = self._resource(logical_id)
        if attribute not in resource.attributes:
            if resource.type.startswith(("Custom::", "AWS::CloudFormation::CustomResource")):
                bucket = f"cloudformation-custom-resource-storage-{self.identity.context.region.replace('-', '')}"
                raise invalid(
                    f"CustomResource attribute error: Vendor response doesn't contain {attribute} attribute in object"
                    f" {self.identity.stack_id}|{logical_id} in S3 bucket {bucket}"
                )
            raise invalid(f"Attribute '{attribute}' does not exist for resource {logical_id} of type {resource.type}")
        return _HIDDEN if self._hide and resource.no_echo else resource.attributes[attribute]

    def condition(self, name: str) -> bool:
        """Return whether a condition of the template holds."""
        return evaluate_condition(self.template.section("Conditions")[name], self)

    def mapping(self, name: str, top: str, second: str) -> Any:
        """Return a value of the Mappings section."""
        return self.template.mapping(name, top, second)

    def import_value(self, name: str) -> str:
        """Return another stack's export and remember that this stack uses it."""
        exports = self.identity.exports()
        if name not in exports:
            raise invalid(f"No export named {name} found.")
        self.imported.add(name)
        return exports[name]

    def zones(self, region: str) -> list[str]:
        """Return the Availability Zones of the sandbox's region."""
        if region not in ("", self.identity.context.region):
            raise invalid(
                f"the sandbox has one region, {self.identity.context.region}: Fn::GetAZs of {region!r} is unknown"
            )
        answer = self.identity.context.client("ec2").describe_availability_zones()
        return [zone["ZoneName"] for zone in answer["AvailabilityZones"]]

    def resolve(self, value: Any) -> Any:
        """Return a value with functions carried out and dynamic references looked up."""
        return self._dynamic(resolve(value, self))

    def _dynamic(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self._dynamic(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._dynamic(item) for item in value]
        if isinstance(value, str) and "{{resolve:" in value:
            return _DYNAMIC.sub(self._look_up, value)
        return value

    def _look_up(self, match: re.Match[str]) -> str:
        service, name = match.groups()
        if service != "ssm":
            raise invalid(f"the sandbox resolves dynamic references to ssm only, not {match.group(0)}")
        return parameter_store(self.identity.context.client("ssm"))(name)

    def _resource(self, logical_id: str) -> Resource:
        resource = self.resources.get(logical_id)
        if resource is None or not resource.exists:
            raise invalid(f"Template error: resource {logical_id} does not exist yet")
        return resource


class ForeseenScope(StackScope):
    """The names of a stack before a change set is executed: what will change is marked as not yet known.

    Attributes
    ----------
    new_ids
        Logical IDs whose physical ID and attributes an execution decides.
    new_attributes
        Logical IDs of which an execution decides the attributes only.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.new_ids: set[str] = set()
        self.new_attributes: set[str] = set()

    def ref(self, name: str) -> Any:
        """Return a value, or the mark of one that is not known yet."""
        return KNOWN_AFTER_APPLY if name in self.new_ids else super().ref(name)

    def get_att(self, logical_id: str, attribute: str) -> Any:
        """Return a value, or the mark of one that is not known yet."""
        if logical_id in self.new_ids | self.new_attributes:
            return KNOWN_AFTER_APPLY
        # What a custom resource does not have now, its next answer may have.
        has_it = attribute in self._resource(logical_id).attributes
        return super().get_att(logical_id, attribute) if has_it else KNOWN_AFTER_APPLY
