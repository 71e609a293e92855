"""Templates: reading JSON and YAML, and everything CloudFormation refuses before it makes anything."""

from __future__ import annotations

import functools
import json
import re
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Any

import yaml

from .intrinsics import evaluate_condition, function_of, invalid, mapping_value, prune, references

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from .intrinsics import Scope

__all__ = ["PSEUDO_PARAMETERS", "Declared", "Template", "read"]

PSEUDO_PARAMETERS = frozenset(
    f"AWS::{name}"
    for name in (
        "AccountId",
        "NoValue",
        "NotificationARNs",
        "Partition",
        "Region",
        "StackId",
        "StackName",
        "URLSuffix",
    )
)
_SECTIONS = (
    "AWSTemplateFormatVersion",
    "Conditions",
    "Description",
    "Mappings",
    "Metadata",
    "Outputs",
    "Parameters",
    "Resources",
    "Rules",
    "Transform",
)
_RESOURCE_KEYS = (
    "Condition",
    "CreationPolicy",
    "DeletionPolicy",
    "DependsOn",
    "Description",
    "Metadata",
    "Properties",
    "Type",
    "UpdatePolicy",
    "UpdateReplacePolicy",
)
_POLICIES = {
    "DeletionPolicy": ("Delete", "Retain", "RetainExceptOnCreate"),
    "UpdateReplacePolicy": ("Delete", "Retain"),
}


@dataclass(frozen=True)
class Declared:
    """One resource as a template wants it, with conditions decided but values still to be resolved."""

    logical_id: str
    type: str
    properties: dict[str, Any]
    metadata: Any
    depends_on: frozenset[str]
    deletion_policy: str
    update_replace_policy: str


@dataclass(frozen=True)
class Template:
    """A template that was read; sections that are left out are empty."""

    body: str
    data: dict[str, Any]

    def section(self, name: str) -> dict[str, Any]:
        """Return a section that maps names to declarations."""
        section: dict[str, Any] = self.data.get(name, {})
        return section

    @property
    def resources(self) -> dict[str, Any]:
        """Return the Resources section."""
        return self.section("Resources")

    @functools.cached_property
    def types(self) -> dict[str, str]:
        """Return the resource type of each logical ID."""
        return {logical_id: declaration["Type"] for logical_id, declaration in self.resources.items()}

    def check(self) -> None:
        """Refuse whatever is wrong whatever the parameters are.

        Raises
        ------
        ServiceError
            ``ValidationError`` in CloudFormation's words.
        """
        _check_sections(self.data)
        if not self.resources:
            raise invalid("Template format error: At least one Resources member must be defined.")
        for logical_id, declaration in self.resources.items():
            _check_resource(logical_id, declaration)
        for name, output in self.section("Outputs").items():
            if not isinstance(output, dict) or "Value" not in output:
                raise invalid(f"Template format error: Output {name} must have a Value")
        self._check_conditions()
        for block in ("Resources", "Outputs"):
            self._check_references(block, self.section(block))

    def decide(self, scope: Scope) -> dict[str, bool]:
        """Return the value of every condition."""
        return {name: evaluate_condition(value, scope) for name, value in self.section("Conditions").items()}

    def active(self, condition: Callable[[str], bool]) -> dict[str, Declared]:
        """Return the resources whose condition holds, each after those it depends on.

        Raises
        ------
        ServiceError
            ``ValidationError`` for a reference to a resource whose condition does not hold, and for a cycle.
        """
        chosen = {
            logical_id: declaration
            for logical_id, declaration in self.resources.items()
            if "Condition" not in declaration or condition(declaration["Condition"])
        }
        declared = {logical_id: self._declared(logical_id, d, condition) for logical_id, d in chosen.items()}
        self._check_active("Resources", {i: d.properties for i, d in declared.items()}, declared)
        self._check_active("Outputs", self.active_outputs(condition), declared)
        return {logical_id: declared[logical_id] for logical_id in _in_order(declared)}

    def active_outputs(self, condition: Callable[[str], bool]) -> dict[str, Any]:
        """Return the outputs whose condition holds."""
        return {
            name: prune(output, condition)
            for name, output in self.section("Outputs").items()
            if "Condition" not in output or condition(output["Condition"])
        }

    def mapping(self, name: str, top: str, second: str) -> Any:
        """Return a value of the Mappings section."""
        return mapping_value(self.section("Mappings"), name, top, second)

    def _declared(self, logical_id: str, declaration: dict[str, Any], condition: Callable[[str], bool]) -> Declared:
        properties = prune(declaration.get("Properties", {}), condition)
        named = declaration.get("DependsOn") or []
        named = [named] if isinstance(named, str) else named
        used = {name for name, _ in references(properties)} | set(named)
        return Declared(
            logical_id=logical_id,
            type=declaration["Type"],
            properties=properties,
            metadata=declaration.get("Metadata"),
            depends_on=frozenset(name for name in used if name in self.resources and self._is_on(name, condition)),
            deletion_policy=declaration.get("DeletionPolicy", "Delete"),
            update_replace_policy=declaration.get("UpdateReplacePolicy", "Delete"),
        )

    def _is_on(self, logical_id: str, condition: Callable[[str], bool]) -> bool:
        declaration = self.resources[logical_id]
        return "Condition" not in declaration or condition(declaration["Condition"])

    def _check_conditions(self) -> None:
        known = self.section("Conditions")
        used = [d["Condition"] for d in self.resources.values() if "Condition" in d]
        used += [o["Condition"] for o in self.section("Outputs").values() if "Condition" in o]
        used += _conditions_in([self.resources, self.section("Outputs")])
        for name in used:
            if name not in known:
                raise invalid(f"Template format error: Unresolved condition dependency {name} in the Conditions block")
        allowed = PSEUDO_PARAMETERS | self.section("Parameters").keys()
        wrong = sorted({name for name, _ in references(known) if name not in allowed})
        if wrong:
            raise invalid(
                f"Template format error: Unresolved dependencies [{', '.join(wrong)}]."
                " Cannot reference resources in the Conditions block of the template"
            )
        graph = {name: set(_conditions_in(value)) for name, value in known.items()}
        for needed in set().union(*graph.values()) - graph.keys():
            raise invalid(f"Template format error: Unresolved condition dependency {needed} in the Conditions block")
        _sorted(graph, "Circular dependency between conditions")

    def _check_references(self, block: str, value: Any) -> None:
        names = PSEUDO_PARAMETERS | self.section("Parameters").keys() | self.resources.keys()
        for declaration in value.values():
            unresolved = set()
            for name, attribute in references(declaration):
                if attribute is None and name not in names:
                    unresolved.add(name)
                elif attribute is not None and name not in self.resources:
                    raise invalid(
                        f"Template error: instance of Fn::GetAtt references undefined resource {name}"
                        if not name.startswith("AWS::")
                        else f"Template error: instance of Fn::Sub references invalid resource attribute {name}"
                    )
            for name in _depends_on(declaration) if block == "Resources" else ():
                if name not in self.resources:
                    unresolved.add(name)
            _refuse_unresolved(unresolved, block)

    def _check_active(self, block: str, values: Mapping[str, Any], declared: Mapping[str, Declared]) -> None:
        for value in values.values():
            missing = {name for name, _ in references(value) if name in self.resources and name not in declared}
            _refuse_unresolved(missing, block)


def _refuse_unresolved(names: set[str], block: str) -> None:
    if names:
        listed = ", ".join(sorted(names))
        raise invalid(
            f"Template format error: Unresolved resource dependencies [{listed}] in the {block} block of the template"
        )


def _check_sections(data: Mapping[str, Any]) -> None:
    unknown = [name for name in data if name not in _SECTIONS]
    if unknown:
        raise invalid(f"Invalid template property or properties [{', '.join(map(str, unknown))}]")
    if data.get("Transform"):
        raise invalid(f"the sandbox runs no transforms: expand {data['Transform']!r} before you deploy the template")
    for name in ("Conditions", "Mappings", "Outputs", "Parameters", "Resources", "Rules"):
        if not isinstance(data.get(name, {}), dict):
            raise invalid(f"Template format error: [/{name}] is not an object")


def _check_resource(logical_id: str, declaration: Any) -> None:
    if not re.fullmatch(r"[A-Za-z0-9]+", logical_id):
        raise invalid(f"Template format error: Resource name {logical_id} is non alphanumeric.")
    if not isinstance(declaration, dict) or not isinstance(declaration.get("Type"), str):
        raise invalid(f"Template format error: [/Resources/{logical_id}] Every Resources object must contain a Type")
    for key in declaration:
        if key not in _RESOURCE_KEYS:
            raise invalid(f"Invalid template resource property '{key}' (resource {logical_id})")
    if not isinstance(declaration.get("Properties", {}), dict):
        raise invalid(f"Template format error: [/Resources/{logical_id}/Properties] is not an object")
    for key, allowed in _POLICIES.items():
        policy = declaration.get(key, "Delete")
        if policy not in allowed:
            raise invalid(
                f"Template error: resource {logical_id} has {key} {policy!r}, which the sandbox does not support:"
                f" use {', '.join(allowed)}"
            )
    for key in ("CreationPolicy", "UpdatePolicy"):
        if key in declaration:
            raise invalid(f"the sandbox does not support {key} (resource {logical_id}): leave it out")


def _depends_on(declaration: Mapping[str, Any]) -> Iterable[str]:
    named = declaration.get("DependsOn") or []
    return [named] if isinstance(named, str) else named


def _conditions_in(value: Any) -> list[str]:
    """Return the names of conditions that Fn::If and Condition use anywhere in a value."""
    if isinstance(value, list):
        return [name for item in value for name in _conditions_in(item)]
    if not isinstance(value, dict):
        return []
    if function_of(value) == "Fn::If":
        name, *branches = value["Fn::If"]
        return [name, *_conditions_in(branches)]
    if len(value) == 1 and isinstance(value.get("Condition"), str):
        return [value["Condition"]]
    return [name for item in value.values() for name in _conditions_in(item)]


def _in_order(declared: Mapping[str, Declared]) -> list[str]:
    return _sorted({i: sorted(d.depends_on) for i, d in declared.items()}, "Circular dependency between resources")


def _sorted(graph: Mapping[str, Iterable[str]], complaint: str) -> list[str]:
    try:
        return list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        members = sorted(set(error.args[1]))
        raise invalid(f"{complaint}: [{', '.join(members)}]") from None


def read(body: str) -> Template:
    """Read a JSON or YAML template, short forms such as ``!Ref`` included."""
    try:
        data = json.loads(body) if body.lstrip().startswith("{") else yaml.load(body, _Loader)  # noqa: S506 - a SafeLoader
    except (ValueError, yaml.YAMLError) as error:
        raise invalid(f"Template format error: JSON or YAML not well-formed ({error})") from None
    if not isinstance(data, dict):
        raise invalid("Template format error: unsupported structure.")
    return Template(body, data)


class _Loader(yaml.SafeLoader):
    """YAML with CloudFormation's short forms and without dates, so that ``2012-10-17`` stays text."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - the base class has it so
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


def _short_form(loader: _Loader, suffix: str, node: yaml.Node) -> dict[str, Any]:
    if isinstance(node, yaml.ScalarNode):
        value: Any = loader.construct_scalar(node)
    elif isinstance(node, yaml.SequenceNode):
        value = loader.construct_sequence(node, deep=True)
    elif isinstance(node, yaml.MappingNode):
        value = loader.construct_mapping(node, deep=True)
    return {suffix if suffix in ("Ref", "Condition") else f"Fn::{suffix}": value}


_Loader.add_multi_constructor("!", _short_form)
