"""Init of the launcher's Lambda function, from its asset, against ``boto3.client("sagemaker")``."""

from __future__ import annotations

import tempfile
from pathlib import Path

from bench.runner import Variant, measure, python

TITLE = "Lambda init: processor time of a fresh process that imports and makes its clients"
BOTO3 = 'boto3.client("sagemaker")'
BUDGETS = [("launcher and its SageMaker client", BOTO3, 0.65), ("launcher and its four clients", BOTO3, 0.65)]


def run() -> dict[str, list[float]]:
    """Return processor seconds of a process that imports and makes its clients, per variant and round."""
    from constructs_lib.shared.assets import stage  # noqa: PLC0415 - imports aws_cdk

    with tempfile.TemporaryDirectory(prefix="gpucap-asset-") as folder:
        asset = Path(folder)
        stage(asset)
        variants = [
            Variant("launcher and its SageMaker client", python("launcher_init", str(asset)), {"PYTHONPATH": ""}),
            Variant("launcher and its four clients", python("launcher_init", str(asset), "all"), {"PYTHONPATH": ""}),
            Variant(BOTO3, python("boto3_init"), {"PYTHONPATH": ""}),
        ]
        return measure(variants, "cpu", rounds=7)
