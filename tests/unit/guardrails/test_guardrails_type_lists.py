import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constructs_lib.facts import api_instance_types, iam, instance_types
from constructs_lib.guardrails.type_lists import approved_types, checked_patterns, compressed, known_types
from constructs_lib.model import InvalidInputError, UnresolvedListError

KNOWN = sorted(known_types())


@settings(max_examples=200, deadline=None)
@given(st.sets(st.sampled_from(KNOWN), min_size=1))
def test_a_compressed_list_approves_the_same_known_types_in_no_more_characters(names):
    short = compressed(names)
    assert approved_types(short) == names
    assert sum(map(len, short)) <= sum(map(len, names))


@settings(max_examples=50, deadline=None)
@given(st.sets(st.sampled_from(KNOWN), min_size=1))
def test_compressing_twice_changes_nothing(names):
    assert compressed(compressed(names)) == compressed(names)


def test_every_known_type_fits_into_a_managed_policy_once_compressed():
    literal = sum(len(name) + 3 for name in instance_types())
    short = sum(len(pattern) + 3 for pattern in compressed(instance_types()))
    limit = iam.document_limits("managed")[0].characters
    assert literal > limit > short * 4
    print(f"{len(instance_types())} types: {literal:,} characters literally, {short:,} compressed")


def test_a_wildcard_never_reaches_over_a_family():
    for api in ("training", "endpoint", "processing"):
        assert all(pattern.count(".") == 2 for pattern in compressed(api_instance_types(api)))


def test_patterns_are_compressed_as_well_and_new_names_are_kept():
    assert compressed(["ml.g5.*xlarge", "ml.q9.48xlarge"]) == ("ml.g5.*", "ml.q9.48xlarge")


@pytest.mark.parametrize(
    ("allowed", "words"),
    [
        ([], "an empty list was given, which forbids everything"),
        ("ml.g5.*", r"a list of types is needed, 'ml.g5.\*' was given"),
        (["g5.*"], r"'g5.\*' matches none of \d+ known types; write 'ml.g5.\*'"),
        (["ml.q9.*"], r"'ml.q9.\*' matches none of \d+ known types"),
        (["p5"], "'p5' matches none"),
        (["ML.g5.xlarge"], "matches none"),
        (["ml.g5.*", 5], "5 is known only at deploy"),
        (["ml.${Token[TOKEN.1]}.*"], "is known only at deploy"),
    ],
)
def test_a_list_that_cannot_be_meant_is_refused(allowed, words):
    with pytest.raises(InvalidInputError, match=words):
        checked_patterns(allowed)


def test_a_list_token_is_refused():
    with pytest.raises(UnresolvedListError):
        checked_patterns(["#{Token[TOKEN.1]}"])


def test_a_full_name_that_is_new_to_this_version_is_taken():
    assert checked_patterns(["ml.q9.48xlarge", "system"]) == ("ml.q9.48xlarge", "system")
