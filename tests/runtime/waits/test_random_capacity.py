"""Random capacity, random launches, one list or several steps: the winner, the waits and the order of steps.

What is expected is worked out from outside: from the levels as they were given, and from what SageMaker says of jobs
and of the requests that it received.
"""

import contextlib
import itertools
from dataclasses import dataclass
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from constructs_lib.model import FailureClass, InstancePreference, Limits, RunEnd, RunRecord, TrainingJobSpec
from constructs_lib.model.limits import Bounds
from constructs_lib.model.processing import ProcessingJobSpec
from constructs_lib.model.steps import LaunchStep, processing_request, training_request
from constructs_lib.runtime import terms
from constructs_lib.runtime.services.limiting import Limiting
from constructs_lib.runtime.services.sweeping import Sweeping
from constructs_lib.sandbox.sagemaker.evaluation import Look, evaluate
from constructs_lib.workloads.definition import Launch, Then, launcher_states

pytestmark = pytest.mark.slow

TYPES = ("ml.g5.48xlarge", "ml.g6.48xlarge", "ml.g6.24xlarge")
NOUNS = {"training": "TrainingJob", "processing": "ProcessingJob"}
ROLE, IMAGE = "arn:aws:iam::123456789012:role/jobs", "111122223333.dkr.ecr.us-east-1.amazonaws.com/tune:1"
END = 14 * 3600
SWEEP = 300
MOMENT = 3  # seconds that a stop or a next step takes when nobody has to be waited for


@dataclass(frozen=True)
class Step:
    entries: tuple[tuple[str, int], ...]
    pending: int


@dataclass(frozen=True)
class Asked:
    """One launch; times in seconds, its limits counted from its begin."""

    kind: str
    arrives: int
    steps: tuple[Step, ...]
    runtime: int
    start_by: int | None
    finish_by: int | None


@dataclass(frozen=True)
class History:
    levels: tuple[tuple[int, str, int], ...]
    launches: tuple[Asked, ...]
    hears: bool

    def capacity(self):
        rows = {name: [{"at": "0s", "free": 0}] for name in TYPES}
        for at, name, free in self.levels:
            rows[name].append({"at": f"{at}s", "free": free})
        # Fractions of their own keep the ends of jobs apart.
        runtimes = {
            f"Lab-Tune{i}-*": {"runtime": f"{asked.runtime + 2**i / 1024:.10f}s"}
            for i, asked in enumerate(self.launches)
        }
        return {"types": rows, "job": {"overrides": runtimes}}


@st.composite
def histories(draw):
    # Sweeps come on whole five minutes and launches at half minutes: no level changes at the same second.
    minute = st.tuples(st.integers(0, 200), st.sampled_from(TYPES), st.integers(0, 8))
    levels = draw(st.lists(minute, max_size=10, unique_by=lambda row: row[0]))
    launches = []
    for _ in range(draw(st.integers(1, 3))):
        steps = []
        for _ in range(draw(st.integers(1, 3))):
            types = draw(st.lists(st.sampled_from(TYPES), min_size=1, max_size=3, unique=True))
            entries = tuple((name, draw(st.integers(1, 6))) for name in types)
            steps.append(Step(entries, draw(st.integers(30, 60)) * 60 + 7))
        start_by = draw(st.none() | st.integers(10, 120))
        finish_by = draw(st.none() | st.integers((start_by or 10) + 1, 240))
        launches.append(
            Asked(
                draw(st.sampled_from(sorted(NOUNS))),
                draw(st.integers(0, 60)) * 60 + 30,
                tuple(steps),
                draw(st.integers(0, 60)) * 60,
                start_by and start_by * 60,
                finish_by and finish_by * 60,
            )
        )
    rows = tuple((at * 60 + 17, name, free) for at, name, free in sorted(levels))
    return History(rows, tuple(launches), draw(st.booleans()))


def definition(asked, index):
    """Return the machine of a launch, as the constructs render it."""
    common = {"name": "tune", "image": IMAGE, "role_arn": ROLE, "max_runtime": 7200, "preferences": ()}
    if asked.kind == "training":
        spec, request_of = TrainingJobSpec(output="s3://bucket/models", **common), training_request
    else:
        spec, request_of = ProcessingJobSpec(volume_size_gb=100, **common), processing_request
    told = []
    for step in asked.steps:
        entries = [InstancePreference(name, instance_count=count) for name, count in step.entries]
        waits = step.pending if asked.kind == "training" else None
        request = request_of(spec, LaunchStep(entries, max_pending=waits))
        told.append(Then(request=request, seconds=400_000, max_pending=None if waits else step.pending))
    limits = Limits(
        start_by=asked.start_by and timedelta(seconds=asked.start_by),
        finish_by=asked.finish_by and timedelta(seconds=asked.finish_by),
    )
    return launcher_states(
        Launch(
            kind=asked.kind,
            request=told[0].request,
            prefix=f"Lab-Tune{index}-0011aabb",
            seconds=400_000,
            partition="aws",
            launcher="launcher",
            max_pending=told[0].max_pending,
            then=told[1:],
            limits=limits.to_payload([]),
            relative=limits.relative,
        )
    )


@dataclass(frozen=True)
class Seen:
    """A job as SageMaker knows it; times in seconds of the history, None where there is no such moment."""

    name: str
    launch: int
    entries: tuple[tuple[str, int], ...]
    created: float
    selected: float | None
    chosen: tuple[str, int] | None
    started: float | None
    stopped: float | None  # when it was asked to stop
    ended: float | None
    status: str

    @property
    def gave_up(self):
        """When it no longer waited without having found anything."""
        return None if self.selected is not None else self.stopped if self.stopped is not None else self.ended


class Account:
    """What happened, as SageMaker tells it."""

    def __init__(self, history, world, start):
        self.history, self.world, self.zero = history, world, start
        self.jobs = sorted(self._jobs(), key=lambda job: job.created)

    def _jobs(self):
        requests = list(self.world.sagemaker.requests)
        for noun in NOUNS.values():
            stops = {}
            for t, operation, request in requests:
                if operation == f"Stop{noun}":
                    stops.setdefault(request[f"{noun}Name"], t - self.zero)
            for name, request in {r[f"{noun}Name"]: r for _, o, r in requests if o == f"Create{noun}"}.items():
                yield self._seen(noun, name, request, stops.get(name))

    def _seen(self, noun, name, request, stopped):
        shown = self.world.sagemaker.handle(f"Describe{noun}", {f"{noun}Name": name})
        resources = request.get("ResourceConfig") or request["ProcessingResources"]["ClusterConfig"]
        looks = [look for look in self.world.sagemaker.evaluations(name) if look["outcome"] == "selected"]
        started = shown.get("TrainingStartTime", shown.get("ProcessingStartTime"))
        status = shown[f"{noun}Status"]
        return Seen(
            name=name,
            launch=int(name.removeprefix("Lab-Tune").partition("-")[0]),
            entries=tuple((e["InstanceType"], e["InstanceCount"]) for e in resources["InstancePreferences"]),
            created=shown["CreationTime"] - self.zero,
            selected=looks[0]["time"] - self.zero if looks else None,
            chosen=(looks[0]["instance_type"], looks[0]["needed"]) if looks else None,
            started=None if started is None else started - self.zero,
            stopped=stopped,
            ended=None if status in ("InProgress", "Stopping") else shown["LastModifiedTime"] - self.zero,
            status=status,
        )

    def free(self, name, t, without):
        """Return what was free of a type right after `t`, as if the jobs `without` had not begun."""
        since, free = ([(0, 0)] + [(at, free) for at, kind, free in self.history.levels if kind == name and at <= t])[
            -1
        ]
        held = (
            job.chosen[1]
            for job in self.jobs
            if job.chosen and job.chosen[0] == name and job not in without
            if since <= job.selected <= t < (END if job.ended is None else job.ended)
        )
        return free - sum(held)


def play(history, make_world, **given):
    world = make_world(history.capacity(), hears=history.hears, **given)
    start = world.clock.now()
    for index, asked in enumerate(history.launches):
        world.start(definition(asked, index), f"Lab-Tune{index}-0011aabb:e", asked.arrives)
    world.clock.go_to(start + END)
    return Account(history, world, start), list(world.machines.values())


def check(history, make_world, **given):
    """Raise AssertionError if a history did not go as a launch promises."""
    account, machines = play(history, make_world, **given)
    check_winners(account)
    for index, (asked, machine) in enumerate(zip(history.launches, machines, strict=True)):
        jobs = [job for job in account.jobs if job.launch == index]
        check_steps(asked, jobs)
        check_end(asked, machine, jobs, account.zero)
        for step, job in zip(asked.steps, jobs, strict=False):
            check_waits(asked, step, job)
    assert list(account.world.services.sweeping.means.table.open_rows()) == []


def check_winners(account):
    """Each job runs on the first entry of its list that had room at that moment."""
    for job in account.jobs:
        if job.selected is not None:
            later = [o for o in account.jobs if o.selected == job.selected and o.created >= job.created]
            room = [entry for entry in job.entries if account.free(entry[0], job.selected, later) >= entry[1]]
            assert room, f"{job.name} runs on what nobody had"
            assert job.chosen == room[0], f"{job.name} runs on {job.chosen}, not on the first that had room"


def check_end(asked, machine, jobs, zero):
    """Every launch ends, with nothing left, and its record names what ran."""
    assert machine.status != "RUNNING", "never ended"
    assert all(job.ended is not None for job in jobs), "a job is left"
    record, last = machine.output, jobs[-1] if jobs else None
    if record["end"] == "Completed":
        assert (last.status, last.chosen) == ("Completed", (record["instance_type"], record["instance_count"]))
        assert last.entries[record["rank"] - 1] == last.chosen
        assert record.get("step", 1) == len(jobs)
    elif record["end"] == "InsufficientCapacity":
        assert len(jobs) == len(asked.steps), "gave up before the last step"
        assert last.selected is None
    else:
        limit = {"StartByPassed": asked.start_by, "FinishByPassed": asked.finish_by}[record["end"]]
        # A step may end by itself before the limit, and the next one find it passed: the launch's own end counts.
        assert machine.ended - zero >= asked.arrives + limit, f"{record['end']} before its time"


def check_steps(asked, jobs):
    """One after the other in their order, the next only when the one before found nothing and has ended."""
    assert [job.entries for job in jobs] == [step.entries for step in asked.steps[: len(jobs)]]
    for one, following in itertools.pairwise(jobs):
        assert one.selected is None, "a next step after one that ran"
        assert following.created >= one.ended, "two jobs of one launch at once"


def check_waits(asked, step, job):
    """Nobody waits longer than a limit and one sweep, nobody gives up before it."""
    start_by = END if asked.start_by is None else asked.arrives + asked.start_by
    finish_by = END if asked.finish_by is None else asked.arrives + asked.finish_by
    pending = job.created + step.pending
    late = SWEEP + MOMENT
    assert job.created < min(start_by, finish_by), "created after a limit"
    if job.gave_up is not None:
        assert job.gave_up <= pending + (late if asked.kind == "processing" else MOMENT), "waited beyond its limit"
        assert job.gave_up <= min(start_by, finish_by) + late, "waited beyond the launch's limit"
        assert job.gave_up >= min(pending, start_by, finish_by), "gave up early"
    elif asked.kind == "training":
        assert job.selected <= pending
    over = job.ended if job.stopped is None else job.stopped
    if job.started is None:
        assert over <= start_by + late, "not started in time, and not stopped"
    assert over <= finish_by + late, "runs on after it should have finished"


FEW = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@FEW
@given(histories())
def test_every_history_goes_as_a_launch_promises(make_world, history):
    check(history, make_world)


def last_with_room(entries, free):
    fits = [entry for entry in entries if free(entry) >= entry.count]
    if not fits:
        return evaluate(entries, free)
    seen = entries[: entries.index(fits[-1]) + 1]
    return fits[-1], [Look(rank, entry, free(entry), entry is fits[-1]) for rank, entry in enumerate(seen, 1)]


@contextlib.contextmanager
def patched(owner, name, value):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, name, value)
        yield


G5, G6, _ = TYPES
WAIT = 30 * 60 + 7


def one_launch(kind, *steps, levels=(), start_by=None):
    asked = Asked(kind, 30, tuple(Step(entries, WAIT) for entries in steps), 600, start_by, None)
    return History(levels, (asked,), hears=True)


ROOM_FOR_BOTH = ((17, G5, 8), (18, G6, 8))
TWO_FREE = one_launch("training", ((G5, 2), (G6, 2)), levels=ROOM_FOR_BOTH)
# The first step's wait is over a moment after the launch's limit, and before the next sweep.
LIMIT_BETWEEN_STEPS = one_launch("training", ((G5, 2),), ((G6, 2),), start_by=1800)
NOTHING_FREE = one_launch("processing", ((G5, 2),), ((G6, 2),))
FIRST_STEP_RUNS = one_launch("training", ((G5, 2),), ((G6, 2),), levels=ROOM_FOR_BOTH)


def stop_and_go_on(stop):
    def both(self, row, job, *more):
        stop(self, row, job, *more)
        scarce = RunRecord.not_created(
            row.name, RunEnd.INSUFFICIENT_CAPACITY, failure=FailureClass.CAPACITY, kind=row.identity.kind
        )
        self.completion.answer(row, scarce)

    return both


NOTHING = contextlib.nullcontext
DEFECTS = {
    "the last entry with room wins": ("not on the first that had room", TWO_FREE, {"choose": last_with_room}, NOTHING),
    "the sweep comes every quarter of an hour": (
        "waited beyond its limit",
        NOTHING_FREE,
        {"sweep": 3 * SWEEP},
        NOTHING,
    ),
    "no limit is ever passed": ("never ended", NOTHING_FREE, {}, lambda: patched(Limiting, "passed", lambda *_: None)),
    "jobs are created after their limit": (
        "created after a limit",
        LIMIT_BETWEEN_STEPS,
        {},
        lambda: patched(Bounds, "before", lambda *_: None),
    ),
    "no step follows": (
        "gave up before the last step",
        NOTHING_FREE,
        {},
        lambda: patched(terms, "goes_on", lambda *_, **__: False),
    ),
    "a step follows whatever happened": (
        "a next step after one that ran",
        FIRST_STEP_RUNS,
        {},
        lambda: patched(terms, "goes_on", lambda *_, **__: True),
    ),
    "a job that is being stopped counts as ended": (
        "two jobs of one launch at once",
        NOTHING_FREE,
        {},
        lambda: patched(Sweeping, "_stop", stop_and_go_on(Sweeping._stop)),
    ),
}


@pytest.mark.parametrize("defect", sorted(DEFECTS))
def test_a_planted_defect_is_found(make_world, defect):
    words, history, given, broken = DEFECTS[defect]
    check(history, make_world)
    with broken(), pytest.raises(AssertionError, match=words):
        check(history, make_world, **given)
