"""The launch protocol as a small model, explored exhaustively: every interleaving of launchers, faults and sweeps.

Here a limit goes on with step 2 as scarcity does, which is more than launching allows. Labels that begin with ``!`` are
faults and choices of the world; that every state can still reach a goal is judged without them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import NamedTuple

import pytest

LIVE = ("running", "stopping")
STOP_ORDER = 100  # a stop is later than every try of the launch


@dataclass(frozen=True)
class Protocol:
    """The rules; each can be switched off."""

    token_before: bool = True  # the row is written before the create call
    token_ordered: bool = True  # a row never goes back to an earlier try
    stop_is_last: bool = True  # a stop is a later try than every launch
    stored_answer: bool = True  # a later try that finds the row closed answers with its record
    check_after: bool = True  # after the create the launcher stops the job of an execution that ended
    sweep_executions: bool = True  # the sweep stops jobs whose execution ended or whose limit fired
    close_late: bool = True  # a row without a job is closed only when no create can still arrive
    refuse_late: bool = True  # a refusal is final at once only if no other create of the name can be under way
    retry_same: bool = True  # an unclear create repeats the same step
    confirm_stop: bool = True  # after a limit the machine waits for a terminal status
    entry_in_name: bool = True  # each entry of the state has jobs of its own
    redrive_waits: bool = True  # a redriven entry launches once the rows of earlier entries are closed
    check_before: bool = True  # between its row and its create a launcher looks whether its entry still counts
    owner_checked: bool = True  # a job or row of another entry is refused, never adopted


@dataclass(frozen=True)
class World:
    faults: int = 2
    again: bool = False
    events: bool = True


class Run(NamedTuple):
    pc: str
    name: tuple
    entry: int
    order: int
    token: int
    alone: bool = False


class Row(NamedTuple):
    name: tuple
    entry: int
    order: int
    token: int
    open: bool = True
    creating: bool = False
    limit: bool = False
    result: str = ""  # of a closed row, or of a refusal that waits to be final


class Job(NamedTuple):
    name: tuple
    status: str
    visible: bool
    entry: int
    ours: bool = False  # it stops because we told it to, in time


class State(NamedTuple):
    phase: str = "start"  # start launch stop ended
    entry: int = 0
    step: int = 1
    since: int = 0  # the entry for which the step counts; another entry begins at the first
    token: int = 0
    tries: int = 0
    runs: tuple = ()
    net: tuple = ()  # creates under way: (name, entry, token of the run that listens, or 0)
    rows: tuple = ()
    jobs: tuple = ()
    events: tuple = ()
    faults: int = 0
    broken: str = ""


def at(rows, name):
    return next((i for i, row in enumerate(rows) if row.name == name), None)


def put(items, i, item):
    return (*items[:i], item, *items[i + 1 :])


def drop(items, i):
    return items[:i] + items[i + 1 :]


class Model:
    def __init__(self, rules=None, world=None):
        self.p, self.w, self.start = rules or Protocol(), world or World(), State()

    # --- Step Functions
    def name(self, s):
        return (s.entry if self.p.entry_in_name else 0, s.step)

    def enter(self, s, phase, tries=0):
        order = tries + (STOP_ORDER if phase == "stop" and self.p.stop_is_last else 0)
        first = "put" if phase == "stop" or self.p.token_before else "create"
        run = Run(first if phase == "launch" else "put-stop", self.name(s), s.entry, order, s.token + 1)
        return s._replace(phase=phase, token=s.token + 1, tries=tries, runs=(*s.runs, run))

    def end(self, s):
        return s._replace(phase="ended", events=s.events + (("execution",) if self.w.events else ()))

    def walk(self, s):
        return self.enter(s._replace(step=2), "launch") if s.step == 1 else self.end(s)

    def failed(self, s, token):
        if s.phase not in ("launch", "stop") or token != s.token:
            return s
        return self.enter(s, s.phase, s.tries + 1) if self.p.retry_same else self.end(s)

    def answer(self, s, token, result, entry):
        if s.phase not in ("launch", "stop") or token != s.token:
            return s  # a dead token: swallowed
        if entry != s.entry:
            return s._replace(broken="J4 an older job's result is taken for this run")
        return self.walk(s) if result in ("capacity", "limit") else self.end(s)

    # --- the run table
    def take(self, s, run):
        """Return (state, old row or None, whether the write won)."""
        i, stop = at(s.rows, run.name), run.pc == "put-stop"
        if i is None:
            row = Row(run.name, run.entry, run.order, run.token, creating=not stop, limit=stop)
            return s._replace(rows=(*s.rows, row)), None, True
        old = s.rows[i]
        foreign = self.p.owner_checked and old.entry != run.entry
        if not old.open or foreign or (self.p.token_ordered and old.order > run.order):
            return s, old, False
        new = old._replace(order=run.order, token=run.token, result="")
        new = new._replace(limit=True) if stop else new._replace(creating=True)
        return s._replace(rows=put(s.rows, i, new)), old, True

    def close(self, s, name, token, result):
        i = at(s.rows, name)
        if i is None or not s.rows[i].open or s.rows[i].token != token:
            return s
        return s._replace(rows=put(s.rows, i, s.rows[i]._replace(open=False, result=result)))

    def settle(self, s, i, result):
        row = s.rows[i]
        return self.close(self.answer(s, row.token, result, row.entry), row.name, row.token, result)

    # --- SageMaker
    def stop(self, s, i):
        job = s.jobs[i]
        return s._replace(jobs=put(s.jobs, i, job._replace(status="stopping"))) if job.status == "running" else s

    def seen(self, s, name):
        i = at(s.jobs, name)
        return i if i is not None and s.jobs[i].visible else None

    # --- one run of the launcher, by what it does next
    def advance(self, s, i):
        run = s.runs[i]
        doing = getattr(self, "at_" + run.pc.replace("-", "_"), None)
        return doing(s, i, run, s._replace(runs=drop(s.runs, i))) if doing else []

    def go(self, s, i, pc, **more):
        return s._replace(runs=put(s.runs, i, s.runs[i]._replace(pc=pc, **more)))

    def at_put(self, s, i, run, rest):
        if self.p.redrive_waits and any(row.open and row.entry < run.entry for row in s.rows):
            stopped = self.stop_all(s, run.entry)
            return [("stops what ran before the redrive, raises", stopped)] if stopped != s else []
        t, old, won = self.take(s, run)
        if not won:
            return self.lost(run, rest, old)
        alone = old is None or not old.creating
        after = "judge" if self.p.check_before else "create" if alone else "look"
        return [("writes its row", self.go(t, i, after, alone=alone))]

    def at_judge(self, s, i, run, rest):
        if s.phase == "ended" or run.entry != s.entry:
            return [("sees that its entry is over, returns", rest)]
        return [("sees that its entry counts", self.go(s, i, "create" if run.alone else "look"))]

    def at_put_stop(self, s, i, run, rest):
        t, old, won = self.take(s, run)
        if not won:
            return self.lost(run, rest, old)
        if old is not None and old.creating:
            return [("writes its row", self.go(t, i, "stop"))]
        answered = self.answer(t._replace(runs=drop(t.runs, i)), run.token, "limit", run.entry)
        return [("finds nothing to stop", self.close(answered, run.name, run.token, "limit"))]

    def lost(self, run, rest, old):
        if self.p.owner_checked and old.entry != run.entry:
            return [("sees another entry's row, refuses", self.answer(rest, run.token, "refused", run.entry))]
        if old.open or old.order > run.order:
            return [("is late, exits quietly", rest)]
        if self.p.stored_answer:
            return [("answers with the closed row's record", self.answer(rest, run.token, old.result, old.entry))]
        return [("finds the row closed, exits", rest)]

    def at_look(self, s, i, run, rest):
        found = self.seen(s, run.name) is not None
        return [("looks first", self.go(s, i, "check" if found else "create"))]

    def at_create(self, s, i, run, rest):
        t = self.go(s, i, "wait")
        return [("calls the create", t._replace(net=(*s.net, (run.name, run.entry, run.token))))]

    def at_store(self, s, i, run, rest):
        return [("stores its row", self.take(self.go(s, i, "check"), run._replace(pc="put"))[0])]

    def at_check(self, s, i, run, rest):
        j = at(s.jobs, run.name)
        if self.p.check_after and (s.phase == "ended" or run.entry != s.entry) and j is not None:
            return [("sees that the execution ended, stops the job", self.stop(rest, j))]
        return [("returns", rest)]

    def at_stop(self, s, i, run, rest):
        j = self.seen(s, run.name)
        t = rest if j is None else self.stop(rest, j)
        return [("stops the job", t if self.p.confirm_stop else self.answer(t, run.token, "limit", run.entry))]

    def at_refused(self, s, i, run, rest):
        k = self.own(s, run)
        if run.alone or not self.p.refuse_late:
            answered = self.answer(rest, run.token, "refused", run.entry)
            return [("answers the refusal", self.close(answered, run.name, run.token, "refused"))]
        if k is None:
            return [("is overtaken, returns", rest)]
        return [("notes the refusal", rest._replace(rows=put(s.rows, k, s.rows[k]._replace(result="refused"))))]

    def at_throttled(self, s, i, run, rest):
        k = self.own(s, run)
        settled = run.alone and k is not None
        t = rest._replace(rows=put(s.rows, k, s.rows[k]._replace(creating=False))) if settled else rest
        return [("was throttled, raises", self.failed(t, run.token))]

    def at_unclear(self, s, i, run, rest):
        return [("raises", self.failed(rest, run.token))]

    def own(self, s, run):
        """The run's row, if it still waits on the run's token."""
        k = at(s.rows, run.name)
        return k if k is not None and s.rows[k].open and s.rows[k].token == run.token else None

    # --- everything that can happen
    def steps(self, s):
        more, f = s.faults < self.w.faults, s._replace(faults=s.faults + 1)
        yield from self.user(s, f, more)
        for i, run in enumerate(s.runs):
            for label, t in self.advance(s, i):
                yield f"launcher {run.token} {label}", t
            if more and run.pc != "wait":
                died = f._replace(runs=drop(s.runs, i))
                yield f"!launcher {run.token} dies at {run.pc}", self.failed(died, run.token)
                if run.token == s.token and self.p.retry_same and len(s.runs) < 2:
                    yield f"!Step Functions loses launcher {run.token} and invokes again", self.failed(f, run.token)
        yield from self.network(s, f, more)
        yield from self.jobs(s)
        yield from self.delivered(s, f, more)
        for i, row in enumerate(s.rows):
            if row.open:
                yield from self.sweep(s, i, row)

    def user(self, s, f, more):
        if s.phase == "start":
            yield "execution starts", self.enter(s, "launch")
        if s.phase in ("launch", "stop") and more:
            yield "!the user aborts the execution", self.end(f)
        if s.phase == "launch" and more:
            yield "!the limit fires", self.enter(f, "stop")
        if s.phase == "ended" and self.w.again and s.entry == 0 and more:
            yield "!the state is entered again", self.enter(f._replace(entry=1, step=1), "launch")

    def network(self, s, f, more):
        for k, (name, entry, token) in enumerate(s.net):
            t = s._replace(net=drop(s.net, k))
            i = next((j for j, run in enumerate(s.runs) if run.token == token and run.pc == "wait"), None)
            new = at(s.jobs, name) is None
            done = t._replace(jobs=(*t.jobs, Job(name, "running", False, entry))) if new else t
            n = s.faults + 1
            if i is None:
                yield "a create arrives, nobody listens", done
                yield from [("!a create is refused, nobody listens", t._replace(faults=n))] if more else []
                continue
            after = self.go(done, i, "check" if self.p.token_before else "store")
            yield "the job is created" if new else "the job exists", after
            if more:
                late = f._replace(net=put(s.net, k, (name, entry, 0)))
                yield "!the create's answer is lost", self.go(done._replace(faults=n), i, "unclear")
                yield "!the create times out, still under way", self.go(late, i, "unclear")
                yield "!the create never arrives", self.go(t._replace(faults=n), i, "unclear")
            if more and new:
                yield "!the create is refused", self.go(t._replace(faults=n), i, "refused")
                yield "!the create is throttled", self.go(t._replace(faults=n), i, "throttled")

    def jobs(self, s):
        for i, job in enumerate(s.jobs):
            if not job.visible:
                yield "the job becomes visible", s._replace(jobs=put(s.jobs, i, job._replace(visible=True)))
            ends = {"running": ("!ok", "!capacity"), "stopping": ("stopped",)}.get(job.status, ())
            for status in ends:
                event = (job.name,) if self.w.events else ()
                over = job._replace(status=status.strip("!"), visible=True)
                label = f"{'!' if status[0] == '!' else ''}the job ends: {over.status}"
                yield label, s._replace(jobs=put(s.jobs, i, over), events=s.events + event)

    def result(self, s, i, row):
        status = s.jobs[i].status
        return ("limit" if row.limit else "stopped") if status == "stopped" else status

    def delivered(self, s, f, more):
        for k, event in enumerate(s.events):
            t = s._replace(events=drop(s.events, k))
            if event == "execution":
                yield "the execution's event is handled", self.stop_all(t)
            else:
                done = self.hear(t, event)
                yield "the job's event is handled", done
                if more and done is not t:
                    again = done._replace(events=s.events, faults=s.faults + 1)
                    yield "!the job's event is handled and comes again", again
            if more:
                yield "!an event is lost", t._replace(faults=s.faults + 1)

    def stop_all(self, s, before=None):
        """Look at the rows of an execution that ended, or of the entries before one."""
        for row in s.rows:
            j = self.seen(s, row.name)
            over = s.phase == "ended" if before is None else row.entry < before
            if over and row.open and j is not None:
                s = self.stop(s, j)
        return s

    def hear(self, s, name):
        i, j = at(s.rows, name), self.seen(s, name)
        if i is None or j is None or not s.rows[i].open or s.jobs[j].status in LIVE:
            return s
        return self.settle(s, i, self.result(s, j, s.rows[i]))

    def sweep(self, s, i, row):
        j = self.seen(s, row.name)
        dead = s.phase == "ended" or row.entry != s.entry
        if j is not None:
            if s.jobs[j].status not in LIVE:
                yield "sweep: the job is over", self.settle(s, i, self.result(s, j, row))
            elif s.jobs[j].status == "running" and self.p.sweep_executions and (dead or row.limit):
                yield "sweep: stops the job", self.stop(s, j)
            return
        under_way = any(run.name == row.name and not run.pc.startswith("put") for run in s.runs)
        under_way = under_way or any(n[0] == row.name for n in s.net) or at(s.jobs, row.name) is not None
        if under_way and self.p.close_late:
            return
        if row.result or row.limit:
            yield "sweep: no job came, the decided end stands", self.settle(s, i, row.result or "limit")
        elif dead:
            yield "sweep: no job came, the execution ended", self.close(s, row.name, row.token, "stopped")
        elif row.token == s.token:
            yield "sweep: no job came, fails the task", self.failed(s, row.token)

    # --- what must hold
    def broken(self, s):
        if s.broken:
            return s.broken
        return "J1 two jobs of one launch at once" if sum(job.status in LIVE for job in s.jobs) > 1 else ""

    def goal(self, s):
        if s.phase == "ended":
            quiet = not s.runs and not s.net and not any(job.status in LIVE for job in s.jobs)
            return quiet and not any(row.open for row in s.rows)
        i, j = at(s.rows, self.name(s)), at(s.jobs, self.name(s))
        if s.phase != "launch" or i is None or j is None or s.runs:
            return False
        return s.jobs[j].status == "running" and s.rows[i].open and s.rows[i].token == s.token


@pytest.fixture(scope="session")
def explored(explore):
    """Explore the protocol without some rules in a world of its own: (states, trace to what is broken, or None)."""

    def run(world, without=""):
        rules = replace(Protocol(), **dict.fromkeys(without.split(), False))
        return explore(Model(rules, World(**world)))

    return run


@pytest.fixture(scope="session")
def one_step():
    return SimpleNamespace(model=Model, rules=Protocol, world=World, at=at, put=put)
