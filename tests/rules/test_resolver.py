"""Resolving intrinsics: what the template determines becomes a value, everything else stays what it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructs_lib.model.values import is_unresolved
from constructs_lib.rules.readers.resolver import Resolver

TEMPLATE = {
    "Parameters": {
        "Kind": {"Type": "String", "Default": "ml.g5.xlarge"},
        "Count": {"Type": "Number", "Default": "3"},
        "Zones": {"Type": "CommaDelimitedList", "Default": "a, b"},
        "Nothing": {"Type": "String"},
        "FromSsm": {"Type": "AWS::SSM::Parameter::Value<String>", "Default": "/a/name"},
        "PlanArn": {"Type": "String", "Default": ""},
    },
    "Mappings": {"Sizes": {"small": {"type": "ml.g5.xlarge", "count": 2}}},
    "Conditions": {
        "HasPlan": {"Fn::Not": [{"Fn::Equals": [{"Ref": "PlanArn"}, ""]}]},
        "Unknown": {"Fn::Equals": [{"Ref": "Nothing"}, "x"]},
        "Either": {"Fn::Or": [{"Condition": "Unknown"}, {"Fn::Equals": ["a", "a"]}]},
        "Both": {"Fn::And": [{"Condition": "Unknown"}, {"Fn::Equals": ["a", "b"]}]},
        "Itself": {"Fn::Not": [{"Condition": "Itself"}]},
    },
}


@pytest.mark.parametrize(
    ("value", "resolved"),
    [
        ({"Ref": "Kind"}, "ml.g5.xlarge"),
        ({"Ref": "Count"}, 3),
        ({"Ref": "Zones"}, ["a", "b"]),
        ({"Fn::Join": ["-", ["a", {"Ref": "Kind"}]]}, "a-ml.g5.xlarge"),
        ({"Fn::Sub": "${Kind}/${!literal}"}, "ml.g5.xlarge/${literal}"),
        ({"Fn::Sub": ["${A}-${Kind}", {"A": {"Ref": "Count"}}]}, "3-ml.g5.xlarge"),
        ({"Fn::FindInMap": ["Sizes", "small", "type"]}, "ml.g5.xlarge"),
        ({"Fn::Select": ["1", {"Fn::Split": ["|", "a|b"]}]}, "b"),
        ({"Fn::If": ["HasPlan", 1, 2]}, 2),
        ({"Fn::If": ["Either", 1, 2]}, 1),
        ({"Fn::If": ["Both", 1, 2]}, 2),
        ({"Fn::Base64": "hi"}, "aGk="),
        ({"A": {"Fn::If": ["HasPlan", {"Ref": "PlanArn"}, {"Ref": "AWS::NoValue"}]}, "B": 1}, {"B": 1}),
        ([1, {"Fn::If": ["HasPlan", 2, {"Ref": "AWS::NoValue"}]}], [1]),
    ],
)
def test_what_the_template_determines_is_resolved(value, resolved):
    assert Resolver(TEMPLATE).resolve(value) == resolved


@pytest.mark.parametrize(
    "value",
    [
        {"Ref": "Nothing"},
        {"Ref": "FromSsm"},
        {"Ref": "SomeResource"},
        {"Fn::GetAtt": ["Role", "Arn"]},
        {"Fn::If": ["Unknown", 1, 2]},
        {"Fn::If": ["Itself", 1, 2]},
        {"Fn::If": ["NoSuchCondition", 1, 2]},
        {"Fn::FindInMap": ["Sizes", {"Ref": "Nothing"}, "type"]},
        {"Fn::FindInMap": ["Sizes", "large", "type"]},
        {"Fn::Join": ["", {"Ref": "AListOfTheDeploy"}]},
        {"Fn::Select": [0, {"Fn::GetAZs": ""}]},
        {"Fn::ImportValue": "x"},
    ],
)
def test_what_only_a_deploy_knows_stays_unresolved(value):
    resolved = Resolver(TEMPLATE).resolve(value)
    assert resolved == value
    assert is_unresolved(resolved)


def test_a_partly_known_string_keeps_its_known_part():
    arn = {
        "Fn::Join": ["", ["arn:", {"Ref": "AWS::Partition"}, ":sagemaker:::endpoint/", {"Fn::GetAtt": ["E", "Name"]}]]
    }
    text = Resolver(TEMPLATE).resolve(arn)
    assert text == "arn:${Token[AWS.Partition]}:sagemaker:::endpoint/${Token[E.Name]}"
    assert is_unresolved(text)


def test_pseudo_parameters_that_are_known_are_used():
    assert Resolver(TEMPLATE, {"AWS::Region": "us-west-2"}).resolve({"Fn::Sub": "${AWS::Region}a"}) == "us-west-2a"


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.text(max_size=5), inner, max_size=2)
            | st.builds(
                lambda n, a: {n: a}, st.sampled_from(["Ref", "Fn::Join", "Fn::Sub", "Fn::If", "Fn::Select"]), inner
            )
        ),
        max_leaves=15,
    )
)
def test_malformed_intrinsics_never_break(value):
    Resolver(TEMPLATE).resolve(value)
