"""The same keeper on the sandbox's SageMaker, which was written from AWS's documents by other hands."""

from __future__ import annotations

import heapq
import itertools
import random

import pytest

from constructs_lib.facts import unknowns
from constructs_lib.sandbox.clock import Timer
from constructs_lib.sandbox.context import Context
from constructs_lib.sandbox.errors import ServiceError
from constructs_lib.sandbox.faults import Faults
from constructs_lib.sandbox.sagemaker import Capacity, SageMaker

HOUR, MINUTE, PERIOD = 3600.0, 60.0, 300.0
P5, G5 = "ml.p5.48xlarge", "ml.g5.2xlarge"
READINGS = [(row.id, reading) for row in unknowns().values() if row.id.startswith("sagemaker.endpoint-")
            for reading in row.readings]  # fmt: skip


class StillClock:
    """The sandbox's clock, and the functions': it stands until somebody sleeps."""

    def __init__(self):
        self.moment, self._timers, self._sequence = 1_800_000_000.0, [], itertools.count()

    def call_at(self, t, callback):
        timer = Timer(t, callback)
        heapq.heappush(self._timers, (t, next(self._sequence), timer))
        return timer

    def now(self):
        return self.moment

    def go(self, target):
        while self._timers and self._timers[0][0] <= target:
            t, _, timer = heapq.heappop(self._timers)
            self.moment = max(self.moment, t)
            if not timer.cancelled:
                timer.callback()
        self.moment = target


class Moment:
    def __init__(self, clock):
        self._clock = clock

    @property
    def now(self):
        return self._clock.moment

    def time(self):
        return self._clock.moment


class Plan:
    def __init__(self, name):
        self.arn = f"arn:aws:sagemaker:us-east-1:123456789012:training-plan/{name}"


class Sandboxed:
    """What a world takes for its SageMaker."""

    def __init__(self, switches=(), **document):
        self._still = StillClock()
        self.clock, faults = Moment(self._still), Faults()
        for name, reading in switches:
            faults.switch(name, reading)
        context = Context(self._still, faults, lambda *_: None, lambda _: None)
        plans = [{"name": "main", "instance_type": P5, "count": 4, "start": "1h", "end": "49h", "target": "endpoint"}]
        self.sagemaker = SageMaker(context, Capacity.of({"plans": plans} | document))
        self.careful, self.targets = True, {}

    def pass_to(self, target):
        self._still.go(target)

    def handle(self, operation, request):
        if "Scal" in operation:
            return {"ScalableTargets": []}
        return self.sagemaker.handle(operation, request)

    def state(self):
        try:
            about = self.sagemaker.handle("DescribeEndpoint", {"EndpointName": "chat"})
        except ServiceError:
            return None
        return about["EndpointStatus"]

    def on_plan(self):
        about = self.sagemaker.handle("DescribeEndpoint", {"EndpointName": "chat"})
        return "CapacityReservationConfig" in about["ProductionVariants"][0]

    def happened(self, what):
        return [row for row in self.sagemaker.endpoints.log("chat") if row["what"] == what]

    def answered(self):
        try:
            self.sagemaker.endpoints.invoke("chat", b"{}")
        except ServiceError:
            return False
        return True


@pytest.fixture
def make(make_world):
    def build(switches=(), **document):
        return make_world(Sandboxed(switches, **document))

    return build


def go(world, until, served=None):
    """Run once a period until a moment, with a request each minute; returns how many were not answered."""
    missed = 0
    while world.clock.now < until:
        for _ in range(5):
            world.pass_time(MINUTE)
            missed += served is not None and not served.answered()
        world.run()
    return missed


@pytest.mark.slow
def test_no_request_is_lost_while_the_model_changes_and_the_endpoint_moves(make):
    world = make()
    box, start = world.sagemaker, world.clock.now
    world.deploy(world.declaration(Plan("main"), on_expiry=world.to_on_demand()))
    go(world, start + 2 * HOUR)
    assert box.state() == "InService"
    world.deploy(world.declaration(Plan("main"), model="m2", on_expiry=world.to_on_demand("m2")))
    assert go(world, start + 50 * HOUR, box) == 0
    assert not box.on_plan()
    assert not box.happened("reservation expired")
    assert not box.happened("configuration deleted while in use")
    assert world.delete()["Status"] == "SUCCESS"
    assert box.state() is None
    assert not box.sagemaker.handle("ListEndpointConfigs", {})["EndpointConfigs"]


@pytest.mark.parametrize(("count", "lost"), [(2, False), (4, False)])
def test_a_new_model_on_a_plan_that_is_used_whole_costs_an_instance_for_a_while_and_no_request(make, count, lost):
    world = make()
    box, start = world.sagemaker, world.clock.now
    world.deploy(world.declaration(Plan("main"), count=count))
    go(world, start + 2 * HOUR)
    world.deploy(world.declaration(Plan("main"), count=count, model="m2"))
    assert go(world, start + 5 * HOUR, box) == 0
    rows = box.sagemaker.handle("DescribeEndpoint", {"EndpointName": "chat"})["ProductionVariants"]
    assert rows[0]["CurrentInstanceCount"] == count
    assert not box.happened("RollingBack")
    assert world.item.state == "InService"


@pytest.mark.slow
@pytest.mark.parametrize(("switch", "reading"), READINGS, ids=str)
@pytest.mark.parametrize("action", ["delete", "to_on_demand"])
def test_every_reading_of_what_is_unknown_gives_a_safe_life(make, switch, reading, action):
    world = make([(switch, reading)])
    box, start = world.sagemaker, world.clock.now
    expiry = {"Action": "delete"} if action == "delete" else world.to_on_demand()
    world.deploy(world.declaration(Plan("main"), on_expiry=expiry))
    go(world, start + HOUR + PERIOD)
    assert box.state() in ("Creating", "InService")
    go(world, start + 2 * HOUR)
    world.deploy(world.declaration(Plan("main"), model="m2", on_expiry=expiry))
    go(world, start + 4 * HOUR)
    assert box.state() == "InService"
    assert world.item.state == "InService"
    world.pass_time(start + 44 * HOUR - world.clock.now)
    go(world, start + 50 * HOUR)
    assert not box.happened("reservation expired")
    assert not box.happened("configuration deleted while in use")
    assert box.state() == (None if action == "delete" else "InService")


@pytest.mark.parametrize("expired", ["InService", "Failed", "OutOfService"])
def test_an_endpoint_that_was_kept_past_its_end_is_started_again_on_a_new_declaration(make, expired):
    plans = [
        {"name": "main", "instance_type": P5, "count": 4, "start": "1h", "end": "25h", "target": "endpoint"},
        {"name": "next", "instance_type": P5, "count": 4, "start": "26h", "end": "50h", "target": "endpoint"},
    ]
    world = make([("sagemaker.endpoint-expired", expired)], plans=plans)
    box, start = world.sagemaker, world.clock.now
    keep = {"Action": "keep", "Acknowledge": "it may stop"}
    world.deploy(world.declaration(Plan("main"), on_expiry=keep))
    go(world, start + 2 * HOUR)
    world.pass_time(22 * HOUR)
    go(world, start + 25.5 * HOUR)
    assert box.happened("reservation expired")
    world.deploy(world.declaration(Plan("next"), on_expiry=keep))
    go(world, start + 28 * HOUR)
    assert box.state() == "InService"
    assert box.answered()
    assert world.item.state == "InService"


FAULTS = ("die-before", "die-after", "throttled", "timeout-before", "timeout-after", "late")


def play(make, seed):
    """A history of a few days: models change, capacity comes and goes, calls fail."""
    rng = random.Random(seed)
    switches = [(name, rng.choice(unknowns()[name].readings)) for name in {name for name, _ in READINGS}]
    level = [{"at": f"{rng.randrange(1, 48)}h", "free": rng.choice((0, 4))} for _ in range(3)]
    level = sorted({row["at"]: row for row in level}.values(), key=lambda row: int(row["at"][:-1]))
    world = make(switches, types={G5: [{"at": "0m", "free": 4}, *level]})
    box, start = world.sagemaker, world.clock.now
    expiry, count = rng.choice(("delete", "to_on_demand")), rng.choice((1, 2, 3, 4))

    def declaration(model):
        choice = {"Action": "delete"} if expiry == "delete" else world.to_on_demand(model)
        return world.declaration(Plan("main"), model=model, count=count, on_expiry=choice, AcceptDowntimeSeconds="7200")

    world.deploy(declaration("m1"))
    moments = [*sorted(rng.uniform(0, 47 * HOUR) for _ in range(5)), 46 * HOUR, 47 * HOUR]
    for moment in moments:
        world.pass_time(max(0.0, start + moment - world.clock.now))
        if rng.random() < 0.8:
            world.faults[world.count + rng.randrange(1, 25)] = rng.choice(FAULTS)
        if rng.random() < 0.5 and not world.faults:
            world.deploy(declaration(f"m{rng.randrange(1, 4)}"))
        for _ in range(rng.randrange(2, 12)):
            world.pass_time(rng.choice((20.0, PERIOD)))
            world.arrive()
            world.run()
    world.faults.clear()
    go(world, start + 50 * HOUR)
    assert not box.happened("configuration deleted while in use"), seed
    assert not box.happened("reservation expired"), seed
    assert expiry == "to_on_demand" or box.state() is None, seed
    return world


def test_some_histories_hold_on_the_sandbox(make):
    for seed in range(5):
        play(make, seed)


@pytest.mark.slow
def test_hundreds_of_histories_hold_on_the_sandbox(make):
    for seed in range(300):
        play(make, seed)
