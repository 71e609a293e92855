"""CloudFormation's intrinsic functions over plain template data."""

from __future__ import annotations

import base64
import ipaddress
import re
from typing import TYPE_CHECKING, Any, Protocol

from constructs_lib.sandbox.errors import ServiceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = [
    "KNOWN_AFTER_APPLY",
    "NO_VALUE",
    "Scope",
    "evaluate_condition",
    "function_of",
    "invalid",
    "is_unknown",
    "prune",
    "references",
    "resolve",
    "text",
]

KNOWN_AFTER_APPLY = "{{changeSet:KNOWN_AFTER_APPLY}}"
"""Stands for a value that only an execution can tell; a change set shows it as CloudFormation does."""

_VARIABLE = re.compile(r"\$\{(!?)([^}]*)\}")
_CONDITION_FUNCTIONS = frozenset({"Fn::And", "Fn::Or", "Fn::Not", "Fn::Equals"})


class _NoValue:
    def __repr__(self) -> str:
        return "AWS::NoValue"


NO_VALUE: Any = _NoValue()


class Scope(Protocol):
    """Where names get their values from."""

    def ref(self, name: str) -> Any:
        """Return the value of a parameter, a pseudo parameter or a resource."""

    def get_att(self, logical_id: str, attribute: str) -> Any:
        """Return an attribute of a resource."""

    def condition(self, name: str) -> bool:
        """Return the value of a condition."""

    def mapping(self, name: str, top: str, second: str) -> Any:
        """Return a value of the Mappings section."""

    def import_value(self, name: str) -> str:
        """Return what another stack exports."""

    def zones(self, region: str) -> list[str]:
        """Return a region's Availability Zones."""


def invalid(message: str) -> ServiceError:
    """Return the error that CloudFormation answers to a wrong template or parameter."""
    return ServiceError("ValidationError", message)


def function_of(value: Any) -> str | None:
    """Return the intrinsic function that a value calls, None if it is plain data."""
    if not isinstance(value, dict):
        return None
    name = next((str(key) for key in value if key == "Ref" or str(key).startswith("Fn::")), None)
    if name is None or (name == "Ref" and len(value) > 1):
        return None
    if len(value) > 1:
        raise invalid(f"Template error: {name} has other keys beside it: {', '.join(map(str, value))}")
    if name not in _FUNCTIONS and name not in _CONDITION_FUNCTIONS:
        known = ", ".join(sorted(_FUNCTIONS))
        raise invalid(
            f"Template error: Encountered unsupported function: {name} Supported functions are: [{known}]"
            " (functions of a transform such as AWS::LanguageExtensions are not run by the sandbox)"
        )
    return name


def resolve(value: Any, scope: Scope) -> Any:
    """Return a value with every intrinsic function carried out and every `AWS::NoValue` left out."""
    name = function_of(value)
    if name in _CONDITION_FUNCTIONS:
        raise invalid(f"Template error: {name} can stand only in Conditions, Rules and Fn::If")
    if name is not None:
        return _FUNCTIONS[name](value[name], scope)
    if isinstance(value, dict):
        return {k: v for k, item in value.items() if (v := resolve(item, scope)) is not NO_VALUE}
    if isinstance(value, list):
        return [v for item in value if (v := resolve(item, scope)) is not NO_VALUE]
    return value


def text(value: Any) -> str:
    """Return a scalar as CloudFormation writes it into a string."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    raise invalid(f"Template error: {value!r} stands where a string is needed")


def is_unknown(value: Any) -> bool:
    """Return whether any part of a value is known only after the change set is executed."""
    if isinstance(value, dict):
        return any(map(is_unknown, value.values()))
    if isinstance(value, list):
        return any(map(is_unknown, value))
    return isinstance(value, str) and KNOWN_AFTER_APPLY in value


def _list(value: Any, length: int | None, name: str) -> list[Any]:
    if not isinstance(value, list) or (length is not None and len(value) != length):
        what = "a list" if length is None else f"a list of {length}"
        raise invalid(f"Template error: every {name} object requires {what}, not {value!r}")
    return value


def _join(argument: Any, scope: Scope) -> str:
    delimiter, parts = _list(argument, 2, "Fn::Join")
    values = resolve(parts, scope)
    if is_unknown(values) and isinstance(values, str):
        return KNOWN_AFTER_APPLY
    return text(delimiter).join(text(part) for part in _list(values, None, "Fn::Join"))


def _split(argument: Any, scope: Scope) -> Any:
    delimiter, source = _list(argument, 2, "Fn::Split")
    value = text(resolve(source, scope))
    return KNOWN_AFTER_APPLY if is_unknown(value) else value.split(text(resolve(delimiter, scope)))


def _select(argument: Any, scope: Scope) -> Any:
    index, source = _list(argument, 2, "Fn::Select")
    values = resolve(source, scope)
    if is_unknown(values) and (isinstance(values, str) or any(is_unknown(v) for v in values)):
        return KNOWN_AFTER_APPLY
    values = _list(values, None, "Fn::Select")
    try:
        position = int(text(resolve(index, scope)))
    except ValueError:
        raise invalid(f"Template error: Fn::Select needs a whole number as index, not {index!r}") from None
    if not 0 <= position < len(values):
        raise invalid(f"Template error: Fn::Select cannot select nonexistent value at index {position}")
    return values[position]


def _sub(argument: Any, scope: Scope) -> str:
    template, variables = argument if isinstance(argument, list) else (argument, {})
    if not isinstance(template, str) or not isinstance(variables, dict):
        raise invalid("Template error: Fn::Sub needs a string, or a list of a string and a map")

    def value_of(match: re.Match[str]) -> str:
        literal, name = match.groups()
        if literal:
            return f"${{{name}}}"
        name = name.strip()
        if name in variables:
            return text(resolve(variables[name], scope))
        if "." in name:
            return text(scope.get_att(*name.split(".", 1)))
        return text(scope.ref(name))

    return _VARIABLE.sub(value_of, template)


def _get_att(argument: Any, scope: Scope) -> Any:
    logical_id, attribute = _attribute_path(argument)
    return scope.get_att(logical_id, text(resolve(attribute, scope)))


def _attribute_path(argument: Any) -> tuple[str, Any]:
    if isinstance(argument, str) and "." in argument:
        logical_id, attribute = argument.split(".", 1)
        return logical_id, attribute
    if isinstance(argument, list) and len(argument) > 1 and isinstance(argument[0], str):
        rest = argument[1:]
        return argument[0], rest[0] if len(rest) == 1 else ".".join(map(text, rest))
    raise invalid(f"Template error: Fn::GetAtt needs a resource and an attribute, not {argument!r}")


def _if(argument: Any, scope: Scope) -> Any:
    name, then, otherwise = _list(argument, 3, "Fn::If")
    return resolve(then if scope.condition(name) else otherwise, scope)


def _find_in_map(argument: Any, scope: Scope) -> Any:
    name, top, second = (text(resolve(part, scope)) for part in _list(argument, 3, "Fn::FindInMap"))
    return scope.mapping(name, top, second)


def _cidr(argument: Any, scope: Scope) -> list[str]:
    values = [text(part) for part in _list(resolve(argument, scope), None, "Fn::Cidr")]
    block, count, bits = values[0], int(values[1]), int(values[2]) if len(values) > 2 else 8
    network = ipaddress.ip_network(block)
    subnets = network.subnets(new_prefix=network.max_prefixlen - bits)
    return [str(subnet) for subnet, _ in zip(subnets, range(count), strict=False)]


_FUNCTIONS: dict[str, Callable[[Any, Scope], Any]] = {
    "Ref": lambda argument, scope: scope.ref(text(argument)),
    "Fn::Base64": lambda argument, scope: base64.b64encode(text(resolve(argument, scope)).encode()).decode(),
    "Fn::Cidr": _cidr,
    "Fn::FindInMap": _find_in_map,
    "Fn::GetAZs": lambda argument, scope: scope.zones(text(resolve(argument, scope))),
    "Fn::GetAtt": _get_att,
    "Fn::If": _if,
    "Fn::ImportValue": lambda argument, scope: scope.import_value(text(resolve(argument, scope))),
    "Fn::Join": _join,
    "Fn::Select": _select,
    "Fn::Split": _split,
    "Fn::Sub": _sub,
}


def evaluate_condition(value: Any, scope: Scope) -> bool:
    """Return whether an entry of the Conditions section holds."""
    if isinstance(value, dict) and len(value) == 1:
        (name, argument), *_ = value.items()
        if name == "Condition":
            return scope.condition(argument)
        if name == "Fn::Equals":
            left, right = (resolve(side, scope) for side in _list(argument, 2, name))
            return bool(left == right or (not isinstance(left, dict | list) and text(left) == text(right)))
        if name == "Fn::Not":
            return not evaluate_condition(_list(argument, 1, name)[0], scope)
        if name in ("Fn::And", "Fn::Or"):
            results = [evaluate_condition(part, scope) for part in _list(argument, None, name)]
            return all(results) if name == "Fn::And" else any(results)
    raise invalid(f"Template format error: {value!r} is not a condition: use Fn::And, Fn::Or, Fn::Not or Fn::Equals")


def prune(value: Any, condition: Callable[[str], bool]) -> Any:
    """Return a value in which each `Fn::If` is replaced by the branch that is taken."""
    if function_of(value) == "Fn::If":
        name, then, otherwise = _list(value["Fn::If"], 3, "Fn::If")
        return prune(then if condition(name) else otherwise, condition)
    if isinstance(value, dict):
        return {k: prune(item, condition) for k, item in value.items()}
    if isinstance(value, list):
        return [prune(item, condition) for item in value]
    return value


def references(value: Any) -> Iterator[tuple[str, str | None]]:
    """Yield every name a value refers to, with the attribute if one is read and is not itself computed."""
    name = function_of(value)
    if name == "Ref":
        yield text(value["Ref"]), None
    elif name == "Fn::GetAtt":
        logical_id, attribute = _attribute_path(value[name])
        yield logical_id, attribute if isinstance(attribute, str) else ""
        yield from references(attribute)
    elif name == "Fn::Sub":
        yield from _sub_references(value[name])
    elif isinstance(value, dict):
        for item in value.values():
            yield from references(item)
    elif isinstance(value, list):
        for item in value:
            yield from references(item)


def _sub_references(argument: Any) -> Iterator[tuple[str, str | None]]:
    template, variables = argument if isinstance(argument, list) else (argument, {})
    for literal, name in _VARIABLE.findall(template):
        bare = name.strip()
        if literal or bare in variables:
            continue
        logical_id, dot, attribute = bare.partition(".")
        yield logical_id, attribute if dot else None
    yield from references(variables)


def mapping_value(mappings: Mapping[str, Any], name: str, top: str, second: str) -> Any:
    """Return one value of a Mappings section."""
    if name not in mappings:
        raise invalid(f"Template error: Mapping named '{name}' is not present in the 'Mappings' section of template.")
    try:
        return mappings[name][top][second]
    except KeyError:
        raise invalid(f"Template error: Unable to get mapping for {name}::{top}::{second}") from None
