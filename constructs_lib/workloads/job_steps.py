"""The steps of a launch as requests, their limits, and how long each may wait."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal, cast

from constructs_lib import facts
from constructs_lib.model import InvalidInputError, is_unresolved
from constructs_lib.model.approvals import types_in
from constructs_lib.model.fields import check_lists
from constructs_lib.model.job_kinds import JOB_KINDS
from constructs_lib.model.limits import Limits
from constructs_lib.model.steps import LaunchStep
from constructs_lib.shared.cdk_values import gigabytes, seconds
from constructs_lib.workloads.definition import Launch, Then, launcher_states, plans_of
from constructs_lib.workloads.optimized import optimized_states

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from constructs_lib.model import InstancePreference, TrainingJobSpec
    from constructs_lib.model.price import PriceCeiling
    from constructs_lib.model.prices import PriceBook
    from constructs_lib.model.processing import ProcessingJobSpec
    from constructs_lib.shared.cdk_values import Time

    Moment = Time | str | datetime

__all__ = [
    "STATES",
    "Integration",
    "StepRequest",
    "backstop",
    "entries_of",
    "launch_limits",
    "launch_of",
    "longest_wait",
    "on_demand",
    "plain_steps",
]

Integration = Literal["launcher", "optimized"]
STATES = {"launcher": launcher_states, "optimized": optimized_states}
"""How each integration renders a launch."""

_MARGIN_SECONDS = 3600
_YEAR_SECONDS = 31_536_000


@dataclass(frozen=True, slots=True)
class StepRequest:
    """One step's Create request without a name, why its entries stand where they do, and a wait that only we bound."""

    request: dict[str, Any]
    reasons: Sequence[str | None] = ()
    max_pending: float | None = None


def plain_steps(name: str, spec: TrainingJobSpec | ProcessingJobSpec, steps: Sequence[LaunchStep]) -> list[LaunchStep]:
    """Return steps with CDK's times and sizes as numbers.

    Raises
    ------
    InvalidInputError
        For something that is no step, and unless exactly one of preferences and steps is given.
    """
    check_lists(steps=steps)
    if wrong := [one for one in steps if not isinstance(one, LaunchStep)]:
        raise InvalidInputError(
            f"{name}: steps: each is a LaunchStep, {wrong[0]!r} was given; write LaunchStep([InstancePreference(...)])"
        )
    if spec.preferences and steps:
        raise InvalidInputError(f"{name}: preferences and steps were given; one list is preferences, several are steps")
    return [
        replace(
            step,
            max_pending=seconds("max_pending", cast("Time | None", step.max_pending)),
            max_wait=seconds("max_wait", cast("Time | None", step.max_wait)),
            volume_size_gb=gigabytes("volume_size_gb", step.volume_size_gb),
        )
        for step in steps
    ]


def entries_of(spec: TrainingJobSpec | ProcessingJobSpec, steps: Sequence[LaunchStep]) -> list[InstancePreference]:
    """Return the entries of a job's list, or of all its steps."""
    return [*spec.preferences, *(entry for step in steps for entry in step.preferences)]


def launch_limits(
    *,
    start_by: Moment | None,
    finish_by: Moment | None,
    max_cost: PriceCeiling | None,
    price_book: PriceBook | None,
    drop_without_quota: bool,
    reserved_only: bool = False,
) -> Limits | None:
    """Return the limits of a launch from a construct's keywords; ``None`` if none is declared."""
    given = (start_by, finish_by, max_cost, price_book, drop_without_quota or None, reserved_only or None)
    if all(one is None for one in given):
        return None
    return Limits(
        start_by=_moment("start_by", start_by),
        finish_by=_moment("finish_by", finish_by),
        max_cost=max_cost,
        prices=price_book,
        on_quota="drop" if drop_without_quota else "stop",
        reserved_only=reserved_only,
    )


def _moment(prop: str, given: Any) -> Any:
    """Return a moment or a time as the model takes it: the launcher compares it, so that a deploy is too late."""
    value = given if given is None or isinstance(given, str) or hasattr(given, "tzinfo") else seconds(prop, given)
    if is_unresolved(value):
        raise InvalidInputError(f"{prop}: a time known at synth is needed, a token was given")
    return value


def backstop(kind: str, step: StepRequest, timeout: float | timedelta | None) -> float:
    """Return after how many seconds a launch of one step is stopped, whatever happens."""
    if timeout is not None:
        return int(timeout.total_seconds()) if isinstance(timeout, timedelta) else timeout
    runtime = JOB_KINDS[kind].max_runtime(step.request) or _YEAR_SECONDS
    if (wait := _spot_wait(step.request)) is not None:
        pending: float = wait
    elif kind == "training":
        longest = facts.limit("MaxPendingTimeInSeconds").max
        pending = step.request.get("StoppingCondition", {}).get("MaxPendingTimeInSeconds", longest)
    else:
        pending = _YEAR_SECONDS if step.max_pending is None else step.max_pending
    if is_unresolved(pending) or is_unresolved(runtime) or plans_of(kind, step.request):
        return _YEAR_SECONDS
    return min(int(pending) + int(runtime) + _MARGIN_SECONDS, _YEAR_SECONDS)


def launch_of(
    kind: str,
    steps: Sequence[StepRequest],
    limits: Limits | None,
    timeout: float | timedelta | None,
    *,
    overrides: Sequence[str],
    **place: str,
) -> Launch:
    """Return what the definition of a launch in these steps is made of; ``place`` are fields of `Launch`."""
    first, *others = (
        Then(
            request=step.request,
            seconds=backstop(kind, step, timeout),
            reasons=step.reasons,
            max_pending=step.max_pending,
        )
        for step in steps
    )
    types = {name for step in steps for name in types_in(step.request)} if limits else set()
    return Launch(
        kind=kind,
        request=first.request,
        seconds=first.seconds,
        reasons=first.reasons,
        max_pending=first.max_pending,
        then=others,
        limits=limits.to_payload(sorted(types)) if limits else {},
        relative=limits.relative if limits else False,
        overrides=overrides,
        **place,
    )


def on_demand(kind: str, step: StepRequest) -> list[str]:
    """Return the literal types that are paid by the hour."""
    entries = JOB_KINDS[kind].entries(step.request)
    return [
        entry.instance_type
        for entry in entries
        if not entry.plan and not (entry.job_plan and len(entries) == 1) and not is_unresolved(entry.instance_type)
    ]


def longest_wait(kind: str, step: StepRequest) -> float | None:
    """Return how long a step without capacity waits before it gives up; ``None`` where nobody says."""
    if (spot := _spot_wait(step.request)) is not None:
        return spot
    known = [facts.instance_types().get(name) for name in _types(kind, step)]
    if known and all(one is not None and one.architecture is not None and one.accelerator is None for one in known):
        return 0
    if kind != "training":
        return step.max_pending
    given: float | None = step.request.get("StoppingCondition", {}).get("MaxPendingTimeInSeconds")
    if given is None and plans_of(kind, step.request) and not on_demand(kind, step):
        return facts.documented_limit("plan_job_pending_seconds")
    return given


def _types(kind: str, step: StepRequest) -> list[str]:
    return [entry.instance_type for entry in JOB_KINDS[kind].entries(step.request)]


def _spot_wait(request: Mapping[str, Any]) -> float | None:
    """Return the wait that a spot request leaves beside its runtime; ``None`` for any other."""
    stopping = request.get("StoppingCondition", {})
    longest: float | None = stopping.get("MaxWaitTimeInSeconds")
    runtime = stopping.get("MaxRuntimeInSeconds", 0)
    return longest if longest is None or is_unresolved(longest) or is_unresolved(runtime) else longest - runtime
