"""Where the keeper of endpoints is put together: settings from the environment, clients, adapters, services."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from constructs_lib.model import InvalidInputError
from constructs_lib.model.endpoint_names import ENDPOINT_NOTICES_VARIABLE, ENDPOINT_TABLE_VARIABLE, KEEPER_VARIABLE
from constructs_lib.runtime.adapters.endpoint_clients import endpoint_clients, require_endpoint_model
from constructs_lib.runtime.adapters.endpoints import Endpoints
from constructs_lib.runtime.adapters.keeper import Keeper
from constructs_lib.runtime.adapters.stacks import Stacks
from constructs_lib.runtime.endpoint_table import EndpointTable
from constructs_lib.runtime.services.declaring import Declaring
from constructs_lib.runtime.services.keeper_means import KeeperMeans
from constructs_lib.runtime.services.reconciling import Reconciling
from constructs_lib.runtime.services.reconciling_notices import Noticing
from constructs_lib.runtime.services.tearing_down import TearingDown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from constructs_lib.runtime.endpoint_ports import (
        EndpointsClient,
        EndpointTableClient,
        LambdaClient,
        ScalingClient,
    )
    from constructs_lib.runtime.ports import Clock, CloudFormationClient, SNSClient, Writer

__all__ = ["EndpointServices", "api_shapes", "build", "services"]


@dataclass(frozen=True, slots=True)
class EndpointServices:
    """What the handlers call."""

    reconciling: Reconciling
    declaring: Declaring
    tearing_down: TearingDown
    stacks: Stacks


def build(
    *,
    change: EndpointsClient,
    sagemaker: EndpointsClient,
    scaling: ScalingClient,
    dynamodb: EndpointTableClient,
    cloudformation: CloudFormationClient,
    sns: SNSClient,
    functions: LambdaClient,
    table: str,
    shapes: Mapping[str, Any],
    topic: str = "",
    keeper: str = "",
    clock: Clock = time,
    write: Writer | None = None,
    model: Callable[[Any], None] = require_endpoint_model,
) -> EndpointServices:
    """Put the services together.

    Parameters
    ----------
    change, sagemaker : EndpointsClient
        The first makes each call once.
    scaling, dynamodb, cloudformation, sns, functions
        Botocore clients.
    table : str
        The endpoint table's name.
    shapes : Mapping
        From `api_shapes`.
    topic : str
        Where notices go; "" for nowhere.
    keeper : str
        The name of the keeper's function, to wake it.
    clock : Clock
    write : Writer, optional
        Takes the log lines; standard output without it.
    model : callable
        Judges the model of ``change``.
    """
    write = write or _write_line
    means = KeeperMeans(
        EndpointTable(dynamodb, table),
        Endpoints(change, sagemaker, scaling, model),
        Noticing(sns, topic, write),
        clock,
        write,
    )
    reconciling = Reconciling(means)
    declaring = Declaring(means, reconciling, Keeper(functions, keeper), shapes)
    return EndpointServices(reconciling, declaring, TearingDown(declaring), Stacks(cloudformation))


@cache
def services() -> EndpointServices:
    """Return the services of this process, built on first use.

    Raises
    ------
    InvalidInputError
        If the environment does not name the table.
    """
    table = os.environ.get(ENDPOINT_TABLE_VARIABLE)
    if not table:
        raise InvalidInputError(f"{ENDPOINT_TABLE_VARIABLE} is not set: deploy with ReservedEndpoint, which sets it")
    clients = endpoint_clients()
    return build(
        **clients,
        table=table,
        shapes=api_shapes(clients["change"], clients["scaling"]),
        topic=os.environ.get(ENDPOINT_NOTICES_VARIABLE, ""),
        keeper=os.environ.get(KEEPER_VARIABLE, ""),
    )


def api_shapes(sagemaker: Any, scaling: Any) -> dict[str, Any]:
    """Return the shapes by which declarations are read, from the clients' models."""
    config = sagemaker.meta.service_model.operation_model("CreateEndpointConfig").input_shape
    policy = scaling.meta.service_model.operation_model("PutScalingPolicy").input_shape
    return {"EndpointConfig": config, "PolicyConfig": policy.members["TargetTrackingScalingPolicyConfiguration"]}


def _write_line(line: str) -> None:
    # Not through logging: embedded metrics are read from lines that are nothing but JSON.
    sys.stdout.write(line + "\n")
