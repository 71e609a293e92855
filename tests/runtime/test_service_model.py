"""The pinned service models: small, no older than botocore's, and enough for every call of the runtime."""

from __future__ import annotations

import gzip
import importlib.util
import json
from pathlib import Path

import botocore.session
import pytest

from constructs_lib.runtime import endpoint_ports, ports

ROOT = Path(__file__).parents[2]
MODELS = ROOT / "constructs_lib" / "runtime" / "service_models"
SAGEMAKER = "sagemaker/2017-07-24"


@pytest.fixture(scope="module")
def script():
    path = ROOT / "scripts" / "prune_service_model.py"
    spec = importlib.util.spec_from_file_location("prune_service_model", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pinned(script, service):
    return script.read(script.MODELS / service / "service-2.json.gz")


def whole(script, service):
    return script.read(script.DATA / service / "service-2.json.gz")


SERVICES = [str(path.parent.relative_to(MODELS)) for path in sorted(MODELS.glob("*/*/service-2.json.gz"))]


def test_every_pinned_service_has_its_file(script):
    assert sorted(script.PINNED) == SERVICES


@pytest.mark.parametrize("service", SERVICES)
def test_a_file_is_what_the_installed_botocore_gives(script, service):
    assert pinned(script, service) == script.pruned(whole(script, service), script.PINNED[service])


def test_an_older_or_a_changed_file_is_noticed(script):
    changed = whole(script, SAGEMAKER)
    changed["shapes"]["MaxPendingTimeInSeconds"]["min"] = 7200
    assert pinned(script, SAGEMAKER) != script.pruned(changed, script.PINNED[SAGEMAKER])


def test_the_files_are_small_and_the_same_on_every_day(script):
    files = [(script.MODELS / service / "service-2.json.gz").read_bytes() for service in SERVICES]
    assert sum(map(len, files)) < 100_000
    for data in files:
        assert data[4:8] == b"\0\0\0\0"  # gzip's time stamp
        assert b"documentation" not in gzip.decompress(data).replace(b'"documentation":"botocore', b"")


@pytest.mark.parametrize(
    ("service", "client"),
    [
        (SAGEMAKER, ports.SageMakerClient),
        ("dynamodb/2012-08-10", ports.DynamoDBClient),
        ("stepfunctions/2016-11-23", ports.StepFunctionsClient),
        (SAGEMAKER, ports.PlansClient),
        ("dynamodb/2012-08-10", ports.PurchaseTableClient),
        ("cloudformation/2010-05-15", ports.CloudFormationClient),
        ("sns/2010-03-31", ports.SNSClient),
        ("events/2015-10-07", ports.EventsClient),
        (SAGEMAKER, endpoint_ports.EndpointsClient),
        ("dynamodb/2012-08-10", endpoint_ports.EndpointTableClient),
        ("application-autoscaling/2016-02-06", endpoint_ports.ScalingClient),
        ("lambda/2015-03-31", endpoint_ports.LambdaClient),
    ],
)
def test_a_model_has_every_operation_that_the_runtime_calls(script, service, client):
    called = {name for name in vars(client) if not name.startswith("_")}
    assert called <= {botocore.xform_name(name) for name in script.PINNED[service]}


def test_shapes_are_kept_whole(script):
    pruned, full = pinned(script, SAGEMAKER), whole(script, SAGEMAKER)
    shape = pruned["shapes"]["InstancePreference"]
    assert shape["members"].keys() == full["shapes"]["InstancePreference"]["members"].keys()
    assert pruned["shapes"]["TrainingInstanceType"]["enum"] == full["shapes"]["TrainingInstanceType"]["enum"]
    referred = {word for word in json.dumps(pruned).split('"shape": "')[1:] if word}
    assert {word.partition('"')[0] for word in referred} <= set(pruned["shapes"])
