"""Reading YAML for people: every mistake is told with its place, what was given and what is allowed."""

from __future__ import annotations

import difflib
import re
from datetime import datetime
from typing import TYPE_CHECKING, Any

import yaml

from constructs_lib.sandbox.modelcheck import service_model

from .seeds import Moment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Parser = Callable[["Reader", yaml.Node, str], Any]

__all__ = [
    "Reader",
    "Refusal",
    "a_duration",
    "a_moment",
    "a_text",
    "a_zone",
    "an_amount",
    "at_key",
    "did_you_mean",
    "matching",
    "one_of",
    "text_up_to",
    "whole",
    "yes_or_no",
]

_DURATION = re.compile(r"(?:\d+(?:\.\d+)?[dhms])+|0")
_PART = re.compile(r"(\d+(?:\.\d+)?)([dhms])")
_SECONDS = {"d": 86400, "h": 3600, "m": 60, "s": 1}
_A_DURATION = "a number with its unit d, h, m or s, such as 90s, 25m or 1h30m"
_A_MOMENT = "a time after the start such as 25m (-2h lies before it), or ISO 8601 with a zone such as 2026-12-01T11:30Z"


class Refusal(Exception):  # noqa: N818  it never leaves the reading
    """A value that a parser does not take; `Reader.attempt` turns it into a mistake."""

    def __init__(self, node: yaml.Node, path: str, allowed: str) -> None:
        super().__init__(path)
        self.node, self.path, self.allowed = node, path, allowed


class Reader:
    """Reads YAML nodes and gathers the mistakes, so that one run shows them all."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.problems: list[str] = []

    def attempt(self, parse: Parser, node: yaml.Node, path: str) -> Any:
        """Return what a parser makes of a node; None, and a noted mistake, if it refuses."""
        try:
            return parse(self, node, path)
        except Refusal as refusal:
            self.note(refusal.node, refusal.path, f"{_shown(refusal.node)} is not allowed; give {refusal.allowed}")
            return None

    def note(self, node: yaml.Node, path: str, words: str) -> None:
        """Note a mistake."""
        self.problems.append(f"{self.source}:{node.start_mark.line + 1}: {path or 'file'}: {words}")

    def pairs(self, node: yaml.Node, path: str, allowed: str) -> list[tuple[yaml.Node, str, yaml.Node]]:
        """Return a mapping's key nodes, keys and values."""
        if not isinstance(node, yaml.MappingNode):
            raise Refusal(node, path, allowed)
        pairs: list[tuple[yaml.Node, str, yaml.Node]] = []
        for key, value in node.value:
            name = a_text(self, key, path)
            if any(name == known for _, known, _ in pairs):
                self.note(key, at_key(path, name), "the key appears twice; keep one")
            pairs.append((key, name, value))
        return pairs

    def mapping(
        self, node: yaml.Node, path: str, fields: dict[str, Parser], required: Iterable[str] = ()
    ) -> dict[str, Any]:
        """Return a mapping whose keys are fixed, without those that were refused."""
        found: dict[str, Any] = {}
        pairs = self.pairs(node, path, f"a mapping with the keys {', '.join(fields)}")
        for key, name, value in pairs:
            if name in fields:
                parsed = self.attempt(fields[name], value, at_key(path, name))
                found |= {} if parsed is None else {name: parsed}
            else:
                near = did_you_mean(name, fields)
                self.note(key, at_key(path, name), f"unknown key; allowed are {', '.join(fields)}{near}")
        for name in required:
            if all(name != key for _, key, _ in pairs):
                self.note(node, path, f"the key {name} is missing")
        return found

    def sequence(self, node: yaml.Node, path: str, parse: Parser, allowed: str) -> tuple[Any, ...]:
        """Return a list whose items one parser reads."""
        if not isinstance(node, yaml.SequenceNode) or not node.value:
            raise Refusal(node, path, allowed)
        return tuple(self.attempt(parse, item, f"{path}[{i}]") for i, item in enumerate(node.value))


def _shown(node: yaml.Node) -> str:
    if isinstance(node, yaml.ScalarNode):
        return repr(node.value)
    return ("a list" if isinstance(node, yaml.SequenceNode) else "a mapping") if node.value else "an empty value"


def at_key(path: str, name: str) -> str:
    """Return the path of a key under a path."""
    return f"{path}.{name}" if path else name


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the end of a sentence that proposes the nearest known name."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {close[0]}?" if close else ""


def a_text(_: Reader, node: yaml.Node, path: str) -> str:
    """Read a text."""
    if not isinstance(node, yaml.ScalarNode) or not node.value.strip():
        raise Refusal(node, path, "a text")
    return str(node.value)


def text_up_to(top: int) -> Parser:
    """Return a parser of a text of at most so many characters."""

    def parse(reader: Reader, node: yaml.Node, path: str) -> str:
        text = a_text(reader, node, path)
        if len(text) > top:
            raise Refusal(node, path, f"a text of at most {top} characters")
        return text

    return parse


def matching(pattern: str, allowed: str) -> Parser:
    """Return a parser of a text that a pattern describes."""

    def parse(reader: Reader, node: yaml.Node, path: str) -> str:
        text = a_text(reader, node, path)
        if not re.fullmatch(pattern, text):
            raise Refusal(node, path, allowed)
        return text

    return parse


an_amount = matching(r"\d+(\.\d+)?", "an amount such as 60000.00")
"""Reads an amount of money, kept as text."""


def whole(least: int) -> Parser:
    """Return a parser of a whole number of `least` or more."""

    def parse(_: Reader, node: yaml.Node, path: str) -> int:
        if isinstance(node, yaml.ScalarNode) and re.fullmatch(r"\d{1,9}", node.value) and int(node.value) >= least:
            return int(node.value)
        raise Refusal(node, path, f"a whole number of {least} or more")

    return parse


def yes_or_no(_: Reader, node: yaml.Node, path: str) -> bool:
    """Read true or false."""
    if isinstance(node, yaml.ScalarNode) and node.value in ("true", "false"):
        return bool(node.value == "true")
    raise Refusal(node, path, "true or false")


def a_duration(_: Reader, node: yaml.Node, path: str) -> float:
    """Read a duration as seconds."""
    if isinstance(node, yaml.ScalarNode) and _DURATION.fullmatch(node.value):
        return sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(node.value))
    raise Refusal(node, path, _A_DURATION)


def a_moment(_: Reader, node: yaml.Node, path: str) -> Moment:
    """Read a moment."""
    text = node.value if isinstance(node, yaml.ScalarNode) else ""
    if _DURATION.fullmatch(text.removeprefix("-")):
        seconds = sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(text))
        return Moment(-seconds if text.startswith("-") else seconds)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise Refusal(node, path, _A_MOMENT) from None
    if moment.tzinfo is None:
        raise Refusal(node, path, f"{_A_MOMENT}; this one has no zone")
    return Moment(moment.timestamp(), absolute=True)


def one_of(shape: str) -> Parser:
    """Return a parser for a value of one of the service model's enums."""

    def parse(reader: Reader, node: yaml.Node, path: str) -> str:
        allowed = service_model("sagemaker").shape_for(shape).enum
        text = a_text(reader, node, path)
        if text not in allowed:
            raise Refusal(node, path, f"one of {', '.join(allowed)}{did_you_mean(text, allowed)}")
        return text

    return parse


a_zone = matching(r"[a-z]+-[0-9a-z-]+", "an availability zone such as us-east-1a")
