"""What every job's state machine shares, whatever the kind of job: checks, roles, definition, steps, metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aws_cdk.aws_stepfunctions import CfnStateMachine

from constructs_lib.model import InvalidInputError
from constructs_lib.model.job_kinds import JOB_KINDS
from constructs_lib.shared.cdk_values import definition_text, seconds
from constructs_lib.shared.scopes import path_of, stack_of
from constructs_lib.workloads.access import JobAccess
from constructs_lib.workloads.job_actions import JobActions
from constructs_lib.workloads.job_checks import check_options, check_requests, check_steps
from constructs_lib.workloads.job_steps import STATES, launch_of
from constructs_lib.workloads.kit import CapacityKit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from constructs import Construct

    from constructs_lib.model.limits import Limits
    from constructs_lib.shared.cdk_values import Time
    from constructs_lib.workloads.job_steps import Integration, StepRequest

__all__ = ["JobMachine"]


class JobMachine(CfnStateMachine, JobActions):
    """A state machine that launches one job an execution, and ends like it; the base of every job construct.

    Parameters
    ----------
    scope : Construct
    construct_id : str
    kind : str
        ``training``, ``processing`` or ``tuning``.
    steps : sequence of StepRequest
        Without a ``RoleArn`` the requests get the shared role, or an own one.
    role_given : bool
        Whether the user brings the execution role.
    own_role, integration, timeout, kit, state_machine_name, run_overrides
        As the constructs take them.
    limits : Limits or None
    declared : Mapping
        What people say about the requests, for the rules.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        kind: str,
        steps: Sequence[StepRequest],
        limits: Limits | None,
        declared: Mapping[str, Any],
        role_given: bool,
        own_role: bool,
        integration: Integration,
        timeout: Time | None,
        kit: CapacityKit | None,
        state_machine_name: str | None,
        run_overrides: Sequence[str],
    ) -> None:
        path, stack = path_of(scope, construct_id), stack_of(scope)
        check_options(path, integration, steps, limits, run_overrides)
        if role_given and own_role:
            raise InvalidInputError("own_role: it makes a role, and role= brings one; give one of them")
        check_requests(path, kind, stack, steps, declared)
        check_steps(path, kind, steps, limits)
        self._path, self._steps, self._integration, self._declared = path, steps, integration, declared
        self._kit = kit or CapacityKit.of(scope)
        self._serve(scope, construct_id, kind, own_role=own_role)
        prefix = self._kit.job_name_prefix(construct_id, path)
        self._name = state_machine_name or prefix
        if state_machine_name:
            self._kit.watch_machine(state_machine_name)
        short = _short(kind, prefix, self._kit.name_prefix)
        self._launch = launch_of(
            kind,
            steps,
            limits,
            seconds("timeout", timeout),
            overrides=run_overrides,
            prefix=prefix if integration == "launcher" else short,
            partition=stack.place.partition,
            launcher=self._kit.launcher_name,
        )
        super().__init__(
            scope,
            construct_id,
            role_arn=self._kit.machine_role_arn,
            state_machine_name=self._name,
            definition_string=definition_text(STATES[integration](self._launch)),
            logging_configuration=self._kit.machine_logging,
            tracing_configuration=_TRACING,
        )

    def _serve(self, scope: Construct, construct_id: str, kind: str, *, own_role: bool) -> None:
        """Give the requests their role, and let the roles do what the requests need."""
        self._access = JobAccess() if own_role else self._kit.shared_access
        self._own_role = None
        if own_role:
            self._own_role = self._kit.own_execution_role(scope, f"{construct_id}Role", self._access)
        definitions = [part for step in self._steps for part in JOB_KINDS[kind].definitions(step.request)]
        for part in definitions:
            if "RoleArn" not in part:
                part["RoleArn"] = self._own_role.attr_arn if self._own_role else self._kit.execution_role_arn
                self._access.add(part)
        launched = self._integration == "launcher"
        for step in self._steps:
            self._kit.add_job(step.request, launched=launched, own_role=own_role, kind=kind)


_TRACING = CfnStateMachine.TracingConfigurationProperty(enabled=True)


def _short(kind: str, prefix: str, stack_prefix: str) -> str:
    """Return a prefix that leaves room for what Step Functions' own functions can make of an execution."""
    # The hash has 32 characters; a tuning job's name has no more in all, and takes a part of a UUID.
    return stack_prefix.rstrip("-") if kind == "tuning" else stack_prefix + prefix.rpartition("-")[2]
