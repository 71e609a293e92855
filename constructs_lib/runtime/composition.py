"""Where the runtime is put together: settings from the environment, clients, adapters, services."""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from constructs_lib.model import InvalidInputError
from constructs_lib.model.approvals import ALLOWED_TYPES_VARIABLE
from constructs_lib.runtime.adapters.clients import CALL_LIFE, clients, require_model
from constructs_lib.runtime.adapters.executions import Executions
from constructs_lib.runtime.adapters.training_jobs import TrainingJobs
from constructs_lib.runtime.run_table import RunTable
from constructs_lib.runtime.services.completion import Completion
from constructs_lib.runtime.services.draining import Draining
from constructs_lib.runtime.services.launching import Launching
from constructs_lib.runtime.services.means import Means
from constructs_lib.runtime.services.patience import Patience
from constructs_lib.runtime.services.sweeping import Sweeping

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from constructs_lib.runtime.ports import (
        Clock,
        DynamoDBClient,
        SageMakerClient,
        StepFunctionsClient,
        Writer,
    )

__all__ = ["LAUNCHER_TIMEOUT", "RUN_TABLE", "Services", "build", "services", "setting"]

RUN_TABLE = "GPUCAP_RUN_TABLE"
LAUNCHER_TIMEOUT = "GPUCAP_LAUNCHER_TIMEOUT"
# The drain function lives 15 minutes and needs a moment to answer.
_DRAIN_SECONDS = 840.0


@dataclass(frozen=True, slots=True)
class Services:
    """What the handlers call."""

    launching: Launching
    completion: Completion
    sweeping: Sweeping
    draining: Draining


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
    """
    means = Means(
        RunTable(dynamodb, table, clock),
        TrainingJobs(create, sagemaker, model),
        Executions(stepfunctions),
        Patience(clock, launcher_timeout, CALL_LIFE),
        clock,
        write,
    )
    completion = Completion(means)
    # A sweep leaves the rest to the next one while there is still time for the row it is at.
    sweeping = Sweeping(means, completion, budget=launcher_timeout / 2)
    launching = Launching(means, completion, sweeping, approved)
    return Services(launching, completion, sweeping, Draining(means, sweeping, _DRAIN_SECONDS))


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
