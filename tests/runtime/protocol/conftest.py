"""A world in which launchers, sweeps and drains run call by call, in any order a test wants.

The sandbox runs whole Lambdas; it cannot stop one between two of its calls. Here every run of a handler is a thread
that waits before each of its AWS calls until the test lets it go on, die or lose the answer. DynamoDB is moto's.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from typing import Any, NamedTuple

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from constructs_lib.model import RunEnd
from constructs_lib.runtime.adapters.clients import CALL_LIFE
from constructs_lib.runtime.composition import build
from constructs_lib.runtime.handlers.launcher import route

TIMEOUT = 60.0
LAUNCH_TRIES = 7  # one and six retries
EXECUTION = "arn:aws:states:us-east-1:123456789012:execution:Lab-Tune-0011aabb:"


class Died(BaseException):
    """The Lambda was killed: nothing may catch it."""


NAMED_ENDS = set(RunEnd) - {RunEnd.COMPLETED, RunEnd.LAUNCHER_FAILED}


class Answered(NamedTuple):
    entry: Any
    record: dict[str, Any]


class Machine:
    """Step Functions with one execution; ``more`` and ``then``, its further steps, go into its payload."""

    def __init__(self, world, steps=1, name="e", kind="training", **more):
        self.world, self.kind, self.more, self.arn = world, kind, more, EXECUTION + name
        self.then = more.pop("then", [{"request": world.request, "seconds": 9000} for _ in range(steps - 1)])
        self.status, self.phase, self.redrive, self.tries, self.tokens = "NEW", "", 0, 0, 0
        self.step, self.seconds, self.earlier, self.since = 1, 9000, [], 0
        self.answers: list[Answered] = []
        self.went_on: list[dict[str, Any]] = []
        self.broken: list[str] = []
        self.entered = 0  # the state entry, as the world knows it
        self.entry_marks = lambda machine: {"redrive": machine.redrive}

    @property
    def token(self):
        return f"{self.arn}/{self.tokens}" if self.phase in ("launch", "stop") else None

    @property
    def launch(self):
        """Which launch goes on: the execution, the entry of the state, the step of the strategy."""
        return self.arn, self.entered, 1 if self.since != self.redrive else self.step

    def start(self):
        self.status = "RUNNING"
        return self.enter()

    def enter(self, phase="launch", tries=0, again=False):
        self.phase, self.tries, self.tokens = phase, tries, self.tokens + 1
        self.entered += 0 if tries or phase == "stop" or again else 1
        payload = {
            "action": phase,
            "job": "Lab-Tune-0011aabb",
            "kind": self.kind,
            "since": self.since,
            "token": self.token,
            "execution": self.arn,
            "state": "Launch",
            "try": tries,
            "entry": self.entry_marks(self),
            "reasons": ["fastest", None],
            "reason": "TimedOut",
            "request": self.world.request,
            **self.more,
        }
        if self.then:
            payload |= {"then": self.then, "seconds": 9000, "step": self.step, "earlier": self.earlier}
        return self.world.run(payload, token=self.token, made_for=self.launch)

    def lose_launcher(self):
        return self.task_failed(self.token)  # Step Functions misses the launcher's answer and invokes again

    def limit_fires(self):
        self.since = self.redrive  # the state's own timeout: Stop notes the redrive count
        return self.enter("stop")

    def aborted(self):
        self.end("ABORTED")

    def end(self, status):
        self.status, self.phase = status, "ended"
        if status != "SUCCEEDED":
            detail = {"executionArn": self.arn, "status": status}
            self.world.events.append({"source": "aws.states", "detail": detail})

    def redriven(self):
        self.status, self.redrive = "RUNNING", self.redrive + 1
        return self.enter()

    def task_failed(self, token):
        if token != self.token:
            return None
        if self.tries + 1 < LAUNCH_TRIES:
            self.world.clock.sleep(min(2 ** (self.tries + 1), 60))
            return self.enter(self.phase, self.tries + 1)
        return self.end("FAILED")

    def task_ended(self, token, record):
        if token != self.token:
            raise self.world.refused("TaskTimedOut", "Task Timed Out")
        if "next" in record:
            self.went_on.append(record)
            self.step, self.seconds, self.earlier = record["next"], record["seconds"], record["earlier"]
            self.since = self.redrive
            if self.earlier:  # else it was sent back to the first step
                self.judge(self.earlier[-1], self.step - 1)
            self.enter(again=True)
            return
        self.judge(record, self.launch[2])
        self.answers.append(Answered(self.entered, record))
        self.end("SUCCEEDED" if record["end"] == "Completed" else "FAILED")

    def judge(self, record, step):
        job = self.world.sagemaker.jobs.get(record["job_name"])
        if job is not None and job.made_for != (self.arn, self.entered, step) and record["status"] != "NotCreated":
            self.broken.append("an older job's result is taken for this run")


class Client:
    """One AWS client of one run: every call first waits for the test."""

    def __init__(self, run, service, call):
        self.run, self.service, self.do = run, service, call

    def __getattr__(self, method):
        def call(**request):
            return self.run.at_call(f"{self.service}.{method}", lambda: self.do(method, request), request)

        return call


class Run(threading.Thread):
    """One invocation of a handler. `at` is the call it waits before; `step` lets it go on to the next one."""

    def __init__(self, world, work, token=None, made_for=None, timeout=TIMEOUT):
        super().__init__(daemon=True)
        self.started_at, self.timeout = world.clock.now, timeout
        self.world, self.work, self.token, self.made_for = world, work, token, made_for
        self.at, self.asks, self.fault = "", {}, ""
        self.result, self.error, self.done = None, None, False
        self._parked, self._go = threading.Semaphore(0), threading.Semaphore(0)
        self.start()
        self._parked.acquire()

    def run(self):
        try:
            self.result = self.work(self.world.services(self))
        except (Exception, Died) as error:  # noqa: BLE001  whatever a Lambda raises, its caller sees a failure
            self.error = error
        self.done = True
        self._parked.release()

    def at_call(self, call, do, request):
        self.at, self.asks = call, request
        self._parked.release()
        self._go.acquire()
        fault, self.fault = self.fault, ""
        if fault == "timeout":
            raise Died
        if fault:
            self.world.windows[call, "before" if fault.endswith("before") or fault == "late" else "after"] += 1
        if fault == "late":
            method = self.at.partition(".")[2]
            self.world.under_way.append((method, request, self.made_for, self.world.clock.now))
        elif not fault.endswith("before"):
            answer = do()
        if fault.startswith("die"):
            raise Died
        if fault:
            raise ReadTimeoutError(endpoint_url="https://aws")
        return answer

    def step(self, fault=""):
        """Do the call it waits before; a fault is die-before, die-after, lost-before, lost-after or late."""
        over = self.world.clock.now - self.started_at > self.timeout
        self.fault = "timeout" if over else fault or self.world.planned.pop(self.at, "")
        self._go.release()
        self._parked.acquire()
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


class World:
    def __init__(self, dynamodb, table, sagemaker, request, refused):
        self.clock, self.dynamodb, self.table = sagemaker.clock, dynamodb, table
        self.sagemaker, self.request, self.refused = sagemaker, request, refused
        self.runs: list[Run] = []
        self.under_way: list[tuple[str, dict[str, Any], Any, float]] = []
        self.events: list[dict[str, Any]] = []
        self.lines: list[dict[str, Any]] = []
        self.windows: Counter[tuple[str, str]] = Counter()
        self.machines: list[Machine] = []
        self.judge_model = lambda client: None
        self.started: dict[str, dict[str, Any]] = {}
        self.approved: dict[str, list[str]] = {}
        self.quotas: dict[str, float] | ClientError = {}
        self.subnets: dict[str, tuple[str, str]] = {}
        self.planned: dict[str, str] = {}  # the fault that the next call of a name meets

    def machine(self, **kw):
        self.machines.append(Machine(self, name=f"e{len(self.machines)}", **kw))
        return self.machines[-1]

    def services(self, run):
        def own(method, request):
            return getattr(self, method)(**request)

        def stepfunctions(method, request):
            return self.states(method, **request)

        def sagemaker(method, request):
            return self.sagemaker.call(method, request, run.made_for)

        jobs = Client(run, "sagemaker", sagemaker)
        return build(
            create=jobs,
            sagemaker=jobs,
            stepfunctions=Client(run, "stepfunctions", stepfunctions),
            dynamodb=Client(run, "dynamodb", lambda method, request: getattr(self.dynamodb, method)(**request)),
            table=self.table,
            launcher_timeout=TIMEOUT,
            clock=self.clock,
            write=lambda line: self.lines.append(json.loads(line)),
            model=self.judge_model,
            approved=self.approved,
            quotas=lambda: Client(run, "quotas", own),
            subnets=lambda: Client(run, "ec2", own),
        )

    def list_service_quotas(self, ServiceCode, MaxResults):  # noqa: N803  AWS's names
        if isinstance(self.quotas, ClientError):
            raise self.quotas
        return {"Quotas": [{"QuotaName": name, "Value": value} for name, value in self.quotas.items()]}

    def describe_subnets(self, SubnetIds):  # noqa: N803  AWS's names
        if missing := [name for name in SubnetIds if name not in self.subnets]:
            raise self.refused("InvalidSubnetID.NotFound", f"{missing} does not exist")
        keys = ("AvailabilityZone", "AvailabilityZoneId")
        return {"Subnets": [dict(zip(keys, self.subnets[name], strict=True)) for name in SubnetIds]}

    def states(self, method, **request):
        if method == "start_execution":
            return self.start_execution(**request)
        arn = request.get("executionArn") or request["taskToken"].rpartition("/")[0]
        machine = next(machine for machine in self.machines if machine.arn == arn)
        if method == "describe_execution":
            return {"status": machine.status, "redriveCount": machine.redrive}
        if method == "send_task_success":
            machine.task_ended(request["taskToken"], json.loads(request["output"]))
        elif request["error"] in NAMED_ENDS:
            machine.task_ended(request["taskToken"], json.loads(request["cause"]))
        elif request["taskToken"] != machine.token:
            raise self.refused("TaskTimedOut", "Task Timed Out")
        else:
            machine.task_failed(request["taskToken"])
        return {}

    def start_execution(self, **request):
        if request["name"] in self.started:
            raise self.refused("ExecutionAlreadyExists", "the name is used")
        self.started[request["name"]] = request
        return {"executionArn": "arn"}

    # --- runs
    def run(self, event, token=None, made_for=None):
        self.runs.append(Run(self, lambda services: route(event, services), token, made_for))
        return self.runs[-1]

    def ended(self, run):
        if run in self.runs:
            self.runs.remove(run)
        if run.error is not None and run.token is not None:
            for machine in self.machines:
                machine.task_failed(run.token)

    def sweep(self):
        return self.run({"action": "sweep"})

    def drain(self):
        self.runs.append(Run(self, lambda services: services.draining.drain(), timeout=900))
        return self.runs[-1]

    def allow(self):
        self.runs.append(Run(self, lambda services: services.draining.allow()))
        return self.runs[-1]

    deliver = run

    # --- what the world does by itself
    def arrive(self):
        """The creates that were under way take effect, unless they are so old that they never will."""
        while self.under_way:
            method, request, made_for, sent = self.under_way.pop(0)
            if self.clock.now - sent > CALL_LIFE:
                continue
            try:
                self.sagemaker.call(method, request, made_for)
            except ClientError:
                continue  # the name is taken, or refused: nobody listens

    def show(self):
        for job in self.sagemaker.jobs.values():
            job.visible = job.tagged = True

    def end_job(self, name, status, reason="", secondary=""):
        job = self.sagemaker.jobs[name]
        job.end(status, self.clock.now, reason, secondary)
        self.events.append({"source": "aws.sagemaker", "detail": {f"{job.noun}Name": name}})

    def settle(self, *, events=True, rounds=8):
        """Let everything that needs no fault and no user happen: runs end, lags pass, stops complete, sweeps come."""
        for _ in range(rounds):
            while self.runs:
                assert not self.runs[0].done, f"it ended before its first call: {self.runs[0].error!r}"
                self.runs[0].finish()
            self.arrive()
            self.show()
            for name, job in self.sagemaker.jobs.items():
                if job.status == "Stopping":
                    self.end_job(name, "Stopped")
            waiting, self.events = self.events, []
            for event in waiting if events else ():
                self.deliver(event).finish()
            self.clock.sleep(301)
            self.sweep().finish()

    # --- what must hold
    def rows(self):
        items = self.dynamodb.scan(TableName=self.table, ConsistentRead=True)["Items"]
        return {item["name"]["S"]: item for item in items if "execution" in item}

    def open_rows(self):
        return [name for name, item in self.rows().items() if "open" in item]

    def check(self):
        """What must hold at any moment."""
        for machine in self.machines:
            assert not machine.broken, machine.broken
            jobs = [n for n in self.sagemaker.live() if self.sagemaker.jobs[n].made_for[0] == machine.arn]
            assert len(jobs) <= 1, f"two jobs of one launch at once: {jobs}"
        counted = Counter(line["run"]["job_name"] for line in self.lines)
        assert not [name for name, times in counted.items() if times > 1], f"counted twice: {counted}"

    def check_settled(self):
        """What must hold once everything has settled."""
        self.check()
        live, waiting = self.sagemaker.live(), self.open_rows()
        running = [machine for machine in self.machines if machine.status == "RUNNING"]
        for machine in running:
            assert machine.phase == "launch", f"the machine waits in {machine.phase} for ever"
            own = [name for name, item in self.rows().items() if item.get("token", {}).get("S") == machine.token]
            assert set(own) & set(live), "an execution waits, and no job will answer it"
        assert len(live) == len(running), f"jobs run that nobody waits for: {live}"
        assert len(waiting) == len(running), f"rows wait for ever: {waiting}"
        for machine in self.machines:
            for answered in machine.answers:
                name = answered.record["job_name"]
                created = answered.record["status"] != "NotCreated"
                assert created == (name in self.sagemaker.jobs), f"the record is wrong: {answered.record}"


@pytest.fixture
def make_world(dynamodb, make_table, make_sagemaker, training_request, refused):
    """Make worlds of their own."""
    return lambda: World(dynamodb, make_table(), make_sagemaker(), training_request, refused)


@pytest.fixture
def world(make_world):
    return make_world()
