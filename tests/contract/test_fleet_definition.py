"""The machine of a fleet is valid for tools not ours, and clean under our own rules."""

import json

import aws_cdk as cdk
import pytest
from cfnlint.api import lint
from cfnlint.config import ManualArgs

from constructs_lib import InstancePreference, JobFleet, TrainingJobSpec, synth_checked

pytestmark = pytest.mark.slow


@pytest.fixture(params=[{}, {"stop_after_failures": 3}], ids=["goes on", "stops"])
def template(tmp_path, request, plain_text):
    app = cdk.App(outdir=str(tmp_path))
    stack = cdk.Stack(app, "Research", env=cdk.Environment(account="111122223333", region="us-east-1"))
    entries = [InstancePreference("ml.p5.48xlarge"), InstancePreference("ml.p4d.24xlarge")]
    jobs = [
        TrainingJobSpec(
            name=f"lr-{i}",
            image="111122223333.dkr.ecr.us-east-1.amazonaws.com/train:1",
            output="s3://bucket/models",
            preferences=entries,
            instance_count=1,
            max_runtime=3600,
            max_pending=3600,
        )
        for i in range(2)
    ]
    JobFleet(stack, "Sweep", jobs=jobs, max_concurrency_per_type={"ml.p5.48xlarge": 4}, **request.param)
    template = synth_checked(app).get_stack_by_name("Research").template
    for resource in template["Resources"].values():
        if resource["Type"] == "AWS::StepFunctions::StateMachine":
            resource["Properties"]["DefinitionString"] = plain_text(resource["Properties"]["DefinitionString"])
    return template


def test_it_is_valid_for_asl_validator_and_cfn_lint(template, asl_validator):
    (machine,) = [r for r in template["Resources"].values() if r["Type"] == "AWS::StepFunctions::StateMachine"]
    definition = json.loads(machine["Properties"]["DefinitionString"])
    assert asl_validator(definition) == []
    found = lint(json.dumps(template), config=ManualArgs(regions=["us-east-1"]))
    assert [f"{match.rule.id} {match.message}" for match in found if match.rule.id != "W3005"] == []
    definition["States"]["Jobs"]["Next"] = "Nowhere"
    assert asl_validator(definition) != []
