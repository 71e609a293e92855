"""The table of the matrix, and the judge of what happened: from the sandbox's own record, not from what we report."""

from __future__ import annotations

import contextlib
import fnmatch
import itertools
import json
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml

from constructs_lib.sandbox import ServiceError

TABLE = yaml.safe_load((Path(__file__).parent / "matrix.yaml").read_text())
ENDS = {"SUCCEEDED": "Completed", "ABORTED": "aborted", "TIMED_OUT": "timed out"}
ENDED = ("SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED")
NOUNS = {"training": "TrainingJob", "processing": "ProcessingJob", "tuning": "HyperParameterTuningJob"}
PATIENCE = 400  # real seconds: on a busy machine everything takes its time
# What happens to events is the same for the whole sandbox: these cells are played one group after the other.
EVENTS = {"delivered": None, "lost": ("events-lost", "abort-unheard"), "thrice": ("events-thrice",)}


@dataclass(frozen=True)
class JobLog:
    """A job as SageMaker knows it."""

    name: str
    created: float
    ended: float | None  # None: it lives
    types: tuple[str, ...]  # what it asked for, in order
    looks: tuple[dict, ...] = ()  # what each evaluation saw


@dataclass(frozen=True)
class Log:
    """What happened in one cell of the matrix."""

    status: str
    error: str | None
    ways: tuple[str, ...]  # the instance type of each way
    jobs: tuple[JobLog, ...] = ()
    open_rows: tuple[str, ...] = ()
    reported: dict = field(default_factory=dict)  # the record of a run that completed


def judge(log, expected):
    """Return what is wrong with a log, in words."""
    end, way, count = expected
    return [
        *_end(log, end),
        *_jobs(log, count),
        *_choices(log),
        *_last_way(log, way),
    ]


def _end(log, end):
    ended = log.error if log.status == "FAILED" else ENDS.get(log.status, log.status)
    if ended != end:
        yield f"the execution ended as {ended}, not as {end}"
    if end == "Completed" and log.reported.get("end", end) != end:
        yield f"the record says {log.reported['end']}"


def _jobs(log, count):
    if len(log.jobs) != count:
        yield f"{len(log.jobs)} jobs were created, not {count}"
    for job in log.jobs:
        if job.ended is None:
            yield f"{job.name} was left running"
    jobs = sorted(log.jobs, key=lambda job: job.created)
    for one, other in itertools.pairwise(jobs):
        if one.ended is None or one.ended > other.created:
            yield f"{one.name} and {other.name} ran at the same time"
    for name in log.open_rows:
        yield f"the row of {name} is open still"


def _choices(log):
    """Each choice is the first entry of the job's list that had room when it was looked at."""
    for job in log.jobs:
        for _, group in itertools.groupby(job.looks, key=lambda look: look["time"]):
            rows = list(group)
            room = [row["rank"] for row in rows if row["free"] == "unlimited" or row["free"] >= row["needed"]]
            chosen = [row["rank"] for row in rows if row["outcome"] == "selected"]
            if chosen != room[:1]:
                yield f"{job.name} took entry {chosen} where {room} had room"
            if [row["instance_type"] for row in rows] != list(job.types[: len(rows)]):
                yield f"{job.name} was not looked at in its order"


def _last_way(log, way):
    last = max(log.jobs, key=lambda job: job.created, default=None)
    selected = [look["instance_type"] for look in last.looks if look["outcome"] == "selected"] if last else []
    ran = log.ways.index(selected[-1]) + 1 if selected else 0
    if ran != way:
        yield f"the last job ran on way {ran}, not {way}"
    if selected and (told := log.reported.get("instance_type", selected[-1])) != selected[-1]:
        yield f"the record names {told}, and {selected[-1]} ran"


class Grid:
    """A strategy's stack in a sandbox, while its cells are played."""

    def __init__(self, sandbox, stack, cells):
        self.sandbox, self.stack, self.cells = sandbox, stack, cells
        self.noun = NOUNS[cells[0].kind]
        self.logs, self.read, self.creates = {}, 0, {}

    # What is seen, without a call that a planned failure could meet.

    def requests(self, cell):
        """Return the create requests of a cell's executions that SageMaker received, by job name."""
        received = self.sandbox.sagemaker.requests
        for _, operation, request in received[self.read :]:
            self.read += 1
            if operation == f"Create{self.noun}":
                self.creates[request[f"{self.noun}Name"]] = request
        return {name: request for name, request in self.creates.items() if self.is_of(cell, request)}

    def is_of(self, cell, request):
        tags = {tag["Key"]: tag["Value"] for tag in request.get("Tags", ())}
        owner = tags.get("gpucap:execution", "").partition(":execution:")[2] or request[f"{self.noun}Name"]
        return any(fnmatch.fnmatchcase(owner, pattern) for pattern in cell.names)

    def jobs(self, cell):
        """Return the descriptions of a cell's jobs, the oldest first."""
        found = []
        for name in self.requests(cell):
            with contextlib.suppress(ServiceError):  # a refused create left none
                found.append(self.sandbox.sagemaker.handle(f"Describe{self.noun}", {f"{self.noun}Name": name}))
        return sorted(found, key=lambda job: job["CreationTime"])

    def looks(self, job):
        """Return what the evaluations of a job saw; of a tuning job those of its training jobs."""
        name = job[f"{self.noun}Name"]
        names = [name]
        if self.noun == NOUNS["tuning"]:
            asked = {"HyperParameterTuningJobName": name}
            found = self.sandbox.sagemaker.handle("ListTrainingJobsForHyperParameterTuningJob", asked)
            names = [summary["TrainingJobName"] for summary in found["TrainingJobSummaries"]]
        return [look for one in names for look in self.sandbox.sagemaker.evaluations(one)]

    def crashes(self):
        """Return the errors of functions by type, with an example of each."""
        payloads = [json.loads(run.payload) for run in self.sandbox.lambdas.invocations if run.error]
        return {payload.get("errorType", "no type"): payload.get("errorMessage") for payload in payloads}

    def is_(self, job, state):
        status = job[f"{self.noun}Status"]
        if status == "InProgress":
            chosen = any(look["outcome"] == "selected" for look in self.looks(job))
            return state == ("running" if chosen else "pending")
        return state == ("stopping" if status == "Stopping" else "ended")

    def described(self, cell):
        return self.client("stepfunctions").describe_execution(executionArn=cell.execution)

    def client(self, service):
        return self.sandbox.client(service)

    def open_rows(self, cell):
        rows = self.stack.rows() if cell.api != "optimized" else {}
        return tuple(
            name
            for name, row in rows.items()
            if "open" in row and f":{self.stack.stack}-{cell.happens}-" in row["execution"]["S"]
        )

    # How it is played.

    def play(self, patience=PATIENCE):
        """Play all cells and return their logs by what happens."""
        for switch, names in EVENTS.items():
            others = [name for group in EVENTS.values() for name in group or ()]
            group = [c for c in self.cells if (c.happens in names if names else c.happens not in others)]
            for source in ("events.sagemaker", "events.states"):
                self.sandbox.faults.switch(source, switch)
            self.play_side_by_side(group, patience)
        return self.logs

    def play_side_by_side(self, cells, patience):
        with self.sandbox.clock.held():
            for cell in cells:
                cell.plan_failure(self)
                self.start(cell)
        deadline = time.monotonic() + patience
        left = list(cells)
        while left and time.monotonic() < deadline:
            with self.sandbox.clock.held():
                left = [cell for cell in left if not self.is_over(cell)]
            time.sleep(0.1)
        for cell in cells:
            self.logs[cell.happens] = self.log(cell)

    def start(self, cell, patience=3):
        """Start a cell's execution; the next one begins when its launcher has run, so that few of them do at once."""
        runs = self.sandbox.lambdas.invocations
        before, deadline = len(runs), time.monotonic() + patience
        output = cell.happens.title().replace("-", "")
        cell.execution = self.stack.start(output, input=json.dumps({"turns": [1, 2]}))
        while cell.api != "optimized" and len(runs) == before and time.monotonic() < deadline:
            time.sleep(0.01)

    def is_over(self, cell):
        """Do what is due, and say whether nothing is left to be done or to happen."""
        jobs = self.jobs(cell)
        if cell.acts:
            when, act = cell.acts[0]
            if when(self, cell, jobs):
                act(self, cell)
                cell.acts.pop(0)
            return False
        if not all(self.is_(job, "ended") for job in jobs):
            return False
        return self.described(cell)["status"] in ENDED and not self.open_rows(cell)

    def log(self, cell):
        """Return what happened, for the judge."""
        ended, requests = self.described(cell), self.requests(cell)
        jobs = tuple(self.job_log(job, requests[job[f"{self.noun}Name"]]) for job in self.jobs(cell))
        output = json.loads(ended.get("output", "{}"))
        last = output[-1] if isinstance(output, list) else output
        reported = {key: last[key] for key in ("end", "instance_type") if last.get(key)}
        return Log(ended["status"], ended.get("error"), cell.ways, jobs, self.open_rows(cell), reported)

    def job_log(self, job, request):
        ended = job["LastModifiedTime"] if self.is_(job, "ended") else None
        types = tuple(asked_types(request))
        return JobLog(job[f"{self.noun}Name"], job["CreationTime"], ended, types, tuple(self.looks(job)))


def asked_types(request):
    """Yield the instance types of a create request, in order."""
    resources = request.get("ResourceConfig") or request.get("ProcessingResources", {}).get("ClusterConfig") or {}
    definition = request.get("TrainingJobDefinition", {}).get("HyperParameterTuningResourceConfig", {})
    entries = resources.get("InstancePreferences") or definition.get("InstanceConfigs") or [resources]
    return [entry["InstanceType"] for entry in entries]


@pytest.fixture(scope="session")
def make_grid():
    return Grid


@pytest.fixture(scope="session", name="judge")
def judge_():
    return judge


@pytest.fixture(scope="session")
def job_log():
    return JobLog


@pytest.fixture(scope="session")
def log():
    return Log


@pytest.fixture(scope="session")
def table():
    return TABLE


def cells():
    """Yield strategy, what happens, and the cell."""
    for strategy in TABLE["strategies"]:
        for happens, row in TABLE["happens"].items():
            yield strategy, happens, row.get(strategy, row["else"])


def pytest_generate_tests(metafunc):
    """Give a test every cell that is played, or every strategy."""
    if "played_strategy" in metafunc.fixturenames:
        strategies = list(TABLE["strategies"])
        ids = [name.replace(" ", "-") for name in strategies]
        metafunc.parametrize("played_strategy", strategies, ids=ids, scope="session")
    if {"strategy", "happens"} <= set(metafunc.fixturenames):
        played = [(s, h) for s, h, cell in cells() if not isinstance(cell, str)]
        ids = [f"{strategy.replace(' ', '-')}/{happens}" for strategy, happens in played]
        metafunc.parametrize(("strategy", "happens"), played, ids=ids, scope="session")
