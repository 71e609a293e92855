"""Declarations, keepers and a SageMaker on one clock, with a fault at any call that a test wants."""

from __future__ import annotations

import copy
import json
import re
from collections import Counter
from functools import cache

import botocore.session
import pytest
from botocore.exceptions import BotoCoreError, ClientError, ReadTimeoutError

from constructs_lib.model.endpoints_item import EndpointItem
from constructs_lib.runtime.adapters.clients import CALL_LIFE
from constructs_lib.runtime.endpoint_keeper import api_shapes, build
from constructs_lib.runtime.errors import KeepError
from constructs_lib.runtime.handlers.endpoint_keeper import route
from constructs_lib.runtime.handlers.endpoint_resource import outcome
from constructs_lib.runtime.items import from_item
from constructs_lib.sandbox.errors import ServiceError

NAME, OWNER, TABLE = "chat", "lab/Chat", "endpoints"
SET = re.compile(r"#(\w+) = :set_(\w+)")
STACK = "arn:aws:cloudformation:us-east-1:123456789012:stack/lab/1"
HOUR, MINUTE = 3600.0, 60.0
PERIOD, MARGIN = 5 * MINUTE, 45 * MINUTE


class Died(BaseException):
    """The Lambda was killed: nothing may catch it."""


@cache
def shapes():
    session = botocore.session.get_session()
    made = [
        session.create_client(n, region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="x")
        for n in ("sagemaker", "application-autoscaling")
    ]
    return api_shapes(*made)


def variant(model, count, plan="", instance_type="ml.p5.48xlarge", **more):
    on = {
        "CapacityReservationConfig": {
            "CapacityReservationPreference": "capacity-reservations-only",
            "MlReservationArn": plan,
        }
    }
    made = {"VariantName": "AllTraffic", "ModelName": model, "InstanceType": instance_type}
    return made | {"InitialInstanceCount": str(count)} | (on if plan else {}) | more


def config(*args, **more):
    return {"ProductionVariants": [variant(*args, **more)]}


class DynamoDB:
    """As much of DynamoDB as the endpoint table uses; a test holds the table against moto's."""

    def __init__(self, refused):
        self.items, self.refused = {}, refused

    def check(self, key, condition, values):
        item = self.items.get(key, {})
        holds = "version" not in item if "not_exists" in condition else item.get("version") == values[":version"]
        if not holds:
            raise self.refused("ConditionalCheckFailedException")

    def get_item(self, Key, **_):  # noqa: N803  AWS's names
        item = self.items.get(Key["name"]["S"])
        return {"Item": item} if item else {}

    def scan(self, **_):
        return {"Items": list(self.items.values())}

    def update_item(self, Key, UpdateExpression, ConditionExpression, ExpressionAttributeValues, **_):  # noqa: N803
        name = Key["name"]["S"]
        self.check(name, ConditionExpression, ExpressionAttributeValues)
        sets = {name: ExpressionAttributeValues[f":set_{name}"] for name, _ in SET.findall(UpdateExpression)}
        self.items[name] = {**Key, **self.items.get(name, {}), **sets}
        return {}

    def delete_item(self, Key, ConditionExpression, ExpressionAttributeValues, **_):  # noqa: N803
        self.check(Key["name"]["S"], ConditionExpression, ExpressionAttributeValues)
        del self.items[Key["name"]["S"]]
        return {}


class Client:
    """One AWS client: every call goes through the world's faults."""

    def __init__(self, world, service, call):
        self._world, self._service, self._call = world, service, call

    def __getattr__(self, method):
        operation = "".join(word.capitalize() for word in method.split("_"))
        return lambda **request: self._world.call(f"{self._service}.{operation}", self._call, method, request)


class World:
    """One stack with one endpoint in one account."""

    def __init__(self, sagemaker, refused):
        self.sagemaker, self.refused, self.clock = sagemaker, refused, sagemaker.clock
        self.dynamodb = DynamoDB(refused)
        self.clock.sleep = self.pass_time
        self.faults, self.count, self.windows = {}, 0, Counter()
        self.under_way, self.published, self.lines, self.lost = [], [], [], 0
        self.properties, self.stack_status, self.trace, self.numbers = None, "CREATE_IN_PROGRESS", [], 0
        self.in_run, self.changing, self.most_calls = False, 0, 0
        self.to = self.services()

    # --- what the functions are given
    def services(self):
        def aws(method, request):
            operation = "".join(word.capitalize() for word in method.split("_"))
            try:
                return self.sagemaker.handle(operation, request)
            except ServiceError as error:
                raise self.refused(error.code, error.message, error.status) from error

        def local(method, request):
            return getattr(self, f"_{method}")(**request)

        self.apply = aws
        return build(
            change=Client(self, "sagemaker", aws),
            sagemaker=Client(self, "sagemaker", aws),
            scaling=Client(self, "scaling", aws),
            dynamodb=Client(self, "dynamodb", lambda method, request: getattr(self.dynamodb, method)(**request)),
            cloudformation=Client(self, "cloudformation", local),
            sns=Client(self, "sns", local),
            functions=Client(self, "lambda", local),
            table=TABLE,
            shapes=shapes(),
            topic="topic",
            keeper="keeper",
            clock=self.clock,
            write=self.lines.append,
            model=lambda client: None,
        )

    def _describe_stacks(self, StackName):  # noqa: N803
        return {"Stacks": [{"StackStatus": self.stack_status}]}

    def _publish(self, Subject, Message, **_):  # noqa: N803
        self.published.append((Subject, Message))

    def _invoke(self, Payload, **_):  # noqa: N803
        if not self.in_run:
            self.run(json.loads(Payload))

    def call(self, name, do, method, request):
        """Make a call, with the fault that is planned for it."""
        self.count += 1
        fault = self.faults.pop(self.count, "") or self.faults.pop(name, "")
        mutating = name.startswith("sagemaker.") and not re.search("Describe|List", name)
        self.changing += mutating and self.in_run
        if not fault:
            return do(method, request)
        self.trace.append((self.clock.now, name, fault))
        self.windows[name, "after" if fault.endswith("after") else "before"] += 1
        if fault == "throttled":
            raise self.refused("ThrottlingException", "Rate exceeded")
        self.lost += name == "sagemaker.UpdateEndpoint"
        if fault == "late":
            if not mutating:
                raise ReadTimeoutError(endpoint_url="https://aws")
            self.under_way.append((do, method, copy.deepcopy(request), self.clock.now))
        if fault.endswith("after"):
            do(method, request)
        if fault.startswith("die"):
            raise Died
        raise ReadTimeoutError(endpoint_url="https://aws")

    def arrive(self):
        """The calls that nobody waits for any more take effect, unless they are so old that they never will."""
        while self.under_way:
            do, method, request, sent = self.under_way.pop(0)
            if self.clock.now - sent > CALL_LIFE:
                continue
            self.trace.append((self.clock.now, "arrives", method))
            careful, self.sagemaker.careful = self.sagemaker.careful, False
            try:
                do(method, request)
            except Exception as error:  # noqa: BLE001  refused, and nobody listens
                self.trace.append((self.clock.now, "refused", str(error)))
            self.sagemaker.careful = careful

    # --- the stack
    def declaration(self, plan, *, model="m1", count=2, on_expiry=None, margin=MARGIN, **more):
        return {
            "ServiceToken": "function",
            "EndpointName": NAME,
            "Owner": OWNER,
            "TrainingPlanArn": plan.arn,
            "EndpointConfig": config(model, count, plan.arn),
            "OnExpiry": on_expiry or {"Action": "delete"},
            "MarginSeconds": str(int(margin)),
            "PeriodSeconds": str(int(PERIOD)),
            **more,
        }

    def to_on_demand(self, model="m1", count=1, **more):
        return {"Action": "to_on_demand", "EndpointConfig": config(model, count, instance_type="ml.g5.2xlarge"), **more}

    def to_plan(self, plan, model="m1", count=2, **more):
        return {
            "Action": "to_plan",
            "EndpointConfig": config(model, count, plan.arn),
            "TrainingPlanArn": plan.arn,
            **more,
        }

    def deploy(self, properties):
        """Let CloudFormation create or update the resource; returns the answer."""
        kind = "Update" if self.properties else "Create"
        old, self.stack_status = self.properties, f"{kind.upper()}_IN_PROGRESS"
        answer = self.event(kind, properties, old)
        if answer is not None and answer["Status"] == "SUCCESS":
            self.properties = properties
        return answer

    def delete(self, properties=None):
        answer = self.event("Delete", properties or self.properties)
        if answer is not None and answer["Status"] == "SUCCESS" and properties is None:
            self.properties = None
        return answer

    def event(self, kind, properties, old=None):
        self.numbers += 1
        event = {
            "RequestType": kind,
            "StackId": STACK,
            "RequestId": f"r{self.numbers}",
            "LogicalResourceId": "Chat",
            "ResourceProperties": copy.deepcopy(properties),
        }
        if kind != "Create":
            event["PhysicalResourceId"] = (old or properties)["EndpointName"]
        if old:
            event["OldResourceProperties"] = copy.deepcopy(old)
        try:
            return outcome(event, self.clock.now + 840, self.to)
        except Died:
            return None  # Lambda delivers the event again

    def override(self, **values):
        faults, self.faults = self.faults, {}
        self.to.reconciling.means.table.change(NAME, lambda item: item.with_override(**values))
        self.faults = faults

    # --- time
    def run(self, event=None):
        """Invoke the keeper once."""
        self.in_run, self.changing, before = True, 0, len(self.trace)
        try:
            calls = route(event or {"action": "reconcile"}, self.to)["calls"]
        except Died:
            return None
        except (KeepError, ClientError, BotoCoreError):
            if len(self.trace) == before:  # nothing that the test did explains it
                raise
            return None
        finally:
            self.in_run = False
            self.most_calls = max(self.most_calls, self.changing)
        return calls

    def pass_time(self, seconds):
        self.sagemaker.pass_to(self.clock.now + seconds)

    def go(self, until):
        """Run once a period until a moment."""
        while self.clock.now + PERIOD <= until:
            self.pass_time(PERIOD)
            self.run()
        self.pass_time(until - self.clock.now)

    def settle(self, periods=14):
        self.go(self.clock.now + periods * PERIOD)

    # --- what is seen
    @property
    def item(self):
        item = self.dynamodb.items.get(NAME)
        return EndpointItem.from_dict(from_item(item)) if item else None

    @property
    def endpoint(self):
        return self.sagemaker.endpoints.get(NAME)

    def happened(self, kind):
        return [row for row in self.sagemaker.log if row[1].startswith(kind)]


@pytest.fixture(scope="session")
def make_world(small_sagemaker, refused):
    return lambda sagemaker=None: World(sagemaker or small_sagemaker(), refused)


@pytest.fixture
def small_dynamodb(refused):
    return DynamoDB(refused)


@pytest.fixture
def world(make_world):
    return make_world()


@pytest.fixture
def plan(world):
    """A plan of four instances whose segment begins in an hour and lasts two days."""
    start = world.clock.now + HOUR
    return world.sagemaker.plan("nightly", (start, start + 48 * HOUR))


@pytest.fixture
def endpoint_config():
    return config
