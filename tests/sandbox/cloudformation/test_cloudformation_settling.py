"""Resources that take time: endpoints and clusters are waited for, on virtual time, whatever they end in."""

from __future__ import annotations

import contextlib
import threading
import time
from datetime import UTC, datetime
from typing import Any

import botocore.session
import pytest
from botocore.exceptions import ClientError

from constructs_lib.sandbox.clock import Clock
from constructs_lib.sandbox.cloudformation.halt import Halt
from constructs_lib.sandbox.cloudformation.resources import sagemaker
from constructs_lib.sandbox.cloudformation.resources.base import Cancelled, Request, ResourceError
from constructs_lib.sandbox.context import Context
from constructs_lib.sandbox.faults import Faults

ARN = "arn:aws:sagemaker:us-east-1:123456789012:endpoint/e"


class Service:
    """A SageMaker with one endpoint and one cluster that walk through given statuses, one a look."""

    def __init__(self, *statuses: str, config: str = "new", reason: str = "") -> None:
        self.statuses = list(statuses)
        self.config = config
        self.reason = reason
        self.calls: list[str] = []
        self.meta = botocore.session.Session().create_client("sagemaker", region_name="us-east-1").meta

    def create_endpoint(self, **_: Any) -> dict[str, str]:
        self.calls.append("create")
        return {"EndpointArn": ARN}

    def create_cluster(self, **_: Any) -> dict[str, str]:
        return {"ClusterArn": ARN}

    def update_endpoint(self, **given: Any) -> dict[str, str]:
        self.calls.append(f"update to {given['EndpointConfigName']}")
        return {"EndpointArn": ARN}

    def delete_endpoint(self, **_: Any) -> dict[str, str]:
        self.calls.append("delete")
        return {}

    def describe_endpoint(self, **_: Any) -> dict[str, Any]:
        return {**self._look(), "EndpointConfigName": self.config}

    def describe_cluster(self, **_: Any) -> dict[str, Any]:
        return {**self._look(), "CreationTime": datetime(2027, 1, 1, tzinfo=UTC)}

    def _look(self) -> dict[str, Any]:
        status = self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]
        if status == "gone":
            answer = {"Error": {"Code": "ValidationException", "Message": 'Could not find endpoint "e".'}}
            raise ClientError(answer | {"ResponseMetadata": {"HTTPStatusCode": 400}}, "DescribeEndpoint")
        return {"EndpointStatus": status, "ClusterStatus": status, "FailureReason": self.reason}


def request(service: Service, halt: Halt | None = None, **more: Any) -> Request:
    clock = Clock(6000)
    context = Context(clock=clock, faults=Faults(), emit=lambda *_: None, client=lambda _: service)
    made: list[str] = []
    given = {"properties": {"EndpointConfigName": "new"}, "initiated": made.append, **more}
    return Request(
        context=context,
        stack_id="arn:stack",
        stack_name="stack",
        logical_id="Endpoint",
        type="AWS::SageMaker::Endpoint",
        halt=halt or Halt(),
        paused=contextlib.nullcontext,
        **given,
    )


def test_a_create_ends_once_the_endpoint_is_in_service() -> None:
    service = Service("Creating", "Creating", "InService")
    asked = request(service)
    began = asked.context.clock.now()
    made = sagemaker.Endpoint().create(asked)
    assert made.physical_id == ARN
    assert made.attributes == {"EndpointArn": ARN, "EndpointName": "e"}
    assert asked.context.clock.now() - began >= 30, "two looks fifteen virtual seconds apart"


@pytest.mark.parametrize("status", ["Failed", "OutOfService"])
def test_a_create_that_ends_otherwise_fails_with_the_services_reason(status: str) -> None:
    existing: list[str] = []
    asked = request(Service("Creating", status, reason="no capacity"), initiated=existing.append)
    with pytest.raises(ResourceError, match=f"AWS::SageMaker::Endpoint is {status}: no capacity"):
        sagemaker.Endpoint().create(asked)
    assert existing == [ARN], "it exists and has to be deleted"


def test_an_update_changes_the_configuration_in_place() -> None:
    service = Service("Updating", "InService")
    asked = request(service, old={"EndpointConfigName": "old"}, physical_id=ARN)
    assert sagemaker.Endpoint().update(asked).physical_id == ARN
    assert service.calls == ["update to new"]


def test_an_update_that_silently_rolls_back_has_failed() -> None:
    service = Service("Updating", "InService", config="old", reason="no capacity")
    asked = request(service, old={"EndpointConfigName": "old"}, physical_id=ARN)
    with pytest.raises(ResourceError, match="the endpoint rolled back to old: no capacity"):
        sagemaker.Endpoint().update(asked)


def test_a_delete_ends_once_the_endpoint_is_gone() -> None:
    service = Service("Deleting", "Deleting", "gone")
    sagemaker.Endpoint().delete(request(service, physical_id=ARN))
    assert service.calls == ["delete"]


def test_a_delete_that_fails_says_why() -> None:
    asked = request(Service("Deleting", "Failed", reason="stuck"), physical_id=ARN)
    with pytest.raises(ResourceError, match="is Failed instead of deleted: stuck"):
        sagemaker.Endpoint().delete(asked)


def test_a_wait_can_be_cancelled() -> None:
    halt = Halt()
    asked = request(Service("Creating"), halt)
    timer = threading.Timer(0.05, halt.set)
    timer.start()
    began = time.monotonic()
    with pytest.raises(Cancelled):
        sagemaker.Endpoint().create(asked)
    assert time.monotonic() - began < 5
    timer.join()


@pytest.mark.slow
def test_a_wait_ends_after_hours_of_virtual_time() -> None:
    with pytest.raises(ResourceError, match="AWS::SageMaker::Endpoint did not settle in 21600 s"):
        sagemaker.Endpoint().create(request(Service("Creating")))


def test_a_cluster_is_waited_for_too() -> None:
    groups = [{"InstanceGroupName": "g", "InstanceType": "ml.c5.large", "InstanceCount": 1, "ExecutionRole": "r" * 20}]
    asked = request(Service("Creating", "InService"), properties={"InstanceGroups": groups})
    attributes = sagemaker.Cluster().create(asked).attributes
    assert attributes == {"ClusterArn": ARN, "ClusterStatus": "InService", "CreationTime": "2027-01-01T00:00:00Z"}
    with pytest.raises(ResourceError, match="is RollingBack"):
        sagemaker.Cluster().create(request(Service("RollingBack"), properties={"InstanceGroups": groups}))
