"""What the functions that keep a stack's endpoints may do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from constructs_lib.model.endpoint_names import config_prefix
from constructs_lib.shared.policies import Statement, allow
from constructs_lib.workloads.access import Reach
from constructs_lib.workloads.policies import volume_key_statements

if TYPE_CHECKING:
    from constructs_lib.shared.policies import Place

__all__ = ["WHY_WIDE", "Kept", "endpoint_arns", "keeper_statements", "resource_statements"]

WHY_WIDE = {
    "sagemaker": "the configurations that are made for the stack's endpoints, named after them; lists have no resource",
    "logs": "the streams of the functions' own log group",
    "application-autoscaling": "a scalable target's id is known only once it is registered",
    "cloudwatch": "the alarms that target tracking makes for the stack's endpoints, named after them",
    "kms": "a key that is known by its alias, which the condition names",
}
"""Why a statement of ours names more than one resource, by the service of its actions."""


@dataclass(slots=True)
class Kept:
    """What the endpoints of a stack need of its functions.

    Parameters
    ----------
    endpoints : dict
        Names, as keys, with the path of the construct that declares each.
    plans, roles : dict
        ARNs as keys: of training plans, and of execution roles that configurations name.
    volume_keys : set of str
        KMS keys of the variants' volumes.
    scaled : dict
        The names of the endpoints that scale, as keys.
    """

    endpoints: dict[str, str] = field(default_factory=dict)
    plans: dict[str, None] = field(default_factory=dict)
    roles: dict[str, None] = field(default_factory=dict)
    volume_keys: set[str] = field(default_factory=set)
    scaled: dict[str, None] = field(default_factory=dict)

    def take_in(self, config: Any) -> None:
        """Note what creating a configuration needs."""
        if role := config.get("ExecutionRoleArn"):
            self.roles[role] = None
        if key := config.get("KmsKeyId"):
            self.volume_keys.add(key)


def endpoint_arns(place: Place, name: str) -> list[str]:
    """Return an endpoint's ARN; SageMaker writes its name in lower case, so a name with capitals has two."""
    return [place.arn("sagemaker", f"endpoint/{form}") for form in dict.fromkeys((name, name.lower()))]


def keeper_statements(place: Place, kept: Kept, *, table: str, topic: str | None, log_group: str) -> list[Statement]:
    """Return what keeping the stack's endpoints takes: theirs, and their own configurations.

    Notes
    -----
    Source: Service Authorization Reference, SageMaker: CreateEndpoint and UpdateEndpoint are authorized on the endpoint
    and on its configuration.
    """
    endpoints, configs = _endpoints(place, kept), _configs(place, kept)
    return [
        allow(_sagemaker("CreateEndpoint", "UpdateEndpoint"), endpoints + configs),
        allow(_sagemaker("DescribeEndpoint", "DeleteEndpoint", "UpdateEndpointWeightsAndCapacities"), endpoints),
        allow(_sagemaker("CreateEndpointConfig", "DeleteEndpointConfig"), configs),
        allow(_sagemaker("AddTags", "ListTags"), endpoints + configs),
        *_looking(place, kept),
        allow([f"dynamodb:{verb}" for verb in ("GetItem", "PutItem", "UpdateItem", "DeleteItem", "Scan")], [table]),
        _logs(log_group),
        *volume_key_statements(place, Reach(volume_keys=kept.volume_keys)),
        *_passing(kept),
        *_scaling(place, kept),
        *([allow(["sns:Publish"], [topic])] if topic else []),
    ]


def resource_statements(
    place: Place, kept: Kept, *, stack_id: str, table: str, keeper: str, log_group: str
) -> list[Statement]:
    """Return what declaring an endpoint takes: nothing here changes one, the keeper does."""
    return [
        allow(_sagemaker("DescribeEndpoint"), _endpoints(place, kept)),
        *_looking(place, kept),
        allow([f"dynamodb:{verb}" for verb in ("GetItem", "PutItem", "UpdateItem")], [table]),
        allow(["lambda:InvokeFunction"], [keeper]),
        # A rollback bears no mark: the function asks for its own stack's status.
        allow(["cloudformation:DescribeStacks"], [stack_id]),
        _logs(log_group),
    ]


def _looking(place: Place, kept: Kept) -> list[Statement]:
    return [
        allow(_sagemaker("DescribeEndpointConfig"), _configs(place, kept)),
        allow(_sagemaker("ListEndpointConfigs"), ["*"]),
        allow(_sagemaker("DescribeTrainingPlan"), list(kept.plans)),
    ]


def _passing(kept: Kept) -> list[Statement]:
    to_sagemaker = {"StringEquals": {"iam:PassedToService": "sagemaker.amazonaws.com"}}
    return [allow(["iam:PassRole"], list(kept.roles), to_sagemaker)] if kept.roles else []


def _scaling(place: Place, kept: Kept) -> list[Statement]:
    """Return what target tracking takes of whoever registers it; its alarms are made on the caller's behalf.

    Notes
    -----
    Source: Application Auto Scaling guide, permissions; SageMaker guide, endpoint-auto-scaling-prerequisites.
    """
    if not kept.scaled:
        return []
    verbs = ("RegisterScalableTarget", "DeregisterScalableTarget", "PutScalingPolicy", "DeleteScalingPolicy")
    look = ("DescribeScalableTargets", "DescribeScalingPolicies")
    service = "sagemaker.application-autoscaling.amazonaws.com"
    linked = f"role/aws-service-role/{service}/AWSServiceRoleForApplicationAutoScaling_SageMakerEndpoint"
    alarms = [place.arn("cloudwatch", f"alarm:TargetTracking-endpoint/{name}/*") for name in kept.scaled]
    return [
        allow([f"application-autoscaling:{verb}" for verb in (*verbs, *look)], ["*"]),
        allow([f"cloudwatch:{verb}Alarms" for verb in ("Describe", "Delete")] + ["cloudwatch:PutMetricAlarm"], alarms),
        allow(
            ["iam:CreateServiceLinkedRole"],
            [place.arn("iam", linked, region="")],
            {"StringEquals": {"iam:AWSServiceName": service}},
        ),
    ]


def _endpoints(place: Place, kept: Kept) -> list[Any]:
    return [arn for name in kept.endpoints for arn in endpoint_arns(place, name)]


def _configs(place: Place, kept: Kept) -> list[Any]:
    starts = (config_prefix(name) for name in kept.endpoints)
    forms = dict.fromkeys(form for start in starts for form in (start, start.lower()))
    return [place.arn("sagemaker", f"endpoint-config/{form}*") for form in forms]


def _sagemaker(*actions: str) -> list[str]:
    return [f"sagemaker:{action}" for action in actions]


def _logs(log_group: str) -> Statement:
    return allow(["logs:CreateLogStream", "logs:PutLogEvents"], [log_group])
