"""AWS::SageMaker types."""

from __future__ import annotations

from typing import Any, ClassVar

from botocore.exceptions import ClientError

from .api import ApiType, absent, call, retag
from .base import Request, ResourceError

__all__ = ["Cluster", "Endpoint", "EndpointConfig", "Model", "Pipeline"]


class _Named(ApiType):
    """A type whose `Ref` is its ARN and whose calls take its name."""

    service = "sagemaker"
    name_limit = 63

    def new_name(self, request: Request) -> str:
        """Return a name without the stack's, as these types give themselves."""
        return request.name(self.name_limit, stack=False)

    def key(self, request: Request) -> dict[str, Any]:
        """Return the name."""
        return {self.name: _name(request.physical_id)}

    def read(self, request: Request) -> dict[str, Any]:
        """Return ARN and name."""
        return {self.answer[0]: request.physical_id, self.name: _name(request.physical_id)}

    def tag(self, request: Request) -> None:
        """Tag it."""
        retag(request, "sagemaker", request.physical_id, tag="AddTags", untag="DeleteTags")


def _name(arn: str) -> str:
    return arn.rpartition("/")[2]


class Model(_Named):
    """A model."""

    type = "AWS::SageMaker::Model"
    attributes = frozenset({"ModelArn", "ModelName"})
    create_call, delete_call = "CreateModel", "DeleteModel"
    name, answer = "ModelName", ("ModelArn",)


class EndpointConfig(_Named):
    """An endpoint configuration; every change makes a new one."""

    type = "AWS::SageMaker::EndpointConfig"
    attributes = frozenset({"EndpointConfigArn", "EndpointConfigName"})
    create_call, delete_call = "CreateEndpointConfig", "DeleteEndpointConfig"
    name, answer = "EndpointConfigName", ("EndpointConfigArn",)


class _Settling(_Named):
    """A type whose create, update and delete take time."""

    waits = True
    describe: ClassVar[str]
    status: ClassVar[str]
    failed: ClassVar[tuple[str, ...]] = ("Failed",)

    def _status(self, request: Request) -> tuple[str, str]:
        about = getattr(request.client("sagemaker"), self.describe)(**self.key(request))
        return about[self.status], about.get("FailureReason", about.get("FailureMessage", ""))

    def settle(self, request: Request) -> None:
        """Wait until it is in service.

        Raises
        ------
        ResourceError
            If it ends otherwise.
        """

        def in_service() -> bool:
            status, reason = self._status(request)
            if status in self.failed:
                raise ResourceError(f"{self.type} is {status}: {reason}")
            return status == "InService"

        request.poll(in_service, seconds=15, timeout=6 * 3600)

    def settle_deleted(self, request: Request) -> None:
        """Wait until it is gone."""

        def gone() -> bool:
            try:
                status, reason = self._status(request)
            except ClientError as error:
                if absent(error):
                    return True
                raise
            if status in self.failed:
                raise ResourceError(f"{self.type} is {status} instead of deleted: {reason}")
            return False

        request.poll(gone, seconds=15, timeout=6 * 3600)


class Endpoint(_Settling):
    """An endpoint."""

    type = "AWS::SageMaker::Endpoint"
    attributes = frozenset({"EndpointArn", "EndpointName"})
    create_call, update_call, delete_call = "CreateEndpoint", "UpdateEndpoint", "DeleteEndpoint"
    name, answer = "EndpointName", ("EndpointArn",)
    describe, status = "describe_endpoint", "EndpointStatus"
    failed = ("Failed", "OutOfService", "UpdateRollbackFailed")
    apart = frozenset({"ExcludeRetainedVariantProperties", "RetainAllVariantProperties", "RetainDeploymentConfig"})

    def change(self, request: Request, _changed: list[str]) -> None:
        """Update the endpoint and see that it keeps the new configuration."""
        retain = {name: request.properties[name] for name in self.apart if name in request.properties}
        sent = {key: value for key, value in request.properties.items() if key != "Tags" and key not in self.apart}
        call(request.client("sagemaker"), "UpdateEndpoint", {**sent, **retain, **self.key(request)})
        self.settle(request)
        wanted = request.properties["EndpointConfigName"]
        now = request.client("sagemaker").describe_endpoint(**self.key(request))
        if now["EndpointConfigName"] != wanted:
            raise ResourceError(
                f"the endpoint rolled back to {now['EndpointConfigName']}: {now.get('FailureReason', '')}"
            )


class Cluster(_Settling):
    """A HyperPod cluster."""

    type = "AWS::SageMaker::Cluster"
    attributes = frozenset({"ClusterArn", "ClusterStatus", "CreationTime"})
    create_call, update_call, delete_call = "CreateCluster", "UpdateCluster", "DeleteCluster"
    name, answer = "ClusterName", ("ClusterArn",)
    describe, status = "describe_cluster", "ClusterStatus"
    failed = ("Failed", "RollingBack")

    def read(self, request: Request) -> dict[str, Any]:
        """Return ARN, status and time."""
        about = request.client("sagemaker").describe_cluster(ClusterName=_name(request.physical_id))
        created = about["CreationTime"].strftime("%Y-%m-%dT%H:%M:%SZ")
        return {"ClusterArn": request.physical_id, "ClusterStatus": about["ClusterStatus"], "CreationTime": created}


class Pipeline(ApiType):
    """A pipeline."""

    type = "AWS::SageMaker::Pipeline"
    service = "sagemaker"
    create_call, update_call, delete_call = "CreatePipeline", "UpdatePipeline", "DeletePipeline"
    name = identifier = "PipelineName"

    def parameters(self, request: Request, properties: dict[str, Any]) -> dict[str, Any]:
        """Return the call's parameters, the definition taken from where it is given."""
        parameters = super().parameters(request, properties)
        definition = parameters.pop("PipelineDefinition", {})
        if "PipelineDefinitionBody" in definition:
            parameters["PipelineDefinition"] = definition["PipelineDefinitionBody"]
        elif "PipelineDefinitionS3Location" in definition:
            location = definition["PipelineDefinitionS3Location"]
            parameters["PipelineDefinitionS3Location"] = {
                {"Bucket": "Bucket", "Key": "ObjectKey", "Version": "VersionId"}[key]: location[key]
                for key in ("Bucket", "Key", "Version")
                if key in location
            }
        if "ClientRequestToken" not in parameters:
            parameters["ClientRequestToken"] = request.name(64, stack=False).ljust(32, "0")
        return parameters

    def tag(self, request: Request) -> None:
        """Tag the pipeline."""
        arn = request.arn("sagemaker", f"pipeline/{request.physical_id}")
        retag(request, "sagemaker", arn, tag="AddTags", untag="DeleteTags")
