"""The rules under the real CDK CLI: an error fails ``cdk synth``, warnings and what is unverified do not."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
CLI = ROOT / "node_modules" / "aws-cdk" / "bin" / "cdk"
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
def test_only_an_error_fails_the_synth(front, entries, fails, tmp_path):
    (tmp_path / "app.py").write_text(APP.format(front=FRONTS[front], entries=ENTRIES[entries]))
    (tmp_path / "cdk.json").write_text(json.dumps({"app": f"{sys.executable} app.py"}))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("CDK", "PYTEST"))}
    environment = {**kept, "PATH": path, "PYTHONPATH": str(ROOT), "CDK_VALIDATION": "false"}
    node = Path(sys.executable).parent / "node"
    command = [str(node), str(CLI), "synth", "--quiet", "--no-notices"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode != 0) is fails, done.stdout + done.stderr
    assert ("ERROR" in done.stdout + done.stderr) is fails
    assert "GPU-PL" in done.stdout + done.stderr
