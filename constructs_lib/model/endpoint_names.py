"""The names by which the constructs of reserved endpoints and the functions that keep them know each other."""

from __future__ import annotations

from constructs_lib.model.purchase_names import METRIC_NAMESPACE

__all__ = [
    "CONFIG_NAME_MAX",
    "ENDPOINT_DIMENSION",
    "ENDPOINT_METRICS",
    "ENDPOINT_NOTICES_VARIABLE",
    "ENDPOINT_TABLE_VARIABLE",
    "KEEPER_VARIABLE",
    "METRIC_NAMESPACE",
    "RESERVED_ENDPOINT",
    "config_prefix",
]

RESERVED_ENDPOINT = "Custom::SageMakerReservedEndpoint"
"""The type of the custom resource that declares an endpoint."""

ENDPOINT_TABLE_VARIABLE = "GPUCAP_ENDPOINT_TABLE"
KEEPER_VARIABLE = "GPUCAP_ENDPOINT_KEEPER"
"""The name of the function that keeps a stack's endpoints; the custom resource's function wakes it."""
ENDPOINT_NOTICES_VARIABLE = "GPUCAP_NOTICES_TOPIC"

ENDPOINT_DIMENSION = "Endpoint"
ENDPOINT_METRICS = ("EndpointState", "RolledBack", "NoHeadRoom", "SecondsToCut", "PlanInstancesUsed")
"""What the keeper measures of each endpoint in every run; ``EndpointState`` is 1 while it is as declared, else 0."""

CONFIG_NAME_MAX = 63
_HASH = 10


def config_prefix(endpoint_name: str) -> str:
    """Return how the names of an endpoint's own configurations start; a hash of the content follows.

    Examples
    --------
    >>> config_prefix("chat"), len(config_prefix("c" * 63))
    ('chat-', 53)
    """
    return endpoint_name[: CONFIG_NAME_MAX - _HASH - 1].rstrip("-") + "-"
