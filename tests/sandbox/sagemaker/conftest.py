"""A SageMaker without a server, on a clock that moves only when told."""

from __future__ import annotations

import heapq
import itertools
from dataclasses import dataclass, field

import pytest
from botocore.exceptions import ClientError

from constructs_lib.sandbox.clock import Timer
from constructs_lib.sandbox.context import Context
from constructs_lib.sandbox.faults import Faults
from constructs_lib.sandbox.modelcheck import violations
from constructs_lib.sandbox.sagemaker import Capacity, SageMaker

START = 1_800_000_000.0
PLAN_ARN = "arn:aws:sagemaker:us-east-1:123456789012:training-plan/"


class StillClock:
    """A clock that stands until `go`; callbacks run at their moment."""

    def __init__(self):
        self._now = START
        self._timers = []
        self._sequence = itertools.count()

    def now(self):
        return self._now

    def call_at(self, t, callback):
        timer = Timer(t, callback)
        heapq.heappush(self._timers, (t, next(self._sequence), timer))
        return timer

    def go(self, seconds):
        target = self._now + seconds
        while self._timers and self._timers[0][0] <= target:
            t, _, timer = heapq.heappop(self._timers)
            self._now = max(self._now, t)
            if not timer.cancelled:
                timer.callback()
        self._now = target


class Ec2:
    """Knows in which zone a subnet lies."""

    def describe_subnets(self, **request):
        zones = {"subnet-a": "us-east-1a", "subnet-b": "us-east-1b"}
        unknown = [subnet for subnet in request["SubnetIds"] if subnet not in zones]
        if unknown:
            words = f"The subnet ID '{unknown[0]}' does not exist"
            raise ClientError({"Error": {"Code": "InvalidSubnetID.NotFound", "Message": words}}, "DescribeSubnets")
        return {"Subnets": [{"AvailabilityZone": zones[subnet]} for subnet in request["SubnetIds"]]}


@dataclass
class World:
    """A SageMaker and everything around it."""

    capacity: Capacity
    choose: object = None
    clock: StillClock = field(default_factory=StillClock)
    faults: Faults = field(default_factory=Faults)
    events: list = field(default_factory=list)

    def __post_init__(self):
        self.context = Context(self.clock, self.faults, lambda *event: self.events.append(event), lambda _: Ec2())
        extra = {"choose": self.choose} if self.choose else {}
        self.sagemaker = SageMaker(self.context, self.capacity, **extra)

    def call(self, operation, **request):
        """Call, and hold the answer against the model."""
        answer = self.sagemaker.handle(operation, request)
        assert violations("sagemaker", operation, answer, answer=True) == []
        return answer

    def request(self, name="job", *, preferences=None, resources=None, limits=None, **members):
        """Return a CreateTrainingJob request; `preferences` is a list of (type, count) or (type, count, plan)."""
        if preferences is not None:
            resources = {"InstancePreferences": [preference(*row) for row in preferences]} | (resources or {})
        return {
            "TrainingJobName": name,
            "AlgorithmSpecification": {"TrainingInputMode": "File", "TrainingImage": "123.dkr.ecr/image"},
            "RoleArn": "arn:aws:iam::123456789012:role/training",
            "OutputDataConfig": {"S3OutputPath": "s3://bucket/models/"},
            "ResourceConfig": resources or {"InstanceType": "ml.p5.48xlarge", "InstanceCount": 8},
            "StoppingCondition": {"MaxRuntimeInSeconds": 86400, **(limits or {})},
        } | members

    def create(self, name="job", **arguments):
        return self.call("CreateTrainingJob", **self.request(name, **arguments))

    def describe(self, name="job"):
        return self.call("DescribeTrainingJob", TrainingJobName=name)

    def stop(self, name="job"):
        return self.call("StopTrainingJob", TrainingJobName=name)

    def status(self, name="job"):
        """Return (TrainingJobStatus, SecondaryStatus)."""
        described = self.describe(name)
        return described["TrainingJobStatus"], described["SecondaryStatus"]

    def phases(self, name="job"):
        """Return the secondary statuses with the minute in which each began."""
        rows = self.describe(name)["SecondaryStatusTransitions"]
        return [(row["Status"], round((row["StartTime"] - START) / 60, 2)) for row in rows]

    def go(self, *, seconds=0, minutes=0, hours=0):
        self.clock.go(seconds + 60 * minutes + 3600 * hours)


def preference(instance_type, count=None, plan=None):
    row = {"InstanceType": instance_type}
    if count is not None:
        row["InstanceCount"] = count
    return row | ({"TrainingPlanArns": [PLAN_ARN + plan]} if plan else {})


@pytest.fixture
def world():
    """Return a maker of worlds: the argument is a capacity file's content."""

    def make(document=None, **arguments):
        return World(Capacity.of(document or {}), **arguments)

    return make


@pytest.fixture
def plan_arn():
    return lambda name: PLAN_ARN + name
