"""What is known of IAM: against its sources, and against what the guardrails build on."""

import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

from constructs_lib.facts import iam, load

ROOT = Path(__file__).parents[3]
BY_HAND = ("iam_gaps", "iam_document_limits")
GENERATED = ("iam_actions", "ec2_accelerated_families")


def test_the_generated_facts_are_those_of_their_sources():
    check = [sys.executable, ROOT / "scripts" / "generate_iam_facts.py", "--check"]
    run = subprocess.run(check, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


def test_a_changed_fact_is_noticed(tmp_path):
    """The check compares: with one row changed in a copy of the tree it fails."""
    copy = tmp_path / "constructs_lib" / "facts"
    copy.mkdir(parents=True)
    for name in GENERATED:
        text = (ROOT / "constructs_lib" / "facts" / f"{name}.json").read_text()
        (copy / f"{name}.json").write_text(text.replace("sagemaker:InstanceTypes", "sagemaker:InstanceKinds"))
    scripts = tmp_path / "scripts"
    scripts.mkdir()
    for name in ("generate_facts.py", "generate_iam_facts.py"):
        (scripts / name).write_text((ROOT / "scripts" / name).read_text())
    (tmp_path / "node_modules").symlink_to(ROOT / "node_modules")
    run = subprocess.run(
        [sys.executable, scripts / "generate_iam_facts.py", "--check"], capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stdout) == (1, "stale: iam_actions.json\n")


@pytest.mark.parametrize("name", [*BY_HAND, *GENERATED])
def test_every_row_has_a_source_and_every_file_a_date(name):
    document = load(name)
    assert date.fromisoformat(document["as_of"])
    assert {row["source"] for row in document["rows"]} <= set(document["sources"])


def test_every_sagemaker_action_that_names_types_and_never_carries_them_is_a_known_gap():
    blind = {
        name for name, action in iam.actions().items() if action.types_at and not action.carries(iam.INSTANCE_TYPES_KEY)
    }
    # These name types without starting anything: a search, a quota of a cluster, a package that lists what it supports.
    harmless = {
        "sagemaker:SearchTrainingPlanOfferings",
        "sagemaker:CreateComputeQuota",
        "sagemaker:UpdateComputeQuota",
        "sagemaker:UpdateModelPackage",
    }
    assert blind - set(iam.gaps()) == harmless


def test_no_gap_carries_the_key_and_every_one_is_a_real_action():
    for name in iam.gaps():
        if name.startswith("sagemaker:"):
            assert iam.actions()[name].carries(iam.INSTANCE_TYPES_KEY) is False


def test_the_actions_that_carry_types_are_those_whose_requests_name_them():
    assert len(iam.carrying_actions()) == 23
    assert all(iam.actions()[name].types_at for name in iam.carrying_actions())


def test_permission_only_actions_are_known():
    assert iam.actions()["sagemaker:CreateReservedCapacity"].source == "reference"


def test_an_operation_that_the_reference_does_not_list_has_unknown_keys():
    unlisted = [action for action in iam.actions().values() if action.source == "botocore"]
    assert unlisted
    assert all(action.carries(iam.INSTANCE_TYPES_KEY) is None for action in unlisted)


def test_limits_of_documents_are_dated_where_reports_disagree():
    documented, reported = iam.document_limits("scp")
    assert (documented.characters, documented.since) == (5120, None)
    assert (reported.characters, reported.since) == (10240, "2026-05-15")
    assert iam.document_limits("managed")[0].characters == 6144
    assert iam.document_limits("nothing") == ()
