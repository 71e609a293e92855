import json
import os
import subprocess
from pathlib import Path

import pytest

os.environ.setdefault("CDK_VALIDATION", "false")

ROOT = Path(__file__).parents[2]
ASL_VALIDATOR = """
const validate = require('asl-validator');
require('readline').createInterface({input: process.stdin}).on('line', line => {
  const found = validate(JSON.parse(line), {checkPaths: true, checkArn: true});
  process.stdout.write(JSON.stringify({valid: found.isValid, errors: found.errors}) + '\\n');
});
"""


@pytest.fixture(scope="session")
def asl_validator():
    """Return a function that asks asl-validator, in one long-lived node process, what is wrong with a definition."""
    process = subprocess.Popen(
        ["node", "-e", ASL_VALIDATOR], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )

    def errors(definition):
        process.stdin.write(json.dumps(definition) + "\n")
        process.stdin.flush()
        answer = json.loads(process.stdout.readline())
        assert answer["valid"] == (not answer["errors"])
        return answer["errors"]

    yield errors
    process.stdin.close()
    process.wait(timeout=10)
    process.stdout.close()
