"""Random worlds: deploys, cancels, deletions, approvals, redeliveries, late calls and lags interleave with faults.

Each schedule is one world and the choices of one seed; a failure prints the seed, and the world is the same again for
it. Every window - each call of the buyer and the watcher, before and after it takes effect - is also forced open.
"""

from __future__ import annotations

import os
import random
from collections import Counter

import pytest

from constructs_lib.runtime.adapters.training_plans import TrainingPlans
from constructs_lib.runtime.purchase_record import Record
from constructs_lib.runtime.services.patience import Patience
from constructs_lib.runtime.services.quoting import Quoting
from constructs_lib.runtime.services.till import Till

pytestmark = pytest.mark.slow

CALLS = [
    "cloudformation.describe_stacks",
    "dynamodb.get_item",
    "dynamodb.scan",
    "dynamodb.update_continuous_backups",
    "dynamodb.update_item",
    "events.put_events",
    "sagemaker.add_tags",
    "sagemaker.create_training_plan",
    "sagemaker.describe_training_plan",
    "sagemaker.describe_training_plan_extension_history",
    "sagemaker.extend_training_plan",
    "sagemaker.list_tags",
    "sagemaker.search_training_plan_offerings",
    "sns.publish",
]
FAULTS = ["die-before", "die-after", "lost-before", "lost-after", "throttled-before", "broken-after"]
PURCHASES = ("sagemaker.create_training_plan", "sagemaker.extend_training_plan")
WINDOWS = [(call, fault) for call in CALLS for fault in FAULTS] + [(call, "late") for call in PURCHASES]
TOPIC = "arn:aws:sns:us-east-1:123456789012:approvers"
END = "2026-12-14T11:30:00Z"
EXTENSION = {"ExtendUntil": END, "MaxExtensionFee": "40000"}
AFTER_PURCHASE = (
    "sagemaker.add_tags",
    "sagemaker.list_tags",
    "sagemaker.extend_training_plan",
    "sagemaker.describe_training_plan_extension_history",
)
SWITCHES = {
    "sagemaker.plan-name-taken": ["for ever", "while it lives", "never"],
    "sagemaker.dead-plans": ["remembered", "forgotten"],
    "sagemaker.offering-sells-twice": ["yes", "no"],
    "sagemaker.extension-end": ["when paid", "at once"],
    "lag.describe-training-plan": ["0", "30", "120"],
    "lag.training-plan-tags": ["0", "60", "120"],
}


SCHEDULES = int(os.environ.get("GPUCAP_TEST_SCHEDULES", "10000"))


class Play:
    """One world and the choices of one seed."""

    def __init__(self, make_world, keys, seed, window=None, build=None):
        self.random = random.Random(seed)
        fail = {"payment": {"fail": "card declined"}} if self.random.random() < 0.2 else {}
        first = {"Purchase": keys} if self.random.random() < 0.7 else {}
        if self.random.random() < 0.3:
            first["Approval"] = {"Required": "true", "TopicArn": TOPIC}
        self.world = world = make_world(**fail, **first)
        if build is not None:
            world.build = build
        for name, values in SWITCHES.items():
            world.faults.switch(name, self.random.choice(values))
        if fail:  # a plan that fails is shown for longer than calls and lags can take
            world.faults.switch("sagemaker.dead-plans", "remembered")
        self.keys, self.faults, self.deploys = keys, self.random.choice([0, 1, 2, 3]), self.random.choice([2, 3, 4])
        self.extends = self.random.random() < 0.3
        if window and window[0] in AFTER_PURCHASE:
            self.buy_first(window)
        if window:
            world.planned[window[0]] = window[1]
        self.twin = self.random.random() < 0.2

    def buy_first(self, window):
        """Begin with a plan, or one whose answer was lost, and with what the window's call is for."""
        world, stack = self.world, self.world.stack()
        if window[0].endswith("list_tags"):
            world.planned["sagemaker.create_training_plan"] = "lost-after"
            stack.deploy(Purchase=self.keys, Approval=None)
            return
        world.deploy(Purchase=self.keys, Approval=None)
        if stack.phase == "idle":
            world.clock.sleep(self.random.choice([0, 301]))
            change = {"Tags": [{"Key": "team", "Value": "a"}]} if window[0].endswith("add_tags") else EXTENSION
            stack.deploy(**change)

    def choices(self):
        """What can happen now, each with its weight."""
        world, stack = self.world, self.world.stack()
        yield 14 if world.runs else 0, self.step
        yield 6 if world.queue and len(world.runs) < 3 else 0, self.deliver
        free = stack.phase in ("none", "idle", "failed") and self.deploys > 0
        yield 4 if free else 0, self.deploy
        yield 0.5 if stack.forward and self.faults else 0, self.cancel
        yield 0.3 if stack.phase in ("idle", "failed") and self.deploys else 0, stack.delete
        yield 0.3 if stack.phase == "idle" and self.deploys else 0, self.move
        yield 0.5 if world.under_way else 0, world.arrive
        yield 0.5 if len(world.runs) < 3 else 0, world.watch
        yield 0.8, self.wait
        yield 0.4, lambda: world.price(self.random.choice(["100.00", "150.00", "300.00"]))
        yield 0.5 if "Approval" in world.properties else 0, self.approve
        yield 0.3 if self.twin else 0, self.deploy_twin
        yield 0.1 if world.bought else 0, self.long_wait
        yield 0.2, self.resolve

    def step(self):
        run = self.random.choice(self.world.runs)
        fault = ""
        if self.faults and self.random.random() < 0.06:
            self.faults -= 1
            fault = self.random.choice([*FAULTS, "late"] if run.at in PURCHASES else FAULTS)
        run.step(fault)

    def deliver(self):
        self.world.expire_events()
        if self.world.queue:
            again = bool(self.faults) and self.random.random() < 0.2
            self.faults -= again
            self.world.deliver(self.random.randrange(len(self.world.queue)), again=again)

    def edits(self):
        base = self.world.stack().properties or self.world.properties
        generation = base["Generation"]
        yield {}
        yield {"Purchase": None if base.get("Purchase") else self.keys}
        yield {"Generation": "2" if generation == "1" else "1"}
        yield {"InstanceCount": "8" if base["InstanceCount"] == "4" else "4"}
        yield {"Tags": [{"Key": "team", "Value": str(self.deploys)}]}
        yield EXTENSION
        if self.extends:
            yield EXTENSION

    def deploy(self):
        self.deploys -= 1
        self.world.stack().deploy(**self.random.choice(list(self.edits())))

    def deploy_twin(self):
        stack = self.world.stack("twin")
        if stack.phase in ("none", "failed"):
            self.twin = False
            stack.deploy()

    def move(self):
        self.deploys -= 1
        self.world.stack().move()

    def cancel(self):
        self.faults -= 1
        self.world.stack().cancel()

    def wait(self):
        self.world.clock.sleep(self.random.choice([5, 60, 301]))

    def long_wait(self):
        """The plan expires; whatever was delivered or under way before is over."""
        if not self.world.runs:
            self.world.clock.sleep(30 * 86400)
            self.world.expire_events()
            self.world.under_way.clear()
            for stack in self.world.stacks.values():
                if stack.pending:  # CloudFormation's own time-out
                    self.give_up(stack)

    def give_up(self, stack):
        stack.pending = None
        if stack.forward:
            stack.cancel()
        else:
            stack.phase = "idle"

    def approve(self):
        label = self.world.stack().properties["Generation"] if self.world.stack().properties else "1"
        if label not in self.world.approved and label not in self.world.record().purchases:
            self.world.approve(label, self.random.choice(["30000", "50000"]))

    def resolve(self):
        """A person looks, and says that nothing was bought when nothing was; a person is right."""
        record, end = self.world.record(), END[:10]
        for label, row in record.purchases.items():
            waited = self.world.clock.now() - row.tried > 600
            if not label.isdigit() and not row.bought and waited and not self.world.extended:
                assert label.endswith(end)
                self.world.resolve(label)

    def go(self):
        for _ in range(self.random.randint(20, 90)):
            weights, actions = zip(*self.choices(), strict=True)
            (action,) = self.random.choices(actions, weights)
            self.world.trace.append((self.world.clock.now() - self.world.started, getattr(action, "__name__", "")))
            action()
        self.world.planned.clear()
        self.world.settle()
        for stack in self.world.stacks.values():
            if stack.pending:  # its event was lost with all its retries
                self.give_up(stack)
        self.world.settle()
        self.world.check_settled()
        return self.world


def play(make_world, keys, seed, window=None, build=None):
    one = Play(make_world, keys, seed, window, build)
    try:
        return one.go()
    except (AssertionError, LookupError) as error:
        steps = "\n".join(map(str, one.world.trace))
        raise AssertionError(f"seed {seed}, window {window}: {error!r}\n{steps}") from error


def table_of(windows, counts):
    lines = [f"{'call':52}{'before':>8}{'after':>8}"]
    lines += [f"{call:52}{windows[call, 'before']:8}{windows[call, 'after']:8}" for call in CALLS]
    return "\n".join([*lines, ", ".join(f"{number} {name}" for name, number in counts.items())])


@pytest.fixture
def keys(purchase_key):
    return ",".join(purchase_key(what) for what in ("nightly#1", "nightly#2", f"nightly#1+{END[:10]}"))


def test_some_random_worlds_hold(make_world, keys):
    bought = sum(len(play(make_world, keys, seed).bought) for seed in range(50))
    assert bought > 15


@pytest.mark.slow
def test_ten_thousand_random_worlds_hold_and_every_window_is_opened(make_world, keys):
    windows, counts = Counter(), Counter()
    for seed in range(SCHEDULES):
        world = play(make_world, keys, seed, WINDOWS[seed % len(WINDOWS)])
        windows += world.windows
        counts["schedules"] += 1
        counts["plans bought"] += len(world.bought)
        counts["extensions bought"] += len(world.extended)
        counts["answers"] += len(world.answers)
        counts["refusals"] += sum(answer["Status"] == "FAILED" for _, answer in world.answers)
    print("\n" + table_of(windows, counts))
    missed = [(call, side) for call in CALLS for side in ("before", "after") if not windows[call, side]]
    assert not missed


DEFECTS = {
    "live_check": (Till, "reason_against", lambda self, ask: None),
    "settle": (Patience, "conclusive", lambda self, row: True),
    "compare_before": (Quoting, "choose", lambda self, ask, approval: self.fitting(ask)[0]),
    "highest_generation": (Record, "higher", lambda self, generation: None),
    "patient_tags": (TrainingPlans, "owner", lambda self, plan: {"gpucap:identity": "?"}),
}


@pytest.mark.slow
@pytest.mark.parametrize("rule", DEFECTS)
def test_random_worlds_notice_a_rule_that_is_taken_away(make_world, keys, monkeypatch, rule):
    monkeypatch.setattr(*DEFECTS[rule])

    def some_worlds():
        for seed in range(1000):
            play(make_world, keys, seed, WINDOWS[seed % len(WINDOWS)])

    with pytest.raises(AssertionError, match="seed") as noticed:
        some_worlds()
    print(f"\n{rule}: {str(noticed.value).splitlines()[0][:160]}")
