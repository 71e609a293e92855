"""The independent evaluator as a function over many simulations at once."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

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
def simulate():
    """Return the other evaluator's answers to ``[(request, policies), ...]``: Allowed, ImplicitlyDenied, ExplicitlyDenied."""

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
