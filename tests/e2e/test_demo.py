"""``gpucap demo``: every scenario ends as its name says, through the real CDK CLI."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from constructs_lib.cli.demo.scenarios import load_scenarios

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
KEYS = {"request", "evaluations", "selected_type", "selected_count", "rank", "pending_seconds", "terminal_state"}


def demo(*args):
    command = [sys.executable, "-m", "constructs_lib.cli.main", "demo", *args]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", load_scenarios())
def test_a_scenario_ends_as_its_name_says(name):
    done = demo("--scenario", name, "--format", "json")
    assert done.returncode == 0, done.stderr[-3000:]
    document = json.loads(done.stdout)
    assert document["scenario"] == name
    [run] = document["runs"]
    assert set(run) >= KEYS
    assert {"type", "needed", "free"} <= set(run["evaluations"][0])
    assert "Traceback" not in done.stderr


def test_a_scenario_that_ends_otherwise_is_said_to():
    scenario = load_scenarios()["queue"]

    class Ended:
        rank, job_status, terminal_state, pending_seconds = 1, "Completed", "Completed", 60.0

    words = scenario.problems(Ended())
    assert words == ["rank is 1, 3 was expected", "it waited 1 min, 24 to 27 was expected"]


def test_an_app_without_cdk_json_is_refused_in_words(tmp_path):
    done = demo("--app", str(tmp_path))
    assert done.returncode == 2
    assert "no cdk.json in" in done.stderr
    assert "Traceback" not in done.stderr
