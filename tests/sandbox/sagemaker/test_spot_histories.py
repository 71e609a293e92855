"""Random histories of spot capacity and interruptions, held against what the jobs' descriptions must then show.

No moment is shared by two changes, so that what was free before and after each change is certain.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

from constructs_lib.sandbox.sagemaker.placement import Placement
from constructs_lib.sandbox.sagemaker.supply import Supply
from constructs_lib.sandbox.sagemaker.training_job import TrainingJob
from constructs_lib.sandbox.sagemaker.training_life import TrainingLife

TYPE = "ml.g5.48xlarge"
END = 48 * 3600
START, DOWNLOAD, UPLOAD, STOP = 60, 120, 60, 120


@dataclass(frozen=True)
class Job:
    """A spot job of a history; times in seconds."""

    arrives: int
    count: int
    runtime: float
    max_run: int
    max_wait: int
    checkpoint: bool


@dataclass(frozen=True)
class History:
    """Levels as (second, free, whether it interrupts), and jobs in the order in which they arrive."""

    levels: tuple[tuple[int, int, bool], ...]
    jobs: tuple[Job, ...]

    def document(self):
        """Return the history as a capacity file."""
        rows = [{"at": "0s", "free": 0}]
        rows += [{"at": f"{at}s", "free": free, "interrupt": interrupts} for at, free, interrupts in self.levels]
        overrides = {f"job-{i}": {"runtime": f"{job.runtime:.10f}s"} for i, job in enumerate(self.jobs)}
        return {"spot": {TYPE: rows}, "types": {TYPE: 0}, "job": {"overrides": overrides}}


@st.composite
def histories(draw):
    level = st.tuples(st.integers(1, 400), st.integers(0, 12), st.booleans())
    levels = sorted(draw(st.lists(level, max_size=8, unique_by=lambda row: row[0])))
    jobs = []
    for number, minute in enumerate(sorted(draw(st.lists(st.integers(0, 200), min_size=1, max_size=5, unique=True)))):
        run = draw(st.integers(0, 120)) * 60 + 2**number / 1024  # a binary fraction of its own keeps ends apart
        max_run = draw(st.integers(10, 300)) * 60 + 11 + 2 * number
        max_wait = max_run + draw(st.integers(0, 200)) * 60 + 6
        jobs.append(Job(minute * 60 + 30, draw(st.integers(1, 8)), run, max_run, max_wait, draw(st.booleans())))
    return History(tuple((minute * 60, free, cut) for minute, free, cut in levels), tuple(jobs))


def play(history, world):
    """Play a history; return the descriptions of its jobs by name."""
    one = world(history.document())
    start = one.clock.now()
    for i, job in enumerate(history.jobs):
        one.go(seconds=job.arrives - (one.clock.now() - start))
        limits = {"MaxRuntimeInSeconds": job.max_run, "MaxWaitTimeInSeconds": job.max_wait}
        kept = {"CheckpointConfig": {"S3Uri": "s3://bucket/checkpoints"}} if job.checkpoint else {}
        resources = {"InstanceType": TYPE, "InstanceCount": job.count}
        one.create(f"job-{i}", resources=resources, limits=limits, EnableManagedSpotTraining=True, **kept)
    one.go(seconds=END - (one.clock.now() - start))
    return {f"job-{i}": Life(job, one.describe(f"job-{i}"), start) for i, job in enumerate(history.jobs)}


class Life:
    """A job's phases as its description tells them: (secondary status, begin, end), in seconds after the start."""

    def __init__(self, job, shown, start):
        self.job, self.shown = job, shown
        rows = shown["SecondaryStatusTransitions"]
        self.phases = [
            (row["Status"], row["StartTime"] - start, row.get("EndTime", END + start) - start) for row in rows
        ]
        self.end = self.phases[-1][1]

    def of(self, status):
        return [(begin, end) for name, begin, end in self.phases if name == status]

    def runs(self):
        """Return (begin, end) of each time on running instances: from Downloading to an interruption or the end."""
        found, begin = [], None
        for name, at, _ in self.phases:
            if name == "Downloading":
                begin = at
            elif (
                name in ("Interrupted", "Completed", "MaxRuntimeExceeded", "MaxWaitTimeExceeded") and begin is not None
            ):
                found.append((begin, at))
                begin = None
        return found

    def holds(self):
        """Return (begin, end) of each time with instances; they are held from `START` seconds before a run on."""
        return [(begin - START, end) for begin, end in self.runs()]


def check(history, world):
    """Raise AssertionError if a history did not go as AWS says it does."""
    lives = play(history, world)
    for life in lives.values():
        check_end(life)
        check_training(life)
        check_interruptions(history, life)
    check_supply(history, lives)


def check_end(life):
    """Every job ends: complete, or stopped at the limit that it reached, which counts waits or not."""
    status, job = life.phases[-1][0], life.job
    ran = sum(end - begin for begin, end in life.runs())
    stopping = life.of("Stopping")
    uploaded = {end for _, end in life.of("Uploading")}
    late = any(begin in uploaded for begin, _ in life.of("Interrupted"))  # uploading, it was bound by no limit
    if status == "Completed":
        assert ran - UPLOAD <= job.max_run, "ran beyond its limit"
        assert life.end - UPLOAD - job.arrives <= job.max_wait, "took longer than its wait time"
    elif status == "MaxWaitTimeExceeded":
        took = stopping[0][0] - job.arrives
        assert took == job.max_wait or (late and took > job.max_wait), "did not stop when the wait time was over"
    else:
        assert status == "MaxRuntimeExceeded", "ended otherwise"
        ran = round(ran - (life.end - stopping[0][0]), 6)
        assert ran == job.max_run or (late and ran > job.max_run), "did not stop when the runtime was over"
    ran = sum(end - begin for begin, end in life.runs())
    if life.runs():
        assert 0 < life.shown["BillableTimeInSeconds"] <= life.shown["TrainingTimeInSeconds"], "billed more than it ran"
        assert abs(life.shown["TrainingTimeInSeconds"] - ran) <= 1, "told another time than it ran"


def check_training(life):
    """A job completes when it has trained long enough: in all if it keeps checkpoints, else at a stretch."""
    if life.phases[-1][0] != "Completed":
        return
    trained = [end - begin for begin, end in life.of("Training")]
    enough = sum(trained) if life.job.checkpoint else trained[-1]
    assert abs(enough - life.job.runtime) < 1e-6, "trained too long, or not long enough"


def check_interruptions(history, life):
    """A job is interrupted at each interruption that finds it with instances, and at no other moment."""
    cuts = {at for at, _, interrupts in history.levels if interrupts}
    told = {begin for begin, _ in life.of("Interrupted")}
    assert told <= cuts, "interrupted by nothing"
    for begin, end in life.holds():
        assert not any(begin < cut < end for cut in cuts), "an interruption was survived"


def check_supply(history, lives):
    """At no time are more spot instances held than there are: those taken from a level stay within it."""
    changes = [0, *(at for at, _, _ in history.levels)]
    holds = [(begin, end, life.job.count) for life in lives.values() for begin, end in life.holds()]
    for since, free in [(0, 0), *((at, free) for at, free, _ in history.levels)]:
        until = min((at for at in changes if at > since), default=END)
        here = [hold for hold in holds if since <= hold[0] < until]
        for moment, _, _ in here:
            assert sum(count for begin, end, count in here if begin <= moment < end) <= free, "more than there are"


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(histories())
def test_every_history_of_spot_jobs_goes_as_aws_says(world, history):
    check(history, world)


@contextlib.contextmanager
def patched(owner, name, value):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, name, value)
        yield


def keeps_all(self, now):
    if self.training_since is not None:
        self.trained = min(self.times.runtime, self.trained + now - self.training_since)
    self.training_since = None


def keeps_nothing(self, now):
    self.training_since = None


def spares_the_first(self, pool, zone, now):
    lost = [holding for holding in self._held if holding.entry.source == pool][1:]
    for holding in lost:
        self._take_back(holding)
        holding.ticket.evicted(holding, now)


def bounds_from_now_on(self, job):
    job.cancel_limits()
    until = self._agenda.clock.now() + job.demand.max_wait
    job.wait_limit = self._agenda.at(until, lambda t: self._wait_no_longer(job, t))


DEFECTS = {
    "every job keeps its progress": (TrainingJob, "keep_checkpoint", keeps_all),
    "no job keeps its progress": (TrainingJob, "keep_checkpoint", keeps_nothing),
    "interruptions do not happen": (Placement, "_interrupt", lambda *_: None),
    "the oldest job is spared": (Placement, "_interrupt", spares_the_first),
    "an interruption resets the wait time": (TrainingLife, "_bound_wait", bounds_from_now_on),
    "the wait time never ends": (TrainingLife, "_wait_no_longer", lambda *_: None),
    "the runtime begins anew with each start": (
        TrainingJob,
        "pause",
        lambda self, _: setattr(self, "running_since", None),
    ),
    "instances return to any level": (
        Supply,
        "give_back",
        lambda self, taken: setattr(pot := self._of(taken.pool)[taken.zone], "free", pot.free + taken.count),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("defect", sorted(DEFECTS))
def test_a_planted_defect_is_found(world, defect):
    def goes_wrong(history):
        with patched(*DEFECTS[defect]):
            try:
                check(history, world)
            except AssertionError:
                return True
        return False

    only_find = settings(max_examples=2000, deadline=None, database=None, phases=[Phase.generate])
    find(histories(), goes_wrong, settings=only_find)
