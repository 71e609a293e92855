"""AWS::Lambda types."""

from __future__ import annotations

import io
import zipfile
from typing import TYPE_CHECKING, Any, ClassVar

from .api import ApiType, call

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .base import Request

__all__ = ["Alias", "EventInvokeConfig", "EventSourceMapping", "Function", "Permission", "Version"]

_CODE_PROPERTIES = ("Code", "Architectures")
# What CloudFormation puts beside inline code: https://docs.aws.amazon.com/lambda/latest/dg/ (cfn-response module).
_CFN_RESPONSE = """\
import json
import urllib.request

SUCCESS, FAILED = "SUCCESS", "FAILED"


def send(event, context, responseStatus, responseData, physicalResourceId=None, noEcho=False, reason=None):
    body = {key: event[key] for key in ("StackId", "RequestId", "LogicalResourceId")}
    body["Status"], body["NoEcho"], body["Data"] = responseStatus, noEcho, responseData
    body["PhysicalResourceId"] = physicalResourceId or context.log_stream_name
    body["Reason"] = reason or "See the details in CloudWatch Log Stream: " + context.log_stream_name
    data = json.dumps(body).encode()
    request = urllib.request.Request(event["ResponseURL"], data, {"content-type": ""}, method="PUT")
    urllib.request.urlopen(request).close()
"""


def _zipped(source: str, runtime: str) -> bytes:
    """Return inline code as CloudFormation packs it."""
    suffix = "js" if runtime.startswith("node") else "py"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        # A fixed date: equal code has an equal hash.
        files = {f"index.{suffix}": source} | ({"cfnresponse.py": _CFN_RESPONSE} if suffix == "py" else {})
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0)), text)
    return buffer.getvalue()


class Function(ApiType):
    """A function with its code."""

    type = "AWS::Lambda::Function"
    attributes = frozenset({"Arn"})
    service = "lambda"
    create_call, update_call, delete_call = "CreateFunction", "UpdateFunctionConfiguration", "DeleteFunction"
    name = identifier = "FunctionName"
    apart = frozenset({"ReservedConcurrentExecutions"})
    defaults: ClassVar = {
        "DeadLetterConfig": {"TargetArn": ""},
        "Description": "",
        "Environment": {"Variables": {}},
        "KmsKeyArn": "",
        "Layers": [],
        "MemorySize": 128,
        "Timeout": 3,
        "TracingConfig": {"Mode": "PassThrough"},
        "VpcConfig": {"SubnetIds": [], "SecurityGroupIds": []},
    }

    def parameters(self, request: Request, properties: dict[str, Any]) -> dict[str, Any]:
        """Return the call's parameters, inline code packed."""
        parameters = super().parameters(request, properties)
        if "Code" in parameters:
            parameters["Code"] = _code(properties)
        return parameters

    def change(self, request: Request, changed: list[str]) -> None:
        """Change code and configuration, each by its own call."""
        client = request.client("lambda")
        if any(name in changed for name in _CODE_PROPERTIES):
            more = {"Architectures": request.properties.get("Architectures", ["x86_64"])}
            call(client, "UpdateFunctionCode", {**self.key(request), **_code(request.properties), **more})
        rest = [name for name in changed if name not in _CODE_PROPERTIES]
        if rest:
            super().change(request, rest)

    def apply(self, request: Request) -> None:
        """Reserve concurrency, or give it back."""
        if not request.changed("ReservedConcurrentExecutions"):
            return
        client, reserved = request.client("lambda"), request.properties.get("ReservedConcurrentExecutions")
        if reserved is None:
            client.delete_function_concurrency(FunctionName=request.physical_id)
        else:
            client.put_function_concurrency(
                FunctionName=request.physical_id, ReservedConcurrentExecutions=int(reserved)
            )

    def read(self, request: Request) -> dict[str, Any]:
        """Return the ARN."""
        return {"Arn": request.arn("lambda", f"function:{request.physical_id}")}


def _code(properties: Mapping[str, Any]) -> dict[str, Any]:
    code = dict(properties["Code"])
    if "ZipFile" in code:
        code["ZipFile"] = _zipped(code["ZipFile"], str(properties.get("Runtime", "")))
    return code


class Permission(ApiType):
    """A statement of a function's policy."""

    type = "AWS::Lambda::Permission"
    attributes = frozenset({"Id"})
    service = "lambda"
    create_call, delete_call = "AddPermission", "RemovePermission"
    name = identifier = "StatementId"
    name_limit = 100

    def key(self, request: Request) -> dict[str, Any]:
        """Return function and statement."""
        return {"FunctionName": request.properties["FunctionName"], "StatementId": request.physical_id}

    def read(self, request: Request) -> dict[str, Any]:
        """Return the statement's ID."""
        return {"Id": request.physical_id}


class EventInvokeConfig(ApiType):
    """How a function is invoked asynchronously."""

    type = "AWS::Lambda::EventInvokeConfig"
    service = "lambda"
    create_call = update_call = "PutFunctionEventInvokeConfig"
    delete_call = "DeleteFunctionEventInvokeConfig"
    identity = ("FunctionName", "Qualifier")

    def change(self, request: Request, changed: list[str]) -> None:
        """Put it anew; moto would keep the old one beside it and go on to show that."""
        call(request.client(self.service), self.delete_call, self.key(request))
        super().change(request, changed)


class Version(ApiType):
    """A published version."""

    type = "AWS::Lambda::Version"
    attributes = frozenset({"Version", "FunctionArn"})
    service = "lambda"
    answer = ("FunctionArn",)
    create_call, delete_call = "PublishVersion", "DeleteFunction"

    def key(self, request: Request) -> dict[str, Any]:
        """Return function and version."""
        function, _, version = request.physical_id.rpartition(":")
        return {"FunctionName": function, "Qualifier": version}

    def read(self, request: Request) -> dict[str, Any]:
        """Return version and ARN."""
        return {"Version": request.physical_id.rpartition(":")[2], "FunctionArn": request.physical_id}


class Alias(ApiType):
    """An alias of a version."""

    type = "AWS::Lambda::Alias"
    attributes = frozenset({"AliasArn"})
    service = "lambda"
    answer = ("AliasArn",)
    create_call, update_call, delete_call = "CreateAlias", "UpdateAlias", "DeleteAlias"
    identity = ("FunctionName", "Name")

    def read(self, request: Request) -> dict[str, Any]:
        """Return the ARN."""
        return {"AliasArn": request.physical_id}


class EventSourceMapping(ApiType):
    """A stream or queue that invokes a function."""

    type = "AWS::Lambda::EventSourceMapping"
    attributes = frozenset({"Id", "EventSourceMappingArn"})
    service = "lambda"
    answer = ("UUID",)
    create_call, update_call, delete_call = (
        "CreateEventSourceMapping",
        "UpdateEventSourceMapping",
        "DeleteEventSourceMapping",
    )
    identifier = "UUID"

    def read(self, request: Request) -> dict[str, Any]:
        """Return ID and ARN."""
        arn = request.arn("lambda", f"event-source-mapping:{request.physical_id}")
        return {"Id": request.physical_id, "EventSourceMappingArn": arn}
