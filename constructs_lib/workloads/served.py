"""Whom the shared roles of a stack serve: what was declared so far, and the statements that follow from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from constructs_lib.model.job_kinds import JOB_KINDS
from constructs_lib.shared.policies import allow
from constructs_lib.workloads.access import JobAccess
from constructs_lib.workloads.roles import (
    checking_statements,
    job_statements,
    launcher_statements,
    machine_statements,
    starting_statements,
    sync_statements,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from constructs_lib.shared.policies import Place, Statement

__all__ = ["Served"]


class Served:
    """The jobs and machines that a kit's roles are for.

    Parameters
    ----------
    place : Place
        Where the stack goes.
    prefix : str
        The start of the names of the stack's jobs and machines.
    launcher : str
        The launcher function's ARN.
    """

    def __init__(self, place: Place, prefix: str, launcher: str) -> None:
        self._place, self._prefix, self._launcher = place, prefix, launcher
        self._launched, self._synced = _Jobs(), _Jobs()
        self._watched = {prefix: True}
        self._timed: dict[str, None] = {}
        self._on_event: dict[str, None] = {}
        self._on_plan: dict[str, None] = {}
        self._plans: dict[str, None] = {}
        self._of_fleets: list[Statement] = []

    @property
    def kinds(self) -> list[str]:
        """The kinds of job that the launcher launches."""
        return list(self._launched.kinds)

    @property
    def waking(self) -> list[str]:
        """The starts of the names of the machines whose ends wake the launcher."""
        return [name for name, by_event in self._watched.items() if by_event]

    def watch(self, machine: str) -> None:
        """Let the launcher look at the executions of machines whose names start so; all if the name is empty."""
        self._watched[machine] = bool(machine)

    def add(self, kind: str, request: Mapping[str, Any], *, launched: bool, passed: str | None = None) -> None:
        """Take in a job by its complete request; ``passed`` stands for the execution roles in it."""
        (self._launched if launched else self._synced).add(kind, request, passed)

    def start(self, machine: str, *, by: str, plan: str = "") -> None:
        """Let a machine be started: by a ``schedule``, an ``event``, or the launcher when a ``plan`` is active."""
        {"schedule": self._timed, "event": self._on_event, "plan": self._on_plan}[by][machine] = None
        if plan:
            self._plans[plan] = None

    def let_machines(self, statements: Sequence[Statement]) -> None:
        """Let the state machines do more than launch jobs."""
        self._of_fleets += statements

    def of_launcher(self, *, table: str, log_group: str) -> list[Statement]:
        """Return the statements of the launcher and the drain; ``table`` and ``log_group`` are ARNs."""
        jobs = self._launched
        return [
            *(self._create(jobs) if jobs.kinds else []),
            *(self._check(jobs) if jobs.kinds else []),
            *starting_statements(self._place, list(self._on_plan), list(self._plans)),
            *launcher_statements(self._place, table=table, log_group=log_group, machines=list(self._watched)),
        ]

    def of_machines(self) -> list[Statement]:
        """Return the statements of the state machines."""
        jobs = self._synced
        synced = [*self._create(jobs), *sync_statements(self._place, list(jobs.kinds))] if jobs.kinds else []
        return [*machine_statements([self._launcher] if self._launched.kinds else []), *synced, *self._of_fleets]

    def of_schedules(self) -> list[Statement]:
        """Return the statements of the schedules."""
        calls = [allow(["lambda:InvokeFunction"], [self._launcher])] if self._launched.kinds or self._on_plan else []
        return [*calls, *self._starts(self._timed)]

    def of_events(self) -> list[Statement]:
        """Return the statements of the rules that start machines."""
        return self._starts(self._on_event)

    def launching(self, kind: str, requests: list[Mapping[str, Any]], *, launched: bool) -> list[Statement]:
        """Return what a machine that is not the kit's needs to launch one job, whatever step of it."""
        if launched:
            return [allow(["lambda:InvokeFunction"], [self._launcher])]
        job = _Jobs()
        for request in requests:
            job.add(kind, request)
        return [*self._create(job), *sync_statements(self._place, [kind])]

    def _create(self, jobs: _Jobs) -> list[Statement]:
        passed, kinds = list(jobs.passed), list(jobs.kinds)
        return job_statements(self._place, jobs.access.reach, prefix=self._prefix, passed=passed, kinds=kinds)

    def _check(self, jobs: _Jobs) -> list[Statement]:
        return checking_statements(self._place, jobs.access.reach, prefix=self._prefix, kinds=list(jobs.kinds))

    def _starts(self, machines: Mapping[str, None]) -> list[Statement]:
        arns = [self._place.arn("states", f"stateMachine:{name}") for name in machines]
        return [allow(["states:StartExecution"], arns)] if arns else []


class _Jobs:
    """The jobs of one integration: what they reach, and the execution roles that are passed for them, each once."""

    def __init__(self) -> None:
        self.access = JobAccess()
        self.passed: dict[str, None] = {}
        self.kinds: dict[str, None] = {}

    def add(self, kind: str, request: Mapping[str, Any], passed: str | None = None) -> None:
        self.kinds[kind] = None
        self.passed |= dict.fromkeys(passed or part["RoleArn"] for part in JOB_KINDS[kind].definitions(request))
        # Whoever creates a job needs to know its plans, its volume key and whether it is in a VPC; all stand here.
        for resources in JOB_KINDS[kind].resources(request):
            self.access.add({"ResourceConfig": resources})
        if JOB_KINDS[kind].subnets(request):
            self.access.add({"VpcConfig": {}})
