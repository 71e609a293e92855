"""What is known now is told from what only a deploy will know, by its text, its size or its shape."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructs_lib.model import is_unresolved
from constructs_lib.model.values import literal

UNKNOWN = [
    "${Token[TOKEN.123]}",
    "s3://${Token[AWS.AccountId.4]}/x",
    -1.8881545897087626e289,
    ["#{Token[TOKEN.5]}"],
    {"Ref": "X"},
    {"Fn::GetAtt": ["X", "Arn"]},
    {"Fn::If": ["A", 1, 2]},
]
KNOWN = [
    "",
    "ml.g5.xlarge",
    "${NotAToken}",
    0,
    -5,
    8.5,
    True,
    None,
    [],
    ["a", "b"],
    {"Ref": 1, "b": 2},
    {"Name": "x"},
    {},
]


@pytest.mark.parametrize("value", UNKNOWN, ids=str)
def test_a_token_or_an_intrinsic_function_is_unresolved(value):
    assert is_unresolved(value)
    assert literal(value) is None


@pytest.mark.parametrize("value", KNOWN, ids=str)
def test_a_plain_value_is_known(value):
    assert not is_unresolved(value)
    assert literal(value) is value


@given(st.integers() | st.floats(min_value=-1e100, allow_nan=False))
def test_no_real_number_is_taken_for_a_token(number):
    assert not is_unresolved(number)
