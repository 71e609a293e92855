"""``gpucap lint`` on 100 templates of 200 resources: whole command, time and memory."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TITLE = "gpucap lint on 100 templates of 200 resources"
BUDGETS = [("lint, seconds", "5 s", 1.0), ("lint, MB", "200 MB", 1.0)]


def run() -> dict[str, list[float]]:
    """Return seconds and peak megabytes of three runs, beside the budgets."""
    seconds, megabytes = [], []
    with tempfile.TemporaryDirectory(prefix="gpucap-bench-") as folder:
        _write(Path(folder))
        command = [sys.executable, "-m", "constructs_lib.cli.main", "lint", folder]
        for _ in range(3):
            start = time.perf_counter()
            subprocess.run(command, capture_output=True, check=False)
            seconds.append(time.perf_counter() - start)
            megabytes.append(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)
    return {"lint, seconds": seconds, "5 s": [5.0] * 3, "lint, MB": megabytes, "200 MB": [200.0] * 3}


def _write(folder: Path) -> None:
    entries = [{"InstanceType": kind, "InstanceCount": 2} for kind in ("ml.g6.48xlarge", "ml.g5.48xlarge")]
    limits = {"MaxRuntimeInSeconds": 86400, "MaxPendingTimeInSeconds": 7200}
    request = {
        "TrainingJobName.$": "$.name",
        "ResourceConfig": {"InstancePreferences": entries},
        "StoppingCondition": limits,
    }
    task = {"Type": "Task", "Resource": "arn:aws:states:::sagemaker:createTrainingJob.sync", "Parameters": request}
    machine = json.dumps({"StartAt": "T", "States": {"T": task | {"End": True}}})
    variant = {"VariantName": "v", "ModelName": "m", "InstanceType": "ml.g5.xlarge", "InitialInstanceCount": 1}
    resources = {
        f"R{i}": {"Type": "AWS::SageMaker::EndpointConfig", "Properties": {"ProductionVariants": [variant]}}
        if i % 2
        else {"Type": "AWS::StepFunctions::StateMachine", "Properties": {"DefinitionString": machine}}
        for i in range(200)
    }
    for i in range(100):
        (folder / f"t{i}.template.json").write_text(json.dumps({"Resources": resources}, indent=1))
