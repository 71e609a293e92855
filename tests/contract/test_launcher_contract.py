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
from constructs_lib.workloads.definition import Then, launcher_states

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
    "$.began": "2026-11-29T12:00:00Z",
    "$.step": 1,
    "$.earlier": [],
    "$$.Execution.Input": {},
    "$.input": {},
}
SERVICES = {
    "SageMakerClient": "sagemaker",
    "StepFunctionsClient": "states",
    "DynamoDBClient": "dynamodb",
    "QuotasClient": "servicequotas",
    "SubnetsClient": "ec2",
}


@pytest.fixture(scope="module")
def template(everything):
    return everything.template


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
        overrides_path="$.overrides" if step else "",
    )
    task = launcher_states(rendered)["States"][rendered.name("Launch")]
    payload = task["Parameters"]["Payload"]
    launch = Launch.from_payload(as_sent(payload, {"$.action": "launch"}))
    stop = Launch.from_payload(as_sent(payload, {"$.action": "stop"}))
    assert launch.identity == stop.identity
    assert launch.name == stop.name
    assert launch.name.startswith("Research-FineTune-0011aabb-")
    assert (launch.limit, str(stop.limit)) == (None, "TimedOut")
    assert launch.wish.reasons == ("why", None)
    assert launch.identity.entry == (
        {"redrive": 1, "entered": "2026-11-29T12:00:00Z", "item": 7} if step else {"redrive": 1}
    )
    assert stop.try_number > launch.try_number


SEVERAL = Rendered(
    kind="training",
    request={"ResourceConfig": {"InstanceType": "one"}},
    prefix="Research-FineTune-0011aabb",
    seconds=5,
    partition="aws",
    launcher="launcher",
    reasons=["first"],
    then=[Then(request={"ResourceConfig": {"InstanceType": "two"}}, seconds=7, reasons=["second"], max_pending=60)],
    limits={"start_by": 3600, "on_quota": "drop"},
    relative=True,
    overrides=["hyperparameters"],
)


def test_the_launcher_reads_each_step_with_its_own_request_wait_and_reasons():
    payload = launcher_states(SEVERAL)["States"]["Launch"]["Parameters"]["Payload"]
    first, second = (Launch.from_payload(as_sent(payload, {"$.action": "launch", "$.step": step})) for step in (1, 2))
    assert [one.wish.request["ResourceConfig"]["InstanceType"] for one in (first, second)] == ["one", "two"]
    assert [one.wish.reasons for one in (first, second)] == [("first",), ("second",)]
    assert [one.wish.max_pending for one in (first, second)] == [None, 60]
    assert [one.name[-2:] for one in (first, second)] == ["-1", "-2"]
    assert (first.steps, first.following_seconds, second.following_seconds) == (2, 7, 0)
    assert (first.wish.limits.on_quota, first.wish.began) == ("drop", 1_795_953_600)


def test_a_redrive_at_a_later_step_is_sent_back_to_the_first_with_its_own_seconds():
    payload = launcher_states(SEVERAL)["States"]["Launch"]["Parameters"]["Payload"]
    again = Launch.from_payload(as_sent(payload, {"$.action": "launch", "$.step": 2, "$.since": 0}))
    assert again.anew == {"next": 1, "seconds": 5, "earlier": []}


def test_what_the_launcher_answers_between_steps_is_what_the_next_state_passes_on():
    states = launcher_states(SEVERAL)["States"]
    passed = states["NextStep"]["Parameters"]
    answer = {"next": 2, "seconds": 7, "earlier": [{"end": "InsufficientCapacity"}]}
    assert {path.removeprefix("$.run.") for path in passed.values() if path.startswith("$.run.")} == set(answer)
    kept = {key for key in states["Stop"]["Parameters"] if key.endswith(".$")}
    assert kept == {key for key in passed if key.endswith(".$")}
    assert {path for path in states["Launch"]["Parameters"]["Payload"].values() if str(path).startswith("$.")} <= {
        f"$.{key.removesuffix('.$')}" for key in passed
    }


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
        resource["Properties"]
        for name, resource in template["Resources"].items()
        if name.startswith("GpuCapacityLauncherRole")
    )
    actions = {a for s in role["Policies"][0]["PolicyDocument"]["Statement"] for a in s["Action"]}
    calls = {
        f"{service}:{''.join(part.capitalize() for part in name.split('_'))}"
        for protocol, service in SERVICES.items()
        for name in vars(getattr(ports, protocol))
        if not name.startswith("_")
    }
    assert len(calls) > 20
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
        job.metric_steps_ended(end="Completed"),
        job.metric_cost(**typed),
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
        cost="1.5",
    )
    row = Row.of(
        {"name": "job", "machine": identity.machine, "execution": EXECUTION, "state": "Launch", "entry": {"redrive": 0}}
        | {"step": 1, "kind": "training", "try": 0, "tried": 0, "created": 0}
    )
    lines = [json.loads(telemetry.run_line(row, record, at=0, goes_on=goes_on)) for goes_on in (False, True)]
    written = {
        (directive["Namespace"], metric["Name"], frozenset((name, line[name]) for name in names))
        for line in lines
        for directive in line["_aws"]["CloudWatchMetrics"]
        for metric in directive["Metrics"]
        for names in directive["Dimensions"]
    }
    for metric in ours:
        assert (metric.namespace, metric.metric_name, frozenset(metric.dimensions.items())) in written
    assert {metric.metric_name for metric in ours} == {name for _, name, _ in written}
