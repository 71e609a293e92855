"""Plugin, aspect and lint are one engine: on the same tree they say the same of the same resources."""

import json
from collections import Counter
from pathlib import Path

import aws_cdk as cdk
import pytest

from constructs_lib.checks import CapacityRules, CapacityRulesPlugin
from constructs_lib.rules import check
from constructs_lib.rules.readers.files import expand, read_inputs

FIXTURES = Path(__file__).parents[2] / "fixtures" / "rules"
TASKS = {
    "training-job": "sagemaker:createTrainingJob",
    "processing-job": "sagemaker:createProcessingJob",
    "tuning-job": "sagemaker:createHyperParameterTuningJob",
}
RESOURCES = {
    "endpoint-config": "AWS::SageMaker::EndpointConfig",
    "endpoint": "AWS::SageMaker::Endpoint",
    "cluster": "AWS::SageMaker::Cluster",
    "scalable-target": "AWS::ApplicationAutoScaling::ScalableTarget",
    "training-plan": "Custom::SageMakerTrainingPlan",
    "capacity-block": "Custom::EC2CapacityBlock",
}
INSIDE = {
    "launch-template": ("AWS::EC2::LaunchTemplate", "LaunchTemplateData"),
    "event-pattern": ("AWS::Events::Rule", "EventPattern"),
    "iam-document": ("AWS::IAM::ManagedPolicy", "PolicyDocument"),
    "state-machine": ("AWS::StepFunctions::StateMachine", "Definition"),
}


def rendered(kind, data):
    """Return the resource type and properties that carry a fixture's data, if a template can carry it."""
    if kind in TASKS:
        task = {"Type": "Task", "Resource": f"arn:aws:states:::{TASKS[kind]}", "Parameters": data, "End": True}
        machine = {"StartAt": "Task", "States": {"Task": task}}
        return "AWS::StepFunctions::StateMachine", {"Definition": machine}
    if kind in RESOURCES:
        return RESOURCES[kind], data
    if kind in INSIDE:
        resource_type, key = INSIDE[kind]
        return resource_type, {key: data}
    return None


def cases():
    """Return name and resources of every fixture that a template can carry; CDK itself refuses foreign tokens."""
    found = {}
    for path in sorted(FIXTURES.glob("*/*.json")):
        text = path.read_text()
        raw = json.loads(text)
        resources = [rendered(s.get("kind"), s.get("data")) for s in raw.get("subjects", [raw])]
        if all(resources) and "Token[" not in text and "e+289" not in text:
            found[f"{path.parent.name}-{path.stem}".replace("_", "-")] = resources
    return found


def synth(outdir, front):
    app = cdk.App(outdir=str(outdir))
    for name, resources in cases().items():
        stack = cdk.Stack(app, name)
        for index, (resource_type, properties) in enumerate(resources):
            cdk.CfnResource(stack, f"R{index}", type=resource_type, properties=properties)
    front(app)
    with pytest.raises(RuntimeError, match="ValidationFailed"):
        app.synth()
    report = json.loads((outdir / "validation-report.json").read_text())
    return Counter(
        (v["ruleName"], v["ruleMetadata"]["severity"], construct["constructPath"])
        for plugin in report["pluginReports"]
        for v in plugin["violations"]
        for construct in v["violatingConstructs"]
    )


@pytest.mark.slow
def test_the_fronts_agree_on_every_fixture(tmp_path):
    plugin = synth(tmp_path / "a", lambda app: cdk.Validations.of(app).add_plugins(CapacityRulesPlugin()))
    aspect = synth(tmp_path / "b", lambda app: cdk.Aspects.of(app).add(CapacityRules()))
    library = read_inputs(expand([str(tmp_path / "a")]).files)
    lint = Counter(
        (f.rule, str(f.severity), f"{Path(f.file).name.removesuffix('.template.json')}/{f.resource}")
        for f in check(library.reading.subjects)
    )
    assert plugin == aspect
    assert plugin == lint
    assert {rule for rule, _, _ in plugin} > {"GPU-PL01", "GPU-PL02", "GPU-PL07"}
