"""Random worlds of a fleet: two executions and a rerun, functions that die between any two writes, limits that hold.

Every run of the launcher goes call by call, in any order, and may die before or after each call or lose its answer.
The judge looks at the world's jobs, never at our table. A failure prints the seed, and the world is the same again.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict

import pytest

from constructs_lib.runtime.fleet_table import FleetTable, Slots
from constructs_lib.runtime.services.fleets import Fleets

pytestmark = pytest.mark.slow

P5, G5 = "ml.p5.48xlarge", "ml.g5.48xlarge"
LIMITS = {P5: 1, G5: 2}
ITEMS = 4
FAULTS = ["die-before", "die-after", "lost-before", "lost-after"]
ENDS = [("Completed", ""), ("Completed", ""), ("Failed", "AlgorithmError: exit code 1")]
MOST_RUNS = 4


class Play:
    """One world with a fleet, and the choices of one seed."""

    def __init__(self, world, seed, executions=2):
        self.world, self.random = world, random.Random(seed)
        self.faults = 6
        world.planned["sagemaker.create_training_job"] = FAULTS[seed % 4]
        world.planned["dynamodb.update_item"] = FAULTS[seed // 4 % 4]
        self.completed: Counter[str] = Counter()
        self.items: dict[object, str] = {}
        self.waiting: list[object] = []
        self.starts = 0
        self.answer_states, world.states = world.states, self.states
        for _ in range(executions):
            self.start_fleet()

    # --- the world's side of a fleet
    def start_fleet(self):
        self.starts += 1
        for number in range(ITEMS):
            item = {"name": f"lr-{number}", "seconds": 9000, "request": self.world.request}
            item["request"] = {**self.world.request, "HyperParameters": {"lr": str(number)}}
            fleet = {"item": item, "file": "f1", "run": f"run-{self.starts}", "limits": LIMITS}
            machine = self.world.machine(fleet=fleet)
            self.items[machine.arn] = item["name"]
            self.begin(machine)

    def begin(self, machine):
        if len(self.world.runs) < MOST_RUNS:
            machine.start()
        else:
            self.waiting.append(machine)

    def states(self, method, **request):
        """Step Functions, which repeats a launch that waits for its slot after a while."""
        if method == "send_task_failure" and request["error"] == "WaitingForSlot":
            arn = request["taskToken"].rpartition("/")[0]
            machine = next(machine for machine in self.world.machines if machine.arn == arn)
            if request["taskToken"] != machine.token:
                raise self.world.refused("TaskTimedOut", "Task Timed Out")
            machine.phase = "waiting"
            return {}
        return self.answer_states(method, **request)

    # --- what can happen
    def choices(self):
        world = self.world
        room = len(world.runs) < MOST_RUNS
        asleep = [m for m in world.machines if m.phase == "waiting" and m.status == "RUNNING"]
        live = world.sagemaker.live()
        running = [m for m in world.machines if m.status == "RUNNING" and m.phase != "waiting"]
        yield 14 if world.runs else 0, self.step
        yield 3 if self.waiting and room else 0, lambda: self.waiting.pop().start()
        yield 3 if asleep and room else 0, lambda: self.wake(self.random.choice(asleep))
        yield 1, world.show
        yield 1 if world.under_way else 0, world.arrive
        yield 2 if world.events and room else 0, self.event
        yield 1 if room else 0, world.sweep
        yield 1, lambda: world.clock.sleep(self.random.choice([5, 60, 301]))
        yield 1.5 if live else 0, lambda: self.pick(self.random.choice(live))
        yield 1.5 if live else 0, lambda: self.end_job(self.random.choice(live))
        yield 0.3 if running and room else 0, lambda: self.random.choice(running).lose_launcher()
        yield 0.1 if running else 0, lambda: self.random.choice(running).aborted()

    def step(self):
        run = self.random.choice(self.world.runs)
        fault = ""
        if self.faults and self.random.random() < 0.05:
            self.faults -= 1
            fault = self.random.choice(FAULTS)
        run.step(fault)

    def wake(self, machine):
        machine.phase = "launch"
        return machine.enter(tries=machine.tries + 1)

    def event(self):
        self.world.deliver(self.world.events.pop(self.random.randrange(len(self.world.events))))

    def pick(self, name, kind=""):
        """A job gets one of its types, and starts."""
        job = self.world.sagemaker.jobs[name]
        if job.status == "InProgress" and job.started is None:
            job.start(self.world.clock.now)
            job.selected = (kind or self.random.choice([P5, G5]), 2)

    def may_run_on(self, name, kind):
        job = self.world.sagemaker.jobs[name]
        return job.started is None or job.selected[0] == kind

    def end_job(self, name):
        self.pick(name)
        status, reason = self.random.choice(ENDS)
        self.world.end_job(name, status, reason)
        if status == "Completed":
            self.completed[self.item(name)] += 1

    def item(self, job):
        return self.items[self.world.sagemaker.jobs[job].made_for[0]]

    # --- what must hold
    def check(self):
        """The limits hold whatever a job gets; an item runs once at a time, and not again once it completed."""
        live = self.world.sagemaker.live()
        for kind, limit in LIMITS.items():
            jobs = [name for name in live if self.may_run_on(name, kind)]
            assert len(jobs) <= limit, f"{len(jobs)} jobs may run on {kind}, {limit} are allowed"
        by_item = Counter(self.item(name) for name in live)
        assert not [item for item, count in by_item.items() if count > 1], f"an item runs twice at once: {by_item}"
        assert not [item for item, count in self.completed.items() if count > 1], "an item completed twice"
        again = [item for item in by_item if self.completed[item]]
        assert not again, f"{again} completed and run again"

    def go(self):
        for _ in range(self.random.randint(150, 300)):
            weights, actions = zip(*self.choices(), strict=True)
            (action,) = self.random.choices(actions, weights)
            action()
            self.check()
        self.settle()
        self.start_fleet()  # a rerun starts what failed, and nothing else
        self.settle()
        assert set(self.completed) == {f"lr-{n}" for n in range(ITEMS)}, f"left out: {self.completed}"
        table = FleetTable(self.world.dynamodb, self.world.table, self.world.clock)
        assert table.slots("Lab-Tune-0011aabb").holders == {}, "slots leak"
        marks = {mark.item: mark for mark in table.marks("Lab-Tune-0011aabb")}
        assert all(mark.holder is None and mark.end == "Completed" for mark in marks.values()), marks

    def settle(self):
        """Let all go on without faults; from now on every job completes."""
        world = self.world
        for _ in range(40):
            while world.runs:
                world.runs[0].finish()
                self.check()
            for machine in world.machines:
                if machine.phase == "waiting" and machine.status == "RUNNING":
                    self.wake(machine).finish()
                    self.check()
            while self.waiting:
                self.waiting.pop().start().finish()
            world.arrive()
            world.show()
            for name in world.sagemaker.live():
                if world.sagemaker.jobs[name].status == "Stopping":
                    world.end_job(name, "Stopped")
                else:
                    self.pick(name, G5)
                    world.end_job(name, "Completed")
                    self.completed[self.item(name)] += 1
            events, world.events = world.events, []
            for event in events:
                world.deliver(event).finish()
            world.clock.sleep(301)
            world.sweep().finish()
            self.check()
            if not world.runs and not world.sagemaker.live() and not self.busy():
                return
        raise AssertionError(
            f"never ends: {[(m.arn[-3:], m.phase, m.status) for m in world.machines if m.status == 'RUNNING']}"
        )

    def busy(self):
        return self.waiting or [m for m in self.world.machines if m.status == "RUNNING"]


def play(world, seed):
    try:
        Play(world, seed).go()
    except AssertionError as error:
        raise AssertionError(f"seed {seed}: {error}") from error
    return world.windows


def some(make_world, seeds):
    windows = Counter()
    for seed in seeds:
        windows += play(make_world(), seed)
    return windows


@pytest.mark.slow
def test_limits_hold_and_no_item_runs_twice_whatever_dies_between_any_two_writes(make_world):
    windows = defaultdict(int, some(make_world, range(12)))
    lines = [f"{call:38}{side:>8}{count:6}" for (call, side), count in sorted(windows.items())]
    print("\n" + "\n".join(lines))
    for side in ("before", "after"):
        for call in ("dynamodb.update_item", "dynamodb.get_item", "sagemaker.create_training_job"):
            assert windows[call, side], f"{call} never failed {side}"


def test_one_random_world_holds(make_world):
    play(make_world(), 3)


def without_a_condition(self, fleet, job, limits):
    """A slot is taken without asking how many there are."""
    return original["take_slots"](self, fleet, job, dict.fromkeys(limits, 1000))


def freed_when_it_waits(self, launch, taken):
    """A job that was created gives its slots back when its launcher is repeated."""
    waits = original["enter"](self, launch, taken)
    if launch.try_number:
        self.table.free_slots(launch.fleet_name, launch.name, list(LIMITS))
    return waits


def claimed_by_everybody(self, *args, **given):
    """An item is taken without asking who has it."""
    original["claim"](self, *args, **given)
    return True


def swept_while_open(self, waiting):
    """The sweep takes slots from jobs that still run."""
    for slots in self.table.all_slots():
        for job in frozenset().union(*slots.holders.values()):
            self._free(slots.fleet, job)


original = {"take_slots": FleetTable.take_slots, "enter": Fleets.enter, "claim": FleetTable.claim}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("owner", "name", "defect"),
    [
        (FleetTable, "take_slots", without_a_condition),
        (Fleets, "enter", freed_when_it_waits),
        (FleetTable, "claim", claimed_by_everybody),
        (Fleets, "sweep", swept_while_open),
    ],
)
def test_a_planted_defect_is_caught(make_world, monkeypatch, owner, name, defect):
    monkeypatch.setattr(owner, name, defect)
    monkeypatch.setattr(Slots, "full", lambda *_: []) if defect is without_a_condition else None
    if defect is claimed_by_everybody:
        monkeypatch.setattr(Fleets, "before", lambda self, launch: None)
    with pytest.raises(AssertionError, match="seed"):
        some(make_world, range(25))


@pytest.mark.parametrize(("got", "alone"), [(P5, True), (G5, False)])
def test_a_job_keeps_the_slot_of_the_type_that_it_got_and_no_other(make_world, got, alone):
    world = make_world()
    fleet = Play(world, 0, executions=0)
    world.planned.clear()
    fleet.start_fleet()

    def let_all_try():
        for machine in world.machines:
            if machine.phase == "waiting":
                fleet.wake(machine)
        while world.runs:
            world.runs[0].finish()

    let_all_try()
    (first,) = world.sagemaker.live()  # every job may take the one P5
    fleet.pick(first, got)
    world.show()
    let_all_try()
    assert world.sagemaker.live() == [first]
    world.sweep().finish()
    let_all_try()
    assert (world.sagemaker.live() == [first]) is alone


@pytest.mark.slow
def test_slots_that_nobody_gives_back_are_swept_and_without_the_sweep_they_leak(make_world, monkeypatch):
    def forget(self, fleet, job, keep=""):
        """The function dies before it gives slots back."""

    monkeypatch.setattr(Fleets, "_free", forget)
    with pytest.raises(AssertionError, match=r"slots leak|never ends|left out"):
        play(make_world(), 1)
