"""What is looked at between a launch's row and its create: whether it may be, and as which request."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from constructs_lib.model import FailureClass, RunEnd, RunRecord, end_of
from constructs_lib.model.approvals import types_in, unapproved
from constructs_lib.model.window import moment_text
from constructs_lib.rules import Severity, check_request
from constructs_lib.runtime.prepared import Prepared
from constructs_lib.runtime.services.limiting import hourly

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from constructs_lib.runtime.launch import Launch
    from constructs_lib.runtime.run_table import Row
    from constructs_lib.runtime.services.means import Means
    from constructs_lib.runtime.services.preflight import Preflight

__all__ = ["Preparing"]


class _Refused(Exception):  # noqa: N818  it never leaves this module
    def __init__(self, record: RunRecord) -> None:
        super().__init__(record.cause)
        self.record = record


@dataclass(frozen=True, slots=True)
class Preparing:
    """Makes of what a launch asks for what is created, or says why nothing is.

    ``approved`` is what the guardrails over the stack approve: patterns of instance types by the guardrail's path.
    """

    means: Means
    preflight: Preflight
    approved: Mapping[str, Sequence[str]]

    def prepare(self, launch: Launch, row: Row) -> Prepared | RunRecord:
        """Return what to create, or the record of a refusal."""
        try:
            self._check_wish(launch, row)
            self._judge(launch, launch.wish.request)
            verdict = self.preflight.check(launch)
            if verdict.end is not None:
                raise _refused(launch, verdict.end, verdict.words, dropped=verdict.dropped)
            prepared = Prepared(request=verdict.request, free=verdict.free, unverified=verdict.unverified)
            self._check_prices(launch, row, prepared)
            prepared = self._shortened(launch, row, prepared)
            if prepared.request != launch.wish.request:
                self._judge(launch, prepared.request)
        except _Refused as refused:
            return refused.record
        return prepared

    def _check_wish(self, launch: Launch, row: Row) -> None:
        """Refuse what needs no look at AWS to be refused."""
        wish, now = launch.wish, self.means.clock.time()
        if wish.problem:
            raise _refused(launch, RunEnd.INVALID_REQUEST, wish.problem)
        if passed := row.terms.bounds.before(now):
            raise _refused(launch, passed, f"{_limit_words(row, passed)} before a job was created")
        if (window := _window_of(launch)) and (words := window.refusal(now)):
            raise _refused(launch, RunEnd.PLAN_NOT_USABLE, words)
        entries = launch.kind.entries(wish.request)
        alone = len(entries) == 1
        paid = [entry for entry in entries if not entry.plan and not (alone and entry.job_plan)]
        if wish.limits.reserved_only and paid:
            types = ", ".join(entry.instance_type for entry in paid)
            words = f"reserved_only: {types} would run outside of a training plan; give each entry a plan of its own"
            raise _refused(launch, RunEnd.INVALID_REQUEST, words)

    def _judge(self, launch: Launch, request: Mapping[str, Any]) -> None:
        """Refuse what a guardrail does not approve or a rule forbids."""
        if words := unapproved(launch.name, types_in(request), self.approved):
            raise _refused(launch, end_of(FailureClass.PERMISSION), words, FailureClass.PERMISSION)
        now = datetime.fromtimestamp(self.means.clock.time(), UTC)
        findings = check_request(launch.kind.subject, launch.named(request), now=now, declared=launch.identity.place)
        if errors := [str(finding) for finding in findings if finding.severity is Severity.ERROR]:
            raise _refused(launch, RunEnd.INVALID_REQUEST, "\n".join(errors))

    def _check_prices(self, launch: Launch, row: Row, prepared: Prepared) -> None:
        """Refuse to spend within a limit what nobody knows the price of."""
        if row.terms.bounds.budget is None:
            return
        entries = launch.kind.entries(prepared.request)
        unknown = [one.instance_type for one in entries if hourly(one, row.terms, prepared.free) is None]
        if unknown:
            words = f"max_cost: no price is known of {', '.join(unknown)}; add it to the price book, or leave it out"
            raise _refused(launch, RunEnd.INVALID_REQUEST, words)

    def _shortened(self, launch: Launch, row: Row, prepared: Prepared) -> Prepared:
        """Bound the runtime by the limits and by the window that the run was started for."""
        kind, now = launch.kind, self.means.clock.time()
        request: dict[str, Any] = copy.deepcopy(dict(prepared.request))
        rates = [hourly(entry, row.terms, prepared.free) for entry in kind.entries(request)]
        if kind.name == "tuning":
            rates = []  # its jobs run side by side: the sweep counts them
        bounds: list[tuple[int, RunEnd | None]] = [
            found for found in [row.terms.bounds.longest(now, rates)] if found is not None
        ]
        if window := _window_of(launch):
            bounds.append((window.seconds(now), None))
            kind.set_environment(request, window.environment())
        longest, limit = min(bounds, key=lambda bound: bound[0], default=(None, None))
        declared = kind.max_runtime(request)
        if longest is None or (declared is not None and declared <= longest):
            return replace(prepared, request=request)
        kind.set_max_runtime(request, longest)
        return replace(prepared, request=request, cut_for=limit)


def _window_of(launch: Launch) -> Any:
    """Return the window that the run was started for, if this step runs on its plan."""
    window = launch.wish.window
    plans = {plan for one in launch.kind.entries(launch.wish.request) for plan in (one.plan, one.job_plan) if plan}
    return window if window and window.plan in plans else None


def _limit_words(row: Row, passed: RunEnd) -> str:
    bounds = row.terms.bounds
    if passed is RunEnd.COST_LIMIT_REACHED:
        return "max_cost: the earlier steps left nothing of it"
    name, moment = (
        ("finish_by", bounds.finish_by) if passed is RunEnd.FINISH_BY_PASSED else ("start_by", bounds.start_by)
    )
    return f"{name}: {moment_text(datetime.fromtimestamp(moment or 0, UTC))} passed"


def _refused(
    launch: Launch,
    end: RunEnd,
    words: str,
    failure: FailureClass | None = None,
    dropped: Sequence[str] = (),
) -> _Refused:
    classes = {RunEnd.INVALID_REQUEST: FailureClass.CONFIG, RunEnd.QUOTA_EXCEEDED: FailureClass.QUOTA}
    return _Refused(
        RunRecord.not_created(
            launch.name, end, words, failure=failure or classes.get(end), kind=launch.kind.name, dropped=dropped
        )
    )
