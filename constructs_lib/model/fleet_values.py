"""Plain data whose values only a deploy knows: each stands as a placeholder in text, and is filled in at run time."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from constructs_lib.model.errors import InvalidInputError, UnresolvedListError
from constructs_lib.model.values import is_unresolved

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Placeholders", "filled"]

_OPEN = "${gpucap:"
# A token of CDK inside text, or text of the user's own that looks like the start of a placeholder.
_TO_REPLACE = re.compile(r"\$\{Token\[[^\]]+\]\}|" + re.escape(_OPEN))
_PLACE = re.compile(re.escape(_OPEN) + r"(\d+)\}")


class Placeholders:
    """Takes what only a deploy knows out of plain data.

    Attributes
    ----------
    values
        What was taken out, by placeholder; each value once.

    Examples
    --------
    >>> places = Placeholders()
    >>> places.take({"Image": "${Token[Account.1]}.dkr.ecr/x", "Count": -1.8881545897087626e289})
    {'Image': '${gpucap:0}.dkr.ecr/x', 'Count': '${gpucap:1}'}
    >>> places.values
    {'0': '${Token[Account.1]}', '1': -1.8881545897087626e+289}
    """

    def __init__(self) -> None:
        self.values: dict[str, str | float] = {}
        self._known: dict[str | float, str] = {}

    def take(self, data: Any, at: str = "request") -> Any:
        """Return ``data`` with a placeholder for every token in it, keys included.

        Raises
        ------
        UnresolvedListError
            For a list token, whose members nobody knows at synth.
        InvalidInputError
            For a value that is no JSON, such as an ``IResolvable``.
        """
        match data:
            case str():
                return _TO_REPLACE.sub(lambda found: self._place(found[0]), data) if "${" in data else data
            case dict():
                return {self._key(key, at): self.take(value, f"{at}.{key}") for key, value in data.items()}
            case list() | tuple():
                if is_unresolved(data):
                    raise UnresolvedListError(at)
                return [self.take(member, f"{at}[{i}]") for i, member in enumerate(data)]
            case None | bool():
                return data
            case int() | float():
                return self._place(data) if is_unresolved(data) else data
        raise InvalidInputError(
            f"{at}: plain JSON is needed, a {type(data).__name__} was given; "
            "turn a CDK token into text with Token.as_string"
        )

    def _key(self, key: Any, at: str) -> str:
        if not isinstance(key, str):
            raise InvalidInputError(f"{at}: a name is text, {key!r} was given")
        taken: str = self.take(key)
        return taken

    def _place(self, value: str | float) -> str:
        if value not in self._known:
            self._known[value] = str(len(self.values))
            self.values[self._known[value]] = value
        return f"{_OPEN}{self._known[value]}}}"


def filled(data: Any, values: Mapping[str, Any]) -> Any:
    """Return ``data`` with the values in place of their placeholders; a text that is one placeholder becomes the value.

    Raises
    ------
    InvalidInputError
        For a placeholder that has no value: file and state machine are not of the same deploy.

    Examples
    --------
    >>> filled({"Image": "${gpucap:0}/x", "Count": "${gpucap:1}"}, {"0": "111122223333", "1": 4})
    {'Image': '111122223333/x', 'Count': 4}
    """

    def value(number: str) -> Any:
        if number not in values:
            raise InvalidInputError(
                f"the placeholder {number} has no value: the file of jobs and the state machine are of two deploys; "
                "start the fleet again"
            )
        return values[number]

    def fill(inner: Any) -> Any:
        match inner:
            case str():
                if "${" not in inner:
                    return inner
                whole = _PLACE.fullmatch(inner)
                return value(whole[1]) if whole else _PLACE.sub(lambda found: str(value(found[1])), inner)
            case dict():
                return {str(fill(key)): fill(member) for key, member in inner.items()}
            case list():
                return [fill(member) for member in inner]
        return inner

    return fill(data)
