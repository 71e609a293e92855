"""Finding the rules: one file a rule, imported only when a subject of its kind is asked about."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from constructs_lib.model import InvalidInputError
from constructs_lib.rules.rule import Rule
from constructs_lib.rules.subjects import Kind

__all__ = ["AREAS", "area_of", "find_rule", "rule_ids", "rules", "rules_for"]

_JOBS = (Kind.TRAINING_JOB, Kind.PROCESSING_JOB, Kind.TUNING_JOB, Kind.AUTO_ML_JOB)
_ENDPOINTS = (Kind.ENDPOINT_CONFIG, Kind.RESERVED_ENDPOINT, Kind.ENDPOINT, Kind.SCALABLE_TARGET)

# Which folder's rules may judge which kind of subject: the launcher must not compile rules it never asks.
AREAS: dict[str, tuple[Kind, ...]] = {
    "preferences": (*_JOBS, Kind.ENDPOINT_CONFIG),
    "plans": (Kind.TRAINING_JOB, Kind.ENDPOINT_CONFIG, Kind.CLUSTER),
    "purchases": (
        Kind.TRAINING_PLAN,
        Kind.TRAINING_PLAN_SEARCH,
        Kind.CAPACITY_BLOCK,
        Kind.CAPACITY_BLOCK_SEARCH,
        Kind.SDK_CALL,
    ),
    "blocks": (Kind.LAUNCH_TEMPLATE, Kind.EVENT_PATTERN),
    "endpoints": _ENDPOINTS,
    "iam": (Kind.IAM_DOCUMENT, Kind.ROLE),
    "workflows": (Kind.STATE, Kind.STATE_MACHINE, Kind.SDK_CALL, Kind.ROLE),
}


@cache
def _modules(area: str) -> dict[str, str]:
    """Return the module of each rule id of a folder, from the file names alone (a zip has them too)."""
    package = f"{__package__}.{area}"
    names = sorted(module.name for module in pkgutil.iter_modules(importlib.import_module(package).__path__))
    return {f"GPU-{name.split('_')[0].upper()}": f"{package}.{name}" for name in names if not name.startswith("_")}


@cache
def _load(module: str) -> Rule:
    return next(value for value in vars(importlib.import_module(module)).values() if isinstance(value, Rule))


@cache
def rule_ids() -> frozenset[str]:
    """Return the id of every rule, without importing one."""
    return frozenset(rule_id for area in AREAS for rule_id in _modules(area))


@cache
def rules() -> tuple[Rule, ...]:
    """Return every rule, ordered by id."""
    return tuple(sorted((_load(name) for area in AREAS for name in _modules(area).values()), key=lambda r: r.id))


@cache
def rules_for(kind: Kind) -> tuple[Rule, ...]:
    """Return the rules that judge one kind of subject, ordered by id."""
    areas = (area for area, kinds in AREAS.items() if kind in kinds)
    loaded = (_load(name) for area in areas for name in _modules(area).values())
    return tuple(sorted((rule for rule in loaded if kind in rule.kinds), key=lambda r: r.id))


def area_of(rule_id: str) -> str | None:
    """Return the folder of a rule, ``None`` for an id that does not exist."""
    return next((area for area in AREAS if rule_id in _modules(area)), None)


def find_rule(rule_id: str) -> Rule:
    """Return one rule by its id.

    Raises
    ------
    InvalidInputError
        If there is no such rule.
    """
    area = area_of(rule_id)
    if area is not None:
        return _load(_modules(area)[rule_id])
    raise InvalidInputError(f"no rule {rule_id!r}: the ids are {', '.join(sorted(rule_ids()))}")
