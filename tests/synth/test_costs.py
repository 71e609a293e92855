"""What a job costs: kernel requests, resources, and bytes of the template. Exact figures, no timing."""

import json
from pathlib import Path

import aws_cdk as cdk
import pytest
from aws_cdk.aws_stepfunctions import CfnStateMachine

from constructs_lib import CapacityKit, InstancePreference, PreferenceProcessingJob, PreferenceTrainingJob, TuningJob

REFERENCE = {
    "image": "111122223333.dkr.ecr.us-east-1.amazonaws.com/train:1",
    "inputs": {"train": "s3://bucket/train", "validation": "s3://bucket/validation"},
    "output": "s3://bucket/models",
    "checkpoint": "s3://bucket/checkpoints",
    "max_runtime": 216_000,
    "max_pending": 7_200,
}
TYPES = {"ml.p5.48xlarge": 4, "ml.p4d.24xlarge": 8, "ml.p4de.24xlarge": 8}
LIMIT = 1_000_000


def add_jobs(stack, numbers):
    for i in numbers:
        entries = [InstancePreference(kind, instance_count=count) for kind, count in TYPES.items()]
        PreferenceTrainingJob(stack, f"Job{i}", preferences=entries, **REFERENCE)


def test_each_job_after_the_first_costs_exactly_one_kernel_request(stack, kernel_requests):
    add_jobs(stack, [0])
    before = kernel_requests()
    add_jobs(stack, range(1, 21))
    assert kernel_requests() - before == 20


@pytest.mark.parametrize("construct", [PreferenceTrainingJob, PreferenceProcessingJob, TuningJob])
def test_jsii_looks_through_few_members_for_each_job(construct):
    order = construct.mro()
    ours = order[: order.index(CfnStateMachine)]
    assert sum(len([name for name in vars(one) if not name.startswith("__")]) for one in ours) <= 6


def test_a_duration_that_jobs_share_is_read_once(stack, kernel_requests):
    hours = cdk.Duration.hours(60)
    entries = [InstancePreference("ml.p5.48xlarge", instance_count=1)]
    for i in range(10):
        PreferenceTrainingJob(stack, f"Job{i}", preferences=entries, **(REFERENCE | {"max_runtime": hours}))
        if not i:
            before = kernel_requests()
    assert kernel_requests() - before == 9


def test_synth_asks_a_fixed_number_of_times_whatever_the_number_of_jobs(tmp_path, kernel_requests):
    asked = []
    for count in (2, 40):
        app = cdk.App(outdir=str(tmp_path / str(count)))
        add_jobs(cdk.Stack(app, "Research"), range(count))
        before = kernel_requests()
        app.synth()
        asked.append(kernel_requests() - before)
    assert asked[0] == asked[1]


def test_each_job_is_one_resource(stack, synth):
    add_jobs(stack, range(12))
    kinds = [r["Type"] for r in synth(stack.node.root)["Resources"].values()]
    assert kinds.count("AWS::StepFunctions::StateMachine") == 12
    assert len(kinds) == 12 + 14


@pytest.mark.parametrize("env", [None, cdk.Environment(account="111122223333", region="us-east-1")], ids=["any", "one"])
def test_three_hundred_reference_jobs_fit_into_one_stack_as_the_cdk_cli_writes_it(tmp_path, env):
    app = cdk.App(outdir=str(tmp_path), context={"aws:cdk:enable-path-metadata": True})
    stack = cdk.Stack(app, "Research", env=env)
    add_jobs(stack, range(300))
    assert Path(app.synth().get_stack_by_name("Research").template_full_path).stat().st_size < LIMIT


def test_roles_given_as_names_leave_room_for_more(tmp_path):
    def size(count):
        app = cdk.App(outdir=str(tmp_path / str(count)))
        stack = cdk.Stack(app, "Research", env=cdk.Environment(account="111122223333", region="us-east-1"))
        role = "arn:aws:iam::111122223333:role/training"
        CapacityKit(stack, "GpuCapacity", execution_role=role, machine_role=role)
        add_jobs(stack, range(count))
        return len(json.dumps(app.synth().get_stack_by_name("Research").template, indent=1))

    per_job = (size(30) - size(10)) / 20
    assert per_job < 3_100
