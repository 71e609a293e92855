"""The independent evaluator as a function over many simulations at once."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from constructs_lib.facts import iam

os.environ.setdefault("CDK_VALIDATION", "false")

ACCOUNT = "111122223333"
PRINCIPAL = f"arn:aws:iam::{ACCOUNT}:role/someone"


def node() -> str:
    beside = Path(sys.executable).parent
    return shutil.which("node", path=os.pathsep.join([str(beside), os.environ["PATH"]])) or "node"


def simulation(request, policies):
    """Our request and policies in the words of the other evaluator."""
    named = [{"name": f"identity{i}", "policy": document} for i, document in enumerate(policies.identity)]
    levels = [
        {
            "orgIdentifier": f"level{i}",
            "policies": [{"name": f"scp{i}.{j}", "policy": one} for j, one in enumerate(level)],
        }
        for i, level in enumerate(policies.scps)
    ]
    document = {
        "request": {
            "principal": PRINCIPAL,
            "action": request.action,
            "resource": {"resource": request.resource, "accountId": ACCOUNT},
            "contextVariables": dict(request.context),
        },
        "identityPolicies": named,
        "serviceControlPolicies": levels,
        "resourceControlPolicies": [],
    }
    if policies.boundary is not None:
        boundary = [{"name": f"boundary{i}", "policy": one} for i, one in enumerate(policies.boundary)]
        document["permissionBoundaryPolicies"] = boundary
    return document


@pytest.fixture(scope="session")
def example_arn():
    """Return an ARN of the resource that a SageMaker action needs, in the shape that the reference gives."""
    reference = Path(__file__).parents[3] / "node_modules" / "@cloud-copilot" / "iam-data" / "data"
    kinds = json.loads((reference / "resourceTypes" / "sagemaker.json").read_text())
    known = {"Partition": "aws", "Region": "us-east-1", "Account": ACCOUNT}

    def arn(action):
        names = iam.actions()[action].resources
        shape = kinds[names[0]]["arn"] if names else "*"
        return re.sub(r"\$\{(\w+)\}", lambda part: known.get(part[1], "x"), shape)

    return arn


@pytest.fixture(scope="session")
def simulate():
    """Return the other evaluator's answers to ``[(request, policies), ...]``, such as Allowed or ExplicitlyDenied."""

    def ask(cases):
        text = "\n".join(json.dumps(simulation(*case)) for case in cases)
        script = Path(__file__).parent / "oracle.js"
        run = subprocess.run([node(), script], input=text, capture_output=True, text=True, check=True)
        answers = [json.loads(line) for line in run.stdout.splitlines()]
        assert len(answers) == len(cases)
        broken = [(case, answer) for case, answer in zip(cases, answers, strict=True) if answer["errors"]]
        assert not broken, f"the other evaluator refused {len(broken)} documents, first: {broken[0]}"
        ignored = [(case, answer["ignored"]) for case, answer in zip(cases, answers, strict=True) if answer["ignored"]]
        assert not ignored, f"condition keys that do not belong to the action: {ignored[0]}"
        return [answer["verdict"] for answer in answers]

    return ask
