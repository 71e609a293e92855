"""Resolving a template's intrinsic functions as far as the template itself says; never a guess.

A value that only a deploy will know stays an intrinsic (``{"Ref": "X"}``). Inside a string it becomes a marker,
``${Token[X]}``, so that a rule may still judge the part that is known.
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from constructs_lib.model.values import is_unresolved

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Resolver"]

_SUB = re.compile(r"\$\{(!?)([^}]+)\}")
_NO_VALUE = {"Ref": "AWS::NoValue"}
_LIST_TYPES = ("CommaDelimitedList", "List<")


@dataclass(slots=True)
class Resolver:
    """Resolves values of one template.

    Parameters
    ----------
    template : Mapping
        The template; its Parameters' defaults, Mappings and Conditions are used. A parameter without a default, one
        read from SSM, and whatever depends on one stays unresolved.
    pseudo : Mapping, optional
        Pseudo parameters that are known, such as ``{"AWS::Region": "us-east-1"}``.

    Examples
    --------
    >>> resolver = Resolver({"Parameters": {"Kind": {"Type": "String", "Default": "ml.g5.xlarge"}}})
    >>> resolver.resolve({"A": {"Ref": "Kind"}, "B": {"Fn::Sub": "x-${Kind}-${Other}"}, "C": {"Ref": "Role"}})
    {'A': 'ml.g5.xlarge', 'B': 'x-ml.g5.xlarge-${Token[Other]}', 'C': {'Ref': 'Role'}}
    """

    template: Mapping[str, Any]
    pseudo: Mapping[str, str] = field(default_factory=dict)
    _conditions: dict[str, bool | None] = field(default_factory=dict)

    def resolve(self, value: Any) -> Any:
        """Return ``value`` with everything resolved that the template determines; ``AWS::NoValue`` members vanish.

        What holds nothing to resolve is returned as it is, not copied: most of a template is like that.
        """
        if isinstance(value, list):
            items = [self.resolve(item) for item in value]
            if any(new is not old for new, old in zip(items, value, strict=True)) or _NO_VALUE in items:
                return [item for item in items if item != _NO_VALUE]
            return value
        if not isinstance(value, dict):
            return value
        if len(value) == 1:
            name, argument = next(iter(value.items()))
            if name in _FUNCTIONS:
                return _FUNCTIONS[name](self, argument, value)
        resolved = {key: self.resolve(item) for key, item in value.items()}
        if any(resolved[key] is not item or item == _NO_VALUE for key, item in value.items()):
            return {key: item for key, item in resolved.items() if item != _NO_VALUE}
        return value

    def condition(self, name: str) -> bool | None:
        """Return whether a condition holds, or ``None`` when the template does not determine it."""
        if name not in self._conditions:
            self._conditions[name] = None  # a condition that refers to itself stays unknown
            definition = _section(self.template, "Conditions").get(name)
            self._conditions[name] = self._truth(definition)
        return self._conditions[name]

    def _truth(self, value: Any) -> bool | None:
        if not isinstance(value, dict) or len(value) != 1:
            return None
        name, argument = next(iter(value.items()))
        if name == "Condition" and isinstance(argument, str):
            return self.condition(argument)
        if not isinstance(argument, list):
            return None
        if name == "Fn::Equals" and len(argument) == 2:
            left, right = (self.resolve(item) for item in argument)
            return None if _is_partial(left) or _is_partial(right) else str(left) == str(right)
        combine = _LOGIC.get(name)
        return combine([self._truth(item) for item in argument]) if combine else None

    def _ref(self, argument: Any, value: Any) -> Any:
        if not isinstance(argument, str):
            return value
        if argument in self.pseudo:
            return self.pseudo[argument]
        parameter = _section(self.template, "Parameters").get(argument)
        if not isinstance(parameter, dict) or "Default" not in parameter:
            return value
        kind, default = str(parameter.get("Type", "String")), parameter["Default"]
        if kind.startswith("AWS::SSM::"):
            return value
        if kind.startswith(_LIST_TYPES):
            return [item.strip() for item in str(default).split(",")] if default != "" else []
        return _number(default) if kind == "Number" else default

    def _join(self, argument: Any, value: Any) -> Any:
        if not isinstance(argument, list) or len(argument) != 2 or not isinstance(argument[0], str):
            return value
        items = self.resolve(argument[1])
        if not isinstance(items, list) or is_unresolved(items):
            return value
        return argument[0].join(_text(item) for item in items)

    def _sub(self, argument: Any, value: Any) -> Any:
        text, local = argument if isinstance(argument, list) and len(argument) == 2 else (argument, {})
        if not isinstance(text, str) or not isinstance(local, dict):
            return value

        def replace(match: re.Match[str]) -> str:
            literal, name = match.groups()
            if literal:
                return f"${{{name}}}"
            if name in local:
                return _text(self.resolve(local[name]))
            reference = {"Fn::GetAtt": name.split(".", 1)} if "." in name else {"Ref": name}
            return _text(self.resolve(reference))

        return _SUB.sub(replace, text)

    def _select(self, argument: Any, value: Any) -> Any:
        if not isinstance(argument, list) or len(argument) != 2:
            return value
        index, items = _number(self.resolve(argument[0])), self.resolve(argument[1])
        if isinstance(items, list) and not is_unresolved(items) and isinstance(index, int) and 0 <= index < len(items):
            return items[index]
        return value

    def _split(self, argument: Any, value: Any) -> Any:
        if not isinstance(argument, list) or len(argument) != 2 or not isinstance(argument[0], str):
            return value
        text = self.resolve(argument[1])
        return text.split(argument[0]) if isinstance(text, str) and argument[0] and not is_unresolved(text) else value

    def _if(self, argument: Any, value: Any) -> Any:
        if not isinstance(argument, list) or len(argument) != 3:
            return value
        truth = self.condition(str(argument[0]))
        return value if truth is None else self.resolve(argument[1 if truth else 2])

    def _find_in_map(self, argument: Any, value: Any) -> Any:
        if not isinstance(argument, list) or len(argument) < 3:
            return value
        found: Any = _section(self.template, "Mappings")
        for key in (self.resolve(item) for item in argument[:3]):
            if not isinstance(found, dict) or not isinstance(key, str | int) or str(key) not in found:
                return value
            found = found[str(key)]
        return found

    def _base64(self, argument: Any, value: Any) -> Any:
        text = self.resolve(argument)
        return value if not isinstance(text, str) or is_unresolved(text) else base64.b64encode(text.encode()).decode()

    def _keep(self, _argument: Any, value: Any) -> Any:
        return value


def _not(truths: list[bool | None]) -> bool | None:
    return None if truths[:1] in ([], [None]) else not truths[0]


def _and(truths: list[bool | None]) -> bool | None:
    return False if False in truths else None if None in truths else True


def _or(truths: list[bool | None]) -> bool | None:
    return True if True in truths else None if None in truths else False


# Three-valued: what is not known decides nothing by itself.
_LOGIC = {"Fn::Not": _not, "Fn::And": _and, "Fn::Or": _or}

_FUNCTIONS: dict[str, Callable[[Resolver, Any, Any], Any]] = {
    "Ref": Resolver._ref,  # noqa: SLF001 - the table of the class's own functions
    "Fn::Join": Resolver._join,  # noqa: SLF001
    "Fn::Sub": Resolver._sub,  # noqa: SLF001
    "Fn::Select": Resolver._select,  # noqa: SLF001
    "Fn::Split": Resolver._split,  # noqa: SLF001
    "Fn::If": Resolver._if,  # noqa: SLF001
    "Fn::FindInMap": Resolver._find_in_map,  # noqa: SLF001
    "Fn::Base64": Resolver._base64,  # noqa: SLF001
    "Fn::GetAtt": Resolver._keep,  # noqa: SLF001
    "Fn::GetAZs": Resolver._keep,  # noqa: SLF001
    "Fn::ImportValue": Resolver._keep,  # noqa: SLF001
    "Fn::Cidr": Resolver._keep,  # noqa: SLF001
    "Fn::Transform": Resolver._keep,  # noqa: SLF001
}


def _section(template: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    section = template.get(name)
    return section if isinstance(section, dict) else {}


def _is_partial(value: Any) -> bool:
    return is_unresolved(value) or isinstance(value, dict)


def _number(value: Any) -> Any:
    try:
        return int(value)
    except (TypeError, ValueError):
        try:
            return float(value)
        except (TypeError, ValueError):
            return value


def _text(value: Any) -> str:
    """Return a value as part of a string: its text, or a marker that names what is not known."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    if isinstance(value, dict) and len(value) == 1:
        name, argument = next(iter(value.items()))
        inner = (
            ".".join(str(item) for item in argument)
            if name == "Fn::GetAtt" and isinstance(argument, list)
            else argument
        )
        label = inner if isinstance(inner, str) else name
        return f"${{Token[{re.sub(r'[^A-Za-z0-9_/-]+', '.', label)}]}}"
    return "${Token[unknown]}"
