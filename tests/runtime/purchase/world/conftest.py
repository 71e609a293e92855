"""A world in which deploys, deliveries, buyers and watchers run call by call, in any order a test wants.

SageMaker is the sandbox's, CloudFormation and DynamoDB are small fakes.
"""

from __future__ import annotations

import json
from collections import Counter
from decimal import Decimal

import pytest
from botocore.exceptions import ClientError

from constructs_lib.model import PriceCeiling, plan_name
from constructs_lib.model.purchase_timing import BUYER_TIMEOUT, MAXIMUM_EVENT_AGE
from constructs_lib.runtime.adapters.clients import CALL_LIFE
from constructs_lib.runtime.buyer import build, resolving
from constructs_lib.runtime.handlers.training_plan import outcome
from constructs_lib.runtime.plan_answer import ATTRIBUTES
from constructs_lib.runtime.purchase_table import PurchaseTable
from constructs_lib.sandbox.context import Context
from constructs_lib.sandbox.errors import ServiceError
from constructs_lib.sandbox.faults import Faults
from constructs_lib.sandbox.sagemaker import Capacity, SageMaker

ACCOUNT, REGION = "123456789012", "us-east-1"
TABLE = "gpu-capacity-purchases"
P5 = "ml.p5.48xlarge"
LOW = "100.00"  # an instance-hour: 28,800 for 4 instances and 3 days
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


class World:
    """One account and region."""

    def __init__(self, fakes, capacity, **properties):
        self.properties = PROPERTIES | properties
        self.fakes, self.refusal = fakes, fakes.refusal
        self.clock, self.faults, self.dynamodb = fakes.Clock(), Faults(), fakes.DynamoDB()
        context = Context(self.clock, self.faults, lambda *_: None, lambda _: None, ACCOUNT, REGION)
        self.sagemaker = SageMaker(context, capacity)
        self.stacks = {}
        self.runs, self.queue, self.under_way = [], [], []
        self.windows, self.planned = Counter(), {}
        self.started, self.trace = fakes.start, []  # every step: when, who, before which call, with which fault
        self.answers, self.published, self.events, self.lines = [], [], [], []
        self.asked = {}  # the event that each purchase was made for, by its number
        self.approved = {}
        self.refuse, self.unpublished = {}, False
        self.told_failed, self.broken = [], []
        self.build = build
        self.model = lambda client: None

    def stack(self, name="lab"):
        return self.stacks.setdefault(name, self.fakes.Stack(self, name))

    # --- the clients of a run
    def services(self, run):
        def aws(method, request):
            return getattr(self, f"_{method}")(run, **request)

        def sagemaker(method, request):
            return self.call_sagemaker(method, request, run.event)

        sold, other = self.fakes.Client(run, "sagemaker", sagemaker), self.fakes.Client(run, "sagemaker", sagemaker)
        return self.build(
            create=sold,
            sagemaker=other,
            dynamodb=self.fakes.Client(
                run, "dynamodb", lambda method, request: getattr(self.dynamodb, method)(**request)
            ),
            cloudformation=self.fakes.Client(run, "cloudformation", aws),
            sns=self.fakes.Client(run, "sns", aws),
            events=self.fakes.Client(run, "events", aws),
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
            raise self.refusal(error.code, error.message, error.status) from error

    def sell(self, operation, request, event):
        before = self.sagemaker.purchases()
        try:
            answer = self.sagemaker.handle(operation, request)
        except ServiceError as error:
            raise self.refusal(error.code, error.message, error.status) from error
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
            raise self.refusal("ValidationError", f"Stack with id {StackName} does not exist")
        return {"Stacks": [{"StackStatus": stack.status}]}

    def _publish(self, run, **message):
        if self.unpublished:
            raise self.refusal("AuthorizationError", "not allowed to publish", 403)
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

        run = self.fakes.Run(self, work, event)
        run.retries = retries
        self.runs.append(run)
        if run.done:
            self.ended(run)
        return run

    def watch(self, identities=()):
        self.runs.append(self.fakes.Run(self, lambda run: self.services(run).watching().watch(identities)))
        return self.runs[-1]

    def ended(self, run):
        if run in self.runs:
            self.runs.remove(run)
        if run.event is None:
            return
        if isinstance(run.error, self.fakes.Died):
            if run.retries:
                self.queue.append((run.event, run.started_at, run.retries - 1))
            return
        assert run.error is None, f"a run failed: {run.error!r}"
        self.answers.append((run.event, run.result))
        said = run.result.get("Data", {}).get("Quote") or run.result["Reason"]
        self.trace.append((self.clock.now() - self.started, run.name, run.result["Status"], said))
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
def make_world(make_capacity, fakes):
    """Make worlds; keywords that begin with a capital are properties, the others change what is sold."""

    def make(**changes):
        properties = {name: value for name, value in changes.items() if name[0].isupper()}
        sold = {name: value for name, value in changes.items() if name[0].islower()}
        return World(fakes, make_capacity(**sold), **properties)

    return make


@pytest.fixture
def world(make_world):
    return make_world()


@pytest.fixture
def keyed(make_world, purchase_key):
    """A world whose stack has a key for generation 1."""
    return make_world(Purchase=purchase_key())
