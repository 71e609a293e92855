"""Tuning has an ordered list of its own, with rules of its own."""

from typing import Any

from constructs_lib import facts
from constructs_lib.rules.authoring import (
    App,
    Findings,
    Kind,
    Severity,
    Subject,
    error,
    is_unresolved,
    rule,
    unverified,
    warning,
)
from constructs_lib.rules.values import items, known_text, mapping, number, show

_BESIDE = ("InstanceType", "InstanceCount", "VolumeSizeInGB")


@rule(
    "GPU-PL27",
    title="an ordered list that tuning does not take",
    kinds=(Kind.TUNING_JOB,),
    finds={
        Severity.ERROR: "InstanceConfigs that is empty, longer than 6, or stands beside InstanceType, InstanceCount or "
        "VolumeSizeInGB; an entry without one of these three, or with a type that training does not have",
        Severity.WARNING: "InstanceConfigs with one entry, which the API wants without a list",
    },
    why="the API refuses the request, or takes no more of the list than one entry",
    fix="give 1 to 6 entries, each with InstanceType, InstanceCount and VolumeSizeInGB, and AllocationStrategy "
    "Prioritized; a single one as the members of HyperParameterTuningResourceConfig itself",
    source="botocore: HyperParameterTuningInstanceConfigs, HyperParameterTuningResourceConfig.InstanceConfigs",
)
def tuning_list(subject: Subject, _app: App) -> Findings:
    """Judge the list of each training job definition."""
    for at, definition in _definitions(subject.data):
        given = mapping(definition).get("HyperParameterTuningResourceConfig")
        where = f"{at}.HyperParameterTuningResourceConfig"
        if is_unresolved(definition) or is_unresolved(given):
            yield unverified("what the training jobs run on is not known here", where)
        elif "InstanceConfigs" in (resources := mapping(given)):
            yield from _judge(resources, where)


def _definitions(request: Any) -> list[tuple[str, Any]]:
    one = request.get("TrainingJobDefinition")
    several = request.get("TrainingJobDefinitions")
    found = [] if one is None else [("TrainingJobDefinition", one)]
    if is_unresolved(several):
        return [*found, ("TrainingJobDefinitions", several)]
    return [*found, *((f"TrainingJobDefinitions[{i}]", each) for i, each in enumerate(items(several)))]


def _judge(resources: Any, where: str) -> Findings:
    at, raw = f"{where}.InstanceConfigs", resources["InstanceConfigs"]
    if is_unresolved(raw):
        yield unverified("the list of types is not known here", at)
        return
    beside = [name for name in _BESIDE if resources.get(name) is not None]
    if beside:
        yield error(f"InstanceConfigs and {', '.join(beside)} exclude each other", at)
    entries, most = items(raw), facts.limit("HyperParameterTuningInstanceConfigs").max or 0
    if not 1 <= len(entries) <= most:
        yield error(f"InstanceConfigs has {len(entries)} entries; 1 to {most} are allowed", at)
    elif len(entries) == 1:
        yield warning("InstanceConfigs has one entry; the API wants a single one without a list", at)
    for i, entry in enumerate(entries):
        yield from _entry(mapping(entry), f"{at}[{i}]")


def _entry(entry: Any, at: str) -> Findings:
    for name in ("InstanceCount", "VolumeSizeInGB"):
        value = number(entry.get(name))
        if is_unresolved(entry.get(name)):
            yield unverified(f"{name} is not known here; a number from 1 is needed", f"{at}.{name}")
        elif value is None or value < 1:
            yield error(f"{name} is {show(entry.get(name))}; every entry needs a number from 1", f"{at}.{name}")
    given, kind = entry.get("InstanceType"), known_text(entry.get("InstanceType"))
    known = facts.instance_types().get(kind) if kind else None
    if is_unresolved(given) or (kind and kind.startswith("ml.") and known is None):
        yield unverified(
            f"whether {kind or 'the type'} is offered for training is not known here", f"{at}.InstanceType"
        )
    elif known is None or "training" not in known.apis:
        yield error(f"{show(given)} is no type that training has", f"{at}.InstanceType")
