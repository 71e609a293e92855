"""Jobs on training plans as they are deployed, run in the sandbox: late, full or over, and in other zones."""

import datetime as dt
import json

import aws_cdk as cdk
import pytest

from constructs_lib import InstancePreference, LaunchStep, PreferenceTrainingJob, TrainingPlan, TrainingPlanTarget
from constructs_lib.sandbox import Capacity, Sandbox

pytestmark = pytest.mark.slow

P5 = "ml.p5.48xlarge"
ARN = "arn:aws:sagemaker:us-east-1:123456789012:training-plan/nightly"
ENDED = ("SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED")
NOT_ON_DEMAND = {P5: 0}


def imported(stack, **told):
    given = {"instance_type": P5, "instance_count": 2, "target": TrainingPlanTarget.TRAINING_JOB}
    return TrainingPlan.from_training_plan_arn(stack, "Nightly", ARN, **given | told)


def job_on(stack, plan, **props):
    given = {
        "image": "111122223333.dkr.ecr.us-east-1.amazonaws.com/train:1",
        "output": "s3://bucket/models",
        "checkpoint": "s3://bucket/checkpoints",
        "max_runtime": dt.timedelta(hours=10),
    }
    if "steps" not in props:
        props["preferences"] = [plan.preference()]
    job = PreferenceTrainingJob(stack, "Job", **given | props)
    cdk.CfnOutput(stack, "Machine", value=job.attr_arn)
    return job


def seeded(**told):
    plan = {"name": "nightly", "instance_type": P5, "count": 2, "target": "training-job", "start": "0s", "end": "3d"}
    return {"types": NOT_ON_DEMAND, "plans": [plan | told], "job": {"runtime": "10m"}}


def test_a_plan_that_comes_late_starts_its_job_once_and_cuts_its_time_to_what_is_left(launch, wait_for):
    start = dt.datetime.now(dt.UTC).replace(microsecond=0) + dt.timedelta(minutes=60)
    end, late = start + dt.timedelta(hours=4), dt.timedelta(minutes=25)
    usable_until = end - dt.timedelta(minutes=30)

    def build(stack):
        plan = imported(stack, starts_at=start, ends_at=end)
        plan.start_on_active(job_on(stack, plan))

    flow = launch(build, seeded(start=start.isoformat(), end=end.isoformat(), late="25m"), speed=120)
    clock = flow.sandbox.clock
    clock.jump(start.timestamp() - 120 - clock.now())

    alarmed = set()

    def executions():
        alarms = flow.client("cloudwatch").describe_alarms()["MetricAlarms"]
        alarmed.update(alarm["StateValue"] for alarm in alarms)
        found = flow.client("stepfunctions").list_executions(stateMachineArn=flow.outputs["Machine"])["executions"]
        return found if found and all(one["status"] in ENDED for one in found) else None

    (execution,) = wait_for(executions)
    assert execution["status"] == "SUCCEEDED"
    (request,) = flow.calls("CreateTrainingJob")
    job = flow.job(request["TrainingJobName"])
    assert start + late <= job["CreationTime"] <= start + late + dt.timedelta(minutes=15)
    left = (usable_until - job["CreationTime"]).total_seconds()
    assert request["StoppingCondition"]["MaxRuntimeInSeconds"] == pytest.approx(left, abs=120)
    assert request["Environment"] == {"GPUCAP_CAPACITY_USABLE_UNTIL": str(int(usable_until.timestamp() * 1000))}
    assert "ALARM" in alarmed


def test_a_type_is_taken_from_the_plan_and_by_whom_finds_it_full_on_demand(launch):
    def build(stack):
        plan = imported(stack, instance_count=1)
        waits = {"max_pending": dt.timedelta(minutes=30)}
        steps = [
            LaunchStep([plan.preference()], **waits),
            LaunchStep([InstancePreference(P5, instance_count=1)], **waits),
        ]
        job_on(stack, plan, steps=steps)

    flow = launch(build, seeded(count=1) | {"types": {P5: 8}, "job": {"runtime": "5h"}}, speed=600)
    runs = [json.loads(flow.ended(one)["output"]) for one in [flow.start(), flow.start()]]
    first, second = sorted(runs, key=lambda run: run["step"])
    assert (first["step"], first["reserved"], first["instance_type"]) == (1, True, P5)
    assert (second["step"], second["reserved"], second["instance_type"]) == (2, False, P5)
    assert [earlier["end"] for earlier in second["earlier"]] == ["InsufficientCapacity"]
    assert first.get("earlier", []) == []
    assert len(flow.job_names()) == 3


@pytest.fixture
def in_zones(deploy_stack, tmp_path):
    """Return a function that runs a job with subnets in some zones on a plan whose parts lie in two, and ends."""
    running = []

    def run(*zones):
        parts = [
            {"start": "0s", "end": "12h", "zone": "us-east-1a"},
            {"start": "20h", "end": "40h", "zone": "us-east-1b"},
        ]
        plan = {"name": "nightly", "instance_type": P5, "count": 2, "target": "training-job", "segments": parts}
        sandbox = Sandbox(speed=300, capacity=Capacity.of({"types": NOT_ON_DEMAND, "plans": [plan]}))
        with sandbox.clock.held():
            running.append(sandbox.start())
            found = sandbox.client("ec2").describe_subnets()["Subnets"]
            app = cdk.App(outdir=str(tmp_path / "cdk.out"))
            stack = cdk.Stack(app, "Flow", env=cdk.Environment(account="123456789012", region="us-east-1"))
            subnets = [one["SubnetId"] for one in found if one["AvailabilityZone"] in zones]
            job_on(stack, imported(stack), subnets=subnets, security_groups=["sg-1"])
            flow = deploy_stack(sandbox, app, "Flow")
        return flow, flow.ended(flow.start())

    yield run
    for sandbox in running:
        sandbox.stop()


def test_subnets_that_miss_a_zone_of_the_plan_are_named_before_anything_is_created(in_zones):
    flow, ended = in_zones("us-east-1a", "us-east-1c")
    assert (ended["status"], ended["error"]) == ("FAILED", "PlanNotUsable")
    assert "us-east-1b" in json.loads(ended["cause"])["cause"]
    assert flow.calls("CreateTrainingJob") == []


def test_subnets_in_every_zone_of_the_plan_let_the_job_run(in_zones):
    _, ended = in_zones("us-east-1a", "us-east-1b")
    assert (ended["status"], json.loads(ended["output"])["reserved"]) == ("SUCCEEDED", True)


def test_a_plan_that_is_over_is_said_before_anything_is_created(launch):
    flow = launch(lambda stack: job_on(stack, imported(stack)), seeded(start="0s", end="31m"), speed=600)
    flow.sandbox.clock.jump(3600)
    ended = flow.ended(flow.start())
    assert (ended["status"], ended["error"]) == ("FAILED", "PlanNotUsable")
    assert "Expired" in json.loads(ended["cause"])["cause"]
    assert flow.calls("CreateTrainingJob") == []


def test_the_row_of_a_run_is_pending_until_a_type_is_selected_and_then_says_which(launch, wait_for):
    def build(stack):
        entries = [InstancePreference(P5, instance_count=2), InstancePreference("ml.p4d.24xlarge", instance_count=4)]
        job_on(stack, None, preferences=entries, steps=(), max_pending=dt.timedelta(hours=2))

    flow = launch(build, {"types": {P5: 0, "ml.p4d.24xlarge": 0}}, speed=120)
    flow.start()
    name = flow.pending()
    flow.sweep()
    row = flow.rows()[name]
    assert row["status"]["S"] == "Pending"
    assert {"rank", "instance_type"}.isdisjoint(row)
    flow.sandbox.sagemaker.set_free("ml.p4d.24xlarge", 4)
    flow.sandbox.clock.jump(600)
    row = flow.settled(name)
    assert (row["rank"]["N"], row["instance_type"]["S"], row["instance_count"]["N"]) == ("2", "ml.p4d.24xlarge", "4")
    assert row["reserved"]["BOOL"] is False
    assert float(row["pending_seconds"]["N"]) > 0
