"""The reference app deploys the published shapes, and the examples are what its machines ask SageMaker for."""

import json
from pathlib import Path

import aws_cdk as cdk
import pytest

from constructs_lib import Settings, synth_checked
from constructs_lib.rules import Severity, check_request
from stacks.research import ResearchStack

ROOT = Path(__file__).parents[2]
CONTEXT = json.loads((ROOT / "cdk.json").read_text())["context"]
EXAMPLES = {path.stem: path for path in sorted((ROOT / "examples").glob("*.json"))}


@pytest.fixture(params=[None, cdk.Environment(account="123456789012", region="us-east-1")], ids=["any", "one account"])
def research(request, tmp_path):
    app = cdk.App(outdir=str(tmp_path), context=CONTEXT)
    return ResearchStack(app, "Research", settings=Settings.of(app), env=request.param)


def test_each_shape_is_a_machine_whose_arn_is_an_output(research):
    outputs = synth_checked(research.node.root).get_stack_by_name("Research").template["Outputs"]
    machines = {name: output["Value"] for name, output in outputs.items()}
    assert machines == {
        f"{shape}Machine": {"Fn::GetAtt": [shape, "Arn"]} for shape in ("SharedCount", "CountPerType", "ReservedFirst")
    }


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_is_what_the_construct_renders(research, request_of, example):
    shape = getattr(research, example.replace("-", "_"))
    ours, published = request_of(shape), json.loads(EXAMPLES[example].read_text())
    assert published.pop("TrainingJobName") == example
    assert ours.pop("RoleArn")
    assert published.pop("RoleArn")
    assert ours == published


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_breaks_no_rule(example):
    findings = check_request("training-job", json.loads(EXAMPLES[example].read_text()))
    assert not [finding for finding in findings if finding.severity is Severity.ERROR]


def test_there_is_an_example_for_each_shape():
    assert set(EXAMPLES) == {"shared-count", "count-per-type", "reserved-first"}


def test_without_a_plan_in_the_context_the_reserved_job_is_left_out():
    app = cdk.App(context={key: value for key, value in CONTEXT.items() if "plan" not in key})
    assert ResearchStack(app, "Research", settings=Settings.of(app)).reserved_first is None


def test_without_an_image_in_the_context_the_stack_says_what_to_set():
    app = cdk.App()
    with pytest.raises(ValueError, match=r"set @gpu-capacity/image and @gpu-capacity/data"):
        ResearchStack(app, "Research", settings=Settings.of(app))


def test_the_app_command_puts_the_node_of_the_venv_first():
    command = json.loads((ROOT / "cdk.json").read_text())["app"]
    assert command.startswith('PATH="$PWD/.venv/bin:$PATH" ')
