"""What the sandbox knows of resource types, held against CloudFormation's own schemas."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import botocore.session
import pytest

from constructs_lib.sandbox.cloudformation.naming import generated_name
from constructs_lib.sandbox.cloudformation.registry import Facts, facts_of
from constructs_lib.sandbox.cloudformation.resources import TYPES
from constructs_lib.sandbox.cloudformation.resources.api import ApiType
from constructs_lib.sandbox.cloudformation.resources.base import ResourceError
from constructs_lib.sandbox.cloudformation.resources.fit import fit

ROOT = Path(__file__).parents[3]
KINDS = sorted(TYPES, key=lambda kind: kind.type)
# Documented under Fn::GetAtt of the type, though the schema does not list it as read-only.
DOCUMENTED = {
    "AWS::CloudWatch::CompositeAlarm": set(),
    "AWS::EC2::SecurityGroup": {"VpcId"},
    "AWS::EC2::Subnet": {"AvailabilityZone", "VpcId"},
    "AWS::EC2::VPC": {"CidrBlock"},
    "AWS::Events::EventBus": {"Name"},
    "AWS::SNS::Topic": {"TopicName"},
    "AWS::SQS::Queue": {"QueueName"},
    "AWS::SSM::Parameter": {"Type", "Value"},
    "AWS::SageMaker::Endpoint": {"EndpointName"},
    "AWS::SageMaker::EndpointConfig": {"EndpointConfigName"},
    "AWS::SageMaker::Model": {"ModelName"},
}


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("refresh", ROOT / "scripts" / "refresh_resource_types.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_data_is_what_the_schemas_say(script: ModuleType) -> None:
    """Run scripts/refresh_resource_types.py if this fails after an upgrade of cfn-lint."""
    assert script.TARGET.read_text(encoding="utf-8") == script.render()


def test_the_comparison_would_see_a_lost_replacement(script: ModuleType) -> None:
    wrong = script.TARGET.read_text(encoding="utf-8").replace(
        '"StateMachineName",\n    "StateMachineType"', '"StateMachineName"'
    )
    assert wrong != script.render()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.type)
def test_every_attribute_is_one_of_cloudformations(kind: Any) -> None:
    known = {path.replace("/", ".") for path in facts_of(kind.type).read_only} | DOCUMENTED.get(kind.type, set())
    assert (kind.attributes or frozenset()) <= known


@pytest.mark.parametrize("kind", [kind for kind in KINDS if issubclass(kind, ApiType)], ids=lambda kind: kind.type)
def test_every_call_and_name_is_one_of_the_apis(kind: type[ApiType]) -> None:
    model = botocore.session.get_session().get_service_model(kind.service)
    for operation in filter(None, (kind.create_call, kind.update_call, kind.delete_call)):
        assert operation in model.operation_names
    properties = facts_of(kind.type).properties
    assert not kind.name or kind.name in properties or kind.name == "StatementId"
    # A global table is made as a plain one: what is said of a replica there is said of the table.
    more = facts_of("AWS::DynamoDB::Table").properties if kind.type == "AWS::DynamoDB::GlobalTable" else ()
    assert set(kind.apart) | set(kind.defaults) | set(kind.rename) <= {*properties, *more}


@pytest.mark.parametrize(
    ("old", "new", "paths"),
    [
        ({"A": 1}, {"A": 1, "B": 2}, []),
        ({"A": 1}, {"A": 2}, ["A"]),
        ({"A": 1}, {}, ["A"]),
        ({"C": {"D": 1}}, {"C": {"D": 1, "E": 2}}, []),
        ({"C": {"D": 1}}, {"C": {"D": 2}}, ["C/D"]),
        ({"C": {"D": 1}}, {}, ["C/D"]),
        ({}, {"C": "x"}, []),
    ],
)
def test_a_change_of_a_create_only_path_replaces(old: Any, new: Any, paths: list[str]) -> None:
    assert Facts(create_only=("A", "C/D")).replaces(old, new) == paths


def test_generated_names_keep_to_their_length_and_characters() -> None:
    for limit in (32, 63, 64, 256):
        name = generated_name("a-stack-with_a-long-name" * 3, "LogicalId" * 5, limit=limit)
        assert len(name) <= limit
        assert re.fullmatch(r"[A-Za-z0-9-]+-[A-Za-z0-9]{12}", name)
    assert generated_name("Stack", "Logical", limit=63, lower=True).startswith("stack-logical-")
    assert generated_name("S", "L", limit=64) != generated_name("S", "L", limit=64)


@pytest.fixture(scope="module")
def shape() -> Any:
    return botocore.session.get_session().get_service_model("lambda").operation_model("CreateFunction").input_shape


def test_properties_are_fitted_to_the_api(shape: Any) -> None:
    fitted = fit(
        shape,
        {
            "functionname": "f",
            "Timeout": "9",
            "Publish": "true",
            "Environment": {"Variables": {"N": 1, "B": True}},
            "Tags": [{"Key": "a", "Value": "b"}],
        },
    )
    assert fitted == {
        "FunctionName": "f",
        "Timeout": 9,
        "Publish": True,
        "Environment": {"Variables": {"N": "1", "B": "true"}},
        "Tags": {"a": "b"},
    }


@pytest.mark.parametrize(
    ("properties", "complaint"),
    [
        ({"Environment": {"Variable": {}}}, r"#/Environment: extraneous key \[Variable\] is not permitted"),
        ({"Timeout": "soon"}, "#/Timeout: expected a number, found 'soon'"),
        ({"Publish": "maybe"}, "expected a boolean"),
        ({"Layers": "x"}, "expected a list"),
        ({"Environment": []}, "expected an object"),
        ({"Timeout": {}}, "expected a integer"),
    ],
)
def test_a_property_that_does_not_fit_is_refused(shape: Any, properties: Any, complaint: str) -> None:
    with pytest.raises(ResourceError, match=complaint):
        fit(shape, properties)
