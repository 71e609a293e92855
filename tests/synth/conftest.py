import json
import os
from pathlib import Path

import jsii._kernel.providers.process as process
import pytest

os.environ.setdefault("CDK_VALIDATION", "false")

import aws_cdk as cdk
from cdk_nag import AwsSolutionsChecks

from constructs_lib import (
    HyperparameterRange,
    InstancePreference,
    PreferenceProcessingJob,
    PreferenceTrainingJob,
    TrainingJobSpec,
    TuningJob,
    TuningObjective,
)

PSEUDO = {"AWS::Partition": "aws", "AWS::Region": "us-east-1", "AWS::AccountId": "111122223333"}


@pytest.fixture
def app(tmp_path):
    return cdk.App(outdir=str(tmp_path / "cdk.out"))


@pytest.fixture
def stack(app):
    return cdk.Stack(app, "Research")


@pytest.fixture
def make_job(stack):
    """Return a function that adds a small good job to a stack, with other props where they are given."""

    def make(construct_id="FineTune", *, scope=stack, **props):
        given = {
            "image": "111122223333.dkr.ecr.us-east-1.amazonaws.com/train:1",
            "inputs": {"train": "s3://bucket/train"},
            "output": "s3://bucket/models",
            "preferences": [InstancePreference("ml.p5.48xlarge"), InstancePreference("ml.p4d.24xlarge")],
            "instance_count": 8,
            "max_runtime": cdk.Duration.hours(60),
            "max_pending": cdk.Duration.hours(2),
            **props,
        }
        return PreferenceTrainingJob(scope, construct_id, **given)

    return make


@pytest.fixture
def make_processing(stack):
    """Return a function that adds a small good processing job to a stack, with other props where they are given."""

    def make(construct_id="Embed", *, scope=stack, **props):
        given = {
            "image": "111122223333.dkr.ecr.us-east-1.amazonaws.com/embed:1",
            "inputs": {"texts": "s3://bucket/texts"},
            "outputs": {"vectors": "s3://bucket/vectors"},
            "preferences": [InstancePreference("ml.g6.12xlarge"), InstancePreference("ml.g5.12xlarge")],
            "instance_count": 2,
            "volume_size_gb": 200,
            "max_runtime": cdk.Duration.hours(6),
            **props,
        }
        return PreferenceProcessingJob(scope, construct_id, **given)

    return make


@pytest.fixture
def make_tuning(stack):
    """Return a function that adds a small good tuning job; ``training`` are fields of its training job."""

    def make(construct_id="Search", *, scope=stack, training=None, **props):
        fields = {
            "name": "search",
            "image": "111122223333.dkr.ecr.us-east-1.amazonaws.com/train:1",
            "inputs": {"train": "s3://bucket/train"},
            "output": "s3://bucket/tuned",
            "preferences": [InstancePreference("ml.g6.12xlarge"), InstancePreference("ml.g5.12xlarge")],
            "instance_count": 1,
            "volume_size_gb": 200,
            "max_runtime": 3600,
            **(training or {}),
        }
        given = {
            "objective": TuningObjective("loss", "Minimize", regex="loss=([0-9.]+)"),
            "ranges": {"rate": HyperparameterRange.continuous(1e-5, 1e-2)},
            "max_jobs": 10,
            "max_parallel": 2,
            **props,
        }
        return TuningJob(scope, construct_id, training=TrainingJobSpec(**fields), **given)

    return make


@pytest.fixture
def payload_of(definition_of):
    """Return a function that gives what a job's machine hands to the launcher."""
    return lambda job: definition_of(job)["States"]["Launch"]["Parameters"]["Payload"]


@pytest.fixture
def synth():
    """Return a function that synthesizes an app and returns a stack's template."""

    def template(app, name="Research"):
        artifact = app.synth().get_stack_by_name(name)
        return json.loads(Path(artifact.template_full_path).read_text())

    return template


@pytest.fixture
def of_type():
    """Return a function that gives the properties of a template's resources of one type, by logical id."""

    def resources(template, kind):
        return {k: v["Properties"] for k, v in template["Resources"].items() if v["Type"] == kind}

    return resources


@pytest.fixture
def resolved():
    """Return a function that replaces the intrinsic functions of a template's value by plausible text."""

    def resolve(value):
        if isinstance(value, list):
            return [resolve(inner) for inner in value]
        if not isinstance(value, dict):
            return value
        if len(value) == 1:
            (function, argument), *_ = value.items()
            if function == "Fn::Join":
                return argument[0].join(str(resolve(part)) for part in argument[1])
            if function == "Ref":
                return PSEUDO.get(argument, argument)
            if function == "Fn::GetAtt":
                return f"arn:aws:iam::111122223333:role/{argument[0]}"
        return {key: resolve(inner) for key, inner in value.items()}

    return resolve


@pytest.fixture
def definition_of(resolved):
    """Return a function that gives the state machine of a job, with plausible text for what only a deploy knows."""
    return lambda job: json.loads(resolved(job.stack.resolve(job.definition_string)))


@pytest.fixture
def request_of(definition_of):
    """Return a function that gives the request that a job's machine hands to the launcher."""
    return lambda job: definition_of(job)["States"]["Launch"]["Parameters"]["Payload"]["request"]


@pytest.fixture
def kernel_requests(monkeypatch):
    """Return a function that tells how many requests went to the jsii kernel so far."""
    sent = []
    original = process._NodeProcess.send
    monkeypatch.setattr(process._NodeProcess, "send", lambda self, *args: sent.append(1) or original(self, *args))
    return lambda: len(sent)


@pytest.fixture
def nag():
    """Return a function that synthesizes an app with the pack and returns what it found: rule and construct path."""

    def found(app):
        cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app))
        failed = False
        try:
            app.synth()
        except RuntimeError:
            failed = True
        report = json.loads((Path(app.outdir) / "validation-report.json").read_text())
        pairs = {
            (violation["ruleName"], construct["constructPath"])
            for plugin in report["pluginReports"]
            for violation in plugin["violations"]
            for construct in violation["violatingConstructs"]
        }
        assert failed == bool(pairs)
        return pairs

    return found


@pytest.fixture
def acknowledged():
    """Return a function that gives the ids acknowledged on one construct, each with its reason."""

    def ids(construct):
        entries = [entry.data for entry in construct.node.metadata if entry.type == "aws:cdk:acknowledged-rules"]
        return {name.removeprefix("Annotation::"): reason for data in entries for name, reason in data.items()}

    return ids
