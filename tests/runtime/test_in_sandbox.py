"""The launcher as a real Lambda in the sandbox: killed at, or cut off from, each of the calls of a run."""

from __future__ import annotations

import json
import time

import pytest

from constructs_lib.sandbox import Capacity, Sandbox
from constructs_lib.sandbox.faults import Late
from constructs_lib.shared import assets
from constructs_lib.workloads.definition import Launch, launcher_states

pytestmark = pytest.mark.slow

CAPACITY = {"types": {"ml.p5.48xlarge": 0}, "job": {"runtime": "10m"}}
JOBS = "Lab-Tune-0011aabb"
WINDOWS = [
    (service, operation, when)
    for service, operation in (
        ("dynamodb", "GetItem"),
        ("dynamodb", "UpdateItem"),
        ("dynamodb", "Query"),
        ("sagemaker", "CreateTrainingJob"),
        ("sagemaker", "DescribeTrainingJob"),
        ("sagemaker", "ListTags"),
        ("states", "DescribeExecution"),
        ("states", "SendTaskSuccess"),
    )
    for when in ("before", "after")
]


class Lab:
    """One machine, its launcher, its table and what wakes it, made with plain API calls."""

    def __init__(self, sandbox, request, create_run_table):
        self.sandbox = sandbox
        self.states, self.dynamodb = sandbox.client("stepfunctions"), sandbox.client("dynamodb")
        role = sandbox.client("iam").create_role(RoleName="lab", AssumeRolePolicyDocument="{}")["Role"]["Arn"]
        self.table = create_run_table(self.dynamodb, "runs")
        functions, events = sandbox.client("lambda"), sandbox.client("events")
        function = functions.create_function(
            FunctionName="launcher",
            Runtime="python3.13",
            Role=role,
            Handler="constructs_lib.runtime.handlers.launcher.handler",
            Code={"ZipFile": assets.archive()[0].read_bytes()},
            Timeout=60,
            Environment={
                "Variables": {
                    "AWS_DATA_PATH": "/var/task/models",
                    "GPUCAP_LAUNCHER_TIMEOUT": "60",
                    "GPUCAP_RUN_TABLE": self.table,
                }
            },
        )["FunctionArn"]
        wakes = {
            "jobs": {"EventPattern": json.dumps({"source": ["aws.sagemaker"]})},
            "sweep": {"ScheduleExpression": "rate(5 minutes)"},
        }
        for name, rule in wakes.items():
            events.put_rule(Name=name, **rule)
            target = {"Id": "launcher", "Arn": function}
            events.put_targets(
                Rule=name, Targets=[target | ({"Input": '{"action": "sweep"}'} if name == "sweep" else {})]
            )
        launch = Launch(
            kind="training", request=request, prefix=JOBS, seconds=36_000, partition="aws", launcher="launcher"
        )
        definition = json.dumps(launcher_states(launch))
        self.machine = self.states.create_state_machine(name="Lab-Tune", definition=definition, roleArn=role)

    def run(self):
        """Run the machine to its end; return the execution and the names of the jobs that it launched."""
        before = set(self.rows())
        arn = self.states.start_execution(stateMachineArn=self.machine["stateMachineArn"])["executionArn"]
        self.wait(lambda: arn not in self.running())  # not by DescribeExecution: the planned failure is the launcher's
        execution = self.states.describe_execution(executionArn=arn)
        self.wait(lambda: not [row for row in self.rows().values() if "open" in row])
        return execution, set(self.rows()) - before

    def running(self):
        machine = self.machine["stateMachineArn"]
        executions = self.states.list_executions(stateMachineArn=machine, statusFilter="RUNNING")["executions"]
        return [execution["executionArn"] for execution in executions]

    def rows(self):
        items = self.dynamodb.scan(TableName=self.table, ConsistentRead=True)["Items"]
        return {item["name"]["S"]: item for item in items}

    def wait(self, look, seconds=60):
        deadline = time.monotonic() + seconds
        while not (found := look()):
            assert time.monotonic() < deadline, f"nothing within {seconds} s"
            time.sleep(0.05)
        return found


@pytest.fixture(scope="module")
def lab(create_run_table, plain_request):
    with Sandbox(speed=1200, capacity=Capacity.of(CAPACITY)) as sandbox:
        yield Lab(sandbox, plain_request, create_run_table)


# What the SDK repeats by itself is only killed; a write's lost answer is a case of its own.
WRITES = {"CreateTrainingJob", "SendTaskSuccess", "UpdateItem"}
FAILURES = [(*window, "kill-caller") for window in WINDOWS] + [
    (*window, "drop") for window in WINDOWS if window[1] in WRITES
]


@pytest.mark.parametrize(("service", "operation", "when", "error"), FAILURES)
def test_a_run_ends_once_and_with_one_job_whatever_call_of_it_fails(lab, service, operation, when, error):
    faults = lab.sandbox.faults
    hits = faults.hits[f"{service}.{operation}", when]
    faults.add(service, operation, when=when, error=error)
    execution, jobs = lab.run()
    assert faults.hits[f"{service}.{operation}", when] == hits + 1
    record = json.loads(execution["output"])
    assert (execution["status"], record["end"], record["rank"]) == ("SUCCEEDED", "Completed", 2)
    assert jobs == {record["job_name"]}
    live = lab.sandbox.client("sagemaker").list_training_jobs(StatusEquals="InProgress")["TrainingJobSummaries"]
    assert not live


@pytest.mark.parametrize("seconds", [1, 30, 100])
def test_a_create_that_takes_effect_after_its_caller_gave_up_is_adopted(lab, seconds):
    lab.sandbox.faults.add("sagemaker", "CreateTrainingJob", error=Late(seconds))
    execution, jobs = lab.run()
    record = json.loads(execution["output"])
    assert (execution["status"], record["end"]) == ("SUCCEEDED", "Completed")
    assert jobs == {record["job_name"]}


@pytest.mark.parametrize(
    "failure", [{"when": "after", "error": "kill-caller"}, {"error": Late(100)}], ids=["kill", "late"]
)
def test_an_abort_while_the_creates_answer_is_lost_leaves_nothing_running(lab, failure):
    sagemaker, states = lab.sandbox.client("sagemaker"), lab.states
    lab.sandbox.faults.add("sagemaker", "CreateTrainingJob", **failure)
    before = set(lab.rows())
    arn = states.start_execution(stateMachineArn=lab.machine["stateMachineArn"])["executionArn"]
    (name,) = lab.wait(lambda: set(lab.rows()) - before)
    states.stop_execution(executionArn=arn)
    lab.wait(lambda: "open" not in lab.rows()[name])
    assert lab.rows()[name]["end"]["S"] == "Stopped"
    assert not sagemaker.list_training_jobs(StatusEquals="InProgress")["TrainingJobSummaries"]
