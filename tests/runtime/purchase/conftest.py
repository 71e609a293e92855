"""A world in which deploys, deliveries, buyers and watchers run call by call, in any order a test wants.

SageMaker is the sandbox's, CloudFormation and DynamoDB are small fakes here. Every run of a handler is a thread that
waits before each of its AWS calls until the test lets it go on, die or lose the answer.
"""

from __future__ import annotations

import copy
import heapq
import itertools
import json
import re
import threading
from collections import Counter
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from constructs_lib.model import PriceCeiling, plan_name
from constructs_lib.model.purchase_timing import BUYER_TIMEOUT, MAXIMUM_EVENT_AGE
from constructs_lib.runtime.adapters.clients import CALL_LIFE
from constructs_lib.runtime.buyer import build, resolving
from constructs_lib.runtime.handlers.training_plan import outcome
from constructs_lib.runtime.plan_answer import ATTRIBUTES
from constructs_lib.runtime.purchase_table import PurchaseTable
from constructs_lib.sandbox.clock import Timer
from constructs_lib.sandbox.context import Context
from constructs_lib.sandbox.errors import ServiceError
from constructs_lib.sandbox.faults import Faults
from constructs_lib.sandbox.sagemaker import Capacity, SageMaker

ACCOUNT, REGION = "123456789012", "us-east-1"
START = datetime(2026, 12, 1, tzinfo=UTC).timestamp()
TABLE = "gpu-capacity-purchases"
TOPIC = f"arn:aws:sns:{REGION}:{ACCOUNT}:approvers"
P5 = "ml.p5.48xlarge"
LOW, MIDDLE, HIGH = "100.00", "150.00", "300.00"  # 28,800, 43,200 and 86,400 for 4 instances and 3 days
PROPERTIES = {
    "TrainingPlanName": "nightly",
    "InstanceType": P5,
    "InstanceCount": "4",
    "DurationHours": "72",
    "StartTimeAfter": "2026-12-08T00:00:00Z",
    "EndTimeBefore": "2026-12-20T00:00:00Z",
    "TargetResources": ["training-job"],
    "MaxUpfrontFee": "60000",
    "CurrencyCode": "USD",
    "Generation": "1",
    "Choice": "cheapest",
    "AllowDiscontinuous": "false",
    "Adopt": "false",
    "AccountId": ACCOUNT,
    "Region": REGION,
}
OFFERING = {"instance_type": P5, "count": [4, 8], "days": [3], "price": LOW, "target": "training-job"}
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


class World:
    """One account and region."""

    def __init__(self, capacity, **properties):
        self.properties = PROPERTIES | properties
        self.clock, self.faults, self.dynamodb = Clock(), Faults(), DynamoDB()
        context = Context(self.clock, self.faults, lambda *_: None, lambda _: None, ACCOUNT, REGION)
        self.sagemaker = SageMaker(context, capacity)
        self.stacks = {}
        self.runs, self.queue, self.under_way = [], [], []
        self.windows, self.planned = Counter(), {}
        self.started, self.trace = START, []  # every step: when, who, before which call, with which fault
        self.answers, self.published, self.events, self.lines = [], [], [], []
        self.asked = {}  # the event that each purchase was made for, by its number
        self.approved = {}
        self.refuse, self.unpublished = {}, False
        self.told_failed, self.broken = [], []
        self.build = build
        self.model = lambda client: None

    refusal = staticmethod(refusal)

    def stack(self, name="lab"):
        return self.stacks.setdefault(name, Stack(self, name))

    # --- the clients of a run
    def services(self, run):
        def aws(method, request):
            return getattr(self, f"_{method}")(run, **request)

        def sagemaker(method, request):
            return self.call_sagemaker(method, request, run.event)

        sold, other = Client(run, "sagemaker", sagemaker), Client(run, "sagemaker", sagemaker)
        return self.build(
            create=sold,
            sagemaker=other,
            dynamodb=Client(run, "dynamodb", lambda method, request: getattr(self.dynamodb, method)(**request)),
            cloudformation=Client(run, "cloudformation", aws),
            sns=Client(run, "sns", aws),
            events=Client(run, "events", aws),
            table=TABLE,
            clock=self.clock,
            write=self.lines.append,
            topic="",
            model=self.model,
        )

    def call_sagemaker(self, method, request, event):
        operation = "".join(word.capitalize() for word in method.split("_"))
        if operation in self.refuse:
            raise self.refuse[operation]
        if operation in ("CreateTrainingPlan", "ExtendTrainingPlan"):
            return self.sell(operation, request, event)
        try:
            return self.sagemaker.handle(operation, request)
        except ServiceError as error:
            raise refusal(error.code, error.message, error.status) from error

    def sell(self, operation, request, event):
        before = self.sagemaker.purchases()
        try:
            answer = self.sagemaker.handle(operation, request)
        except ServiceError as error:
            raise refusal(error.code, error.message, error.status) from error
        self.asked[len(before)] = event
        self.check_purchase(len(before))
        return answer

    def sending(self, run, request):
        """What must hold when a purchase call leaves a buyer; the test just before it counts as one step with it."""
        generation = int(run.event["ResourceProperties"]["Generation"])
        self.must(run.previous == ("cloudformation.describe_stacks", True), "P6 buys outside a forward deploy")
        if "TrainingPlanName" in request:
            bought = [int(purchase["tags"]["gpucap:generation"]) for purchase in self.bought]
            self.must(max(bought, default=0) <= generation, "P8 a lowered generation is bought")

    def must(self, holds, words):
        """Note what does not hold; a run would take an exception for its own, so `Run.step` raises it."""
        if not holds:
            self.broken.append(words)

    def stack_of(self, event):
        return next((stack for stack in self.stacks.values() if event and stack.arn == event["StackId"]), None)

    def _describe_stacks(self, run, StackName):  # noqa: N803
        stack = next((stack for stack in self.stacks.values() if stack.arn == StackName), None)
        if stack is None or stack.status is None:
            raise refusal("ValidationError", f"Stack with id {StackName} does not exist")
        return {"Stacks": [{"StackStatus": stack.status}]}

    def _publish(self, run, **message):
        if self.unpublished:
            raise refusal("AuthorizationError", "not allowed to publish", 403)
        self.published.append(message)
        return {}

    def _put_events(self, run, Entries):  # noqa: N803
        self.events.extend(Entries)
        return {"FailedEntryCount": 0}

    # --- runs
    def deliver(self, number=0, *, again=False):
        """Let Lambda take an event from its queue; `again` leaves a copy."""
        event, sent, retries = self.queue.pop(number)
        if again:
            self.queue.append((event, sent, retries))
        return self.invoke(event, retries)

    def invoke(self, event, retries=0):
        until = self.clock.now() + BUYER_TIMEOUT - 60

        def work(run):
            return outcome(event, until, self.services(run).buying)

        run = Run(self, work, event)
        run.retries = retries
        self.runs.append(run)
        if run.done:
            self.ended(run)
        return run

    def watch(self):
        self.runs.append(Run(self, lambda run: self.services(run).watching.watch()))
        return self.runs[-1]

    def ended(self, run):
        if run in self.runs:
            self.runs.remove(run)
        if run.event is None:
            return
        if isinstance(run.error, Died):
            if run.retries:
                self.queue.append((run.event, run.started_at, run.retries - 1))
            return
        assert run.error is None, f"a run failed: {run.error!r}"
        self.answers.append((run.event, run.result))
        said = run.result.get("Data", {}).get("Quote") or run.result["Reason"]
        self.trace.append((self.clock.now() - START, run.name, run.result["Status"], said))
        self.check_answer(run.event, run.result)
        stack = self.stack_of(run.event)
        if stack is not None:
            stack.answered(run.event, run.result)

    def deploy(self, name="lab", **changes):
        """Deploy and let everything run; returns the answer."""
        event = self.stack(name).deploy(**changes)
        if event is None:
            return None
        self.play_out()
        return next(answer for asked, answer in self.answers if asked is event)

    def play_out(self):
        while self.queue or self.runs:
            while self.runs:
                self.runs[0].finish()
            if self.queue:
                self.deliver()

    # --- what the world does by itself
    def arrive(self):
        """The purchase calls that were under way take effect, unless they are so old that they never will."""
        while self.under_way:
            event, request, sent = self.under_way.pop(0)
            if self.clock.now() - sent > CALL_LIFE:
                continue
            operation = "CreateTrainingPlan" if "TrainingPlanName" in request else "ExtendTrainingPlan"
            try:
                self.sell(operation, request, event)
            except ClientError:
                continue  # refused, and nobody listens
            assert not self.broken, self.broken

    def expire_events(self):
        now = self.clock.now()
        self.queue = [row for row in self.queue if now - row[1] <= MAXIMUM_EVENT_AGE]

    def approve(self, label="1", fee="30000", seconds=86400.0):
        resolving(self.dynamodb, TABLE, self.clock).approve(
            "nightly", label, PriceCeiling(fee, "USD"), seconds=seconds, by="ana"
        )
        self.approved[label] = (Decimal(fee), self.clock.now() + seconds)

    def resolve(self, label):
        resolving(self.dynamodb, TABLE, self.clock).nothing_was_bought("nightly", label)

    def price(self, amount):
        self.sagemaker.set_price(P5, amount)

    def settle(self):
        """Let everything happen that needs no fault and no user: runs end, lags pass, calls arrive, watchers come."""
        for _ in range(4):
            self.play_out()
            self.arrive()
            self.clock.sleep(301)
            self.watch().finish()

    # --- what must hold
    @property
    def bought(self):
        return [row for row in self.sagemaker.purchases() if row["operation"] == "CreateTrainingPlan"]

    @property
    def extended(self):
        return [row for row in self.sagemaker.purchases() if row["operation"] == "ExtendTrainingPlan"]

    def record(self):
        return PurchaseTable(self.dynamodb, TABLE, self.clock).read("nightly")

    def check_purchase(self, number):
        """What must hold of each purchase, whoever listens."""
        row, event = self.sagemaker.purchases()[number], self.asked[number]
        given = event["ResourceProperties"]
        made = [self.asked[each]["ResourceProperties"] for each in range(number + 1)]
        operations = [purchase["operation"] for purchase in self.sagemaker.purchases()]
        plans = [(each["TrainingPlanName"], each["Generation"]) for each in made]
        ours = Counter(plan for plan, operation in zip(plans, operations, strict=True) if operation == row["operation"])
        label, ceiling = given["Generation"], given["MaxUpfrontFee"]
        if row["operation"] == "ExtendTrainingPlan":
            day = given["ExtendUntil"][:10]
            label, ceiling = f"{label}+{day}", given["MaxExtensionFee"]
            self.must(max(ours.values()) <= 1, "P1 two extensions to one end")
        else:
            self.must(max(ours.values()) <= 1, "P1 two purchases of one generation")
        fee = Decimal(row["fee"])
        self.must(fee <= Decimal(ceiling), "P2 buys above the ceiling")
        self.must(f"nightly#{label}@" in given.get("Purchase", ""), "P3 buys without the key")
        if given.get("Approval"):
            approved = self.approved.get(label, (Decimal(0), 0))[0]
            self.must(fee <= approved, "P3 buys without an approval, or above it")
        self.must(event["RequestId"] not in self.told_failed, "P4 FAILED although it is bought later")

    def check_answer(self, event, answer):
        """What must hold of each answer, whoever waits for it."""
        assert len(json.dumps(answer).encode()) <= 4096
        given = event["ResourceProperties"]
        name = plan_name(given["TrainingPlanName"], int(given["Generation"]))
        arn = f"arn:aws:sagemaker:{REGION}:{ACCOUNT}:training-plan/{name}"
        plan = self.plan(arn)
        calls = [asked for asked, request, _ in self.under_way if request.get("TrainingPlanName") == name]
        if answer["Status"] == "FAILED":
            assert answer["PhysicalResourceId"] == event.get("PhysicalResourceId", arn)
            alive = plan is not None and plan["status"] != "Failed"
            deliberate = event["RequestType"] == "Update" and "second purchase" in answer["Reason"]
            extension = event["RequestType"] == "Update" and given.get("ExtendUntil")
            assert not alive or deliberate or extension, f"P4 FAILED although the plan exists: {answer['Reason']}"
            if not plan:
                self.told_failed.append(event["RequestId"])
                own = [asked for asked in calls if asked["RequestId"] == event["RequestId"]]
                assert not own, "P4 FAILED while its own call is open"
            return
        assert answer["PhysicalResourceId"] == arn
        assert set(answer["Data"]) == set(ATTRIBUTES)
        if answer["Data"]["Status"] in ("Quote", "AwaitingApproval"):
            seen = plan is not None and plan["seen"] and plan["status"] not in ("Failed", "Expired")
            assert not seen or calls, "P5 a bought plan is reported as a quote"

    def plan(self, arn):
        """What the sandbox knows of a plan: its status, and whether it and its tags can be seen."""
        plans = self.sagemaker._placement.plans
        plan = plans.get(arn)
        if plan is None:
            return None
        now = self.clock.now()
        tagged = now >= plans._tags._seen_from.get(arn, 0)
        return {"status": plan.status(now), "seen": plans.shown(arn, now) is not None and tagged}

    def check_settled(self):
        """What must hold once everything has settled."""
        record = self.record()
        now = self.clock.now()
        recent = {label: row for label, row in record.purchases.items() if now - row.tried < 86400}
        open_ = [label for label, row in recent.items() if not row.bought and label.isdigit()]
        assert not open_, f"open for ever: {open_}"
        for purchase in self.bought:
            label = purchase["tags"]["gpucap:generation"]
            row = record.purchases.get(label)
            old = row is not None and now - row.tried > 86400  # only a person can tell
            assert row is not None, f"generation {label} is bought and not on record"
            assert row.bought or old, f"generation {label} is bought and not on record as bought"
        for stack in self.stacks.values():
            assert stack.phase in ("none", "idle", "failed"), f"stack {stack.name} hangs in {stack.phase}"


@pytest.fixture(scope="session")
def make_capacity():
    """Read a capacity once for equal documents; the first argument is changed by the keywords."""
    known = {}

    def make(**changes):
        document = {"offerings": [OFFERING | changes]}
        text = json.dumps(document, sort_keys=True)
        if text not in known:
            known[text] = Capacity.of(document)
        return known[text]

    return make


@pytest.fixture
def make_world(make_capacity):
    """Make worlds; keywords that begin with a capital are properties, the others change what is sold."""

    def make(**changes):
        properties = {name: value for name, value in changes.items() if name[0].isupper()}
        sold = {name: value for name, value in changes.items() if name[0].islower()}
        return World(make_capacity(**sold), **properties)

    return make


@pytest.fixture
def world(make_world):
    return make_world()


@pytest.fixture
def keyed(make_world):
    """A world whose stack has a key for generation 1."""
    return make_world(Purchase=key())


@pytest.fixture(scope="session")
def purchase_key():
    """Write a purchase key for this account and region."""
    return key


@pytest.fixture(scope="session")
def refused():
    """Make the error of an AWS call: code, message, status."""
    return refusal


@pytest.fixture(scope="session")
def days():
    return lambda count: timedelta(days=count).total_seconds()
