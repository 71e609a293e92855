"""Intrinsic functions, each against what CloudFormation's reference says of it."""

from __future__ import annotations

import base64
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructs_lib.sandbox.cloudformation.intrinsics import (
    KNOWN_AFTER_APPLY,
    NO_VALUE,
    evaluate_condition,
    is_unknown,
    prune,
    references,
    resolve,
)
from constructs_lib.sandbox.errors import ServiceError


class Names:
    """A scope of fixed values."""

    conditions: ClassVar = {"Yes": True, "No": False}
    refs: ClassVar = {"P": "p", "L": ["a", "b"], "N": "3", "Later": KNOWN_AFTER_APPLY, "AWS::NoValue": NO_VALUE}

    def ref(self, name: str) -> Any:
        return self.refs[name]

    def get_att(self, logical_id: str, attribute: str) -> str:
        return f"{logical_id}.{attribute}"

    def condition(self, name: str) -> bool:
        return self.conditions[name]

    def mapping(self, name: str, top: str, second: str) -> str:
        return f"{name}/{top}/{second}"

    def import_value(self, name: str) -> str:
        return f"imported {name}"

    def zones(self, region: str) -> list[str]:
        return [f"{region}a", f"{region}b"]


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ({"Ref": "P"}, "p"),
        ({"Ref": "L"}, ["a", "b"]),
        ({"Fn::GetAtt": ["A", "B.C"]}, "A.B.C"),
        ({"Fn::GetAtt": "A.B.C"}, "A.B.C"),
        ({"Fn::GetAtt": ["A", {"Ref": "P"}]}, "A.p"),
        ({"Fn::Join": ["-", ["a", {"Ref": "P"}, 1, True]]}, "a-p-1-true"),
        ({"Fn::Join": [",", {"Ref": "L"}]}, "a,b"),
        ({"Fn::Join": ["", []]}, ""),
        ({"Fn::Join": ["-", ["a", {"Ref": "AWS::NoValue"}, "b"]]}, "a-b"),
        ({"Fn::Split": ["|", "a||b"]}, ["a", "", "b"]),
        ({"Fn::Select": [1, {"Fn::Split": ["/", "a/b"]}]}, "b"),
        ({"Fn::Select": ["0", {"Ref": "L"}]}, "a"),
        ({"Fn::Sub": "${P} ${A.B} ${!P} $P"}, "p A.B ${P} $P"),
        ({"Fn::Sub": ["${V}-${P}", {"V": {"Fn::GetAtt": "A.B"}}]}, "A.B-p"),
        ({"Fn::Sub": ["${P}", {"P": "hides the parameter"}]}, "hides the parameter"),
        ({"Fn::Sub": "${ P }"}, "p"),
        ({"Fn::If": ["Yes", "then", {"Ref": "Nobody"}]}, "then"),
        ({"Fn::If": ["No", "then", {"Ref": "P"}]}, "p"),
        ({"Fn::FindInMap": ["M", {"Ref": "P"}, "s"]}, "M/p/s"),
        ({"Fn::Base64": {"Ref": "P"}}, "cA=="),
        ({"Fn::GetAZs": {"Ref": "P"}}, ["pa", "pb"]),
        ({"Fn::ImportValue": {"Fn::Sub": "${P}-x"}}, "imported p-x"),
        ({"Fn::Cidr": ["10.0.0.0/22", 3, 8]}, ["10.0.0.0/24", "10.0.1.0/24", "10.0.2.0/24"]),
        ({"A": {"Ref": "AWS::NoValue"}, "B": [{"Ref": "AWS::NoValue"}, 1]}, {"B": [1]}),
        ({"A": {"Fn::If": ["No", 1, {"Ref": "AWS::NoValue"}]}}, {}),
        ({"Condition": {"StringEquals": {"a": "b"}}}, {"Condition": {"StringEquals": {"a": "b"}}}),
        ({"Ref": "x", "plain": "data"}, {"Ref": "x", "plain": "data"}),
    ],
)
def test_a_function_gives(expression: Any, value: Any) -> None:
    assert resolve(expression, Names()) == value


@pytest.mark.parametrize(
    ("expression", "complaint"),
    [
        ({"Fn::Nonsense": []}, "Encountered unsupported function: Fn::Nonsense"),
        ({"Fn::ToJsonString": {}}, "AWS::LanguageExtensions"),
        ({"Fn::Join": ["-"]}, "Fn::Join object requires a list of 2"),
        ({"Fn::Join": ["-", "text"]}, "Fn::Join object requires a list"),
        ({"Fn::Join": ["-", [{"a": 1}]]}, "stands where a string is needed"),
        ({"Fn::Select": [2, ["a"]]}, "Fn::Select cannot select nonexistent value at index 2"),
        ({"Fn::Select": ["x", ["a"]]}, "needs a whole number as index"),
        ({"Fn::Select": [-1, ["a"]]}, "nonexistent value at index -1"),
        ({"Fn::GetAtt": "NoDot"}, "Fn::GetAtt needs a resource and an attribute"),
        ({"Fn::Sub": {"a": 1}}, "Fn::Sub needs a string"),
        ({"Fn::Equals": [1, 1]}, "can stand only in Conditions"),
        ({"Fn::If": ["Yes", 1]}, "Fn::If object requires a list of 3"),
        ({"Fn::Sub": "x", "Other": 1}, "has other keys beside it"),
    ],
)
def test_a_wrong_function_is_refused_in_words(expression: Any, complaint: str) -> None:
    with pytest.raises(ServiceError, match=complaint) as caught:
        resolve(expression, Names())
    assert caught.value.code == "ValidationError"


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ({"Fn::Equals": [{"Ref": "P"}, "p"]}, True),
        ({"Fn::Equals": [{"Ref": "N"}, 3]}, True),
        ({"Fn::Equals": [True, "true"]}, True),
        ({"Fn::Equals": [{"Ref": "L"}, ["a", "b"]]}, True),
        ({"Fn::Equals": [{"Ref": "L"}, ["b", "a"]]}, False),
        ({"Fn::Not": [{"Condition": "No"}]}, True),
        ({"Fn::And": [{"Condition": "Yes"}, {"Condition": "No"}]}, False),
        ({"Fn::Or": [{"Condition": "Yes"}, {"Condition": "No"}]}, True),
        ({"Condition": "Yes"}, True),
    ],
)
def test_a_condition_holds(condition: Any, holds: bool) -> None:
    assert evaluate_condition(condition, Names()) is holds


def test_what_is_no_condition_is_refused() -> None:
    with pytest.raises(ServiceError, match="is not a condition"):
        evaluate_condition({"Fn::Join": ["", []]}, Names())


@pytest.mark.parametrize(
    "expression",
    [
        {"Ref": "Later"},
        {"Fn::Join": ["-", ["a", {"Ref": "Later"}]]},
        {"Fn::Sub": "x ${Later}"},
        {"Fn::Split": ["-", {"Ref": "Later"}]},
        {"Fn::Select": [5, {"Fn::Split": ["-", {"Ref": "Later"}]}]},
        {"Deep": [{"Ref": "Later"}]},
    ],
)
def test_what_depends_on_the_unknown_is_unknown(expression: Any) -> None:
    assert is_unknown(resolve(expression, Names()))


def test_what_does_not_depend_on_the_unknown_is_known() -> None:
    assert not is_unknown(resolve({"A": {"Ref": "P"}, "B": [1, None, True]}, Names()))


def test_references_are_found_wherever_they_stand() -> None:
    value = {
        "a": [{"Ref": "A"}, {"Fn::GetAtt": ["B", "x.y"]}, {"Fn::GetAtt": "C.z"}],
        "b": {"Fn::Sub": ["${D} ${E.f} ${G} ${!H}", {"G": {"Ref": "I"}}]},
        "c": {"Fn::If": ["Cond", {"Ref": "J"}, "x"]},
        "d": {"Fn::Join": ["", [{"Fn::Select": [0, {"Ref": "K"}]}]]},
        "e": {"Fn::GetAtt": ["L", {"Ref": "M"}]},
    }
    assert set(references(value)) == {
        ("A", None),
        ("B", "x.y"),
        ("C", "z"),
        ("D", None),
        ("E", "f"),
        ("I", None),
        ("J", None),
        ("K", None),
        ("L", ""),
        ("M", None),
    }


def test_pruning_keeps_only_the_branch_that_is_taken() -> None:
    value = {
        "a": {"Fn::If": ["Yes", {"Ref": "A"}, {"Ref": "B"}]},
        "b": [{"Fn::If": ["No", 1, {"Fn::If": ["Yes", 2, 3]}]}],
    }
    assert prune(value, Names().condition) == {"a": {"Ref": "A"}, "b": [2]}


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="$"), max_size=20)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(TEXT.filter(lambda key: key != "Ref" and not key.startswith("Fn::")), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(PLAIN)
def test_plain_data_is_left_as_it_is(value: Any) -> None:
    assert resolve(value, Names()) == value
    assert prune(value, Names().condition) == value
    assert list(references(value)) == []


@given(st.lists(TEXT.filter(lambda part: "|" not in part), min_size=1))
def test_split_undoes_join(parts: list[str]) -> None:
    joined = {"Fn::Join": ["|", parts]}
    assert resolve({"Fn::Split": ["|", joined]}, Names()) == parts
    for index, part in enumerate(parts):
        assert resolve({"Fn::Select": [str(index), {"Fn::Split": ["|", joined]}]}, Names()) == part


@given(TEXT)
def test_base64_can_be_read_back(value: str) -> None:
    assert base64.b64decode(resolve({"Fn::Base64": value}, Names())).decode() == value


@given(st.lists(TEXT.filter(lambda text: "}" not in text and "{" not in text)))
def test_sub_is_the_join_of_its_parts(parts: list[str]) -> None:
    template = "${P}".join(parts)
    assert resolve({"Fn::Sub": template}, Names()) == "p".join(parts)


@given(st.lists(st.booleans(), min_size=1, max_size=6), st.booleans())
def test_conditions_are_logic(values: list[bool], negate: bool) -> None:
    parts = [{"Condition": "Yes" if value else "No"} for value in values]
    if negate:
        parts = [{"Fn::Not": [part]} for part in parts]
        values = [not value for value in values]
    assert evaluate_condition({"Fn::And": parts}, Names()) == all(values)
    assert evaluate_condition({"Fn::Or": parts}, Names()) == any(values)
