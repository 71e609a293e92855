"""Which resource types there are and what CloudFormation's own schemas say about their properties."""

from __future__ import annotations

import functools
import importlib.resources
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .intrinsics import invalid
from .resources import TYPES
from .resources.api import ApiType
from .resources.base import ResourceError, tag_map
from .resources.custom import CustomResource
from .resources.nested import NestedStack
from .resources.noop import Stub

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .resources.base import ResourceType
    from .responses import Responses
    from .templates import Declared, Template

__all__ = ["Facts", "Registry", "facts_of"]

CUSTOM_RESOURCE = CustomResource.type


@dataclass(frozen=True)
class Facts:
    """What the schema of a resource type says.

    Parameters
    ----------
    properties
        Properties a template may give.
    required
        Properties it must give.
    create_only
        Paths such as ``Orchestrator/Eks`` whose change needs a new physical resource.
    read_only
        Attributes.
    tags
        ``list`` or ``map``, the form of the Tags property; None if stack tags do not reach the type.
    """

    properties: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    create_only: tuple[str, ...] = ()
    read_only: tuple[str, ...] = ()
    tags: str | None = None

    def replaces(self, old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
        """Return the create-only paths whose values differ."""
        return [path for path in self.create_only if _at(old, path) != _at(new, path)]


def _at(properties: Any, path: str) -> Any:
    for key in path.split("/"):
        properties = properties.get(key) if isinstance(properties, dict) else None
    return properties


@functools.cache
def _schemas() -> dict[str, Facts]:
    text = importlib.resources.files(__package__).joinpath("resource_types.json").read_text(encoding="utf-8")
    rows = json.loads(text)["types"]
    return {name: _facts(row) for name, row in rows.items()}


def _facts(row: dict[str, Any]) -> Facts:
    lists = {key: tuple(row[key]) for key in ("properties", "required", "create_only", "read_only")}
    return Facts(**lists, tags=row["tags"])


def facts_of(type_name: str) -> Facts:
    """Return the schema's facts of a type; empty for custom resources and stubs."""
    return _schemas().get(type_name, Facts())


class Registry:
    """The resource types of a sandbox.

    Parameters
    ----------
    stubs
        Types that are created as placeholders.
    responses
        Where custom resources answer.
    """

    def __init__(self, stubs: Iterable[str], responses: Responses) -> None:
        self.stubs = frozenset(stubs)
        self._stub = Stub()
        self._types: dict[str, ResourceType] = {kind.type: kind() for kind in TYPES}
        self._types[CUSTOM_RESOURCE] = CustomResource(responses)

    def of(self, type_name: str) -> ResourceType:
        """Return a type that `check` let pass."""
        if type_name in self.stubs:
            return self._stub
        return self._types[CUSTOM_RESOURCE if self.is_custom(type_name) else type_name]

    def check(self, template: Template) -> None:
        """Refuse types the sandbox does not know and attributes that a type does not have."""
        unknown = {i: t for i, t in template.types.items() if not self._known(t)}
        if unknown:
            listed = ", ".join(f"{logical_id} ({name})" for logical_id, name in sorted(unknown.items()))
            flags = " ".join(f"--stub {name}" for name in sorted(set(unknown.values())))
            raise invalid(
                f"the sandbox cannot make these resources: {listed}."
                f" To deploy with placeholders in their place, start it with {flags}"
            )

    def check_attribute(self, template: Template, logical_id: str, attribute: str) -> None:
        """Refuse an attribute that a resource's type does not have."""
        type_name = template.types[logical_id]
        known = self.of(type_name).attributes
        if known is not None and attribute not in known:
            raise invalid(
                f"Template error: resource {logical_id} does not support attribute type {attribute} in Fn::GetAtt"
                f" ({type_name} has {', '.join(sorted(known)) or 'none'})"
            )

    def _known(self, type_name: str) -> bool:
        return type_name in self.stubs or type_name in self._types or self.is_custom(type_name)

    def check_properties(self, type_name: str, properties: Mapping[str, Any], logical_id: str) -> None:
        """Refuse properties that the schema lacks, and missing ones that it requires."""
        facts = facts_of(type_name)
        if type_name in self.stubs or not facts.properties:
            return
        wrong = [f"#: required key [{key}] not found" for key in facts.required if key not in properties]
        wrong += [f"#: extraneous key [{key}] is not permitted" for key in properties if key not in facts.properties]
        if wrong:
            raise ResourceError(
                f"Properties validation failed for resource {logical_id} with message: {'; '.join(wrong)}"
            )

    def with_tags(self, type_name: str, properties: dict[str, Any], tags: Mapping[str, str]) -> dict[str, Any]:
        """Return properties with the stack's tags added where the type takes tags; its own tags win."""
        form = facts_of(type_name).tags
        if not tags or form is None or type_name in self.stubs:
            return properties
        merged = {**tags, **tag_map(properties.get("Tags"))}
        as_list = [{"Key": key, "Value": value} for key, value in merged.items()]
        return {**properties, "Tags": as_list if form == "list" else merged}

    def is_custom(self, type_name: str) -> bool:
        """Return whether a type is a custom resource's."""
        return type_name not in self.stubs and (type_name.startswith("Custom::") or type_name == CUSTOM_RESOURCE)

    def decides_attributes(self, type_name: str) -> bool:
        """Return whether any update of such a resource may change what its attributes say."""
        return self.is_custom(type_name) or type_name == NestedStack.type

    def replaces(self, declared: Declared, old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
        """Return the properties whose change needs a new physical resource."""
        return [] if declared.type in self.stubs else facts_of(declared.type).replaces(old, new)

    def fixed_name(self, type_name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> str | None:
        """Return the name property if a template gives it and does not change it: two such cannot exist at once."""
        kind = self.of(type_name)
        name = kind.name if isinstance(kind, ApiType) else ""
        return name if name and name in new and new[name] == old.get(name) else None
