"""Every way to ask for capacity x everything that happens, as real executions in the sandbox.

All cells of a strategy are machines of one stack and run side by side: each has its own instance types or its own
share of them, and its own planned failures. The judge reads what SageMaker knows of the jobs.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time

import aws_cdk as cdk
import pytest
from aws_cdk import aws_stepfunctions as sfn

from constructs_lib import (
    HyperparameterRange,
    InstancePreference,
    LaunchStep,
    PreferenceProcessingJob,
    PreferenceTrainingJob,
    TrainingJobSpec,
    TuningJob,
    TuningObjective,
)
from constructs_lib.sandbox import Capacity, Late, Sandbox

pytestmark = pytest.mark.slow

STACK = "Grid"
SPEED = 1200.0
IMAGE = "111122223333.dkr.ecr.us-east-1.amazonaws.com/train:1"
ACCOUNT = "123456789012"
PLANS = f"arn:aws:sagemaker:us-east-1:{ACCOUNT}:training-plan/"

# What a way to run is like -> its type as the first and as the second choice.
FIRST = {
    "free": "ml.g5.48xlarge",
    "never": "ml.g5.24xlarge",
    "no quota": "ml.g5.16xlarge",
    "taken away": "ml.g5.8xlarge",
}
SECOND = {
    "free": "ml.g6.48xlarge",
    "never": "ml.g6.24xlarge",
    "later": "ml.g6.12xlarge",
    "at the redrive": "ml.g6.8xlarge",
}
ON_PLAN = {
    "free": "ml.p5.48xlarge",
    "never": "ml.p5e.48xlarge",
    "no quota": "ml.p4de.24xlarge",
    "plan later": "ml.p5en.48xlarge",
    "plan ends": "ml.p4d.24xlarge",
}
# What has other ways than a free first and a free second one.
WAYS = {
    "last-free": ("never", "free"),
    "none-free": ("never", "never"),
    "frees-later": ("never", "later"),
    "plan-later": ("plan later", "free"),
    "plan-ends": ("plan ends", "free"),
    "no-quota": ("no quota", "free"),
    "quota-dropped": ("no quota", "free"),
    "spot-lost": ("taken away", "free"),
    "abort-early": ("never", "never"),
    "abort-pending": ("never", "never"),
    "abort-stopping": ("never", "never"),
    "abort-step-2": ("never", "never"),
    "abort-unheard": ("never", "never"),
    "redriven": ("never", "at the redrive"),
}


# How long jobs take, and how they end, where that is not as usual.
TIMES = {
    "fails": {"fail": "AlgorithmError: exit code 1"},
    "abort-running": {"runtime": "25m"},
    "plan-ends": {"runtime": "25m"},
    "spot-lost": {"runtime": "25m"},
    "abort-stopping": {"stop_takes": "15m"},
}


def capacity(cells):
    """Return what all cells of a strategy find."""
    usages = ("training job usage", "spot training job usage", "processing job usage")
    no_quota = (FIRST["no quota"], ON_PLAN["no quota"])
    lasting = {"start": "0s", "end": "20d", "target": "training-job", "count": 40}
    plans = {"never": {"count": 1}, "plan later": {"start": "50m"}, "plan ends": {"end": "45m"}}
    scarce = (FIRST["never"], SECOND["never"], SECOND["at the redrive"], *ON_PLAN.values())
    return {
        "types": {
            **dict.fromkeys(scarce, 0),
            SECOND["later"]: [{"at": "0s", "free": 0}, {"at": "45m", "free": 8}],
        },
        "spot": {FIRST["never"]: 0},
        "quotas": {f"{kind} for {usage}": 0 for kind in no_quota for usage in usages},
        "plans": [
            {"name": state.replace(" ", "-"), "instance_type": kind, **lasting, **plans.get(state, {})}
            for state, kind in ON_PLAN.items()
        ],
        "job": {
            "runtime": "6m",
            "overrides": {
                **{name: TIMES[cell.happens] for cell in cells if cell.happens in TIMES for name in cell.names},
                "holder": {"runtime": "200h"},
            },
        },
    }


# When something is done: each takes the grid, the cell and its jobs.


def is_last(state, count=1):
    return lambda grid, cell, jobs: len(jobs) == count and grid.is_(jobs[-1], state)


def has_failed(grid, cell, jobs):
    return all(grid.is_(job, "ended") for job in jobs) and grid.described(cell)["status"] == "FAILED"


# What is done.


def abort(grid, cell):
    grid.client("stepfunctions").stop_execution(executionArn=cell.execution)


def take_away(grid, cell):
    grid.sandbox.sagemaker.interrupt_spot(cell.ways[0])


def redrive(grid, cell):
    grid.sandbox.sagemaker.set_free(cell.ways[1], 8)
    grid.client("stepfunctions").redrive_execution(executionArn=cell.execution)


ACTS = {
    "abort-pending": [(is_last("pending"), abort)],
    "abort-running": [(is_last("running"), abort)],
    "abort-stopping": [(is_last("stopping"), abort)],
    "abort-step-2": [(is_last("pending", 2), abort)],
    "abort-unheard": [(is_last("pending"), abort)],
    "spot-lost": [(is_last("running"), take_away)],
    "redriven": [(has_failed, redrive)],
}

# What fails, planned before the cell's execution starts.


def planned(error, *, times=1, when="before", then=None):
    """Return what plans a failure of a cell's creates; `then` is done, on a thread of its own, when one is met."""

    def plan(grid, cell):
        def is_meant(request):
            if not grid.is_of(cell, request):
                return False
            if then is not None:
                held = contextlib.ExitStack()
                held.enter_context(grid.sandbox.clock.held())  # time waits for what is done
                threading.Thread(target=do, args=(held,)).start()
            return True

        def do(held):
            with held:
                then(grid, cell)

        grid.sandbox.faults.add("sagemaker", f"Create{grid.noun}", error=error, times=times, when=when, match=is_meant)

    return plan


def invoke_again(grid, cell):
    """Invoke the launcher with what Step Functions gave it, as the next try."""
    states = grid.client("stepfunctions")
    history = states.get_execution_history(executionArn=cell.execution, maxResults=100)["events"]
    (task,) = [event["taskScheduledEventDetails"] for event in history if event["type"] == "TaskScheduled"]
    parameters = json.loads(task["parameters"])
    payload = json.dumps(parameters["Payload"] | {"try": 1})
    grid.client("lambda").invoke(FunctionName=parameters["FunctionName"], Payload=payload)


THROTTLED = ("ThrottlingException", "Rate exceeded", 400)
DENIED = ("AccessDeniedException", "User: launcher is not authorized to perform the create", 400)
FAILURES = {
    "throttled": planned(THROTTLED, times=2),
    "denied": planned(DENIED),
    "abort-early": planned(Late(100), then=abort),
    "killed-before": planned("kill-caller"),
    "killed-after": planned("kill-caller", when="after"),
    "repeated": planned(20.0, then=invoke_again),
}


class Cell:
    """One cell: its job in the stack, what is done to it, and what became of it."""

    def __init__(self, strategy, kind, happens):
        self.kind, self.happens = kind, happens
        self.api, _, self.how = strategy.rpartition(" ")
        self.states = WAYS.get(happens, ("free", "free"))
        self.on_plan = self.how == "plan" or self.states[0].startswith("plan")
        self.acts = list(ACTS.get(happens, ()))
        self.execution = ""

    @property
    def ways(self):
        """Return the instance type of each way."""
        return (ON_PLAN if self.on_plan else FIRST)[self.states[0]], SECOND[self.states[1]]

    def declare(self, stack):
        """Put the cell's job, and the machine that runs it, into a stack."""
        props = {"max_runtime": cdk.Duration.minutes(30)}
        if self.happens == "abort-stopping":
            props["timeout"] = cdk.Duration.minutes(20)
        if self.happens == "quota-dropped":
            props["drop_without_quota"] = True
        job = DECLARE[self.api](self, stack, props)
        # What Step Functions names by itself starts with the stack and the job's hash alone.
        self.names = f"{STACK}-{self.happens}*", f"{STACK}-{job.job_name_prefix.rpartition('-')[2]}-*"
        machine = around(stack, job) if self.happens == "entered-twice" else job.attr_arn
        cdk.CfnOutput(stack, self.happens.title().replace("-", ""), value=machine)

    def plan_failure(self, grid):
        """Plan what is to fail, before the execution starts."""
        if self.happens in FAILURES:
            FAILURES[self.happens](grid, self)

    def asked(self):
        """Return how the job asks for its ways."""
        first, second = self.ways
        plan = PLANS + self.states[0].replace(" ", "-") if self.on_plan else None
        entries = [
            InstancePreference(first, instance_count=1, training_plan=plan),
            InstancePreference(second, instance_count=1),
        ]
        if self.how == "list":
            return {"preferences": entries, "max_pending": cdk.Duration.minutes(60)}
        waits = {"max_pending": cdk.Duration.minutes(30)}
        one = {"spot": True, "max_wait": cdk.Duration.minutes(30)} if self.how == "spot" else waits
        return {"steps": [LaunchStep(entries[:1], **one), LaunchStep(entries[1:], **waits)]}


def training(cell, stack, props):
    props |= {"image": IMAGE, "output": "s3://bucket/models"}
    return PreferenceTrainingJob(stack, cell.happens, **cell.asked(), **props)


def optimized(cell, stack, props):
    return training(cell, stack, props | {"integration": "optimized"})


def processing(cell, stack, props):
    props |= {"image": IMAGE, "outputs": {"out": "s3://bucket/out"}, "volume_size_gb": 100}
    return PreferenceProcessingJob(stack, cell.happens, **cell.asked(), **props)


def tuning(cell, stack, props):
    asked = cell.asked()
    job = TrainingJobSpec(
        name="tune",
        image=IMAGE,
        output="s3://bucket/models",
        volume_size_gb=100,
        max_runtime=props.pop("max_runtime").to_seconds(),
        max_pending=asked.pop("max_pending").to_seconds(),
        **asked,
    )
    return TuningJob(
        stack,
        cell.happens,
        training=job,
        objective=TuningObjective("loss", "Minimize", regex="loss=([0-9.]+)"),
        ranges={"rate": HyperparameterRange.continuous(0.1, 0.9)},
        max_jobs=1,
        max_parallel=1,
        **props,
    )


DECLARE = {"training": training, "optimized": optimized, "processing": processing, "tuning": tuning}


def around(stack, job):
    """Return a machine of a user's own that enters the job's state twice, one after the other."""
    name = f"{STACK}-entered-twice-own"
    turns = sfn.Map(
        stack,
        "Turns",
        max_concurrency=1,
        items_path="$.turns",
        item_selector={"turn.$": "$$.Map.Item.Index"},
    )
    turns.item_processor(job.as_step("Work", entry="$.turn", machine_name=name))
    machine = sfn.StateMachine(
        stack, "Own", state_machine_name=name, definition_body=sfn.DefinitionBody.from_chainable(turns)
    )
    job.grants.launch(machine)
    return machine.state_machine_arn


class Matrix:
    """Plays strategies, each once."""

    def __init__(self, table, deploy_stack, make_grid, folder):
        self.table, self.deploy_stack, self.make_grid, self.folder = table, deploy_stack, make_grid, folder
        self.logs, self.crashes = {}, {}

    def log(self, strategy, happens):
        """Return the log of a cell; the first of a strategy plays them all."""
        if strategy not in self.logs:
            row = {name: row.get(strategy, row["else"]) for name, row in self.table["happens"].items()}
            self.logs[strategy] = self.play(strategy, [name for name, cell in row.items() if not isinstance(cell, str)])
        return self.logs[strategy][happens]

    def play(self, strategy, names, sabotage=lambda sandbox: None, **given):
        kind = self.table["strategies"][strategy]["kind"]
        cells = [Cell(strategy, kind, name) for name in names]
        app = cdk.App(outdir=str(self.folder / strategy.replace(" ", "-") / "cdk.out"))
        stack = cdk.Stack(app, STACK, env=cdk.Environment(account=ACCOUNT, region="us-east-1"))
        for cell in cells:
            cell.declare(stack)
        sandbox = Sandbox(speed=SPEED, capacity=Capacity.of(capacity(cells)))
        with contextlib.ExitStack() as until_played:
            with sandbox.clock.held():  # starting and deploying take real time, not the scenario's
                until_played.enter_context(sandbox)
                deployed = self.deploy_stack(sandbox, app, STACK)
                sabotage(sandbox)
                sandbox.sagemaker.handle("CreateTrainingJob", holder())
            grid = self.make_grid(sandbox, deployed, cells)
            logs = grid.play(**given)
            self.crashes[strategy] = grid.crashes()
            return logs


def holder():
    """Return a job that holds all of the plan that never has room."""
    entry = {"InstanceType": ON_PLAN["never"], "InstanceCount": 1, "TrainingPlanArns": [PLANS + "never"]}
    return {
        "TrainingJobName": "holder",
        "AlgorithmSpecification": {"TrainingInputMode": "File", "TrainingImage": IMAGE},
        "RoleArn": f"arn:aws:iam::{ACCOUNT}:role/training",
        "OutputDataConfig": {"S3OutputPath": "s3://bucket/models"},
        "ResourceConfig": {"InstancePreferences": [entry]},
        "StoppingCondition": {"MaxRuntimeInSeconds": 10 * 86400},
    }


@pytest.fixture(scope="module")
def matrix(table, deploy_stack, make_grid, tmp_path_factory):
    return Matrix(table, deploy_stack, make_grid, tmp_path_factory.mktemp("matrix"))


def test_it_ends_as_the_table_says_with_one_job_at_a_time_and_none_left(matrix, judge, table, strategy, happens):
    row = table["happens"][happens]
    log = matrix.log(strategy, happens)
    assert judge(log, row.get(strategy, row["else"])) == [], log


def test_the_launcher_fails_only_where_it_is_made_to(matrix, table, played_strategy):
    matrix.log(played_strategy, "first-free")
    made_to = {"Runtime.ExitError", "CallThrottledError", "LaunchUnclear"}
    assert {kind: words for kind, words in matrix.crashes[played_strategy].items() if kind not in made_to} == {}


def deaf(sandbox):
    """Take away what tells the launcher of anything, and what lets it look by itself."""
    events, scheduler = sandbox.client("events"), sandbox.client("scheduler")
    for rule in events.list_rules()["Rules"]:
        events.disable_rule(Name=rule["Name"])
    for schedule in scheduler.list_schedules()["Schedules"]:
        scheduler.delete_schedule(Name=schedule["Name"], GroupName=schedule["GroupName"])
    # The first look, which the schedule began when it was made, may still be under way.
    seen = -1
    while seen != (seen := len(sandbox.lambdas.invocations)):
        time.sleep(2)


def test_the_judge_notices_when_nobody_hears_of_an_abort_any_more(matrix, judge):
    cells = {"abort-pending": ("aborted", 0, 1), "abort-running": ("aborted", 1, 1)}
    logs = matrix.play("training list", list(cells), sabotage=deaf, patience=20)
    for happens, expected in cells.items():
        complaints = judge(logs[happens], expected)
        assert [words for words in complaints if "left running" in words or "open still" in words], complaints
