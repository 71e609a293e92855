"""AWS::S3 types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from botocore.exceptions import ClientError

from .api import ApiType, absent, call
from .base import Made, Request, ResourceError, ResourceType, plain, tag_map

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Bucket", "BucketPolicy"]


def _encryption(value: dict[str, Any]) -> dict[str, Any]:
    rules = [
        {
            "ApplyServerSideEncryptionByDefault" if k == "ServerSideEncryptionByDefault" else k: v
            for k, v in rule.items()
        }
        for rule in value["ServerSideEncryptionConfiguration"]
    ]
    return {"Rules": rules}


def _lifecycle(value: dict[str, Any]) -> dict[str, Any]:
    return {"Rules": [_lifecycle_rule(rule) for rule in value["Rules"]]}


def _lifecycle_rule(rule: dict[str, Any]) -> dict[str, Any]:
    expiration = {"ExpirationInDays": "Days", "ExpirationDate": "Date", "ExpiredObjectDeleteMarker": None}
    known = {"Id", "Status", "Prefix", "AbortIncompleteMultipartUpload", "Transitions", *expiration}
    known |= {"NoncurrentVersionExpirationInDays", "NoncurrentVersionExpiration"}
    beyond = rule.keys() - known
    if beyond:
        raise ResourceError(f"the sandbox does not support {', '.join(sorted(beyond))} in a lifecycle rule")
    parameters: dict[str, Any] = {"ID": rule["Id"]} if "Id" in rule else {}
    parameters |= {"Status": rule["Status"], "Filter": {"Prefix": rule.get("Prefix", "")}}
    expires = {api or name: rule[name] for name, api in expiration.items() if name in rule}
    if expires:
        parameters["Expiration"] = expires
    if "NoncurrentVersionExpirationInDays" in rule:
        parameters["NoncurrentVersionExpiration"] = {"NoncurrentDays": rule["NoncurrentVersionExpirationInDays"]}
    for name in ("AbortIncompleteMultipartUpload", "NoncurrentVersionExpiration"):
        if name in rule:
            parameters[name] = rule[name]
    if "Transitions" in rule:
        names = {"TransitionInDays": "Days", "TransitionDate": "Date"}
        parameters["Transitions"] = [{names.get(k, k): v for k, v in t.items()} for t in rule["Transitions"]]
    return parameters


def _notification(value: dict[str, Any]) -> dict[str, Any]:
    kinds = {"LambdaConfigurations": "Lambda", "QueueConfigurations": "Queue", "TopicConfigurations": "Topic"}
    parameters: dict[str, Any] = {}
    if value.get("EventBridgeConfiguration", {}).get("EventBridgeEnabled", "EventBridgeConfiguration" in value):
        parameters["EventBridgeConfiguration"] = {}
    for kind, word in kinds.items():
        target, arn = ("Function", "LambdaFunctionArn") if word == "Lambda" else (word, f"{word}Arn")
        if kind in value:
            parameters["LambdaFunctionConfigurations" if word == "Lambda" else kind] = [
                {arn: entry[target], "Events": [entry["Event"]], **_filter(entry)} for entry in value[kind]
            ]
    return parameters


def _filter(entry: dict[str, Any]) -> dict[str, Any]:
    return {"Filter": {"Key": {"FilterRules": entry["Filter"]["S3Key"]["Rules"]}}} if "Filter" in entry else {}


def _same(value: dict[str, Any]) -> dict[str, Any]:
    return value


# Property -> (put, request member, how its value becomes that member, delete or the value that undoes it).
_SUB_RESOURCES: dict[str, tuple[str, str, Callable[[dict[str, Any]], dict[str, Any]], str | dict[str, Any]]] = {
    "BucketEncryption": (
        "PutBucketEncryption", "ServerSideEncryptionConfiguration", _encryption, "DeleteBucketEncryption",
    ),
    "CorsConfiguration": ("PutBucketCors", "CORSConfiguration", _same, "DeleteBucketCors"),
    "LifecycleConfiguration": (
        "PutBucketLifecycleConfiguration", "LifecycleConfiguration", _lifecycle, "DeleteBucketLifecycle",
    ),
    "NotificationConfiguration": ("PutBucketNotificationConfiguration", "NotificationConfiguration", _notification, {}),
    "OwnershipControls": ("PutBucketOwnershipControls", "OwnershipControls", _same, "DeleteBucketOwnershipControls"),
    "PublicAccessBlockConfiguration": (
        "PutPublicAccessBlock", "PublicAccessBlockConfiguration", _same, "DeletePublicAccessBlock",
    ),
    "VersioningConfiguration": ("PutBucketVersioning", "VersioningConfiguration", _same, {"Status": "Suspended"}),
}  # fmt: skip


class Bucket(ApiType):
    """A bucket; one that holds objects cannot be deleted."""

    type = "AWS::S3::Bucket"
    attributes = frozenset({"Arn", "DomainName", "DualStackDomainName", "RegionalDomainName", "WebsiteURL"})
    service = "s3"
    create_call, delete_call = "CreateBucket", "DeleteBucket"
    name, identifier = "BucketName", "Bucket"
    name_limit = 63
    rename: ClassVar = {
        "BucketName": "Bucket",
        "AccessControl": "ACL",
        "ObjectLockEnabled": "ObjectLockEnabledForBucket",
    }
    apart = frozenset({*_SUB_RESOURCES, "Tags"})

    def new_name(self, request: Request) -> str:
        """Return a name in small letters."""
        return request.name(self.name_limit, lower=True)

    def parameters(self, request: Request, properties: dict[str, Any]) -> dict[str, Any]:
        """Return the call's parameters; outside us-east-1 a bucket has to be told its region."""
        region = request.context.region
        place = {} if region == "us-east-1" else {"CreateBucketConfiguration": {"LocationConstraint": region}}
        return super().parameters(request, properties) | place

    def apply(self, request: Request) -> None:
        """Put and delete the bucket's sub-resources."""
        client, bucket = request.client("s3"), {"Bucket": request.physical_id}
        for name, (put, member, convert, undo) in _SUB_RESOURCES.items():
            if not request.changed(name):
                continue
            if name in request.properties:
                call(client, put, {**bucket, member: convert(request.properties[name])})
            elif isinstance(undo, str):
                call(client, undo, bucket)
            else:
                call(client, put, {**bucket, member: undo})
        if request.changed("Tags"):
            self.tag(request)

    def tag(self, request: Request) -> None:
        """Set all tags, or none."""
        client, tags = request.client("s3"), tag_map(request.properties.get("Tags"))
        if tags:
            tag_set = [{"Key": key, "Value": value} for key, value in tags.items()]
            client.put_bucket_tagging(Bucket=request.physical_id, Tagging={"TagSet": tag_set})
        else:
            client.delete_bucket_tagging(Bucket=request.physical_id)

    def read(self, request: Request) -> dict[str, Any]:
        """Return ARN and addresses."""
        region = request.context.region
        return {
            "Arn": f"arn:aws:s3:::{request.physical_id}",
            "DomainName": f"{request.physical_id}.s3.amazonaws.com",
            "DualStackDomainName": f"{request.physical_id}.s3.dualstack.{region}.amazonaws.com",
            "RegionalDomainName": f"{request.physical_id}.s3.{region}.amazonaws.com",
            "WebsiteURL": f"http://{request.physical_id}.s3-website-{region}.amazonaws.com",
        }


class BucketPolicy(ResourceType):
    """A bucket's policy."""

    type = "AWS::S3::BucketPolicy"

    def create(self, request: Request) -> Made:
        """Put the policy."""
        bucket = request.properties["Bucket"]
        request.client("s3").put_bucket_policy(Bucket=bucket, Policy=plain(request.properties["PolicyDocument"]))
        return Made(bucket)

    def update(self, request: Request) -> Made:
        """Put the new policy."""
        return self.create(request)

    def delete(self, request: Request) -> None:
        """Remove the policy."""
        try:
            request.client("s3").delete_bucket_policy(Bucket=request.properties["Bucket"])
        except ClientError as error:
            if not absent(error):
                raise
