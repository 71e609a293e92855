"""Reading files: what is in them, where it stands, and what is said of those that cannot be read."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructs_lib.rules.readers.document import MAX_BYTES, UnreadableError, read_document

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=20,
)


def test_a_path_in_json_has_its_line():
    text = b'{\n  "Resources": {\n    "A": {"Type": "x",\n      "Properties": [1,\n 2]}\n  }\n}'
    document = read_document(text, "t.json")
    assert document.line("Resources.A") == 3
    assert document.line("Resources.A.Properties[1]") == 5


def test_a_path_that_is_not_there_has_its_parents_line():
    document = read_document(b"A:\n  B: 1\n", "t.yaml")
    assert document.line("A.C.D[3].E") == 1


def test_short_intrinsics_become_long_ones():
    text = b"A: !Ref X\nB: !GetAtt R.Arn\nC: !Sub '${X}-y'\nD: !If [Cond, !Ref Y, !Ref 'AWS::NoValue']\n"
    text += b"E: !Condition Z\n"
    assert read_document(text, "t.yaml").data == {
        "A": {"Ref": "X"},
        "B": {"Fn::GetAtt": ["R", "Arn"]},
        "C": {"Fn::Sub": "${X}-y"},
        "D": {"Fn::If": ["Cond", {"Ref": "Y"}, {"Ref": "AWS::NoValue"}]},
        "E": {"Condition": "Z"},
    }


def test_a_version_date_stays_text():
    assert read_document(b"Version: 2012-10-17\n", "t.yaml").data == {"Version": "2012-10-17"}


def test_flow_yaml_with_short_intrinsics_is_read():
    assert read_document(b"{A: !Ref X, B: 1}", "t.yaml").data == {"A": {"Ref": "X"}, "B": 1}


@pytest.mark.parametrize(
    ("content", "words", "line"),
    [
        (b'{\n "a": 1,\n // note\n "b": 2}', "comments are not allowed", 3),
        (b'{"a": [1, 2', "ends in the middle", 1),
        (b'{"a": 1,}', "not JSON", 1),
        (b"\x00\x01\x02PK", "binary", None),
        (b"a: \xff\xfe", "not UTF-8", 1),
        (b"   \n", "empty", None),
        (b"# only a comment\n", "no data", None),
        (b"a: [1, 2\nb: 3\n", "not YAML", 2),
        (b"a: {b\n", "not YAML", 2),
        (b"[" * 5000 + b"]" * 5000, "nested more than", None),
        (b"".join(b" " * i + b"a:\n" for i in range(150)), "nested more than", 101),
        (b"a: &x [1, *x]\n", "refers to itself", 1),
        (b"? [a, b]\n: 1\n", "key is not text", 1),
        (b"x" * (MAX_BYTES + 1), "bytes; at most", None),
    ],
)
def test_an_unreadable_file_is_refused_with_words_and_line(content, words, line):
    with pytest.raises(UnreadableError, match=words) as caught:
        read_document(content, "t")
    assert caught.value.line == line


def test_an_alias_bomb_is_refused_before_it_unfolds():
    rows = [b"a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    rows += [b"a%d: &a%d [%s]" % (i, i, b", ".join([b"*a%d" % (i - 1)] * 10)) for i in range(1, 10)]
    with pytest.raises(UnreadableError, match="unfold to more than"):
        read_document(b"\n".join(rows), "t.yaml")


@given(JSON_VALUES.filter(lambda v: isinstance(v, dict | list)))
def test_any_json_reads_as_itself(value):
    assert read_document(json.dumps(value).encode(), "t.json").data == value


@given(st.binary(max_size=200))
def test_junk_is_read_or_refused_but_never_breaks(content):
    with contextlib.suppress(UnreadableError):
        read_document(content, "t")
