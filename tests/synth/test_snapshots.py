"""The whole template of the smallest and of the fullest job; GPUCAP_UPDATE_SNAPSHOTS=1 writes them anew."""

import json
import os
import re
from pathlib import Path

import aws_cdk as cdk
import pytest

from constructs_lib import CapacityKit, InputChannel, InstancePreference, PreferenceTrainingJob

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


@pytest.mark.parametrize("build", [minimum, maximum], ids=lambda build: build.__name__)
def test_the_template_is_the_one_on_record(tmp_path, build):
    app = cdk.App(outdir=str(tmp_path), context={"@aws-cdk/core:enablePartitionLiterals": True})
    build(app)
    template = app.synth().get_stack_by_name("Research").template
    text = re.sub(r"[0-9a-f]{64}", "<asset>", json.dumps(template, indent=1)) + "\n"
    path = SNAPSHOTS / f"training-job-{build.__name__}.json"
    if os.environ.get("GPUCAP_UPDATE_SNAPSHOTS"):
        path.write_text(text)
    assert text == path.read_text()
