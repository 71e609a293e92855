"""Resource types: what CloudFormation makes of each, as calls to the sandbox's own services."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import dynamodb, ec2, events, iam, lambda_, logs, management, messaging, nested, noop, s3, sagemaker, states

if TYPE_CHECKING:
    from .base import ResourceType

__all__ = ["TYPES"]

TYPES: tuple[type[ResourceType], ...] = (
    dynamodb.GlobalTable,
    dynamodb.Table,
    ec2.InternetGateway,
    ec2.LaunchTemplate,
    ec2.Route,
    ec2.RouteTable,
    ec2.SecurityGroup,
    ec2.Subnet,
    ec2.SubnetRouteTableAssociation,
    ec2.VPCGatewayAttachment,
    ec2.Vpc,
    events.EventBus,
    events.Rule,
    events.Schedule,
    events.ScheduleGroup,
    iam.InstanceProfile,
    iam.ManagedPolicy,
    iam.Policy,
    iam.Role,
    lambda_.Alias,
    lambda_.EventInvokeConfig,
    lambda_.EventSourceMapping,
    lambda_.Function,
    lambda_.Permission,
    lambda_.Version,
    logs.LogGroup,
    logs.MetricFilter,
    logs.ResourcePolicy,
    management.Alarm,
    management.Dashboard,
    management.Key,
    management.KeyAlias,
    management.Parameter,
    management.ScalableTarget,
    management.ScalingPolicy,
    messaging.Queue,
    messaging.QueuePolicy,
    messaging.Subscription,
    messaging.Topic,
    messaging.TopicPolicy,
    nested.NestedStack,
    noop.CompositeAlarm,
    noop.Metadata,
    noop.QueryDefinition,
    noop.WaitConditionHandle,
    s3.Bucket,
    s3.BucketPolicy,
    sagemaker.Cluster,
    sagemaker.Endpoint,
    sagemaker.EndpointConfig,
    sagemaker.Model,
    sagemaker.Pipeline,
    states.StateMachine,
)
"""Every type but the custom resource, which also needs to know where functions answer."""
