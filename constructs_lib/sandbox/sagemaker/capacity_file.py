"""The capacity file: YAML for people, refused with file, line, key, what was given and what is allowed."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import yaml

from constructs_lib.facts import instance_types
from constructs_lib.sandbox.errors import SandboxError

from .plans_file import read_offerings, read_plans
from .quotas import PLANS_QUOTA, USAGES, reserved_quota
from .seeds import UNLIMITED, EndpointTimes, JobTimes, Level, Moment
from .yaml_reader import (
    Reader,
    Refusal,
    a_duration,
    a_moment,
    a_zone,
    an_amount,
    at_key,
    did_you_mean,
    text_up_to,
    whole,
    yes_or_no,
)

if TYPE_CHECKING:
    from .yaml_reader import Parser

__all__ = ["read_capacity"]

Times = TypeVar("Times", JobTimes, EndpointTimes)

_USAGE_QUOTA = re.compile(rf"(?P<type>ml\.\S+) for (?:{'|'.join(USAGES)})")


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


def _free(reader: Reader, node: yaml.Node, path: str) -> float:
    if isinstance(node, yaml.ScalarNode) and node.value == "unlimited":
        return UNLIMITED
    try:
        return float(whole(0)(reader, node, path))
    except Refusal:
        raise Refusal(node, path, "a whole number of 0 or more, or unlimited") from None


def _level(reader: Reader, node: yaml.Node, path: str, more: dict[str, Parser]) -> Level:
    row = reader.mapping(node, path, {"at": a_moment, "free": _free, **more}, required=("at", "free"))
    return Level(row.get("at", Moment(0)), row.get("free", 0), row.get("interrupt", False))


def _levels(reader: Reader, node: yaml.Node, path: str, more: dict[str, Parser]) -> tuple[Level, ...]:
    if isinstance(node, yaml.ScalarNode):
        return (Level(Moment(float("-inf"), absolute=True), _free(reader, node, path)),)
    return reader.sequence(
        node, path, partial(_level, more=more), "a number, unlimited, or a list of {at: 25m, free: 8}"
    )


def _supply(reader: Reader, node: yaml.Node, path: str, more: dict[str, Parser]) -> dict[str | None, tuple[Level, ...]]:
    if not isinstance(node, yaml.MappingNode):
        return {None: _levels(reader, node, path, more)}
    pairs = reader.pairs(node, path, "")
    if not pairs:
        raise Refusal(node, path, "at least one zone, such as us-east-1a: 8")
    levels = partial(_levels, more=more)
    return {a_zone(reader, key, path): reader.attempt(levels, value, at_key(path, zone)) for key, zone, value in pairs}


def _types(
    reader: Reader, node: yaml.Node, path: str, more: dict[str, Parser]
) -> dict[str, dict[str | None, tuple[Level, ...]]]:
    found = {}
    for key, name, value in reader.pairs(node, path, "a mapping of instance types, such as ml.p5.48xlarge: 8"):
        if name not in instance_types():
            near = did_you_mean(name, instance_types())
            reader.note(key, at_key(path, name), f"no such instance type; give one such as ml.p5.48xlarge{near}")
        found[name] = reader.attempt(partial(_supply, more=more), value, at_key(path, name))
    return found


def _quotas(reader: Reader, node: yaml.Node, path: str) -> dict[str, int]:
    found = {}
    for key, name, value in reader.pairs(node, path, "a mapping of quota names to numbers"):
        if not _is_quota(name):
            reader.note(
                key,
                at_key(path, name),
                f"no quota of the sandbox; give '<type> for <{' | '.join(USAGES)}>', such as"
                f" 'ml.g5.48xlarge for training job usage', or {PLANS_QUOTA}, or one such as"
                f" {reserved_quota('ml.p5.48xlarge')}",
            )
        found[name] = reader.attempt(whole(0), value, at_key(path, name))
    return found


def _prices(reader: Reader, node: yaml.Node, path: str) -> dict[str, str]:
    pairs = reader.pairs(node, path, "a mapping of instance types to amounts, such as ml.g5.xlarge: 1.41")
    return {name: reader.attempt(an_amount, value, at_key(path, name)) for _, name, value in pairs}


def _is_quota(name: str) -> bool:
    if usage := _USAGE_QUOTA.fullmatch(name):
        return usage["type"] in instance_types()
    return name == PLANS_QUOTA or name in map(reserved_quota, instance_types())


_TIMES: dict[str, Parser] = {
    **dict.fromkeys(("start", "download", "runtime", "upload", "stop_takes"), a_duration),
    "fail": text_up_to(1024),
}


_ENDPOINT_TIMES: dict[str, Parser] = {
    **dict.fromkeys(("create", "update", "scale", "rollback", "delete", "capacity_wait"), a_duration),
    "fail": text_up_to(1024),
}


def _by_name(make: type[Times], fields: dict[str, Parser], example: str) -> Parser:
    """Return a parser of durations, with `overrides` by name pattern."""

    def overrides(reader: Reader, node: yaml.Node, path: str) -> list[tuple[str, dict[str, Any]]]:
        pairs = reader.pairs(node, path, f"a mapping of name patterns, such as {example}")
        return [(name, reader.mapping(value, at_key(path, name), fields)) for _, name, value in pairs]

    def parse(reader: Reader, node: yaml.Node, path: str) -> tuple[Times, tuple[tuple[str, Times], ...]]:
        row = reader.mapping(node, path, {**fields, "overrides": overrides})
        named = row.pop("overrides", [])
        return make(**row), tuple((pattern, make(**(row | times))) for pattern, times in named)

    return parse


def _top(reader: Reader, node: yaml.Node, path: str) -> dict[str, Any]:
    fields = reader.mapping(node, path, _TOP)
    if "job" in fields:
        fields["job"], fields["overrides"] = fields["job"]
    if "endpoint" in fields:
        fields["endpoint"], fields["endpoint_overrides"] = fields["endpoint"]
    return fields


_TOP: dict[str, Parser] = {
    "types": partial(_types, more={}),
    "default_free": _free,
    "spot": partial(_types, more={"interrupt": yes_or_no}),
    "quotas": _quotas,
    "prices": _prices,
    "plans": read_plans,
    "offerings": read_offerings,
    "job": _by_name(JobTimes, _TIMES, "'nightly-*': {runtime: 5m}"),
    "endpoint": _by_name(EndpointTimes, _ENDPOINT_TIMES, "'chat-*': {create: 10m}"),
}
