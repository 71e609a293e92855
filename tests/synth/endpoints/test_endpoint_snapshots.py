"""The whole template of the smallest and of the fullest endpoint; GPUCAP_UPDATE_SNAPSHOTS=1 writes them anew."""

import json
import os
import re
from pathlib import Path

import aws_cdk as cdk
import pytest

from constructs_lib import (
    EndpointKeeper,
    EndpointScaling,
    OnExpiry,
    PooledEndpointConfig,
    ReservedEndpoint,
    ReservedEndpointConfig,
    TrainingPlan,
    TrainingPlanTarget,
)

SNAPSHOTS = Path(__file__).parents[2] / "snapshots"
PLAN = "arn:aws:sagemaker:us-east-1:111122223333:training-plan/serving"
TOPIC = "arn:aws:sns:us-east-1:111122223333:people"


def minimum(app):
    stack = cdk.Stack(app, "Serving")
    ReservedEndpoint(
        stack,
        "Chat",
        plan=PLAN,
        instance_type="ml.p5.48xlarge",
        model_name="chat",
        instance_count=1,
        on_expiry=OnExpiry.delete(),
    )


SETTINGS = {
    "variant_name": "Main",
    "initial_weight": 1,
    "model_download_timeout": 1200,
    "startup_timeout": 900,
    "ssm_access": True,
    "inference_ami_version": "al2-ami-sagemaker-inference-gpu-3-1",
    "routing": "LEAST_OUTSTANDING_REQUESTS",
    "core_dump": "s3://bucket/cores",
    "managed_instance_scaling": {"Status": "DISABLED"},
    "kms_key": "arn:aws:kms:us-east-1:111122223333:key/0011aabb",
    "data_capture": "s3://bucket/seen",
    "async_inference": "s3://bucket/answers",
    "volume_size_gb": cdk.Size.gibibytes(100),
}


def maximum(app):
    stack = cdk.Stack(app, "Serving", env=cdk.Environment(account="111122223333", region="us-east-1"))
    boundary = "arn:aws:iam::111122223333:policy/developer"
    EndpointKeeper(stack, period=cdk.Duration.minutes(1), notices=TOPIC, permissions_boundary=boundary)
    known = {"instance_type": "ml.p5.48xlarge", "instance_count": 8, "target": TrainingPlanTarget.ENDPOINT}
    plan = TrainingPlan.from_training_plan_arn(stack, "Plan", PLAN, **known)
    role = "arn:aws:iam::111122223333:role/endpoint"
    ReservedEndpoint(
        stack,
        "Chat",
        plan=plan,
        model_name="chat",
        instance_count=2,
        on_expiry=OnExpiry.to_on_demand(
            "ml.g6e.48xlarge",
            "ml.g5.48xlarge",
            last_resort=OnExpiry.keep(acknowledge="the users know"),
            instance_count=3,
            provision_timeout=cdk.Duration.minutes(10),
            models={"ml.g5.48xlarge": "chat-a10g"},
        ),
        margin=cdk.Duration.minutes(20),
        accept_downtime=cdk.Duration.minutes(10),
        scaling=EndpointScaling(min_capacity=1, max_capacity=4, invocations_per_instance=60, scale_out_cooldown=60),
        endpoint_name="Chat",
        tags={"team": "chat"},
        request_overrides={"ExecutionRoleArn": role, "MetricsConfig": {"EnableEnhancedMetrics": True}},
        shadow={"ModelName": "chat-next", "InitialInstanceCount": 1},
        **SETTINGS,
    )
    after = OnExpiry.to_plan(f"{PLAN}-2")
    ReservedEndpoint(stack, "Search", plan=plan, model_name="search", instance_count=1, on_expiry=after)
    common = {"model_name": "chat", "instance_count": 1, "tags": {"team": "chat"}, **SETTINGS}
    ReservedEndpointConfig(stack, "Config", plan=plan, **common)
    PooledEndpointConfig(stack, "Pools", types=["ml.g6e.48xlarge", "ml.g5.48xlarge"], provision_timeout=600, **common)


@pytest.mark.parametrize("build", [minimum, maximum], ids=lambda build: build.__name__)
def test_the_template_is_the_one_on_record_in_every_synth(tmp_path, build):
    texts = []
    for number in range(2):
        app = cdk.App(outdir=str(tmp_path / str(number)), context={"@aws-cdk/core:enablePartitionLiterals": True})
        build(app)
        template = app.synth().get_stack_by_name("Serving").template
        texts.append(re.sub(r"[0-9a-f]{64}", "<asset>", json.dumps(template, indent=1)) + "\n")
    path = SNAPSHOTS / f"reserved-endpoint-{build.__name__}.json"
    if os.environ.get("GPUCAP_UPDATE_SNAPSHOTS"):
        path.write_text(texts[0])
    assert texts == [path.read_text()] * 2
