"""The rules under the real CDK CLI: an error fails ``cdk synth``, warnings and what is unverified do not."""

import json
import sys

import pytest

pytestmark = pytest.mark.slow
APP = """
import json
import aws_cdk as cdk
from aws_cdk import aws_stepfunctions as sfn
from constructs_lib import CapacityRules, CapacityRulesPlugin

app = cdk.App()
stack = cdk.Stack(app, "S")
{front}
resources = {{"InstanceCount": 1, "InstancePreferences": {entries}}}
request = {{"TrainingJobName.$": "$.name", "ResourceConfig": resources}}
task = {{"Type": "Task", "End": True, "Parameters": request}}
task["Resource"] = "arn:aws:states:::sagemaker:createTrainingJob.sync"
definition = json.dumps({{"StartAt": "T", "States": {{"T": task}}}})
role = "arn:aws:iam::111122223333:role/machine"
sfn.CfnStateMachine(stack, "Machine", role_arn=role, definition_string=definition)
app.synth()
"""
FRONTS = {
    "plugin": "cdk.Validations.of(app).add_plugins(CapacityRulesPlugin())",
    "aspect": "cdk.Aspects.of(stack).add(CapacityRules())",
}
ENTRIES = {
    "error": [{"InstanceType": "ml.g5.xlarge"}, {"InstanceType": "ml.g5.xlarge"}],
    "warning": [{"InstanceType": "ml.g5.xlarge"}],
    "unverified": [{"InstanceType": "ml.g5.xlarge"}, {"InstanceType.$": "$.type"}],
}


@pytest.mark.parametrize("front", FRONTS)
@pytest.mark.parametrize(("entries", "fails"), [("error", True), ("warning", False), ("unverified", False)])
def test_only_an_error_fails_the_synth(front, entries, fails, cdk, tmp_path):
    (tmp_path / "app.py").write_text(APP.format(front=FRONTS[front], entries=ENTRIES[entries]))
    (tmp_path / "cdk.json").write_text(json.dumps({"app": f"{sys.executable} app.py"}))
    done = cdk(tmp_path, "synth", "--quiet", variables={})
    assert (done.returncode != 0) is fails, done.stdout + done.stderr
    assert ("ERROR" in done.stdout + done.stderr) is fails
    assert "GPU-PL" in done.stdout + done.stderr
