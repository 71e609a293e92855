"""A template's parameters and rules: values, defaults, constraints, Systems Manager look-ups."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from .intrinsics import evaluate_condition, invalid, resolve, text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .intrinsics import Scope
    from .templates import Template

__all__ = ["Parameter", "check_rules", "decide"]

_STORE = "AWS::SSM::Parameter::Value<"
_LISTS = ("CommaDelimitedList", "List<")


@dataclass(frozen=True)
class Parameter:
    """A parameter's value.

    Parameters
    ----------
    given
        The text that was given or defaulted; of a Systems Manager type it is a parameter's name.
    resolved
        What the store held under that name, None for other types.
    is_list
        Whether `Ref` gives a list.
    no_echo
        Whether descriptions hide it.
    """

    given: str
    resolved: str | None
    is_list: bool
    no_echo: bool

    @property
    def value(self) -> str | list[str]:
        """Return what `Ref` gives."""
        plain = self.given if self.resolved is None else self.resolved
        return [part.strip() for part in plain.split(",")] if self.is_list else plain

    def describe(self, key: str) -> dict[str, Any]:
        """Return the parameter as DescribeStacks shows it."""
        shown = "****" if self.no_echo else self.given
        resolved = {} if self.resolved is None else {"ResolvedValue": "****" if self.no_echo else self.resolved}
        return {"ParameterKey": key, "ParameterValue": shown, **resolved}


def decide(
    template: Template,
    given: list[dict[str, Any]],
    previous: Mapping[str, Parameter],
    fetch: Callable[[str], str],
) -> dict[str, Parameter]:
    """Return every parameter's value for an operation.

    Parameters
    ----------
    given
        The request's Parameters member.
    previous
        The stack's values, for UsePreviousValue.
    fetch
        Reads a parameter of Systems Manager.
    """
    declared = template.section("Parameters")
    unknown = [p["ParameterKey"] for p in given if p["ParameterKey"] not in declared]
    if unknown:
        raise invalid(f"Parameters: [{', '.join(unknown)}] do not exist in the template")
    texts = {}
    for entry in given:
        key = entry["ParameterKey"]
        if not entry.get("UsePreviousValue"):
            texts[key] = entry.get("ParameterValue", "")
        elif key in previous:
            texts[key] = previous[key].given
        else:
            raise invalid(
                f"Invalid input for parameter key {key}. Cannot specify usePreviousValue as true for a new one"
            )
    for key, declaration in declared.items():
        if key not in texts and "Default" in declaration:
            texts[key] = text(declaration["Default"])
    missing = [key for key in declared if key not in texts]
    if missing:
        raise invalid(f"Parameters: [{', '.join(missing)}] must have values")
    return {key: _parameter(key, declared[key], texts[key], fetch) for key in declared}


def _parameter(key: str, declaration: dict[str, Any], given: str, fetch: Callable[[str], str]) -> Parameter:
    kind = declaration.get("Type", "")
    stored = kind.startswith(_STORE)
    inner = kind.removeprefix(_STORE).removesuffix(">") if stored else kind
    if not inner:
        raise invalid(f"Template format error: Every Parameters object must contain a Type member (parameter {key})")
    parameter = Parameter(
        given=given,
        resolved=fetch(given) if stored else None,
        is_list=inner.startswith(_LISTS),
        no_echo=text(declaration.get("NoEcho", False)).lower() == "true",
    )
    for value in parameter.value if parameter.is_list else [given]:
        _check_constraints(key, kind, declaration, value)
    return parameter


def _check_constraints(key: str, kind: str, declaration: Mapping[str, Any], value: str) -> None:
    def fail(rule: str) -> None:
        words = declaration.get("ConstraintDescription") or rule
        raise invalid(f"Parameter '{key}' failed to satisfy constraint: {words}")

    allowed = declaration.get("AllowedValues")
    if allowed is not None and value not in map(text, allowed):
        raise invalid(
            f"Parameter '{key}' must be one of AllowedValues"
            if "ConstraintDescription" not in declaration
            else f"Parameter '{key}' failed to satisfy constraint: {declaration['ConstraintDescription']}"
        )
    if "AllowedPattern" in declaration and not re.fullmatch(declaration["AllowedPattern"], value):
        fail(f"Parameter {key} must match pattern {declaration['AllowedPattern']}")
    if len(value) < int(declaration.get("MinLength", 0)):
        fail(f"Parameter {key} must have length of at least {declaration['MinLength']}")
    if len(value) > int(declaration.get("MaxLength", len(value))):
        fail(f"Parameter {key} must have length of at most {declaration['MaxLength']}")
    if kind in ("Number", "List<Number>"):
        _check_number(key, declaration, value, fail)


def _check_number(key: str, declaration: Mapping[str, Any], value: str, fail: Callable[[str], None]) -> None:
    try:
        number = float(value)
    except ValueError:
        raise invalid(f"Parameter '{key}' must be a number.") from None
    if number < float(declaration.get("MinValue", number)):
        fail(f"Parameter {key} must be at least {declaration['MinValue']}")
    if number > float(declaration.get("MaxValue", number)):
        fail(f"Parameter {key} must be at most {declaration['MaxValue']}")


def parameter_store(client: Any) -> Callable[[str], str]:
    """Return a reader of Systems Manager's parameters."""

    def fetch(name: str) -> str:
        try:
            value: str = client.get_parameter(Name=name)["Parameter"]["Value"]
        except ClientError as error:
            if error.response["Error"]["Code"] != "ParameterNotFound":
                raise
            raise invalid(f"Unable to fetch parameters [{name}] from parameter store for this account.") from None
        return value

    return fetch


def check_rules(template: Template, scope: Scope) -> None:
    """Refuse parameters that an assertion of the Rules section does not allow."""
    for name, rule in template.section("Rules").items():
        if "RuleCondition" in rule and not _holds(rule["RuleCondition"], scope):
            continue
        for assertion in rule.get("Assertions", []):
            if not _holds(assertion["Assert"], scope):
                words = assertion.get("AssertDescription", "an assertion does not hold")
                raise invalid(f"Template validation error: rule {name}: {words}")


def _holds(value: Any, scope: Scope) -> bool:
    """Evaluate a condition that may also use the functions that only rules know."""
    if isinstance(value, dict) and len(value) == 1:
        (name, argument), *_ = value.items()
        if name == "Fn::Not":
            return not _holds(argument[0], scope)
        if name in ("Fn::And", "Fn::Or"):
            return (all if name == "Fn::And" else any)(_holds(part, scope) for part in argument)
        if name in ("Fn::Contains", "Fn::EachMemberIn", "Fn::EachMemberEquals"):
            left, right = (resolve(side, scope) for side in argument)
            if name == "Fn::Contains":
                return right in left
            return all(member in right if name == "Fn::EachMemberIn" else member == right for member in left)
    return evaluate_condition(value, scope)
