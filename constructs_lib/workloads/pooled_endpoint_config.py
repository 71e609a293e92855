"""An endpoint configuration that takes the first of several types that has capacity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from constructs_lib.workloads.endpoint_configs import RequestedEndpointConfig
from constructs_lib.workloads.endpoint_settings import EndpointSettings, config_request, instance_pools, whole_seconds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from constructs import Construct

    from constructs_lib.shared.cdk_values import Time

__all__ = ["PooledEndpointConfig"]


class PooledEndpointConfig(RequestedEndpointConfig):
    """A SageMaker endpoint configuration with instance pools: on-demand types in order of preference.

    Unlike a job's list, one variant may end up with several types: what a scale-out cannot get of one it takes of the
    next. CloudFormation names the configuration; a fixed name collides at the first change.

    Parameters
    ----------
    scope : Construct
    construct_id : str
    types : sequence of str
        One to five, best first, each once.
    model_name : str
    instance_count : int
    provision_timeout : Duration, timedelta or seconds, optional
        How long to look for capacity, over all types together, 5 min to 1 h.
    models : mapping of str to str, optional
        The model for a type, where it is another than ``model_name``.
    tags, request_overrides, **settings
        As for `ReservedEndpointConfig`.

    Raises
    ------
    InvalidInputError
        In the words of every rule that the request breaks.

    Examples
    --------
    >>> import aws_cdk as cdk
    >>> config = PooledEndpointConfig(cdk.Stack(cdk.App(), "Serving"), "Pools", model_name="chat", instance_count=2,
    ...     types=["ml.g6e.48xlarge", "ml.g5.48xlarge"], provision_timeout=cdk.Duration.minutes(20))
    >>> [pool["Priority"] for pool in config.request["ProductionVariants"][0]["InstancePools"]]
    [1, 2]
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        types: Sequence[str],
        model_name: str,
        instance_count: int,
        provision_timeout: Time | None = None,
        models: Mapping[str, str] | None = None,
        tags: Mapping[str, str] | None = None,
        request_overrides: Mapping[str, Any] | None = None,
        **settings: Unpack[EndpointSettings],
    ) -> None:
        capacity: dict[str, Any] = {"InstancePools": instance_pools("types", types, models)}
        if provision_timeout is not None:
            timeout = whole_seconds("provision_timeout", provision_timeout)
            capacity["VariantInstanceProvisionTimeoutInSeconds"] = timeout
        request = config_request(
            model_name=model_name,
            instance_count=instance_count,
            capacity=capacity,
            settings=settings,
            overrides=request_overrides,
        )
        super().__init__(scope, construct_id, request=request, overrides=request_overrides, tags=tags)
