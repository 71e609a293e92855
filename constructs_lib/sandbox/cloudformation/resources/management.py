"""AWS::SSM, AWS::CloudWatch, AWS::KMS and AWS::ApplicationAutoScaling types."""

from __future__ import annotations

from typing import Any, ClassVar

from .api import ApiType, call, retag
from .base import Request, plain

__all__ = ["Alarm", "Dashboard", "Key", "KeyAlias", "Parameter", "ScalableTarget", "ScalingPolicy"]


class Parameter(ApiType):
    """A parameter of Systems Manager."""

    type = "AWS::SSM::Parameter"
    attributes = frozenset({"Arn", "Type", "Value"})
    service = "ssm"
    create_call = update_call = "PutParameter"
    delete_call = "DeleteParameter"
    name = identifier = "Name"
    name_limit = 1011

    def new_name(self, request: Request) -> str:
        """Return a name with the prefix that this type gives itself."""
        return request.name(self.name_limit, stack=False, prefix="CFN")

    def key(self, request: Request) -> dict[str, Any]:
        """Return the name, and in an update that the value may be replaced."""
        return {"Name": request.physical_id, **({"Overwrite": True} if request.old else {})}

    def read(self, request: Request) -> dict[str, Any]:
        """Return ARN, type and value."""
        given = {name: request.properties[name] for name in ("Type", "Value")}
        return {"Arn": request.arn("ssm", f"parameter/{request.physical_id.lstrip('/')}"), **given}

    def tag(self, request: Request) -> None:
        """Tag the parameter."""
        client = request.client("ssm")
        old, new = request.old.get("Tags", {}), request.properties.get("Tags", {})
        about = {"ResourceType": "Parameter", "ResourceId": request.physical_id}
        gone = [key for key in old if key not in new]
        if gone:
            client.remove_tags_from_resource(**about, TagKeys=gone)
        if new:
            client.add_tags_to_resource(**about, Tags=[{"Key": k, "Value": v} for k, v in new.items()])


class Alarm(ApiType):
    """A metric alarm."""

    type = "AWS::CloudWatch::Alarm"
    attributes = frozenset({"Arn"})
    service = "cloudwatch"
    create_call = update_call = "PutMetricAlarm"
    delete_call = "DeleteAlarms"
    name = "AlarmName"
    name_limit = 255

    def key(self, request: Request) -> dict[str, Any]:
        """Return the name in the form that the call takes."""
        return {"AlarmName": request.physical_id}

    def delete(self, request: Request) -> None:
        """Delete the alarm; the call takes a list and knows no missing one."""
        request.client("cloudwatch").delete_alarms(AlarmNames=[request.physical_id])

    def read(self, request: Request) -> dict[str, Any]:
        """Return the ARN."""
        return {"Arn": request.arn("cloudwatch", f"alarm:{request.physical_id}")}


class Dashboard(ApiType):
    """A dashboard."""

    type = "AWS::CloudWatch::Dashboard"
    service = "cloudwatch"
    create_call = update_call = "PutDashboard"
    delete_call = "DeleteDashboards"
    name = identifier = "DashboardName"
    name_limit = 255

    def delete(self, request: Request) -> None:
        """Delete the dashboard."""
        request.client("cloudwatch").delete_dashboards(DashboardNames=[request.physical_id])


class Key(ApiType):
    """A KMS key; deleting one schedules its deletion, as CloudFormation does."""

    type = "AWS::KMS::Key"
    attributes = frozenset({"Arn", "KeyId"})
    service = "kms"
    answer = ("KeyMetadata", "KeyId")
    create_call, delete_call, identifier = "CreateKey", "ScheduleKeyDeletion", "KeyId"
    rename: ClassVar = {"KeyPolicy": "Policy"}
    apart = frozenset({"EnableKeyRotation", "Enabled", "PendingWindowInDays"})

    def parameters(self, request: Request, properties: dict[str, Any]) -> dict[str, Any]:
        """Return the call's parameters; KMS spells its tags otherwise."""
        parameters = super().parameters(request, properties)
        if "Tags" in parameters:
            parameters["Tags"] = [{"TagKey": t["Key"], "TagValue": t["Value"]} for t in parameters["Tags"]]
        return parameters

    def change(self, request: Request, changed: list[str]) -> None:
        """Change description and policy."""
        client, wanted, key = request.client("kms"), request.properties, request.physical_id
        if "Description" in changed:
            client.update_key_description(KeyId=key, Description=wanted.get("Description", ""))
        if "KeyPolicy" in changed:
            client.put_key_policy(KeyId=key, PolicyName="default", Policy=plain(wanted["KeyPolicy"]))

    def apply(self, request: Request) -> None:
        """Turn rotation and the key on or off."""
        client = request.client("kms")
        for name, turn_on, turn_off, default in (
            ("EnableKeyRotation", client.enable_key_rotation, client.disable_key_rotation, False),
            ("Enabled", client.enable_key, client.disable_key, True),
        ):
            wanted, before = (str(p.get(name, default)).lower() == "true" for p in (request.properties, request.old))
            if wanted != before:
                (turn_on if wanted else turn_off)(KeyId=request.physical_id)

    def delete(self, request: Request) -> None:
        """Schedule the deletion."""
        days = int(request.properties.get("PendingWindowInDays", 30))
        request.client("kms").schedule_key_deletion(KeyId=request.physical_id, PendingWindowInDays=days)

    def read(self, request: Request) -> dict[str, Any]:
        """Return ARN and ID."""
        return {"Arn": request.arn("kms", f"key/{request.physical_id}"), "KeyId": request.physical_id}

    def tag(self, request: Request) -> None:
        """Tag the key."""
        client = request.client("kms")
        old, new = ({t["Key"]: t["Value"] for t in p.get("Tags", [])} for p in (request.old, request.properties))
        gone = [key for key in old if key not in new]
        if gone:
            client.untag_resource(KeyId=request.physical_id, TagKeys=gone)
        if new:
            client.tag_resource(KeyId=request.physical_id, Tags=[{"TagKey": k, "TagValue": v} for k, v in new.items()])


class KeyAlias(ApiType):
    """An alias of a KMS key."""

    type = "AWS::KMS::Alias"
    service = "kms"
    create_call, update_call, delete_call = "CreateAlias", "UpdateAlias", "DeleteAlias"
    name = identifier = "AliasName"


class ScalableTarget(ApiType):
    """What Application Auto Scaling may change."""

    type = "AWS::ApplicationAutoScaling::ScalableTarget"
    attributes = frozenset({"Id"})
    service = "application-autoscaling"
    create_call = update_call = "RegisterScalableTarget"
    delete_call = "DeregisterScalableTarget"
    apart = frozenset({"ScheduledActions"})
    identity = ("ResourceId", "ScalableDimension", "ServiceNamespace")

    def apply(self, request: Request) -> None:
        """Put and delete scheduled actions."""
        client, key = request.client("application-autoscaling"), self.key(request)
        old, new = (
            {a["ScheduledActionName"]: a for a in p.get("ScheduledActions", [])}
            for p in (request.old, request.properties)
        )
        for name in old.keys() - new.keys():
            client.delete_scheduled_action(ScheduledActionName=name, **key)
        for name, action in new.items():
            if action != old.get(name):
                call(client, "PutScheduledAction", {**action, **key})

    def read(self, request: Request) -> dict[str, Any]:
        """Return the ID."""
        return {"Id": request.physical_id}

    def tag(self, request: Request) -> None:
        """Tag the target."""
        key = self.key(request)
        targets = request.client("application-autoscaling").describe_scalable_targets(
            ServiceNamespace=key["ServiceNamespace"], ResourceIds=[key["ResourceId"]]
        )["ScalableTargets"]
        retag(request, "application-autoscaling", targets[0]["ScalableTargetARN"])


class ScalingPolicy(ApiType):
    """How Application Auto Scaling changes it."""

    type = "AWS::ApplicationAutoScaling::ScalingPolicy"
    attributes = frozenset({"Arn"})
    service = "application-autoscaling"
    answer = ("PolicyARN",)
    create_call = update_call = "PutScalingPolicy"
    delete_call = "DeleteScalingPolicy"

    def parameters(self, request: Request, properties: dict[str, Any]) -> dict[str, Any]:
        """Return the call's parameters; a target may be given by its ID."""
        parameters = super().parameters(request, properties)
        target = parameters.pop("ScalingTargetId", None)
        if target is not None:
            names = ("ResourceId", "ScalableDimension", "ServiceNamespace")
            parameters |= dict(zip(names, target.split("|"), strict=True))
        return parameters

    def key(self, request: Request) -> dict[str, Any]:
        """Return policy, resource, dimension and namespace."""
        names = ("PolicyName", "ResourceId", "ScalableDimension", "ServiceNamespace")
        parameters = self.parameters(request, request.properties)
        return {name: parameters[name] for name in names}

    def read(self, request: Request) -> dict[str, Any]:
        """Return the ARN."""
        return {"Arn": request.physical_id}
