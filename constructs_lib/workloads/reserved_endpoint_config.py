"""An endpoint configuration on a plan that is active already."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from constructs_lib.workloads.endpoint_configs import RequestedEndpointConfig
from constructs_lib.workloads.endpoint_settings import EndpointSettings, config_request
from constructs_lib.workloads.plan_use import instance_type_of, plan_use

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constructs import Construct

    from constructs_lib.model import HasTrainingPlanArn

__all__ = ["ReservedEndpointConfig"]


class ReservedEndpointConfig(RequestedEndpointConfig):
    """A SageMaker endpoint configuration on a training plan that is active when the stack is deployed.

    The API refuses a configuration on a plan that is not active: where the plan may start later, or its end matters,
    use `ReservedEndpoint`. CloudFormation names the configuration, so that it can be replaced under its endpoint; a
    fixed name is refused.

    Parameters
    ----------
    scope : Construct
    construct_id : str
    plan : HasTrainingPlanArn or str
        One plan, bought for endpoints, or its ARN.
    model_name : str
    instance_count : int
    instance_type : str, optional
        The plan's own when left out.
    tags : mapping of str to str, optional
    request_overrides : mapping, optional
        Deep-merged into the CreateEndpointConfig request last: the way to members that have no keyword here. Lists
        replace.
    **settings
        As `EndpointSettings` says: ``volume_size_gb``, ``data_capture``,
        ``kms_key``, ``shadow``, ``async_inference``, ``routing`` and others.

    Raises
    ------
    InvalidInputError
        In the words of every rule that the request breaks: another type or more instances than the plan has, a second
        plan, pools, a fixed name.

    Examples
    --------
    >>> import aws_cdk as cdk
    >>> from aws_cdk import aws_sagemaker
    >>> stack = cdk.Stack(cdk.App(), "Serving")
    >>> config = ReservedEndpointConfig(stack, "Config", model_name="chat", instance_count=2,
    ...     plan="arn:aws:sagemaker:us-west-2:111122223333:training-plan/serving", instance_type="ml.p5.48xlarge")
    >>> endpoint = aws_sagemaker.CfnEndpoint(stack, "Chat", endpoint_config_name=config.attr_endpoint_config_name)
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        plan: HasTrainingPlanArn | str,
        model_name: str,
        instance_count: int,
        instance_type: str | None = None,
        tags: Mapping[str, str] | None = None,
        request_overrides: Mapping[str, Any] | None = None,
        **settings: Unpack[EndpointSettings],
    ) -> None:
        use = plan_use("plan", plan)
        request = config_request(
            model_name=model_name,
            instance_count=instance_count,
            capacity={"InstanceType": instance_type_of(use, instance_type), **use.capacity},
            settings=settings,
            overrides=request_overrides,
        )
        super().__init__(
            scope,
            construct_id,
            request=request,
            overrides=request_overrides,
            tags=tags,
            plans=[use.described],
            judged=use.judged(request),
        )
