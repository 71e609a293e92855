"""The whole template of the smallest and the fullest job of each kind; GPUCAP_UPDATE_SNAPSHOTS=1 writes them anew."""

import json
import os
import re
from dataclasses import replace
from pathlib import Path

import aws_cdk as cdk
import pytest

from constructs_lib import (
    CapacityKit,
    HyperparameterRange,
    InputChannel,
    InstancePreference,
    LaunchStep,
    PreferenceProcessingJob,
    PreferenceTrainingJob,
    PriceBook,
    PriceCeiling,
    ProcessingInput,
    ProcessingOutput,
    TrainingJobSpec,
    TrainingPlan,
    TuningJob,
    TuningObjective,
)

SNAPSHOTS = Path(__file__).parents[1] / "snapshots"
PLAN = "arn:aws:sagemaker:us-east-1:111122223333:training-plan/research"


def minimum(app):
    stack = cdk.Stack(app, "Research")
    PreferenceTrainingJob(
        stack,
        "Job",
        image="111122223333.dkr.ecr.us-east-1.amazonaws.com/train:1",
        output="s3://bucket/models",
        preferences=[InstancePreference("ml.g6.12xlarge", instance_count=1)],
        max_runtime=cdk.Duration.hours(1),
    )


def maximum(app):
    env = cdk.Environment(account="111122223333", region="us-east-1")
    stack = cdk.Stack(app, "Research", env=env)
    boundary = "arn:aws:iam::111122223333:policy/developer"
    CapacityKit(stack, "GpuCapacity", permissions_boundary=boundary, shared_data=["s3://bucket/runs"])
    PreferenceTrainingJob(
        stack,
        "Job",
        image="111122223333.dkr.ecr.us-east-1.amazonaws.com/train:1",
        inputs={
            "train": InputChannel(
                s3_uri="s3://bucket/train",
                data_type="ManifestFile",
                distribution="ShardedByS3Key",
                content_type="application/x-recordio",
                input_mode="FastFile",
                compression="Gzip",
                record_wrapper="RecordIO",
            ),
            "validation": "s3://bucket/validation",
        },
        output="s3://bucket/runs/models",
        output_kms_key="alias/models",
        preferences=[
            InstancePreference("ml.p5.48xlarge", instance_count=4, training_plan=PLAN, reason="paid for upfront"),
            InstancePreference("ml.p4d.24xlarge", instance_count=8, reason="half the speed"),
            InstancePreference("ml.p4de.24xlarge", instance_count=8),
        ],
        max_runtime=cdk.Duration.hours(60),
        max_pending=cdk.Duration.hours(12),
        hyperparameters={"epochs": "3"},
        environment={"NCCL_DEBUG": "INFO"},
        tags={"team": "research"},
        input_mode="Pipe",
        volume_size_gb=cdk.Size.gibibytes(500),
        keep_alive=cdk.Duration.hours(1),
        checkpoint="s3://bucket/runs/checkpoints",
        checkpoint_local_path="/opt/ml/checkpoints",
        subnets=["subnet-1", "subnet-2", "subnet-3"],
        security_groups=["sg-1"],
        network_isolation=True,
        encrypt_inter_container_traffic=True,
        max_attempts=3,
        entrypoint=["python3", "train.py"],
        arguments=["--fast"],
        request_overrides={"ProfilerConfig": {"DisableProfiler": True}},
        own_role=True,
        timeout=cdk.Duration.days(5),
        state_machine_name="nightly",
    )


def steps(app):
    """A launch in three steps with every limit, started by a plan, a schedule and an object."""
    stack = cdk.Stack(app, "Research", env=cdk.Environment(account="111122223333", region="us-east-1"))
    plan = TrainingPlan.from_training_plan_arn(
        stack, "Nightly", PLAN, instance_type="ml.p5.48xlarge", instance_count=4, starts_at="2026-12-10T11:30Z"
    )
    job = PreferenceTrainingJob(
        stack,
        "Job",
        image="111122223333.dkr.ecr.us-east-1.amazonaws.com/train:1",
        inputs={"train": "s3://bucket/train"},
        output="s3://bucket/models",
        steps=[
            LaunchStep([plan.preference(reason="paid for upfront")], max_pending=cdk.Duration.minutes(30)),
            LaunchStep([InstancePreference("ml.p5.48xlarge", 4)], spot=True, max_wait=cdk.Duration.hours(30)),
            LaunchStep(
                [InstancePreference("ml.trn1.32xlarge", 8)],
                image="111122223333.dkr.ecr.us-east-1.amazonaws.com/train-neuronx:1",
                environment={"DEVICE": "neuron"},
                hyperparameters={"precision": "bf16"},
            ),
        ],
        max_runtime=cdk.Duration.hours(24),
        max_pending=cdk.Duration.hours(2),
        start_by=cdk.Duration.days(2),
        finish_by="2026-12-24T00:00Z",
        max_cost=PriceCeiling("9000", "USD"),
        price_book=PriceBook({"ml.p5.48xlarge": "98.32", "ml.trn1.32xlarge": "21.50"}, "USD", "2026-11-29", "a list"),
        drop_without_quota=True,
        run_overrides=["hyperparameters", "inputs"],
        subnets=["subnet-1", "subnet-2", "subnet-3"],
        security_groups=["sg-1"],
    )
    plan.start_on_active(job)
    job.start_on_schedule("Daily", "cron(0 6 ? * MON-FRI *)", time_zone="Europe/Berlin")
    job.start_on_object_created("Data", "incoming", prefix="tonight/")


def processing(app):
    """The fullest processing job, and one of Step Functions' own integration."""
    stack = cdk.Stack(app, "Research", env=cdk.Environment(account="111122223333", region="us-east-1"))
    common = {
        "image": "111122223333.dkr.ecr.us-east-1.amazonaws.com/embed:1",
        "preferences": [InstancePreference("ml.g6.12xlarge", 2), InstancePreference("ml.g5.12xlarge", 4)],
        "volume_size_gb": cdk.Size.gibibytes(200),
        "max_runtime": cdk.Duration.hours(6),
    }
    PreferenceProcessingJob(
        stack,
        "Job",
        cpu_last_resort=[InstancePreference("ml.c5.4xlarge", 8, reason="slow, and better than nothing")],
        inputs={"texts": ProcessingInput(s3_uri="s3://bucket/texts", distribution="ShardedByS3Key", input_mode="Pipe")},
        outputs={"vectors": ProcessingOutput(s3_uri="s3://bucket/vectors", upload_mode="Continuous")},
        output_kms_key="alias/vectors",
        max_pending=cdk.Duration.hours(1),
        finish_by=cdk.Duration.hours(12),
        environment={"BATCH": "64"},
        tags={"team": "research"},
        subnets=["subnet-1", "subnet-2", "subnet-3"],
        security_groups=["sg-1"],
        network_isolation=True,
        encrypt_inter_container_traffic=True,
        entrypoint=["python3", "embed.py"],
        arguments=["--fast"],
        request_overrides={"ExperimentConfig": {"TrialName": "embed"}},
        run_overrides=["inputs"],
        own_role=True,
        **common,
    )
    PreferenceProcessingJob(stack, "Sync", integration="optimized", **common)


def tuning(app):
    """The fullest tuning job, and one of Step Functions' own integration."""
    stack = cdk.Stack(app, "Research", env=cdk.Environment(account="111122223333", region="us-east-1"))
    training = TrainingJobSpec(
        name="search",
        image="111122223333.dkr.ecr.us-east-1.amazonaws.com/train:1",
        inputs={"train": "s3://bucket/train"},
        output="s3://bucket/models",
        preferences=[InstancePreference("ml.g6.12xlarge", 1), InstancePreference("ml.g5.12xlarge", 2)],
        hyperparameters={"epochs": "3"},
        volume_size_gb=200,
        max_runtime=3600,
        max_attempts=2,
    )
    common = {
        "objective": TuningObjective("validation:loss", "Minimize", regex="loss=([0-9.]+)"),
        "ranges": {
            "rate": HyperparameterRange.continuous(1e-5, 1e-2, scaling="Logarithmic"),
            "layers": HyperparameterRange.integer(2, 8),
            "optimizer": HyperparameterRange.categorical(["adam", "sgd"]),
        },
        "max_jobs": 20,
        "max_parallel": 2,
    }
    TuningJob(
        stack,
        "Job",
        training=replace(training, max_pending=7200),
        strategy="Hyperband",
        early_stopping=True,
        max_total_runtime=cdk.Duration.days(2),
        start_by=cdk.Duration.hours(4),
        run_overrides=["hyperparameters"],
        **common,
    )
    TuningJob(stack, "Sync", training=training, integration="optimized", **common)


@pytest.mark.parametrize("build", [minimum, maximum, steps], ids=lambda build: build.__name__)
def test_the_template_is_the_one_on_record(tmp_path, build):
    hold(tmp_path, build, "training-job")


@pytest.mark.parametrize("build", [processing, tuning], ids=lambda build: build.__name__)
def test_the_template_of_another_kind_is_the_one_on_record(tmp_path, build):
    hold(tmp_path, build, "job")


def hold(tmp_path, build, name):
    app = cdk.App(outdir=str(tmp_path), context={"@aws-cdk/core:enablePartitionLiterals": True})
    build(app)
    template = app.synth().get_stack_by_name("Research").template
    text = re.sub(r"[0-9a-f]{64}", "<asset>", json.dumps(template, indent=1)) + "\n"
    path = SNAPSHOTS / f"{name}-{build.__name__}.json"
    if os.environ.get("GPUCAP_UPDATE_SNAPSHOTS"):
        path.write_text(text)
    assert text == path.read_text()
