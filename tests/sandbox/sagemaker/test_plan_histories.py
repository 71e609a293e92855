"""Random plans and jobs that run on nothing else, held against an account made from the jobs' descriptions."""

from __future__ import annotations

import contextlib
import itertools
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

from constructs_lib.sandbox.sagemaker.placement import Placement
from constructs_lib.sandbox.sagemaker.plans import Plans

P5 = "ml.p5.48xlarge"
COUNT = 8
CUT = 1800


@dataclass(frozen=True)
class History:
    """Segments as (start, end) in seconds, and jobs as (arrival, count, patience, runtime)."""

    segments: tuple[tuple[int, int], ...]
    jobs: tuple[tuple[int, int, int, int], ...]


@st.composite
def histories(draw):
    edges = sorted(draw(st.lists(st.integers(1, 60), min_size=2, max_size=6, unique=True)))
    segments = tuple((a * 3600, b * 3600) for a, b in zip(edges[::2], edges[1::2], strict=False))
    job = st.tuples(st.integers(0, 40), st.integers(1, COUNT), st.integers(1, 20), st.integers(0, 20))
    rows = draw(st.lists(job, min_size=1, max_size=5, unique_by=lambda row: row[0]))
    last = segments[-1][1] - CUT
    return History(
        segments,
        tuple(
            (hour * 3600 + 600, count, patience * 1800 + 7, runtime * 1800)
            for hour, count, patience, runtime in sorted(rows)
            if hour * 3600 + 600 < last
        ),
    )


def check(history, world):
    """Raise AssertionError if a plan gave what it did not have, or a job waited for too long or too short."""
    segments = [{"start": f"{start}s", "end": f"{end}s"} for start, end in history.segments]
    plan = {"name": "plan", "instance_type": P5, "count": COUNT, "segments": segments}
    runtimes = {f"job-{i}": {"runtime": f"{job[3] + 2**i / 1024:.10f}s"} for i, job in enumerate(history.jobs)}
    one = world({"plans": [plan], "job": {"overrides": runtimes}})
    start = one.clock.now()
    for i, (arrives, count, patience, _) in enumerate(history.jobs):
        one.go(seconds=arrives - (one.clock.now() - start))
        limits = {"MaxPendingTimeInSeconds": patience, "MaxRuntimeInSeconds": 28 * 86400}
        one.create(f"job-{i}", preferences=[(P5, count, "plan")], limits=limits)
    one.go(hours=100)
    holds, waits = spans(one, history, start)
    moments = {t for _, begin, end in holds for t in (begin, end)} | {t for span in history.segments for t in span}
    for t in sorted(moments):
        used = sum(history.jobs[i][1] for i, begin, end in holds if begin <= t < end)
        room = COUNT if any(a <= t < b - CUT for a, b in history.segments) else 0
        assert used <= room, "more is held than the plan has"
        for i, begin, end in waits:
            if begin <= t < end:
                assert used + history.jobs[i][1] > room, "a job waits beside room"
    for i, (_, _, patience, _) in enumerate(history.jobs):
        check_wait(one, history, f"job-{i}", patience, [(a, b) for j, a, b in waits if j == i])


def spans(one, history, start):
    """Return when each job held instances, and when it waited, as (job, begin, end)."""
    holds, waits = [], []
    for i in range(len(history.jobs)):
        rows = one.describe(f"job-{i}")["SecondaryStatusTransitions"]
        for row, after in itertools.pairwise(rows):
            into = waits if row["Status"] == "Pending" else holds
            into.append((i, row["StartTime"] - start, after["StartTime"] - start))
    return holds, waits


def check_wait(one, history, name, patience, waits):
    """Only time in which the plan is active counts, and exactly the limit ends the wait."""
    active = [(max(a, b), min(c, d)) for a, c in waits for b, d in history.segments]
    counted = sum(end - begin for begin, end in active if end > begin)
    assert counted <= patience, "waited beyond the limit"
    described = one.describe(name)
    reason = described.get("FailureReason", "")
    if "Unable to provision" in reason:
        assert counted == patience, "gave up early"
    else:
        assert described["TrainingJobStatus"] == "Completed" or reason.endswith("training plan has ended.")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(histories())
def test_every_history_of_a_plan_goes_as_aws_says(world, history):
    check(history, world)


@contextlib.contextmanager
def patched(owner, name, value):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, name, value)
        yield


def free_though_in_use(self, arn, now, zones=None):
    return COUNT if self._plans[arn].usable(now) else 0


def free_before_the_start(self, arn, now, zones=None):
    segment = self._plans[arn].segment(now)
    return segment.count - segment.in_use


DEFECTS = {
    "the time before a segment counts": (Placement, "_counts", lambda *_: True),
    "no time counts": (Placement, "_counts", lambda *_: False),
    "what is in use is given again": (Plans, "free", free_though_in_use),
    "a plan gives before it starts": (Plans, "free", free_before_the_start),
    "instances outlive their segment": (Placement, "_cut", lambda *_: None),
    "nobody is told when a segment begins": (Placement, "_offer", lambda *_: None),
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
