"""The whole template of the smallest and of the fullest plan; GPUCAP_UPDATE_SNAPSHOTS=1 writes them anew."""

import json
import os
import re
from pathlib import Path

import aws_cdk as cdk
import pytest

from constructs_lib import Approval, CapacityBuyer, CapacityWindow, PriceCeiling, TrainingPlan, TrainingPlanTarget

SNAPSHOTS = Path(__file__).parents[2] / "snapshots"
TOPIC = "arn:aws:sns:us-east-1:111122223333:purchases"


def minimum(app):
    TrainingPlan(
        cdk.Stack(app, "Research"),
        "Nightly",
        training_plan_name="nightly",
        instance_type="ml.p5.48xlarge",
        instance_count=1,
        duration=cdk.Duration.days(1),
        window=CapacityWindow(),
        target=TrainingPlanTarget.TRAINING_JOB,
        max_upfront_fee=PriceCeiling("1000", "USD"),
    )


def maximum(app):
    env = cdk.Environment(account="111122223333", region="us-east-1")
    stack = cdk.Stack(app, "Research", env=env)
    boundary = "arn:aws:iam::111122223333:policy/developer"
    CapacityBuyer(stack, permissions_boundary=boundary, notices=TOPIC)
    plan = TrainingPlan(
        stack,
        "Nightly",
        training_plan_name="nightly",
        instance_type="ml.p5.48xlarge",
        instance_count=4,
        duration=cdk.Duration.days(3),
        window=CapacityWindow(start_after="2027-01-27T00:00Z", end_before="2027-02-05T12:00Z"),
        target=TrainingPlanTarget.HYPERPOD_CLUSTER,
        max_upfront_fee=PriceCeiling("60000", "USD"),
        generation=2,
        choice="earliest,cheapest",
        allow_discontinuous=True,
        approval=Approval.required(topic=TOPIC),
        adopt=True,
        extend_until="2027-02-12T11:30Z",
        max_extension_fee=PriceCeiling("20000", "USD"),
        tags={"team": "research"},
    )
    plan.on_status_change("Changed")
    plan.on_notice("Noticed")


@pytest.mark.parametrize("build", [minimum, maximum], ids=lambda build: build.__name__)
def test_the_template_is_the_one_on_record(tmp_path, build):
    context = {
        "@aws-cdk/core:enablePartitionLiterals": True,
        "@gpu-capacity/purchase": "nightly#2@2026-12-10@111122223333/us-east-1",
    }
    app = cdk.App(outdir=str(tmp_path), context=context)
    build(app)
    template = app.synth().get_stack_by_name("Research").template
    text = re.sub(r"[0-9a-f]{64}", "<asset>", json.dumps(template, indent=1)) + "\n"
    path = SNAPSHOTS / f"training-plan-{build.__name__}.json"
    if os.environ.get("GPUCAP_UPDATE_SNAPSHOTS"):
        path.write_text(text)
    assert text == path.read_text()
