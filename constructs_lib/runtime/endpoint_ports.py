"""What keeping endpoints needs of AWS: the client methods it calls, as typing protocols."""

from __future__ import annotations

from typing import Any, Protocol

__all__ = ["EndpointTableClient", "EndpointsClient", "LambdaClient", "ScalingClient"]

Answer = dict[str, Any]


class EndpointsClient(Protocol):
    """A botocore client of SageMaker, as far as endpoints are kept with it."""

    def describe_endpoint(self, **request: Any) -> Answer:
        """DescribeEndpoint."""
        ...

    def describe_endpoint_config(self, **request: Any) -> Answer:
        """DescribeEndpointConfig."""
        ...

    def describe_training_plan(self, **request: Any) -> Answer:
        """DescribeTrainingPlan."""
        ...

    def list_tags(self, **request: Any) -> Answer:
        """ListTags."""
        ...

    def add_tags(self, **request: Any) -> Answer:
        """AddTags."""
        ...

    def create_endpoint_config(self, **request: Any) -> Answer:
        """CreateEndpointConfig."""
        ...

    def delete_endpoint_config(self, **request: Any) -> Answer:
        """DeleteEndpointConfig."""
        ...

    def create_endpoint(self, **request: Any) -> Answer:
        """CreateEndpoint."""
        ...

    def update_endpoint(self, **request: Any) -> Answer:
        """UpdateEndpoint."""
        ...

    def update_endpoint_weights_and_capacities(self, **request: Any) -> Answer:
        """UpdateEndpointWeightsAndCapacities."""
        ...

    def delete_endpoint(self, **request: Any) -> Answer:
        """DeleteEndpoint."""
        ...


class ScalingClient(Protocol):
    """A botocore client of Application Auto Scaling, as far as it is used."""

    def describe_scalable_targets(self, **request: Any) -> Answer:
        """DescribeScalableTargets."""
        ...

    def register_scalable_target(self, **request: Any) -> Answer:
        """RegisterScalableTarget."""
        ...

    def deregister_scalable_target(self, **request: Any) -> Answer:
        """DeregisterScalableTarget."""
        ...

    def put_scaling_policy(self, **request: Any) -> Answer:
        """PutScalingPolicy."""
        ...


class EndpointTableClient(Protocol):
    """A botocore client of DynamoDB, as far as endpoints are remembered with it."""

    def get_item(self, **request: Any) -> Answer:
        """GetItem."""
        ...

    def update_item(self, **request: Any) -> Answer:
        """UpdateItem."""
        ...

    def delete_item(self, **request: Any) -> Answer:
        """DeleteItem."""
        ...

    def scan(self, **request: Any) -> Answer:
        """Scan."""
        ...


class LambdaClient(Protocol):
    """A botocore client of Lambda, as far as it is used."""

    def invoke(self, **request: Any) -> Answer:
        """Invoke."""
        ...
