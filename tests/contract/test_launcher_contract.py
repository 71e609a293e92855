"""What the constructs deploy is what the launcher's code needs: payload, environment, table, permissions, metrics."""

import json

import aws_cdk as cdk
import pytest

from constructs_lib import InstancePreference, PreferenceTrainingJob
from constructs_lib.model import RunEnd, RunRecord
from constructs_lib.runtime import composition, ports, telemetry
from constructs_lib.runtime.identity import Identity
from constructs_lib.runtime.launch import Launch
from constructs_lib.runtime.run_table import Row
from constructs_lib.workloads.definition import Launch as Rendered
from constructs_lib.workloads.definition import launcher_states

EXECUTION = "arn:aws:states:us-east-1:111122223333:execution:machine:run"
CONTEXT = {
    "$$.Task.Token": "token",
    "$$.Execution.Id": EXECUTION,
    "$$.State.Name": "Launch",
    "$$.State.RetryCount": 2,
    "$$.Execution.RedriveCount": 1,
    "$.since": 1,
    "$.entered": "2026-11-29T12:00:00Z",
    "$.item": 7,
}
SERVICES = {
    "SageMakerClient": "sagemaker",
    "StepFunctionsClient": "states",
    "DynamoDBClient": "dynamodb",
}


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    app = cdk.App(outdir=str(tmp_path_factory.mktemp("cdk.out")))
    stack = cdk.Stack(app, "Research", env=cdk.Environment(account="111122223333", region="us-east-1"))
    PreferenceTrainingJob(
        stack,
        "FineTune",
        image="111122223333.dkr.ecr.us-east-1.amazonaws.com/train:1",
        output="s3://bucket/models",
        preferences=[InstancePreference("ml.p5.48xlarge"), InstancePreference("ml.p4d.24xlarge")],
        instance_count=2,
        max_runtime=3600,
        max_pending=7200,
    )
    return app.synth().get_stack_by_name("Research").template


def of_type(template, kind):
    return [r["Properties"] for r in template["Resources"].values() if r["Type"] == kind]


def as_sent(payload, data):
    """Return the payload as Step Functions would send it."""
    sent = {}
    for key, value in payload.items():
        if key.endswith(".$"):
            sent[key.removesuffix(".$")] = (CONTEXT | data)[value]
        else:
            sent[key] = as_sent(value, data) if isinstance(value, dict) and key == "entry" else value
    return sent


@pytest.mark.parametrize("step", ["", "Train"])
def test_the_launcher_reads_the_payload_and_a_stop_has_the_identity_of_its_launch(step):
    rendered = Rendered(
        kind="training",
        request={"ResourceConfig": {}},
        prefix="Research-FineTune-0011aabb",
        seconds=5,
        partition="aws",
        launcher="launcher",
        reasons=["why", None],
        step=step,
        item="$$.Map.Item.Index" if step else "",
    )
    task = launcher_states(rendered)["States"][rendered.name("Launch")]
    payload = task["Parameters"]["Payload"]
    launch = Launch.from_payload(as_sent(payload, {"$.action": "launch"}))
    stop = Launch.from_payload(as_sent(payload, {"$.action": "stop"}))
    assert launch.identity == stop.identity
    assert launch.name == stop.name
    assert launch.name.startswith("Research-FineTune-0011aabb-")
    assert (launch.limit, str(stop.limit)) == (None, "TimedOut")
    assert launch.reasons == ("why", None)
    assert launch.identity.entry == (
        {"redrive": 1, "entered": "2026-11-29T12:00:00Z", "item": 7} if step else {"redrive": 1}
    )
    assert stop.try_number > launch.try_number


def test_the_functions_environment_has_what_the_code_reads(template):
    for function in of_type(template, "AWS::Lambda::Function"):
        variables = function["Environment"]["Variables"]
        assert {composition.RUN_TABLE, composition.LAUNCHER_TIMEOUT, "AWS_DATA_PATH"} <= set(variables)


def test_the_launchers_own_time_limit_is_the_one_it_is_told(template):
    (launcher,) = (f for f in of_type(template, "AWS::Lambda::Function") if "launcher" in f["Handler"])
    assert launcher["Environment"]["Variables"][composition.LAUNCHER_TIMEOUT] == str(launcher["Timeout"])


def test_the_table_has_the_keys_and_the_indexes_that_the_code_uses(template):
    (table,) = of_type(template, "AWS::DynamoDB::Table")
    keys = {
        index.get("IndexName"): [key["AttributeName"] for key in index["KeySchema"]]
        for index in (table, *table["GlobalSecondaryIndexes"])
    }
    assert keys == {None: ["name"], "open": ["open", "updated"], "execution": ["execution", "name"]}
    assert {a["AttributeName"]: a["AttributeType"] for a in table["AttributeDefinitions"]}["updated"] == "N"


def test_every_call_of_the_runtime_is_allowed_and_nothing_else_of_its_services(template):
    (role,) = (
        r
        for r in of_type(template, "AWS::IAM::Role")
        if "lambda.amazonaws.com" in json.dumps(r["AssumeRolePolicyDocument"])
    )
    actions = {a for s in role["Policies"][0]["PolicyDocument"]["Statement"] for a in s["Action"]}
    calls = {
        f"{service}:{''.join(part.capitalize() for part in name.split('_'))}"
        for protocol, service in SERVICES.items()
        for name in vars(getattr(ports, protocol))
        if not name.startswith("_")
    }
    assert len(calls) > 10
    assert calls <= actions
    # Tags go in with the create call; a heartbeat is part of answering a task; passing and logging have no client.
    implied = {
        "sagemaker:AddTags",
        "states:SendTaskHeartbeat",
        "iam:PassRole",
        "logs:CreateLogStream",
        "logs:PutLogEvents",
    }
    assert actions - calls == implied


def test_metrics_have_the_namespace_the_names_and_the_dimensions_that_the_launcher_writes():
    stack = cdk.Stack(cdk.App(), "Research")
    job = PreferenceTrainingJob(
        stack, "Job", image="x", output="s3://b/o", preferences=[InstancePreference("ml.g5.xlarge", 1)], max_runtime=60
    )
    typed = {"instance_type": "ml.g5.xlarge"}
    ours = [
        job.metric_pending_seconds(**typed),
        job.metric_runtime_seconds(**typed),
        job.metric_billable_instance_seconds(**typed),
        job.metric_rank(),
        job.metric_runs_ended(end="Completed"),
    ]
    identity = Identity(job.job_name_prefix, EXECUTION, "Launch", {"redrive": 0})
    record = RunRecord(
        job_name="job",
        status="Completed",
        end=RunEnd.COMPLETED,
        rank=1,
        instance_type="ml.g5.xlarge",
        instance_count=1,
        pending_seconds=5,
        runtime_seconds=5,
        billable_seconds=5,
    )
    row = Row.of(
        {"name": "job", "machine": identity.machine, "execution": EXECUTION, "state": "Launch", "entry": {"redrive": 0}}
        | {"step": 1, "kind": "training", "try": 0, "tried": 0}
    )
    line = json.loads(telemetry.run_line(row, record, at=0))
    written = {
        (directive["Namespace"], metric["Name"], frozenset((name, line[name]) for name in names))
        for directive in line["_aws"]["CloudWatchMetrics"]
        for metric in directive["Metrics"]
        for names in directive["Dimensions"]
    }
    for metric in ours:
        assert (metric.namespace, metric.metric_name, frozenset(metric.dimensions.items())) in written
    assert {metric.metric_name for metric in ours} == {name for _, name, _ in written}
