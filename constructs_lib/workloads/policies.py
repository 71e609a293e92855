"""What a job's own role may do, as plain IAM documents."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from constructs_lib.model import is_unresolved
from constructs_lib.shared.policies import allow

if TYPE_CHECKING:
    from constructs_lib.shared.policies import Place, Statement
    from constructs_lib.workloads.access import Reach

__all__ = ["execution_statements", "volume_key_statements"]


def execution_statements(place: Place, reach: Reach) -> list[Statement]:
    """Return what a job's own role needs: data, image, logs, metrics and network interfaces."""
    # A role whose jobs are not known yet is for training.
    kinds = {"TrainingJobs": reach.trains or not reach.processes, "ProcessingJobs": reach.processes}
    logs = [place.arn("logs", f"log-group:/aws/sagemaker/{kind}*") for kind, there in kinds.items() if there]
    metrics = {"StringLike": {"cloudwatch:namespace": ["aws/sagemaker/*", "/aws/sagemaker/*"]}}
    statements = [
        allow(["logs:CreateLogGroup", "logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"], logs),
        allow(["cloudwatch:PutMetricData"], ["*"], metrics),
        *_data_statements(place, reach),
        *_image_statements(place, reach),
        *_key_statements(place, ["kms:Decrypt", "kms:GenerateDataKey", "kms:DescribeKey"], reach.keys),
        *volume_key_statements(place, reach),
    ]
    return [*statements, *_VPC_STATEMENTS] if reach.vpc else statements


# Network interface calls have no narrower resource before the interface exists.
_VPC_STATEMENTS = [
    allow(
        [
            "ec2:CreateNetworkInterface",
            "ec2:CreateNetworkInterfacePermission",
            "ec2:DeleteNetworkInterface",
            "ec2:DeleteNetworkInterfacePermission",
            "ec2:DescribeDhcpOptions",
            "ec2:DescribeNetworkInterfaces",
            "ec2:DescribeSecurityGroups",
            "ec2:DescribeSubnets",
            "ec2:DescribeVpcs",
        ],
        ["*"],
    )
]


def _data_statements(place: Place, reach: Reach) -> list[Statement]:
    reads = [uri for uri in reach.reads if not reach.writes.covers(uri)]
    writes = list(reach.writes)
    buckets = {json.dumps(bucket): bucket for bucket in (_bucket(place, uri) for uri in (*reads, *writes))}
    statements = []
    if reads:
        statements.append(allow(["s3:GetObject"], [_objects(place, uri, "*") for uri in reads]))
    if writes:
        actions = ["s3:GetObject", "s3:PutObject", "s3:AbortMultipartUpload"]
        statements.append(allow(actions, [_objects(place, uri, "/*") for uri in writes]))
    if buckets:
        statements.append(allow(["s3:ListBucket"], [buckets[key] for key in sorted(buckets)]))
    return statements


def _objects(place: Place, uri: str, suffix: str) -> Any:
    """Return the ARN of the objects at a prefix; one that is unknown at synth is cut by CloudFormation."""
    if uri.startswith("s3://"):
        whole = uri.removeprefix("s3://")
        # A bucket alone is all of it, and no other bucket whose name starts so.
        return f"arn:{place.partition}:s3:::{whole}{suffix if '/' in whole else '/*'}"
    rest = {"Fn::Select": [1, {"Fn::Split": ["s3://", uri]}]}
    return {"Fn::Join": ["", [f"arn:{place.partition}:s3:::", rest, suffix]]}


def _bucket(place: Place, uri: str) -> Any:
    if uri.startswith("s3://"):
        return f"arn:{place.partition}:s3:::{uri.split('/')[2]}"
    return {"Fn::Join": ["", [f"arn:{place.partition}:s3:::", {"Fn::Select": [2, {"Fn::Split": ["/", uri]}]}]]}


def _image_statements(place: Place, reach: Reach) -> list[Statement]:
    if not reach.images:
        return []
    pull = ["ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"]
    repositories = [
        place.arn("ecr", f"repository/{image.repository}", region=image.region, account=image.account)
        for image in sorted(reach.images)
    ]
    return [allow(pull, repositories), allow(["ecr:GetAuthorizationToken"], ["*"])]


def volume_key_statements(place: Place, reach: Reach) -> list[Statement]:
    """Return what lets SageMaker use the keys of volumes: grants, made for AWS resources only."""
    for_aws = {"Bool": {"kms:GrantIsForAWSResource": "true"}}
    return [
        *_key_statements(place, ["kms:CreateGrant"], reach.volume_keys, for_aws),
        *_key_statements(place, ["kms:DescribeKey"], reach.volume_keys),
    ]


def _key_statements(
    place: Place, actions: list[str], keys: set[str], condition: dict[str, Any] | None = None
) -> list[Statement]:
    """Return statements over keys; IAM knows an alias only as a condition."""
    aliases = sorted(key.rpartition(":")[2] for key in keys if key.rpartition(":")[2].startswith("alias/"))
    named = sorted(key for key in keys if not key.rpartition(":")[2].startswith("alias/"))
    statements = []
    if named:
        statements.append(allow(actions, [_key_arn(place, key) for key in named], condition))
    if aliases:
        by_alias = {"ForAnyValue:StringEquals": {"kms:ResourceAliases": aliases}}
        statements.append(allow(actions, [place.arn("kms", "key/*")], (condition or {}) | by_alias))
    return statements


def _key_arn(place: Place, key: str) -> str:
    return key if key.startswith("arn:") or is_unresolved(key) else place.arn("kms", f"key/{key}")
