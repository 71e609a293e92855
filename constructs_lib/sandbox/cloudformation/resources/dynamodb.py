"""AWS::DynamoDB types."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from .api import ApiType, call
from .base import Made, Request, ResourceError

__all__ = ["GlobalTable", "Table"]


def _api_form(properties: dict[str, Any]) -> dict[str, Any]:
    """Return properties with the members that DynamoDB's API names otherwise."""
    parameters = dict(properties)
    if "StreamSpecification" in parameters:
        stream = {k: v for k, v in parameters["StreamSpecification"].items() if k == "StreamViewType"}
        parameters["StreamSpecification"] = {"StreamEnabled": True, **stream}
    if "SSESpecification" in parameters:
        encryption = dict(parameters["SSESpecification"])
        parameters["SSESpecification"] = {"Enabled": encryption.pop("SSEEnabled", False), **encryption}
    if "ResourcePolicy" in parameters:
        parameters["ResourcePolicy"] = parameters["ResourcePolicy"]["PolicyDocument"]
    return parameters


class Table(ApiType):
    """A table with its indexes, recovery and expiry."""

    type = "AWS::DynamoDB::Table"
    attributes = frozenset({"Arn", "StreamArn"})
    service = "dynamodb"
    create_call, update_call, delete_call = "CreateTable", "UpdateTable", "DeleteTable"
    name = identifier = "TableName"
    name_limit = 255
    apart = frozenset({"PointInTimeRecoverySpecification", "TimeToLiveSpecification"})
    defaults: ClassVar = {"BillingMode": "PROVISIONED", "DeletionProtectionEnabled": False, "TableClass": "STANDARD"}

    def parameters(self, request: Request, properties: dict[str, Any]) -> dict[str, Any]:
        """Return the call's parameters."""
        return _api_form(super().parameters(request, properties))

    def change(self, request: Request, changed: list[str]) -> None:
        """Change what changed; DynamoDB takes one index at a time, and a key schema never."""
        client = request.client("dynamodb")
        indexes, rest = "GlobalSecondaryIndexes", [key for key in changed if key != "GlobalSecondaryIndexes"]
        if "StreamSpecification" in rest and "StreamSpecification" not in request.properties:
            rest.remove("StreamSpecification")
            client.update_table(TableName=request.physical_id, StreamSpecification={"StreamEnabled": False})
        if indexes in changed:
            self._change_indexes(request)
        plain = [key for key in rest if key != "AttributeDefinitions"]
        if plain:
            given = {key: value for key, value in self.defaults.items() if key in request.old} | request.properties
            sent = {key: given[key] for key in plain if key in given}
            if "BillingMode" in sent and "ProvisionedThroughput" in request.properties:
                sent["ProvisionedThroughput"] = request.properties["ProvisionedThroughput"]
            if sent:
                call(client, "UpdateTable", {"TableName": request.physical_id, **_api_form(sent)})

    def _change_indexes(self, request: Request) -> None:
        """Bring the indexes that the table has now, after whatever failed before, to those that are wanted."""
        client = request.client("dynamodb")
        table = client.describe_table(TableName=request.physical_id)["Table"]
        existing = {index["IndexName"] for index in table.get("GlobalSecondaryIndexes", [])}
        old = {index["IndexName"]: index for index in request.old.get("GlobalSecondaryIndexes", [])}
        new = {index["IndexName"]: index for index in request.properties.get("GlobalSecondaryIndexes", [])}
        changes: list[dict[str, Any]] = [{"Delete": {"IndexName": name}} for name in sorted(existing - new.keys())]
        for name, index in new.items():
            if name not in existing:
                changes.append({"Create": index})
            elif index != old.get(name, index):
                changes.append({"Update": _new_throughput(old[name], index)})
        for change in changes:
            parameters = {"TableName": request.physical_id, "GlobalSecondaryIndexUpdates": [change]}
            if "Create" in change:
                parameters["AttributeDefinitions"] = request.properties["AttributeDefinitions"]
            call(client, "UpdateTable", parameters)

    def apply(self, request: Request) -> None:
        """Set recovery and expiry."""
        client = request.client("dynamodb")
        if request.changed("PointInTimeRecoverySpecification"):
            wanted = request.properties.get("PointInTimeRecoverySpecification", {"PointInTimeRecoveryEnabled": False})
            parameters = {"TableName": request.physical_id, "PointInTimeRecoverySpecification": wanted}
            call(client, "UpdateContinuousBackups", parameters)
        if request.changed("TimeToLiveSpecification"):
            old = request.old.get("TimeToLiveSpecification", {})
            wanted = request.properties.get("TimeToLiveSpecification", {**old, "Enabled": False})
            call(client, "UpdateTimeToLive", {"TableName": request.physical_id, "TimeToLiveSpecification": wanted})

    def read(self, request: Request) -> dict[str, Any]:
        """Return the ARNs of table and stream."""
        table = request.client("dynamodb").describe_table(TableName=request.physical_id)["Table"]
        stream = {"StreamArn": table["LatestStreamArn"]} if "LatestStreamArn" in table else {}
        return {"Arn": table["TableArn"], **stream}


def _new_throughput(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    throughput = "ProvisionedThroughput"
    if {**old, throughput: None} != {**new, throughput: None}:
        raise ResourceError(f"index {new['IndexName']} can only change in throughput: give the new one another name")
    return {key: new[key] for key in ("IndexName", throughput) if key in new}


class GlobalTable(Table):
    """A global table whose one replica is in the sandbox's region."""

    type = "AWS::DynamoDB::GlobalTable"

    def create(self, request: Request) -> Made:
        """Make the table."""
        return super().create(_of_replica(request))

    def update(self, request: Request) -> Made:
        """Change the table."""
        return super().update(_of_replica(request))


def _of_replica(request: Request) -> Request:
    """Return the request as one of a plain table."""
    region = request.context.region
    old = _plain_table(request.old, region) if request.old else {}
    return replace(request, properties=_plain_table(request.properties, region), old=old)


def _plain_table(properties: dict[str, Any], region: str) -> dict[str, Any]:
    replicas = properties["Replicas"]
    if [replica.get("Region") for replica in replicas] != [region]:
        raise ResourceError(f"the sandbox has one region: give a global table one replica, in {region}")
    rest = {key: value for key, value in properties.items() if key != "Replicas"}
    return {**rest, **{key: value for key, value in replicas[0].items() if key != "Region"}}
