"""The capacity file: YAML for people, refused with file, line, key, what was given and what is allowed."""

from __future__ import annotations

import difflib
import itertools
import re
from datetime import datetime
from typing import TYPE_CHECKING, Any

import yaml

from constructs_lib.facts import instance_types
from constructs_lib.sandbox.errors import SandboxError
from constructs_lib.sandbox.modelcheck import service_model

from .seeds import UNLIMITED, JobTimes, Level, Moment, PlanSeed, SegmentSeed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Parser = Callable[["Reader", yaml.Node, str], Any]

__all__ = ["read_capacity"]

_DURATION = re.compile(r"(?:\d+(?:\.\d+)?[dhms])+|0")
_PART = re.compile(r"(\d+(?:\.\d+)?)([dhms])")
_SECONDS = {"d": 86400, "h": 3600, "m": 60, "s": 1}
_QUOTA = re.compile(r"(?P<type>ml\.\S+) for (?:spot )?training job usage")
_A_DURATION = "a number with its unit d, h, m or s, such as 90s, 25m or 1h30m"
_A_MOMENT = "a time after the start such as 25m (-2h lies before it), or ISO 8601 with a zone such as 2026-12-01T11:30Z"


def read_capacity(text: str, source: str) -> dict[str, Any]:
    """Return the fields of a `Capacity` that a YAML text gives.

    Raises
    ------
    SandboxError
        One line for each mistake.
    """
    reader = Reader(source)
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        at = f":{mark.line + 1}" if mark else ""
        raise SandboxError(f"{source}{at}: not YAML: {error.problem or error.context}") from None
    fields: dict[str, Any] = {} if root is None else reader.attempt(_top, root, "")
    if reader.problems:
        raise SandboxError("\n".join(reader.problems))
    return fields


class _Refusal(Exception):  # noqa: N818  it never leaves the module
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
        except _Refusal as refusal:
            self.note(refusal.node, refusal.path, f"{_shown(refusal.node)} is not allowed; give {refusal.allowed}")
            return None

    def note(self, node: yaml.Node, path: str, words: str) -> None:
        """Note a mistake."""
        self.problems.append(f"{self.source}:{node.start_mark.line + 1}: {path or 'file'}: {words}")

    def pairs(self, node: yaml.Node, path: str, allowed: str) -> list[tuple[yaml.Node, str, yaml.Node]]:
        """Return a mapping's key nodes, keys and values."""
        if not isinstance(node, yaml.MappingNode):
            raise _Refusal(node, path, allowed)
        pairs: list[tuple[yaml.Node, str, yaml.Node]] = []
        for key, value in node.value:
            name = _text(self, key, path)
            if any(name == known for _, known, _ in pairs):
                self.note(key, _at(path, name), "the key appears twice; keep one")
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
                parsed = self.attempt(fields[name], value, _at(path, name))
                found |= {} if parsed is None else {name: parsed}
            else:
                near = _near(name, fields)
                self.note(key, _at(path, name), f"unknown key; allowed are {', '.join(fields)}{near}")
        for name in required:
            if all(name != key for _, key, _ in pairs):
                self.note(node, path, f"the key {name} is missing")
        return found

    def sequence(self, node: yaml.Node, path: str, parse: Parser, allowed: str) -> tuple[Any, ...]:
        """Return a list whose items one parser reads."""
        if not isinstance(node, yaml.SequenceNode) or not node.value:
            raise _Refusal(node, path, allowed)
        return tuple(self.attempt(parse, item, f"{path}[{i}]") for i, item in enumerate(node.value))


def _shown(node: yaml.Node) -> str:
    if isinstance(node, yaml.ScalarNode):
        return repr(node.value)
    return ("a list" if isinstance(node, yaml.SequenceNode) else "a mapping") if node.value else "an empty value"


def _at(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _near(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {close[0]}?" if close else ""


def _text(_: Reader, node: yaml.Node, path: str) -> str:
    if not isinstance(node, yaml.ScalarNode) or not node.value.strip():
        raise _Refusal(node, path, "a text")
    return str(node.value)


def _words(top: int) -> Parser:
    def parse(reader: Reader, node: yaml.Node, path: str) -> str:
        text = _text(reader, node, path)
        if len(text) > top:
            raise _Refusal(node, path, f"a text of at most {top} characters")
        return text

    return parse


def _matching(pattern: str, allowed: str) -> Parser:
    def parse(reader: Reader, node: yaml.Node, path: str) -> str:
        text = _text(reader, node, path)
        if not re.fullmatch(pattern, text):
            raise _Refusal(node, path, allowed)
        return text

    return parse


def _whole(least: int) -> Parser:
    def parse(_: Reader, node: yaml.Node, path: str) -> int:
        if isinstance(node, yaml.ScalarNode) and re.fullmatch(r"\d{1,9}", node.value) and int(node.value) >= least:
            return int(node.value)
        raise _Refusal(node, path, f"a whole number of {least} or more")

    return parse


def _free(reader: Reader, node: yaml.Node, path: str) -> float:
    if isinstance(node, yaml.ScalarNode) and node.value == "unlimited":
        return UNLIMITED
    try:
        return float(_whole(0)(reader, node, path))
    except _Refusal:
        raise _Refusal(node, path, "a whole number of 0 or more, or unlimited") from None


def _duration(_: Reader, node: yaml.Node, path: str) -> float:
    if isinstance(node, yaml.ScalarNode) and _DURATION.fullmatch(node.value):
        return sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(node.value))
    raise _Refusal(node, path, _A_DURATION)


def _moment(_: Reader, node: yaml.Node, path: str) -> Moment:
    text = node.value if isinstance(node, yaml.ScalarNode) else ""
    if _DURATION.fullmatch(text.removeprefix("-")):
        seconds = sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(text))
        return Moment(-seconds if text.startswith("-") else seconds)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise _Refusal(node, path, _A_MOMENT) from None
    if moment.tzinfo is None:
        raise _Refusal(node, path, f"{_A_MOMENT}; this one has no zone")
    return Moment(moment.timestamp(), absolute=True)


def _one_of(shape: str) -> Parser:
    """Return a parser for a value of one of the service model's enums."""

    def parse(reader: Reader, node: yaml.Node, path: str) -> str:
        allowed = service_model("sagemaker").shape_for(shape).enum
        text = _text(reader, node, path)
        if text not in allowed:
            raise _Refusal(node, path, f"one of {', '.join(allowed)}{_near(text, allowed)}")
        return text

    return parse


def _level(reader: Reader, node: yaml.Node, path: str) -> Level:
    row = reader.mapping(node, path, {"at": _moment, "free": _free}, required=("at", "free"))
    return Level(row.get("at", Moment(0)), row.get("free", 0))


def _levels(reader: Reader, node: yaml.Node, path: str) -> tuple[Level, ...]:
    if isinstance(node, yaml.ScalarNode):
        return (Level(Moment(float("-inf"), absolute=True), _free(reader, node, path)),)
    return reader.sequence(node, path, _level, "a number, unlimited, or a list of {at: 25m, free: 8}")


def _supply(reader: Reader, node: yaml.Node, path: str) -> dict[str | None, tuple[Level, ...]]:
    if not isinstance(node, yaml.MappingNode):
        return {None: _levels(reader, node, path)}
    pairs = reader.pairs(node, path, "")
    if not pairs:
        raise _Refusal(node, path, "at least one zone, such as us-east-1a: 8")
    return {_zone(reader, key, path): reader.attempt(_levels, value, _at(path, zone)) for key, zone, value in pairs}


def _types(reader: Reader, node: yaml.Node, path: str) -> dict[str, dict[str | None, tuple[Level, ...]]]:
    found = {}
    for key, name, value in reader.pairs(node, path, "a mapping of instance types, such as ml.p5.48xlarge: 8"):
        if name not in instance_types():
            near = _near(name, instance_types())
            reader.note(key, _at(path, name), f"no such instance type; give one such as ml.p5.48xlarge{near}")
        found[name] = reader.attempt(_supply, value, _at(path, name))
    return found


def _quotas(reader: Reader, node: yaml.Node, path: str) -> dict[str, int]:
    found = {}
    for key, name, value in reader.pairs(node, path, "a mapping of quota names to numbers"):
        quota = _QUOTA.fullmatch(name)
        if quota is None or quota["type"] not in instance_types():
            reader.note(
                key,
                _at(path, name),
                "no quota of the sandbox; give '<type> for training job usage' or '<type> for spot training job usage',"
                " such as 'ml.g5.48xlarge for training job usage'",
            )
        found[name] = reader.attempt(_whole(0), value, _at(path, name))
    return found


def _tags(reader: Reader, node: yaml.Node, path: str) -> tuple[tuple[str, str], ...]:
    pairs = reader.pairs(node, path, "a mapping of tag keys to values")
    return tuple((name, reader.attempt(_words(256), value, _at(path, name))) for _, name, value in pairs)


_zone = _matching(r"[a-z]+-[0-9a-z-]+", "an availability zone such as us-east-1a")
_SEGMENT: dict[str, Parser] = {"start": _moment, "end": _moment, "count": _whole(1), "zone": _zone}


def _segment(reader: Reader, node: yaml.Node, path: str) -> dict[str, Any]:
    row = reader.mapping(node, path, _SEGMENT, required=("start", "end"))
    _check_order(reader, node, path, [row.get("start"), row.get("end")])
    return row


def _segments(reader: Reader, node: yaml.Node, path: str) -> tuple[dict[str, Any], ...]:
    rows = reader.sequence(node, path, _segment, "a list of {start:, end:}")
    _check_order(reader, node, path, [row[key] for row in rows if row for key in ("start", "end") if key in row])
    return rows


def _check_order(reader: Reader, node: yaml.Node, path: str, moments: list[Moment | None]) -> None:
    for first, second in itertools.pairwise(moments):
        if first and second and first.absolute == second.absolute and first.seconds > second.seconds:
            return reader.note(node, path, "start and end are not in order of time")
    return None


_PLAN: dict[str, Parser] = {
    "name": _matching(r"[a-zA-Z0-9](-*[a-zA-Z0-9]){0,63}", "a plan name: up to 64 letters, digits and inner hyphens"),
    "instance_type": _one_of("ReservedCapacityInstanceType"),
    **_SEGMENT,
    "segments": _segments,
    "target": _one_of("SageMakerResourceName"),
    "status": _one_of("TrainingPlanStatus"),
    "upfront_fee": _matching(r"\d+(\.\d+)?", "an amount such as 60000.00"),
    "currency": _matching(r"[A-Z]{3}", "a currency code such as USD"),
    "tags": _tags,
}


def _plan(reader: Reader, node: yaml.Node, path: str) -> PlanSeed:
    row = reader.mapping(node, path, _PLAN, required=("name", "instance_type", "count"))
    whole = {key: row.pop(key) for key in _SEGMENT if key in row}
    rows = row.pop("segments", None)
    if rows is None:
        if not {"start", "end"} <= whole.keys():
            reader.note(node, path, "give start and end, or segments: [{start:, end:}]")
        _check_order(reader, node, path, [whole.get("start"), whole.get("end")])
        rows = ({},)
    elif "start" in whole or "end" in whole:
        reader.note(node, path, "give either start and end, or segments, not both")
    return PlanSeed(**(_NO_PLAN | row), segments=tuple(SegmentSeed(**(_NO_SEGMENT | whole | part)) for part in rows))


# Stand for what is missing in a file that will be refused.
_NO_SEGMENT: dict[str, Any] = {"start": Moment(0), "end": Moment(0), "count": 0}
_NO_PLAN: dict[str, Any] = {"name": "", "instance_type": ""}


def _plans(reader: Reader, node: yaml.Node, path: str) -> tuple[PlanSeed, ...]:
    plans = reader.sequence(node, path, _plan, "a list of plans")
    names = [plan.name for plan in plans if plan]
    for name in sorted({name for name in names if name and names.count(name) > 1}):
        reader.note(node, path, f"the plan {name!r} appears twice; names are unique")
    return plans


_TIMES: dict[str, Parser] = {
    **dict.fromkeys(("start", "download", "runtime", "upload", "stop_takes"), _duration),
    "fail": _words(1024),
}


def _overrides(reader: Reader, node: yaml.Node, path: str) -> list[tuple[str, dict[str, Any]]]:
    pairs = reader.pairs(node, path, "a mapping of job name patterns, such as 'nightly-*': {runtime: 5m}")
    return [(name, reader.mapping(value, _at(path, name), _TIMES)) for _, name, value in pairs]


def _job(reader: Reader, node: yaml.Node, path: str) -> tuple[JobTimes, tuple[tuple[str, JobTimes], ...]]:
    row = reader.mapping(node, path, {**_TIMES, "overrides": _overrides})
    overrides = row.pop("overrides", [])
    return JobTimes(**row), tuple((pattern, JobTimes(**(row | times))) for pattern, times in overrides)


def _top(reader: Reader, node: yaml.Node, path: str) -> dict[str, Any]:
    fields = reader.mapping(node, path, _TOP)
    if "job" in fields:
        fields["job"], fields["overrides"] = fields["job"]
    return fields


_TOP: dict[str, Parser] = {
    "types": _types,
    "default_free": _free,
    "quotas": _quotas,
    "plans": _plans,
    "job": _job,
}
