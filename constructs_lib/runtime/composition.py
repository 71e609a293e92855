"""Where the runtime is put together: settings from the environment, clients, adapters, services."""

from __future__ import annotations

import json
import os
import sys
import time
from functools import cache, cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from constructs_lib.model import InvalidInputError
from constructs_lib.model.approvals import ALLOWED_TYPES_VARIABLE
from constructs_lib.runtime.adapters.clients import CALL_LIFE, clients, quotas_client, require_model, subnets_client
from constructs_lib.runtime.adapters.executions import Executions
from constructs_lib.runtime.adapters.jobs import Jobs
from constructs_lib.runtime.adapters.look_ups import LookUps
from constructs_lib.runtime.fleet_table import FleetTable
from constructs_lib.runtime.run_table import RunTable
from constructs_lib.runtime.services.completion import Completion
from constructs_lib.runtime.services.fleets import Fleets
from constructs_lib.runtime.services.means import Means
from constructs_lib.runtime.services.patience import Patience
from constructs_lib.runtime.services.sweeping import Sweeping

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from constructs_lib.runtime.ports import (
        Clock,
        DynamoDBClient,
        QuotasClient,
        SageMakerClient,
        StepFunctionsClient,
        SubnetsClient,
        Writer,
    )
    from constructs_lib.runtime.services.draining import Draining
    from constructs_lib.runtime.services.fleet_report import FleetReport
    from constructs_lib.runtime.services.launching import Launching
    from constructs_lib.runtime.services.starting import Starting

__all__ = ["LAUNCHER_TIMEOUT", "RUN_TABLE", "Services", "build", "services", "setting"]

RUN_TABLE = "GPUCAP_RUN_TABLE"
LAUNCHER_TIMEOUT = "GPUCAP_LAUNCHER_TIMEOUT"
# The drain function lives 15 minutes and needs a moment to answer.
_DRAIN_SECONDS = 840.0


class Services:
    """What the handlers call; what only some events need is imported when the first of them comes.

    Parameters
    ----------
    means : Means
    look_ups : LookUps
        For what is checked before a launch.
    fleets : FleetTable
        What is known of the items of fleets.
    approved : Mapping
        The instance types that guardrails approve, by the guardrail's path.
    launcher_timeout : float
        Seconds after which Lambda ends a run of the launcher.
    """

    def __init__(
        self,
        means: Means,
        look_ups: LookUps,
        fleets: FleetTable,
        approved: Mapping[str, Sequence[str]],
        launcher_timeout: float,
    ) -> None:
        self._means, self._look_ups, self._fleets, self._approved = means, look_ups, fleets, approved
        self.completion = Completion(means)
        # A sweep leaves the rest to the next one while there is still time for the row it is at.
        self.sweeping = Sweeping(means, self.completion, budget=launcher_timeout / 2)

    @cached_property
    def launching(self) -> Launching:
        """Launches and stops; the rules come with it."""
        from constructs_lib.runtime.services.launching import Launching  # noqa: PLC0415  as the class says
        from constructs_lib.runtime.services.preflight import Preflight  # noqa: PLC0415
        from constructs_lib.runtime.services.preparing import Preparing  # noqa: PLC0415

        preparing = Preparing(self._means, Preflight(self._look_ups), self._approved)
        return Launching(self._means, self.completion, self.sweeping, preparing)

    @cached_property
    def starting(self) -> Starting:
        """Starts machines on their plans."""
        from constructs_lib.runtime.services.starting import Starting  # noqa: PLC0415  as the class says

        return Starting(self._means.executions, self._look_ups, self._means.clock, self._means.write)

    @cached_property
    def fleet_report(self) -> FleetReport:
        """Says what became of a fleet's jobs."""
        from constructs_lib.runtime.services.fleet_report import FleetReport  # noqa: PLC0415  as the class says

        return FleetReport(self._fleets, self._means.write)

    @cached_property
    def draining(self) -> Draining:
        """Ends everything before the stack goes."""
        from constructs_lib.runtime.services.draining import Draining  # noqa: PLC0415  as the class says

        return Draining(self._means, self.sweeping, _DRAIN_SECONDS)


def build(
    *,
    create: SageMakerClient,
    sagemaker: SageMakerClient,
    stepfunctions: StepFunctionsClient,
    dynamodb: DynamoDBClient,
    table: str,
    launcher_timeout: float,
    clock: Clock,
    write: Writer,
    approved: Mapping[str, Sequence[str]] = MappingProxyType({}),
    model: Callable[[Any], None] = require_model,
    quotas: Callable[[], QuotasClient] = quotas_client,
    subnets: Callable[[], SubnetsClient] = subnets_client,
) -> Services:
    """Put the services together.

    Parameters
    ----------
    create, sagemaker : SageMakerClient
        The first makes each call once.
    stepfunctions : StepFunctionsClient
    dynamodb : DynamoDBClient
    table : str
        The run table's name.
    launcher_timeout : float
        Seconds after which Lambda ends a run of the launcher.
    clock : Clock
    write : Writer
        Takes the log lines.
    approved : Mapping
        The instance types that guardrails approve, by the guardrail's path; without any, all are.
    model : callable
        Judges the model of ``create``.
    quotas, subnets : callable
        Make the clients that only a launch needs, when it does.
    """
    rows, jobs, executions = RunTable(dynamodb, table, clock), Jobs(create, sagemaker, model), Executions(stepfunctions)
    fleets = FleetTable(dynamodb, table, clock)
    means = Means(
        table=rows,
        jobs=jobs,
        executions=executions,
        gate=Fleets(fleets, rows, executions, jobs),
        patience=Patience(clock, launcher_timeout, CALL_LIFE),
        clock=clock,
        write=write,
    )
    look_ups = LookUps(sagemaker, quotas, subnets, clock)
    return Services(means, look_ups, fleets, approved, launcher_timeout)


@cache
def services(table: str) -> Services:
    """Return the services of this process, built on first use."""
    return build(
        **clients(),
        table=table,
        launcher_timeout=float(setting(LAUNCHER_TIMEOUT)),
        clock=time,
        write=_write_line,
        approved=json.loads(os.environ.get(ALLOWED_TYPES_VARIABLE, "{}")),
    )


def setting(name: str) -> str:
    """Return an environment variable.

    Raises
    ------
    InvalidInputError
        If it is not set.
    """
    if value := os.environ.get(name):
        return value
    raise InvalidInputError(f"{name} is not set: deploy the function with CapacityKit, which sets it")


def _write_line(line: str) -> None:
    # Not through logging: embedded metrics are read from lines that are nothing but JSON.
    sys.stdout.write(line + "\n")
