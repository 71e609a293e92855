"""What the functions that keep a stack's endpoints may do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from constructs_lib.model.endpoint_names import config_prefix
from constructs_lib.model.endpoints_rules import OWNER_TAG
from constructs_lib.shared.policies import Statement, allow
from constructs_lib.workloads.access import Reach
from constructs_lib.workloads.policies import volume_key_statements

if TYPE_CHECKING:
    from constructs_lib.shared.policies import Place

__all__ = ["WHY_WIDE", "Kept", "endpoint_arns", "keeper_statements", "resource_statements"]

WHY_WIDE = {
    "sagemaker": "read is any endpoint, configuration and plan, since one may still be on others than it is declared"
    " with; made and changed is only what is declared, deleted only what bears the stack's tag",
    "logs": "the streams of the functions' own log group",
    "application-autoscaling": "variants of endpoints only; what is not declared any more is deregistered too",
    "cloudwatch": "the alarms that target tracking makes for endpoints, named after them",
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
    roles : dict
        ARNs of the execution roles that configurations name, as keys.
    volume_keys : set of str
        KMS keys of the variants' volumes.
    scales : bool
        Whether any of them has autoscaling.
    """

    endpoints: dict[str, str] = field(default_factory=dict)
    roles: dict[str, None] = field(default_factory=dict)
    volume_keys: set[str] = field(default_factory=set)
    scales: bool = False

    def take_in(self, config: Any) -> None:
        """Note what creating a configuration needs."""
        if role := config.get("ExecutionRoleArn"):
            self.roles[role] = None
        if key := config.get("KmsKeyId"):
            self.volume_keys.add(key)


def endpoint_arns(place: Place, name: str) -> list[str]:
    """Return an endpoint's ARN; SageMaker writes its name in lower case, so a name with capitals has two."""
    return [place.arn("sagemaker", f"endpoint/{form}") for form in dict.fromkeys((name, name.lower()))]


def keeper_statements(
    place: Place, kept: Kept, *, owners: str, table: str, topic: str | None, log_group: str
) -> list[Statement]:
    """Return what keeping the stack's endpoints takes: theirs, and their own configurations.

    Parameters
    ----------
    owners : str
        How the owners begin that the tags of the stack's endpoints name. What is not declared any more is deleted by
        its tag: a deploy has changed this policy before it deletes.

    Notes
    -----
    Source: Service Authorization Reference, SageMaker: CreateEndpoint and UpdateEndpoint are authorized on the endpoint
    and on its configuration.
    """
    ours = {"StringLike": {f"aws:ResourceTag/{OWNER_TAG}": f"{owners}*"}}
    return [
        *_making(place, kept),
        allow(_sagemaker("DeleteEndpoint", "DeleteEndpointConfig"), _any(place, "endpoint", "endpoint-config"), ours),
        *_looking(place),
        allow([f"dynamodb:{verb}" for verb in ("GetItem", "UpdateItem", "Scan")], [table]),
        _logs(log_group),
        *volume_key_statements(place, Reach(volume_keys=kept.volume_keys)),
        *_passing(kept),
        *_scaling(place, kept),
        *([allow(["sns:Publish"], [topic])] if topic else []),
    ]


def resource_statements(place: Place, *, stack_id: str, table: str, keeper: str, log_group: str) -> list[Statement]:
    """Return what declaring an endpoint takes: nothing here changes one, the keeper does."""
    return [
        *_looking(place),
        allow([f"dynamodb:{verb}" for verb in ("GetItem", "UpdateItem", "DeleteItem")], [table]),
        allow(["lambda:InvokeFunction"], [keeper]),
        # A rollback bears no mark: the function asks for its own stack's status.
        allow(["cloudformation:DescribeStacks"], [stack_id]),
        _logs(log_group),
    ]


def _making(place: Place, kept: Kept) -> list[Statement]:
    if not kept.endpoints:
        # The last one was taken out of the stack: IAM refuses a statement without a resource.
        return []
    endpoints, configs = _endpoints(place, kept), _configs(place, kept)
    return [
        allow(_sagemaker("CreateEndpoint", "UpdateEndpoint"), endpoints + configs),
        allow(_sagemaker("UpdateEndpointWeightsAndCapacities"), endpoints),
        allow(_sagemaker("CreateEndpointConfig"), configs),
        allow(_sagemaker("AddTags"), endpoints + configs),
    ]


def _looking(place: Place) -> list[Statement]:
    return [
        allow(
            _sagemaker("DescribeEndpoint", "DescribeEndpointConfig", "ListTags"),
            _any(place, "endpoint", "endpoint-config"),
        ),
        allow(_sagemaker("DescribeTrainingPlan"), _any(place, "training-plan")),
        allow(["application-autoscaling:DescribeScalableTargets"], ["*"]),
    ]


def _any(place: Place, *kinds: str) -> list[Any]:
    return [place.arn("sagemaker", f"{kind}/*") for kind in kinds]


def _passing(kept: Kept) -> list[Statement]:
    to_sagemaker = {"StringEquals": {"iam:PassedToService": "sagemaker.amazonaws.com"}}
    return [allow(["iam:PassRole"], list(kept.roles), to_sagemaker)] if kept.roles else []


def _scaling(place: Place, kept: Kept) -> list[Statement]:
    """Return what target tracking takes of whoever registers it; its alarms are made on the caller's behalf.

    Notes
    -----
    Source: Application Auto Scaling guide, permissions; SageMaker guide, endpoint-auto-scaling-prerequisites.
    """
    targets = [place.arn("application-autoscaling", "scalable-target/*")]
    of_sagemaker = {"StringEquals": {"application-autoscaling:service-namespace": "sagemaker"}}
    alarms = [place.arn("cloudwatch", "alarm:TargetTracking-endpoint/*")]
    ending = [
        allow(["application-autoscaling:DeregisterScalableTarget"], targets, of_sagemaker),
        allow(["cloudwatch:DescribeAlarms", "cloudwatch:DeleteAlarms"], alarms),
    ]
    if not kept.scales:
        return ending
    verbs, service = ("RegisterScalableTarget", "PutScalingPolicy"), "sagemaker.application-autoscaling.amazonaws.com"
    linked = f"role/aws-service-role/{service}/AWSServiceRoleForApplicationAutoScaling_SageMakerEndpoint"
    named = {"StringEquals": {"iam:AWSServiceName": service}}
    return [
        *ending,
        allow([f"application-autoscaling:{verb}" for verb in verbs], targets, of_sagemaker),
        allow(["cloudwatch:PutMetricAlarm"], alarms),
        allow(["iam:CreateServiceLinkedRole"], [place.arn("iam", linked, region="")], named),
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
