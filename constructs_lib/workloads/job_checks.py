"""What is refused when a job is declared: options, requests, steps that nothing leads to, ceilings nobody can hold."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from constructs_lib.model import InvalidInputError, is_unresolved
from constructs_lib.model.approvals import approvals, types_in
from constructs_lib.model.job_kinds import JOB_KINDS
from constructs_lib.model.overrides import OVERRIDES
from constructs_lib.model.values import literal
from constructs_lib.rules import check_request, raise_for_errors
from constructs_lib.workloads.job_steps import STATES, longest_wait, on_demand

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from constructs_lib.model import InstancePreference
    from constructs_lib.model.limits import Limits
    from constructs_lib.shared.scopes import StackInfo
    from constructs_lib.workloads.job_steps import StepRequest

__all__ = ["check_options", "check_requests", "check_steps", "declared_of"]


def check_options(
    path: str, integration: str, steps: Sequence[StepRequest], limits: Limits | None, run_overrides: Sequence[str]
) -> None:
    """Refuse an integration or an override that does not exist, and what the optimized integration cannot do."""
    if integration not in STATES:
        raise InvalidInputError(f"integration: {integration!r} was given; 'launcher' and 'optimized' are allowed")
    if isinstance(run_overrides, str):
        raise InvalidInputError(f"{path}: run_overrides: a list is needed, the string {run_overrides!r} was given")
    if unknown := [name for name in run_overrides if name not in OVERRIDES]:
        raise InvalidInputError(f"{path}: run_overrides: {', '.join(unknown)}: the names are {', '.join(OVERRIDES)}")
    if integration == "launcher":
        return
    needs = {
        "steps": len(steps) > 1,
        "limits": limits is not None and not limits.to_payload(()).keys() <= {"reserved_only"},
        "max_pending": any(step.max_pending is not None for step in steps),
        "run_overrides": bool(run_overrides),
    }
    if asked := [name for name, there in needs.items() if there]:
        raise InvalidInputError(
            f"{path}: integration='optimized' starts one request as it is, and nobody watches it: "
            f"{', '.join(asked)} need the launcher; drop integration='optimized'"
        )


def check_requests(
    path: str, kind: str, stack: StackInfo, steps: Sequence[StepRequest], declared: Mapping[str, Any]
) -> None:
    """Refuse each step's request that breaks a rule, or asks for a type that a guardrail does not approve."""
    for number, step in enumerate(steps, 1):
        where = path if len(steps) == 1 else f"{path} step {number}"
        raise_for_errors(check_request(JOB_KINDS[kind].subject, step.request, path=where, declared=declared))
        approvals(stack.root).use(path, types_in(step.request))


def declared_of(
    stack: StackInfo, preferences: Sequence[InstancePreference], *, reserved_only: bool = False
) -> dict[str, Any]:
    """Return what is declared around a job's requests, for the rules."""
    return {
        # What the declaration of an imported plan says of it; any other plan is just an ARN.
        "plans": [known for entry in preferences if (known := getattr(entry.training_plan, "described", None))],
        "region": literal(stack.place.region),
        "account": literal(stack.place.account),
        "reserved_only": reserved_only,
    }


def check_steps(path: str, kind: str, steps: Sequence[StepRequest], limits: Limits | None) -> None:
    """Refuse steps that nothing leads to, and a ceiling that nobody could hold.

    Raises
    ------
    InvalidInputError
        Naming the step and what to do.
    """
    if limits is not None and limits.max_cost is not None:
        _check_prices(path, kind, steps, limits)
    if len(steps) > 1:
        _check_reach(path, kind, steps, limits)


def _check_prices(path: str, kind: str, steps: Sequence[StepRequest], limits: Limits) -> None:
    known = limits.prices.per_hour if limits.prices else {}
    missing = [name for step in steps for name in on_demand(kind, step) if name not in known]
    if missing:
        names = ", ".join(dict.fromkeys(missing))
        raise InvalidInputError(f"{path}: max_cost needs a price for {names}, and price_book has none: add it")


def _check_reach(path: str, kind: str, steps: Sequence[StepRequest], limits: Limits | None) -> None:
    start_by = limits.start_by if limits else None
    # A step whose entries are all dropped for their quota waits for nothing.
    bound = start_by.total_seconds() if isinstance(start_by, timedelta) and limits.on_quota == "stop" else None  # type: ignore[union-attr]
    waited = 0.0
    for number, step in enumerate(steps[:-1], 1):
        wait = longest_wait(kind, step)
        if wait is None:
            raise InvalidInputError(
                f"{path}: step {number} has no max_pending, and how long it waits then is not documented, so that "
                f"step {number + 1} might never be reached; give step {number} max_pending"
            )
        waited += 0 if is_unresolved(wait) else wait
        if bound is not None and waited >= bound:
            raise InvalidInputError(
                f"{path}: step {number + 1} can never be reached: the steps before it wait {waited:g} seconds, and "
                f"start_by ends the launch after {bound:g}; shorten their max_pending or give start_by more"
            )
