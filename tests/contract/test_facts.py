"""Facts are dated, say where they come from, and agree with botocore, moto and cfn-lint."""

import importlib.util
import json
import re
import sys
from datetime import date
from importlib.metadata import version
from pathlib import Path

import botocore.session
import pytest

from constructs_lib import facts
from constructs_lib.facts import capacity, images, integrations

ROOT = Path(__file__).parents[2]
MODEL = botocore.session.get_session().get_service_model("sagemaker")
FILES = sorted((ROOT / "constructs_lib" / "facts").glob("*.json"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_row_says_where_it_comes_from_and_every_file_of_which_day_it_is(path):
    document = json.loads(path.read_text())
    assert date.fromisoformat(document["as_of"])
    assert document["rows"]
    for row in document["rows"]:
        assert row["source"] in document["sources"], row


@pytest.fixture
def generator(monkeypatch):
    spec = importlib.util.spec_from_file_location("generate_facts", ROOT / "scripts" / "generate_facts.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(sys, "argv", ["generate_facts.py", "--check"])
    return module


def test_generated_facts_are_what_botocore_moto_and_cfn_lint_say_today(generator, capsys):
    assert generator.main() == 0, capsys.readouterr().out


def test_a_stale_file_is_noticed(generator, monkeypatch, tmp_path, capsys):
    (tmp_path / "job_states.json").write_text("{}")
    monkeypatch.setattr(generator, "FACTS", tmp_path)
    monkeypatch.setattr(generator, "GENERATED", {"job_states.json": generator.job_states})
    assert generator.main() == 1
    assert capsys.readouterr().out == "stale: job_states.json\n"


def test_plan_targets_are_those_of_the_model_and_their_apis_have_types():
    assert set(capacity.plan_targets()) == set(MODEL.shape_for("SageMakerResourceName").enum)
    assert all(facts.api_instance_types(target.api) for target in capacity.plan_targets().values())


def test_plan_counts_are_those_of_the_model():
    assert (
        capacity.purchase_limits("training-plan").max_count
        == MODEL.shape_for("ReservedCapacityInstanceCount").metadata["max"]
    )


def test_every_gpu_of_a_known_type_has_its_cuda_versions():
    gpus = {
        t.accelerator.name for t in facts.instance_types().values() if t.accelerator and t.accelerator.kind == "gpu"
    }
    assert gpus == set(images.cuda_support())


@pytest.mark.parametrize(
    ("image", "said"),
    [
        ("pytorch-training:2.7.1-gpu-py312-cu128-ubuntu22.04-sagemaker", {"gpu", "x86_64"}),
        ("pytorch-training-arm64:2.7.0-gpu-py312-cu128-ubuntu22.04-ec2", {"gpu", "arm64"}),
        ("pytorch-training-neuronx:2.7.0-neuronx-py310-sdk2.24.1-ubuntu22.04", {"neuron", "x86_64"}),
        ("pytorch-inference-graviton:2.4.0-cpu-py311-ubuntu22.04", {"none", "arm64"}),
        ("djl-inference:0.29.0-tensorrtllm0.11.0-cu124", {"gpu"}),
        ("ours:7", set()),
    ],
)
def test_aws_image_names_say_their_platform_and_others_nothing(image, said):
    found = [p for p in images.image_patterns() if re.search(p.pattern, image)]
    assert {p.accelerator or p.architecture for p in found} == said


def test_new_members_are_members_of_the_model():
    for operation in integrations.operations():
        for new in integrations.new_members(operation):
            known = integrations.operations()[operation]
            for part in new.member.split("."):
                known = known[part.removesuffix("[]")]
                known = known[0] if part.endswith("[]") else known


def test_the_actions_of_the_optimized_integration_are_operations():
    actions = integrations.optimized_actions()
    assert {action[0].upper() + action[1:] for action in actions} <= set(MODEL.operation_names)
    assert integrations.model_version().startswith(f"botocore {version('botocore')}")
