"""AWS::Logs types."""

from __future__ import annotations

from typing import Any

from .api import ApiType, call
from .base import Request

__all__ = ["LogGroup", "MetricFilter", "ResourcePolicy"]


class LogGroup(ApiType):
    """A log group with its retention."""

    type = "AWS::Logs::LogGroup"
    attributes = frozenset({"Arn"})
    service = "logs"
    create_call, delete_call = "CreateLogGroup", "DeleteLogGroup"
    name = identifier = "LogGroupName"
    name_limit = 512
    apart = frozenset({"RetentionInDays"})

    def apply(self, request: Request) -> None:
        """Set retention, or keep for ever."""
        if not request.changed("RetentionInDays"):
            return
        client, days = request.client("logs"), request.properties.get("RetentionInDays")
        if days is None:
            client.delete_retention_policy(logGroupName=request.physical_id)
        else:
            client.put_retention_policy(logGroupName=request.physical_id, retentionInDays=int(days))

    def read(self, request: Request) -> dict[str, Any]:
        """Return the ARN in the form that ends in ``:*``."""
        return {"Arn": request.arn("logs", f"log-group:{request.physical_id}:*")}

    def tagged(self, request: Request) -> str:
        """Return the ARN without ``:*``, as the tag calls want it."""
        return request.arn("logs", f"log-group:{request.physical_id}")


class MetricFilter(ApiType):
    """A metric made of log lines."""

    type = "AWS::Logs::MetricFilter"
    service = "logs"
    create_call = update_call = "PutMetricFilter"
    delete_call = "DeleteMetricFilter"
    name = "FilterName"
    name_limit = 512

    def change(self, request: Request, changed: list[str]) -> None:
        """Put it anew; moto would keep the old one beside it and go on to show that."""
        call(request.client(self.service), self.delete_call, self.key(request))
        super().change(request, changed)

    def parameters(self, request: Request, properties: dict[str, Any]) -> dict[str, Any]:
        """Return the call's parameters; dimensions become a map."""
        parameters = super().parameters(request, properties)
        parameters["MetricTransformations"] = [
            {**metric, "Dimensions": {d["Key"]: d["Value"] for d in metric["Dimensions"]}}
            if "Dimensions" in metric
            else metric
            for metric in properties["MetricTransformations"]
        ]
        return parameters

    def key(self, request: Request) -> dict[str, Any]:
        """Return group and filter."""
        return {"LogGroupName": request.properties["LogGroupName"], "FilterName": request.physical_id}


class ResourcePolicy(ApiType):
    """A policy by which services may write logs."""

    type = "AWS::Logs::ResourcePolicy"
    service = "logs"
    create_call = update_call = "PutResourcePolicy"
    delete_call = "DeleteResourcePolicy"
    name = identifier = "PolicyName"
