import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

os.environ.setdefault("CDK_VALIDATION", "false")

import aws_cdk as cdk
from aws_cdk import aws_stepfunctions as sfn

from constructs_lib import (
    HyperparameterRange,
    InstancePreference,
    LaunchStep,
    PreferenceProcessingJob,
    PreferenceTrainingJob,
    PriceBook,
    PriceCeiling,
    TrainingJobSpec,
    TrainingPlan,
    TrainingPlanTarget,
    TuningJob,
    TuningObjective,
)

ROOT = Path(__file__).parents[2]
IMAGE = "111122223333.dkr.ecr.us-east-1.amazonaws.com/train:1"
PLAN = "arn:aws:sagemaker:us-east-1:111122223333:training-plan/nightly"
PSEUDO = {"AWS::Partition": "aws", "AWS::Region": "us-east-1", "AWS::AccountId": "111122223333"}
ASL_VALIDATOR = """
const validate = require('asl-validator');
require('readline').createInterface({input: process.stdin}).on('line', line => {
  const found = validate(JSON.parse(line), {checkPaths: true, checkArn: true});
  process.stdout.write(JSON.stringify({valid: found.isValid, errors: found.errors}) + '\\n');
});
"""


@pytest.fixture(scope="session")
def asl_validator():
    """Return a function that asks asl-validator, in one long-lived node process, what is wrong with a definition."""
    process = subprocess.Popen(
        ["node", "-e", ASL_VALIDATOR], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )

    def errors(definition):
        process.stdin.write(json.dumps(definition) + "\n")
        process.stdin.flush()
        answer = json.loads(process.stdout.readline())
        assert answer["valid"] == (not answer["errors"])
        return answer["errors"]

    yield errors
    process.stdin.close()
    process.wait(timeout=10)
    process.stdout.close()


def here(tmp_path_factory):
    """Return an app and a stack in one account and region."""
    app = cdk.App(outdir=str(tmp_path_factory.mktemp("cdk.out")))
    return app, cdk.Stack(app, "Research", env=cdk.Environment(account="111122223333", region="us-east-1"))


def entries(*types, **more):
    # asl-validator takes neither null nor an empty text in a list, which the language allows: all have a reason.
    return [InstancePreference(kind, reason="because", **more) for kind in types]


def training(stack, construct_id, **props):
    given = {
        "image": IMAGE,
        "inputs": {"train": "s3://bucket/train"},
        "output": "s3://bucket/models",
        "max_runtime": 3600,
        **({} if "steps" in props else {"preferences": entries("ml.p5.48xlarge", "ml.p4d.24xlarge")}),
        "instance_count": 2,
        "max_pending": 7200,
        **props,
    }
    return PreferenceTrainingJob(stack, construct_id, **given)


def processing(stack, construct_id, **props):
    given = {
        "image": IMAGE,
        "inputs": {"raw": "s3://bucket/raw"},
        "outputs": {"clean": "s3://bucket/clean"},
        "preferences": entries("ml.g6.12xlarge", "ml.g5.12xlarge"),
        "instance_count": 1,
        "volume_size_gb": 100,
        "max_runtime": 3600,
        **props,
    }
    return PreferenceProcessingJob(stack, construct_id, **given)


def tuning(stack, construct_id, *, max_pending=None, **props):
    spec = TrainingJobSpec(
        name="tune",
        image=IMAGE,
        output="s3://bucket/tuned",
        preferences=entries("ml.g6.12xlarge", "ml.g5.12xlarge"),
        instance_count=1,
        volume_size_gb=100,
        max_runtime=3600,
        max_pending=max_pending,
        inputs={"train": "s3://bucket/train"},
    )
    given = {
        "training": spec,
        "objective": TuningObjective("loss", "Minimize", regex="loss=([0-9.]+)"),
        "ranges": {"rate": HyperparameterRange.continuous(1e-5, 1e-2)},
        "max_jobs": 10,
        "max_parallel": 2,
        **props,
    }
    return TuningJob(stack, construct_id, **given)


def stepped(stack, construct_id="Stepped", **props):
    """A launch on a plan, then on spot, then on demand with another image, with every limit."""
    plan = TrainingPlan.from_training_plan_arn(
        stack,
        "Nightly",
        PLAN,
        instance_type="ml.p5.48xlarge",
        instance_count=4,
        target=TrainingPlanTarget.TRAINING_JOB,
        starts_at="2026-12-10T11:30Z",
    )
    neuron = IMAGE.replace("train", "train-neuronx")
    job = training(
        stack,
        construct_id,
        steps=[
            LaunchStep([plan.preference(reason="paid for")], max_pending=1800),
            LaunchStep(entries("ml.p5.48xlarge"), spot=True, max_wait=7200, instance_count=4),
            LaunchStep(entries("ml.trn1.32xlarge"), image=neuron, environment={"DEVICE": "neuron"}),
        ],
        subnets=["subnet-1", "subnet-2", "subnet-3"],
        security_groups=["sg-1"],
        start_by=86_400,
        finish_by="2027-02-01T00:00Z",
        max_cost=PriceCeiling("1200", "USD"),
        price_book=PriceBook({"ml.p5.48xlarge": "98.32", "ml.trn1.32xlarge": "21.50"}, "USD", "2026-11-29", "a list"),
        drop_without_quota=True,
        run_overrides=["hyperparameters", "inputs"],
        own_role=True,
        **props,
    )
    plan.start_on_active(job)
    return job


@dataclass
class Everything:
    """A stack that has a job of every kind, integration and start, and a machine that has several as steps."""

    stack: cdk.Stack
    template: dict
    jobs: dict


@pytest.fixture(scope="session")
def everything(tmp_path_factory):
    app, stack = here(tmp_path_factory)
    jobs = {
        "Launched": training(stack, "Launched"),
        "Optimized": training(stack, "Optimized", integration="optimized"),
        "Stepped": stepped(stack),
        "Process": processing(stack, "Process", max_pending=3600, run_overrides=["inputs"]),
        "ProcessSync": processing(stack, "ProcessSync", integration="optimized"),
        "Tune": tuning(stack, "Tune", max_pending=3600),
        "TuneSync": tuning(stack, "TuneSync", integration="optimized"),
    }
    jobs["Stepped"].start_on_schedule("Daily", "cron(0 6 ? * MON-FRI *)", time_zone="Europe/Berlin")
    jobs["Stepped"].start_on_object_created("Data", "incoming", prefix="data/")
    jobs["Process"].start_on_object_created("Data", "incoming", channel="raw")
    first = jobs["Stepped"].as_step("First", entry="$$.Map.Item.Index", overrides="$.overrides")
    first.add_catch(jobs["Optimized"].as_step("Second"), errors=["InsufficientCapacity"])
    first.next(jobs["ProcessSync"].as_step("Third").next(jobs["Tune"].as_step("Fourth")))
    machine = sfn.StateMachine(stack, "Mine", definition_body=sfn.DefinitionBody.from_chainable(first))
    for job in jobs.values():
        job.grants.launch(machine)
    return Everything(stack, app.synth().get_stack_by_name("Research").template, jobs)


def plain(value):
    """Return an intrinsic function's plausible text."""
    if isinstance(value, str):
        return value
    if "Fn::Join" in value:
        delimiter, parts = value["Fn::Join"]
        return delimiter.join(plain(part) for part in parts)
    if "Fn::GetAtt" in value:
        return f"arn:aws:iam::111122223333:role/{value['Fn::GetAtt'][0]}"
    return PSEUDO.get(value["Ref"], value["Ref"])


@pytest.fixture(scope="session")
def plain_text():
    """Return the function that gives an intrinsic function's plausible text."""
    return plain


@pytest.fixture(scope="session")
def make():
    """Return the functions that make a job of each kind."""
    return {"training": training, "processing": processing, "tuning": tuning, "stepped": stepped}


@pytest.fixture(scope="session")
def payload_of():
    """Return a function that gives what a job's machine hands to the launcher, as the machine's text holds it."""

    def payload(job):
        definition = json.loads(plain(job.stack.resolve(job.definition_string)))
        return definition["States"]["Launch"]["Parameters"]["Payload"]

    return payload


@pytest.fixture(scope="session")
def at():
    """Return a function that gives the value at a dotted path, and raises KeyError where there is none."""

    def look_up(value, path):
        for key in path.split("."):
            value = value[key]
        return value

    return look_up
