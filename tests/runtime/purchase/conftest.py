"""Small fakes that run call by call: time, DynamoDB, a function's run and a stack's life; the worlds are made of them.

Every run of a handler is a thread that waits before each of its AWS calls until the test lets it go on, die or lose the
answer.
"""

from __future__ import annotations

import copy
import heapq
import itertools
import re
import threading
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from constructs_lib.model.purchase_timing import BUYER_TIMEOUT
from constructs_lib.sandbox.clock import Timer

ACCOUNT, REGION = "123456789012", "us-east-1"
START = datetime(2026, 12, 1, tzinfo=UTC).timestamp()
SPENDING = ("create_training_plan", "extend_training_plan")
RETRIES = 2  # of Lambda, for an event whose run died


def key(what="nightly#1", last_day="2026-12-31"):
    return f"{what}@{last_day}@{ACCOUNT}/{REGION}"


def refusal(code, message="", status=400):
    answer = {"Error": {"Code": code, "Message": message}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(answer, "Call")


class Died(BaseException):
    """The Lambda was killed: nothing may catch it."""


class Clock:
    """Time that moves only when told, for the sandbox and for the runtime."""

    def __init__(self):
        self._now, self._timers, self._sequence = START, [], itertools.count()

    def now(self):
        return self._now

    time = now

    def call_at(self, t, callback):
        timer = Timer(t, callback)
        heapq.heappush(self._timers, (t, next(self._sequence), timer))
        return timer

    def sleep(self, seconds):
        target = self._now + seconds
        while self._timers and self._timers[0][0] <= target:
            t, _, timer = heapq.heappop(self._timers)
            self._now = max(self._now, t)
            if not timer.cancelled:
                timer.callback()
        self._now = target


class DynamoDB:
    """As much of DynamoDB as the purchase table uses; a test holds it against moto's."""

    SET = re.compile(r"#(\w+) = :set_(\w+)")

    def __init__(self):
        self.items = {}

    def update_continuous_backups(self, **_):
        return {}

    def get_item(self, Key, **_):  # noqa: N803  AWS's names
        item = self.items.get(Key["identity"]["S"])
        return {"Item": item} if item else {}

    def scan(self, **_):
        return {"Items": list(self.items.values())}

    def update_item(self, Key, UpdateExpression, ConditionExpression, ExpressionAttributeValues, **_):  # noqa: N803
        item = self.items.get(Key["identity"]["S"], {})
        if ConditionExpression == "attribute_not_exists(#version)":
            holds = "version" not in item
        else:
            assert ConditionExpression == "#version = :version"
            holds = item.get("version") == ExpressionAttributeValues[":version"]
        if not holds:
            raise refusal("ConditionalCheckFailedException")
        sets = {name: ExpressionAttributeValues[f":set_{name}"] for name, _ in self.SET.findall(UpdateExpression)}
        self.items[Key["identity"]["S"]] = {**Key, **item, **sets}
        return {}


class Client:
    """One AWS client of one run: every call first waits for the test."""

    def __init__(self, run, service, call):
        self._run, self._service, self._call = run, service, call

    def __getattr__(self, method):
        def call(**request):
            return self._run.at_call(f"{self._service}.{method}", lambda: self._call(method, request), request)

        return call


class Run(threading.Thread):
    """One invocation of a function. `at` is the call it waits before; `step` lets it go on to the next one."""

    def __init__(self, world, work, event=None):
        super().__init__(daemon=True)
        self.world, self.work, self.event, self.started_at = world, work, event, world.clock.now()
        self.at, self.fault, self.result, self.error, self.done = "", "", None, None, False
        self.steps, self.previous = 0, None
        self._parked, self._go = threading.Lock(), threading.Lock()
        self._parked.acquire()
        self._go.acquire()
        self.start()
        self._parked.acquire()

    def run(self):
        try:
            self.result = self.work(self)
        except (Exception, Died) as error:  # noqa: BLE001  whatever a Lambda raises, its caller sees a failure
            self.error = error
        self.done = True
        self._parked.release()

    def at_call(self, call, do, request):
        self.at, method = call, call.partition(".")[2]
        self._parked.release()
        self._go.acquire()
        fault, self.fault = self.fault, ""
        if fault == "timeout":
            raise Died
        if fault:
            side = "after" if fault.endswith("after") else "before"
            self.world.windows[call, side] += 1
        if method in SPENDING and not fault.endswith("before"):
            self.world.sending(self, request)
        if fault == "throttled-before":
            raise refusal("ThrottlingException", "Rate exceeded")
        if fault == "late":
            self.world.under_way.append((self.event, request, self.world.clock.now()))
        stack = self.world.stack_of(self.event)
        self.previous = call, stack is not None and stack.forward
        answer = do() if not fault or fault.endswith("after") else None
        if fault.startswith("die"):
            raise Died
        if fault == "broken-after":
            raise refusal("InternalFailure", "try again", 500)
        if fault:
            raise ReadTimeoutError(endpoint_url="https://aws")
        return answer

    def step(self, fault=""):
        """Do the call it waits before, with a fault of `FAULTS`, or ``late`` for a purchase call."""
        over = self.world.clock.now() - self.started_at > BUYER_TIMEOUT
        self.steps += 1
        assert self.steps < 500, f"a run calls for ever: {self.at}"
        self.fault = "timeout" if over else fault or self.world.planned.pop(self.at, "")
        self.world.trace.append((self.world.clock.now() - START, self.name, self.at, self.fault))
        self._go.release()
        self._parked.acquire()
        assert not self.world.broken, self.world.broken
        if self.done:
            self.world.ended(self)
        return self

    def until(self, call):
        while not self.done and self.at != call:
            self.step()
        assert not self.done, f"never came to {call}"
        return self

    def finish(self):
        while not self.done:
            self.step()
        return self


class Stack:
    """A stack with one training plan in it, as CloudFormation runs it: forward, rolled back, deleted, made again."""

    _numbers = itertools.count(1)

    def __init__(self, world, name="lab"):
        self.world, self.name, self.phase, self.logical_id = world, name, "none", "Nightly"
        self.properties, self.target, self.pending, self.physical_id = None, None, None, ""
        self.stale = None  # while set, the status that is shown, whatever happened since
        self._rename()

    def _rename(self):
        self.arn = f"arn:aws:cloudformation:{REGION}:{ACCOUNT}:stack/{self.name}/{next(Stack._numbers)}"

    @property
    def status(self):
        return self.stale or {
            "create": "CREATE_IN_PROGRESS",
            "update": "UPDATE_IN_PROGRESS",
            "rollback": "UPDATE_ROLLBACK_IN_PROGRESS",
            "idle": "UPDATE_COMPLETE",
            "failed": "ROLLBACK_COMPLETE",
        }.get(self.phase)

    @property
    def forward(self):
        return self.status in ("CREATE_IN_PROGRESS", "UPDATE_IN_PROGRESS")

    def deploy(self, **changes):
        """Deploy, with some properties changed (None takes one away); returns the event, or None if nothing changes."""
        base = self.properties or self.world.properties
        wanted = {name: value for name, value in {**base, **changes}.items() if value is not None}
        if self.phase in ("none", "failed"):
            self.phase, self.target = "create", wanted
            self._rename()
            return self._event("Create", wanted)
        assert self.phase == "idle", self.phase
        if wanted == self.properties:
            return None
        self.phase, self.target = "update", wanted
        return self._event("Update", wanted, self.properties)

    def cancel(self):
        """Cancel the deploy, or let CloudFormation lose patience, or another resource fail."""
        assert self.phase in ("create", "update")
        if self.phase == "create":
            self.phase, self.target, self.pending = "failed", None, None  # Retain: no Delete is sent
            return None
        old, self.target, self.phase = self.target, None, "rollback"
        return self._event("Update", self.properties, old)

    def move(self):
        """Give the construct another path and so another logical id: a Create, and no Delete since it is retained."""
        assert self.phase == "idle"
        self.logical_id += "2"
        self.phase, self.target = "update", self.properties
        return self._event("Create", self.properties)

    def delete(self):
        """Delete the stack: no call is made."""
        self.phase, self.properties, self.pending, self.physical_id = "none", None, None, ""

    def answered(self, event, answer):
        if event["RequestId"] != self.pending:
            return
        self.pending = None
        if answer["Status"] == "SUCCESS":
            if self.phase != "rollback":
                self.properties = self.target
            self.phase, self.target, self.physical_id = "idle", None, answer["PhysicalResourceId"]
            return
        assert self.phase != "rollback", f"P7 a rollback is refused: {answer['Reason']}"
        self.cancel()

    def _event(self, kind, properties, old=None):
        number = next(Stack._numbers)
        event = {
            "RequestType": kind,
            "StackId": self.arn,
            "RequestId": f"request-{number}",
            "LogicalResourceId": self.logical_id,
            "ResourceProperties": copy.deepcopy(properties),
        }
        if kind == "Update":
            event |= {"OldResourceProperties": copy.deepcopy(old), "PhysicalResourceId": self.physical_id}
        self.pending = event["RequestId"]
        self.world.queue.append((event, self.world.clock.now(), RETRIES))
        return event


@pytest.fixture(scope="session")
def fakes():
    """The parts of a world."""
    classes = {"Clock": Clock, "DynamoDB": DynamoDB, "Client": Client, "Run": Run, "Stack": Stack, "Died": Died}
    return SimpleNamespace(**classes, start=START, refusal=refusal)


@pytest.fixture(scope="session")
def purchase_key():
    """Write a purchase key for this account and region."""
    return key


@pytest.fixture(scope="session")
def refused():
    """Make the error of an AWS call: code, message, status."""
    return refusal
