"""API-shaped values from CloudFormation, which passes every number and truth value as text, as the API takes them."""

from __future__ import annotations

from typing import Any

from constructs_lib.model import InvalidInputError

__all__ = ["typed"]

_TRUTH = {"true": True, "false": False}


def typed(value: Any, shape: Any, path: str) -> Any:
    """Return a value with the types of the API's model.

    Parameters
    ----------
    value : Any
    shape : botocore.model.Shape
    path : str
        What errors call the value.

    Raises
    ------
    InvalidInputError
        Naming the member that the API does not have, or cannot read.
    """
    match shape.type_name:
        case "structure":
            return _members(value, shape, path)
        case "list":
            if not isinstance(value, list):
                raise InvalidInputError(f"{path} is {value!r}: a list is needed")
            return [typed(each, shape.member, f"{path}[{number}]") for number, each in enumerate(value)]
        case "map":
            if not isinstance(value, dict):
                raise InvalidInputError(f"{path} is {value!r}: a map is needed")
            return {key: typed(each, shape.value, f"{path}.{key}") for key, each in value.items()}
        case "boolean":
            found = _TRUTH.get(str(value).lower())
            if found is None:
                raise InvalidInputError(f"{path} is {value!r}: true or false is needed")
            return found
        case "integer" | "long" | "float" | "double":
            return _number(value, shape.type_name, path)
    return value if isinstance(value, str) else str(value)


def _members(value: Any, shape: Any, path: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InvalidInputError(f"{path} is {value!r}: a structure is needed")
    if unknown := sorted(value.keys() - shape.members.keys()):
        raise InvalidInputError(f"{path} has {', '.join(unknown)}, which the API does not know")
    return {name: typed(each, shape.members[name], f"{path}.{name}") for name, each in value.items()}


def _number(value: Any, kind: str, path: str) -> int | float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InvalidInputError(f"{path} is {value!r}: a number is needed") from None
    if kind in ("float", "double"):
        return number
    if number != int(number):
        raise InvalidInputError(f"{path} is {value!r}: a whole number is needed")
    return int(number)
