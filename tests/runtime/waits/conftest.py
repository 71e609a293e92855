"""The launcher's own code on the sandbox's SageMaker, in this process and on a clock that stands until told.

No server and no Lambda: a small interpreter enters the states that the constructs render, the runtime's services do
what they do in AWS, moto keeps the run table, and the sweep comes every five minutes.
"""

from __future__ import annotations

import contextlib
import functools
import heapq
import itertools
import json
from datetime import UTC, datetime

import pytest
from botocore import xform_name
from botocore.exceptions import ClientError

from constructs_lib.runtime.composition import build
from constructs_lib.runtime.errors import CallThrottledError, LaunchUnclear, SweepError
from constructs_lib.runtime.handlers.launcher import route
from constructs_lib.sandbox.clock import Timer
from constructs_lib.sandbox.context import Context
from constructs_lib.sandbox.errors import ServiceError
from constructs_lib.sandbox.faults import Faults
from constructs_lib.sandbox.modelcheck import operation_model
from constructs_lib.sandbox.sagemaker import Capacity, SageMaker
from constructs_lib.sandbox.service_quotas import ServiceQuotas

START = 1_800_000_000.0
SWEEP = 300
EXECUTION = "arn:aws:states:us-east-1:123456789012:execution:"


class Clock:
    """Time for the sandbox (now, call_at) and for the runtime (time, sleep)."""

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
        self.go_to(self._now + seconds)

    def go_to(self, target):
        while self._timers and self._timers[0][0] <= target:
            t, _, timer = heapq.heappop(self._timers)
            self._now = max(self._now, t)
            if not timer.cancelled:
                timer.callback()
        self._now = max(self._now, target)


class Client:
    """A botocore client's methods on a service of the sandbox."""

    def __init__(self, service, handle):
        self._service, self._handle = service, handle
        self._operations = {}

    def __getattr__(self, method):
        return functools.partial(self._call, method)

    def _call(self, method, **request):
        from botocore.session import get_session  # noqa: PLC0415 - once a client

        if not self._operations:
            names = get_session().get_service_model(self._service).operation_names
            self._operations = {xform_name(name): name for name in names}
        operation = self._operations[method]
        try:
            answer = self._handle(operation, request)
        except ServiceError as error:
            told = {"Error": {"Code": error.code, "Message": error.message}}
            raise ClientError(told | {"ResponseMetadata": {"HTTPStatusCode": 400}}, operation) from error
        shape = operation_model(self._service, operation).output_shape
        return parsed(answer, shape) if shape else {}


def parsed(value, shape):
    """Return an answer as botocore parses it: with datetimes."""
    if shape.type_name == "structure":
        return {key: parsed(inner, shape.members[key]) for key, inner in value.items()}
    if shape.type_name == "list":
        return [parsed(inner, shape.member) for inner in value]
    return datetime.fromtimestamp(value, UTC) if shape.type_name == "timestamp" else value


class Machine:
    """One execution of a definition of ours: Pass, Choice and the one Task, with its retries and its time limit."""

    def __init__(self, world, definition, name):
        self.world, self.definition, self.arn = world, definition, EXECUTION + name
        self.status, self.error, self.output, self.ended = "RUNNING", None, None, None
        self.token, self.backstop, self.tokens = None, None, 0

    def start(self):
        self.enter(self.definition["StartAt"], {})

    def enter(self, name, data):
        state = self.definition["States"][name]
        if state["Type"] == "Choice":
            (rule,) = state["Choices"]
            self.enter(rule["Next"] if is_present(data, rule["Variable"]) else state["Default"], data)
        elif state["Type"] == "Pass":
            told = self.filled(state["Parameters"], data, name, 0) if "Parameters" in state else data
            self.leave(state, looked_up(told, state.get("OutputPath", "$")))
        else:
            self.data, self.state, self.name = data, state, name
            seconds = looked_up(data, state["TimeoutSecondsPath"])
            self.backstop = self.world.clock.call_at(self.world.clock.now() + seconds, self.time_is_up)
            self.attempt(0)

    def attempt(self, number):
        if self.status != "RUNNING":
            return
        self.tokens += 1
        self.token = f"{self.arn}#{self.tokens}"
        payload = self.filled(self.state["Parameters"]["Payload"], self.data, self.name, number)
        try:
            route(json.loads(json.dumps(payload)), self.world.services)
        except (LaunchUnclear, CallThrottledError):
            assert number < 8, "the launcher failed again and again"
            wait = 2.0 ** (number + 1)
            self.world.clock.call_at(self.world.clock.now() + wait, lambda: self.attempt(number + 1))

    def time_is_up(self):
        self.enter(self.state["Catch"][0]["Next"], self.data)

    def task_ended(self, answer):
        self.token = None
        self.backstop.cancel()
        told = self.data | {"run": answer} if "ResultPath" in self.state else answer
        self.leave(self.state, told)

    def task_failed(self, error, cause):
        if error == "LauncherFailed":
            self.attempt(1)
            return
        self.token = None
        self.backstop.cancel()
        self.status, self.error, self.output = "FAILED", error, json.loads(cause)
        self.ended = self.world.clock.now()

    def leave(self, state, data):
        if state.get("End"):
            self.status, self.output = "SUCCEEDED", data
            self.ended = self.world.clock.now()
        else:
            self.enter(state["Next"], data)

    def filled(self, template, data, name, number):
        """Return a payload template with its paths looked up."""
        context = {
            "Execution": {"Id": self.arn, "RedriveCount": 0, "Input": {}},
            "State": {
                "Name": name,
                "RetryCount": number,
                "EnteredTime": datetime.fromtimestamp(self.world.clock.now(), UTC).isoformat(),
            },
            "Task": {"Token": self.token},
        }

        def fill(value):
            if not isinstance(value, dict):
                return value
            return dict(
                (key[:-2], looked_up(context, inner[1:]) if inner.startswith("$$") else looked_up(data, inner))
                if key.endswith(".$")
                else (key, fill(inner))
                for key, inner in value.items()
            )

        return fill(template)


def looked_up(data, path):
    for part in filter(None, path.removeprefix("$").split(".")):
        data = data[part]
    return data


def is_present(data, path):
    with contextlib.suppress(KeyError, TypeError):
        looked_up(data, path)
        return True
    return False


class World:
    """An account with scarce capacity, the launcher in it, and executions."""

    def __init__(self, dynamodb, table, capacity, *, hears=True, sweep=SWEEP, choose=None):
        self.clock, self.hears, self.period = Clock(), hears, sweep
        self.machines = {}
        context = Context(self.clock, Faults(), self.emit, client=None)
        extra = {"choose": choose} if choose else {}
        self.sagemaker = SageMaker(context, Capacity.of(capacity), **extra)
        sagemaker = Client("sagemaker", self.sagemaker.handle)
        quotas = Client("service-quotas", ServiceQuotas(context, {}).handle)
        self.services = build(
            create=sagemaker,
            sagemaker=sagemaker,
            stepfunctions=self,
            dynamodb=dynamodb,
            table=table,
            launcher_timeout=60,
            clock=self.clock,
            write=lambda line: None,
            model=lambda client: None,
            quotas=lambda: quotas,
            subnets=lambda: None,
        )
        self.clock.call_at(START + self.period, self.sweep)

    def start(self, definition, name, after):
        machine = self.machines[EXECUTION + name] = Machine(self, definition, name)
        self.clock.call_at(START + after, machine.start)

    def sweep(self):
        """Sweep, and again later; one with nobody to look at costs time and changes nothing, and is left out."""
        if any(self.sagemaker_jobs()):
            with contextlib.suppress(SweepError):
                route({"action": "sweep"}, self.services)
        self.clock.call_at(self.clock.now() + self.period, self.sweep)

    def sagemaker_jobs(self):
        return (m for m in self.machines.values() if m.tokens and m.status == "RUNNING")

    def emit(self, source, kind, detail, resources):
        if self.hears:
            event = {"source": source, "detail-type": kind, "detail": detail}
            self.clock.call_at(self.clock.now() + 1, lambda: route(event, self.services))

    # Step Functions' client.

    def describe_execution(self, **request):
        return {"status": self.machines[request["executionArn"]].status, "redriveCount": 0}

    def send_task_success(self, **request):
        self.waiting(request["taskToken"]).task_ended(json.loads(request["output"]))

    def send_task_failure(self, **request):
        self.waiting(request["taskToken"]).task_failed(request["error"], request["cause"])

    def waiting(self, token):
        machine = self.machines[token.partition("#")[0]]
        if machine.token != token:
            told = {"Error": {"Code": "TaskTimedOut", "Message": "Task Timed Out"}}
            raise ClientError(told, "SendTask")
        return machine


@pytest.fixture
def make_world(dynamodb, make_table):
    """Make worlds; each has a run table of its own."""
    return lambda capacity, **given: World(dynamodb, make_table(), capacity, **given)
