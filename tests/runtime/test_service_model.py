"""The pinned service model: small, no older than botocore's, and enough for every call of the runtime."""

from __future__ import annotations

import gzip
import importlib.util
import json
from pathlib import Path

import botocore.session
import pytest

from constructs_lib.runtime.ports import SageMakerClient

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def script():
    path = ROOT / "scripts" / "prune_service_model.py"
    spec = importlib.util.spec_from_file_location("prune_service_model", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_file_is_what_the_installed_botocore_gives(script):
    assert script.read(script.TARGET) == script.pruned(script.read(script.SOURCE))


def test_an_older_or_a_changed_file_is_noticed(script):
    changed = script.read(script.SOURCE)
    changed["shapes"]["MaxPendingTimeInSeconds"]["min"] = 7200
    assert script.read(script.TARGET) != script.pruned(changed)


def test_the_file_is_small_and_the_same_on_every_day(script):
    data = script.TARGET.read_bytes()
    assert len(data) < 100_000
    assert data[4:8] == b"\0\0\0\0"  # gzip's time stamp
    assert b"documentation" not in gzip.decompress(data).replace(b'"documentation":"botocore', b"")


def test_the_model_has_every_operation_that_the_runtime_calls(script):
    called = {name for name in vars(SageMakerClient) if not name.startswith("_")}
    names = {botocore.xform_name(name) for name in script.OPERATIONS}
    assert called <= names


def test_shapes_are_kept_whole(script):
    pruned, whole = script.read(script.TARGET), script.read(script.SOURCE)
    shape = pruned["shapes"]["InstancePreference"]
    assert shape["members"].keys() == whole["shapes"]["InstancePreference"]["members"].keys()
    assert pruned["shapes"]["TrainingInstanceType"]["enum"] == whole["shapes"]["TrainingInstanceType"]["enum"]
    referred = {word for word in json.dumps(pruned).split('"shape": "')[1:] if word}
    assert {word.partition('"')[0] for word in referred} <= set(pruned["shapes"])
