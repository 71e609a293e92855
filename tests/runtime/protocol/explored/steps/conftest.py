"""The launch protocol with what steps and limits add: deadlines of ours, redrives at a later step, what follows."""

from __future__ import annotations

from dataclasses import field, make_dataclass, replace

import pytest

# Why each is there: docs/adr/0007. Each can be switched off.
RULES = (
    "reason_first",  # why a job is stopped is noted before it is told to stop
    "deadline_waits",  # the step after a deadline begins once the stopped job is terminal
    "anew",  # a redrive begins at the first step, whatever step had failed
    "decided_alike",  # whoever answers from a closed row decides as the row's end did
    "limit_last",  # a limit ends the launch, a deadline of one step does not
)


class WithSteps:
    """Scarcity goes on with step 2; a limit and everything else ends the launch."""

    def answer(self, s, token, result, entry):
        if s.phase in ("launch", "stop") and token == s.token and entry == s.entry:
            if result == "limit":
                return self.end(s) if self.p.limit_last else self.walk(s._replace(broken="J7 a limit went on"))
            if result == "capacity as the end" and s.step == 1:
                return s._replace(broken="J6 one end was answered in two ways")
        return super().answer(s, token, result, entry)

    def lost(self, run, rest, old):
        mine = old.entry == run.entry and not old.open and old.order <= run.order
        if mine and not self.p.decided_alike and old.result == "capacity":
            rest = self.answer(rest, run.token, "capacity as the end", run.entry)
            return [("answers with the closed row's record alone", rest)]
        return super().lost(run, rest, old)

    # --- a redrive enters the state as it failed: at the step of the launch before
    def user(self, s, f, more):
        for label, t in super().user(s, f, more):
            if label != "!the state is entered again":
                yield label, t
                continue
            run = t.runs[-1]._replace(pc="anew" if self.p.anew else "put", name=(t.entry, s.step))
            yield label, t._replace(step=s.step, runs=(*t.runs[:-1], run))

    def enter(self, s, phase, tries=0):
        t = super().enter(s, phase, tries)
        if phase == "launch" and t.since != t.entry and self.p.anew and tries:
            t = t._replace(runs=(*t.runs[:-1], t.runs[-1]._replace(pc="anew")))
        # A stop notes the redrive, as the state that leads to it does.
        return t._replace(since=t.entry) if phase == "stop" else t

    def walk(self, s):
        return super().walk(s._replace(since=s.entry))

    def at_anew(self, s, i, run, rest):
        if s.phase != "launch" or run.token != s.token:
            return [("finds its token dead, exits", rest)]
        return [("sends the machine to the first step", self.enter(rest._replace(step=1, since=s.entry), "launch"))]

    def at_put(self, s, i, run, rest):
        entry, step = run.name
        if step == 2 and self.at(s.rows, (entry, 1)) is None:
            return [("skips the first step", s._replace(broken="J5 a redrive skipped the first step"))]
        return super().at_put(s, i, run, rest)

    # --- our own deadline for a job that waits
    def sweep(self, s, i, row):
        yield from super().sweep(s, i, row)
        j = self.seen(s, row.name)
        due = s.faults < self.w.faults and j is not None and s.jobs[j].status == "running" and not row.limit
        if not due or s.phase == "ended" or row.entry != s.entry:
            return
        t = s._replace(faults=s.faults + 1)
        told = t._replace(jobs=self.put(t.jobs, j, t.jobs[j]._replace(status="stopping", ours=True)))
        noted = row._replace(limit="deadline")
        if not self.p.reason_first:
            yield "!sweep: stops the job at its deadline, dies before it notes why", told
        if not self.p.deadline_waits:
            yield "!sweep: stops the job at its deadline, answers at once", self.settle(told, i, "capacity")
        yield "!sweep: notes the deadline, dies before the stop", t._replace(rows=self.put(t.rows, i, noted))
        yield "!sweep: notes the deadline, stops the job", told._replace(rows=self.put(told.rows, i, noted))

    def result(self, s, i, row):
        deadline = s.jobs[i].status == "stopped" and row.limit == "deadline"
        return "capacity" if deadline else super().result(s, i, row)

    def settle(self, s, i, result):
        j = self.at(s.jobs, s.rows[i].name)
        if result == "stopped" and j is not None and s.jobs[j].ours and s.rows[i].token == s.token:
            return s._replace(broken="J8 a stop of ours was taken for somebody else's")
        return super().settle(s, i, result)


@pytest.fixture(scope="session")
def explored_steps(explore, one_step):
    """Explore the protocol with steps without some rules: (states, trace to what is broken, or None)."""
    tools = {"at": staticmethod(one_step.at), "put": staticmethod(one_step.put)}
    model = type("Steps", (WithSteps, one_step.model), tools)
    members = [(name, bool, field(default=True)) for name in RULES]
    rules = make_dataclass("Rules", members, bases=(one_step.rules,), frozen=True)()

    def run(world, without=""):
        return explore(model(replace(rules, **dict.fromkeys(without.split(), False)), one_step.world(**world)))

    return run


@pytest.fixture
def step_rules():
    """The names of the rules that steps and limits add."""
    return set(RULES)
