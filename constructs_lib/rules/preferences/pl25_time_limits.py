"""The runtime and the warm pool have bounds."""

from collections.abc import Iterator
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
)
from constructs_lib.rules.preferences._common import JOBS, resources_of
from constructs_lib.rules.values import mapping, number, show


@rule(
    "GPU-PL25",
    title="MaxRuntimeInSeconds or KeepAlivePeriodInSeconds out of bounds",
    kinds=JOBS,
    finds={Severity.ERROR: "a runtime outside 1 s to 28 days (processing: 9 days), a warm pool outside 0 to 6 hours"},
    why="the API refuses the request; older documents name other limits for warm pools",
    fix="give a value within the bounds",
    source="botocore: StoppingCondition.MaxRuntimeInSeconds, ProcessingMaxRuntimeInSeconds, KeepAlivePeriodInSeconds",
)
def time_limits(subject: Subject, _app: App) -> Findings:
    """Compare with the bounds."""
    for name, at, given, low, high in _limits(subject):
        value = number(given)
        if is_unresolved(given):
            yield unverified(f"{name} is not known here; {low} to {high} is allowed", at)
        elif given is not None and (value is None or not low <= value <= high):
            yield error(f"{name} is {show(given)}; {low} to {high} is allowed", at)


def _limits(subject: Subject) -> Iterator[tuple[str, str, Any, int, int]]:
    stopping = subject.data.get("StoppingCondition")
    runtime = stopping if is_unresolved(stopping) else mapping(stopping).get("MaxRuntimeInSeconds")
    training = subject.kind is Kind.TRAINING_JOB
    longest = facts.documented_limit("training_runtime_seconds")
    bounds = facts.limit("MaxRuntimeInSeconds" if training else "ProcessingMaxRuntimeInSeconds")
    yield (
        "MaxRuntimeInSeconds",
        "StoppingCondition.MaxRuntimeInSeconds",
        runtime,
        bounds.min or 1,
        bounds.max or longest,
    )
    if training:
        resources, kept = resources_of(subject)[0], facts.limit("KeepAlivePeriodInSeconds")
        name = "KeepAlivePeriodInSeconds"
        yield name, resources.path(name), resources.data.get(name), kept.min or 0, kept.max or 0
