"""Random histories of capacity and jobs, held against an account of our own of who had what when.

The account is made from outside only: levels as given, and the times, types and counts that the jobs' descriptions
show. No moment is shared by two changes, so that what was free before and after each change is certain.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

from constructs_lib.sandbox.sagemaker.evaluation import Look, evaluate
from constructs_lib.sandbox.sagemaker.line import Lane, Line
from constructs_lib.sandbox.sagemaker.placement import Placement
from constructs_lib.sandbox.sagemaker.supply import Supply

TYPES = ["ml.p5.48xlarge", "ml.p4d.24xlarge", "ml.g5.48xlarge"]
END = 24 * 3600


@dataclass(frozen=True)
class Job:
    """A job of a history; its arrival, and the moment at which it is stopped (None: never), in seconds."""

    arrives: float
    entries: tuple[tuple[str, int], ...]
    patience: int
    runtime: int
    stopped: float | None


@dataclass(frozen=True)
class History:
    """Levels as (second, type, free), and jobs in the order in which they arrive."""

    levels: tuple[tuple[int, str, int], ...]
    jobs: tuple[Job, ...]

    def document(self):
        """Return the history as a capacity file."""
        rows = {name: [{"at": "0s", "free": 0}] for name in TYPES}
        for at, name, free in self.levels:
            rows[name].append({"at": f"{at}s", "free": free})
        # Binary fractions of their own keep the ends of jobs apart, whatever chain of jobs they follow.
        overrides = {f"job-{i}": {"runtime": f"{job.runtime + 2**i / 1024:.10f}s"} for i, job in enumerate(self.jobs)}
        return {"types": rows, "job": {"overrides": overrides, "stop_takes": "90s"}}


@st.composite
def histories(draw):
    levels = draw(
        st.lists(
            st.tuples(st.integers(1, 120), st.sampled_from(TYPES), st.integers(0, 10)),
            max_size=8,
            unique_by=lambda r: r[0],
        )
    )
    arrivals = sorted(draw(st.lists(st.integers(0, 100), min_size=1, max_size=7, unique=True)))
    jobs = []
    for minute in arrivals:
        types = draw(st.lists(st.sampled_from(TYPES), min_size=1, max_size=3, unique=True))
        entries = tuple((name, draw(st.integers(1, 8))) for name in types)
        if jobs and draw(st.booleans()):
            entries = draw(st.sampled_from(jobs)).entries
        stop = draw(st.none() | st.integers(1, 60))
        patience, runtime = draw(st.integers(30, 60)) * 60 + 7, draw(st.integers(0, 80)) * 60
        stopped = stop and (minute + stop) * 60 + 45 + (2 * len(jobs) + 1) / 4096
        jobs.append(Job(minute * 60 + 30, entries, patience, runtime, stopped))
    return History(tuple((minute * 60, name, free) for minute, name, free in sorted(levels)), tuple(jobs))


@dataclass(frozen=True)
class Hold:
    """Instances that a job held from `start` to `end`."""

    name: str
    instance_type: str
    count: int
    start: float
    end: float


class Account:
    """Who had what when, as the jobs' descriptions tell."""

    def __init__(self, history, world, start):
        self.levels, self.start, self.holds = history.levels, start, []
        self.jobs = {f"job-{i}": world.describe(f"job-{i}") for i in range(len(history.jobs))}
        for name, shown in self.jobs.items():
            rows = {row["Status"]: row for row in shown["SecondaryStatusTransitions"]}
            if "Starting" in rows:
                resources = shown["ResourceConfig"]
                ended = (
                    shown["LastModifiedTime"] if shown["TrainingJobStatus"] in ("Completed", "Stopped") else END + start
                )
                self.holds.append(
                    Hold(
                        name,
                        resources["SelectedInstanceType"],
                        resources["SelectedInstanceCount"],
                        rows["Starting"]["StartTime"] - start,
                        ended - start,
                    )
                )

    def level(self, instance_type, t):
        """Return (since, free) of the level in force at `t`."""
        rows = [(at, free) for at, name, free in self.levels if name == instance_type and at <= t]
        return rows[-1] if rows else (0, 0)

    def free(self, instance_type, t, without=()):
        """Return what was free right after `t`, as if the named jobs had not begun."""
        since, free = self.level(instance_type, t)
        return free - sum(
            hold.count
            for hold in self.holds
            if hold.instance_type == instance_type and since <= hold.start <= t < hold.end and hold.name not in without
        )

    def waiting(self, name, t):
        """Say whether a job waited right after `t`."""
        first, *rest = self.jobs[name]["SecondaryStatusTransitions"]
        until = rest[0]["StartTime"] - self.start if rest else END
        return first["Status"] == "Pending" and first["StartTime"] - self.start <= t < until


def play(history, world, choose=None):
    """Play a history and return the account of it."""
    one = world(history.document(), choose=choose)
    start = one.clock.now()
    calls = [(job.arrives, "create", i) for i, job in enumerate(history.jobs)]
    calls += [(job.stopped, "stop", i) for i, job in enumerate(history.jobs) if job.stopped is not None]
    for at, what, i in sorted(calls):
        one.go(seconds=at - (one.clock.now() - start))
        job, name = history.jobs[i], f"job-{i}"
        if what == "create":
            limits = {"MaxPendingTimeInSeconds": job.patience}
            one.create(name, preferences=list(job.entries), limits=limits)
        elif one.describe(name)["TrainingJobStatus"] == "InProgress":
            one.stop(name)
    one.go(seconds=END - (one.clock.now() - start))
    return Account(history, one, start), one


def check(history, world, choose=None):
    """Raise AssertionError if a history did not go as AWS says it does."""
    account, one = play(history, world, choose)
    assert all(shown["TrainingJobStatus"] != "InProgress" for shown in account.jobs.values())
    moments = sorted(
        {at for at, _, _ in history.levels} | {h.start for h in account.holds} | {h.end for h in account.holds}
    )
    for t in moments:
        for name in TYPES:
            assert account.free(name, t) >= 0, "more instances are held than there are"
    check_selections(history, account)
    check_nobody_waits_for_nothing(history, account, moments)
    check_waits(history, account)
    check_records(history, account, one)


def check_selections(history, account):
    """The winner is the first entry that had room when the job began, and no earlier job could have begun then."""
    for hold in account.holds:
        index = int(hold.name.removeprefix("job-"))
        # Jobs of the same moment are placed in the order of their arrival: those behind had not begun yet.
        later = {h.name for h in account.holds if h.start == hold.start and int(h.name.removeprefix("job-")) >= index}
        entries = history.jobs[index].entries
        room = [name for name, count in entries if account.free(name, hold.start, without=later) >= count]
        assert room[0] == hold.instance_type, "not the first entry that had room"
        assert (hold.instance_type, hold.count) in entries, "not the whole count"
        for earlier in range(index):
            if account.waiting(f"job-{earlier}", hold.start):
                fits = [n for n, c in history.jobs[earlier].entries if account.free(n, hold.start, without=later) >= c]
                assert fits == [], "a later job was served first"


def check_nobody_waits_for_nothing(history, account, moments):
    """Right after each change no job waits that could run."""
    for t in moments:
        for index, job in enumerate(history.jobs):
            if account.waiting(f"job-{index}", t):
                assert [n for n, count in job.entries if account.free(n, t) >= count] == [], "a job waits beside room"


def check_waits(history, account):
    """No job waits beyond its limit, and none gives up before it."""
    for index, job in enumerate(history.jobs):
        first, *rest = account.jobs[f"job-{index}"]["SecondaryStatusTransitions"]
        if first["Status"] == "Pending":
            waited = rest[0]["StartTime"] - first["StartTime"]
            assert waited <= job.patience, "waited beyond the limit"
            assert (rest[0]["Status"] == "Failed") == (waited == job.patience), "gave up early, or not at all"


def check_records(history, account, one):
    """Each evaluation on record says what was free then, and stops at the first entry that fits."""
    for index, job in enumerate(history.jobs):
        looks = one.sagemaker.evaluations(f"job-{index}")
        for t in {look["time"] for look in looks}:
            rows = [look for look in looks if look["time"] == t]
            seen = [(row["instance_type"], row["needed"]) for row in rows]
            assert [row["rank"] for row in rows] == list(range(1, len(rows) + 1))
            assert seen == list(job.entries[: len(rows)])
            assert [row["outcome"] == "selected" for row in rows] == [row["free"] >= row["needed"] for row in rows]
            assert rows[-1]["outcome"] == "selected" or len(rows) == len(job.entries)
            later = {h.name for h in account.holds if h.start == t - account.start and int(h.name[4:]) >= index}
            for row in rows:
                assert row["free"] == account.free(row["instance_type"], t - account.start, without=later)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(histories())
def test_every_history_goes_as_aws_says(world, history):
    check(history, world)


def last_with_room(entries, free):
    fits = [entry for entry in entries if free(entry) >= entry.count]
    _, looks = evaluate(entries, free)
    return (fits[-1] if fits else None), looks


def one_too_many(entries, free):
    return evaluate(entries, lambda entry: free(entry) - 1)


def one_too_few(entries, free):
    return evaluate(entries, lambda entry: min(free(entry) + 1, entry.count) if free(entry) > 0 else 0)


def first_whatever_is_free(entries, free):
    return entries[0], [Look(1, entries[0], free(entries[0]), selected=True)]


def most_room(entries, free):
    winner, looks = evaluate(entries, free)
    return (max((e for e in entries if free(e) >= e.count), key=free) if winner else None), looks


def never_the_second(entries, free):
    return evaluate(entries[:1], free)


@contextlib.contextmanager
def patched(owner, name, value):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, name, value)
        yield


def last_in_its_lane(self):
    return self._tickets[max(self._tickets)] if self._tickets else None


def last_lane_first(self, sources, now):
    for lane in reversed(self._line.lanes(sources)):
        while (ticket := lane.first()) and self._place(ticket, now):
            pass


def only_the_first_lane(self, sources):
    return lanes_of(self, sources)[:1]


lanes_of = Line.lanes


def give_back_to_any_level(self, taken):
    self._of(taken.pool)[taken.zone].free += taken.count


DEFECTS = {
    "the last entry with room wins": (last_with_room, contextlib.nullcontext),
    "an entry must have one to spare": (one_too_many, contextlib.nullcontext),
    "one instance too few will do": (one_too_few, contextlib.nullcontext),
    "the first entry wins whatever is free": (first_whatever_is_free, contextlib.nullcontext),
    "the entry with most room wins": (most_room, contextlib.nullcontext),
    "only the first entry is looked at": (never_the_second, contextlib.nullcontext),
    "the last to ask for the same is served first": (None, lambda: patched(Lane, "first", last_in_its_lane)),
    "the last to ask for something else is served first": (None, lambda: patched(Placement, "_offer", last_lane_first)),
    "only lists of one kind are served": (None, lambda: patched(Line, "lanes", only_the_first_lane)),
    "nobody is told of new capacity": (None, lambda: patched(Placement, "_offer", lambda *_: None)),
    "the limit is never reached": (None, lambda: patched(Placement, "_count", lambda *_: None)),
    "instances never return": (None, lambda: patched(Supply, "give_back", lambda *_: None)),
    "instances return to any level": (
        None,
        lambda: patched(Supply, "give_back", give_back_to_any_level),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("defect", sorted(DEFECTS))
def test_a_planted_defect_is_found(world, defect):
    choose, broken = DEFECTS[defect]

    def goes_wrong(history):
        with broken():
            try:
                check(history, world, choose)
            except (AssertionError, StopIteration):
                return True
        return False

    only_find = settings(max_examples=2000, deadline=None, database=None, phases=[Phase.generate])
    find(histories(), goes_wrong, settings=only_find)
