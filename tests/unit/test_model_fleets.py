"""The items of a fleet: any token anywhere survives the file, and a job is the same while it computes the same."""

import json
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructs_lib.model import InvalidInputError, UnresolvedListError
from constructs_lib.model.fleet_values import Placeholders, filled
from constructs_lib.model.fleets import FleetItem, content_digest, fleet_text, limited_types, require_item_name

NUMBER_TOKEN = -1.8881545897087626e289
VALUES = {f"${{Token[T.{n}]}}": f"deployed-{n}" for n in range(4)} | {NUMBER_TOKEN - n * 1e274: n for n in range(1, 4)}
TEXT_TOKENS = [token for token in VALUES if isinstance(token, str)]
NUMBER_TOKENS = [token for token in VALUES if isinstance(token, float)]

# Text of the user's own, the hardest of which looks like our placeholders or like CDK's tokens.
PIECES = st.sampled_from(
    [*TEXT_TOKENS, "${gpucap:", "${gpucap:0}", "${gpucap:12}", "}", "$", "${", "{", "0", "é", "\\"]
)
TEXTS = st.lists(PIECES | st.text(string.printable, max_size=5), max_size=6).map("".join)
DATA = st.recursive(
    TEXTS | st.sampled_from(NUMBER_TOKENS) | st.integers(-(2**53), 2**53) | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


def deployed(data):
    """What CloudFormation makes of ``data``: each token becomes its value."""
    if isinstance(data, str):
        for token in TEXT_TOKENS:
            data = data.replace(token, VALUES[token])
        return data
    if isinstance(data, float):
        return VALUES[data]
    if isinstance(data, dict):
        return {deployed(key): deployed(value) for key, value in data.items()}
    return [deployed(member) for member in data] if isinstance(data, list) else data


@given(st.lists(DATA, max_size=3))
def test_any_token_anywhere_survives_the_file(items):
    places = Placeholders()
    written = json.dumps([places.take(item) for item in items])
    assert "${Token[" not in written
    values = deployed(places.values)
    assert [filled(item, values) for item in json.loads(written)] == [deployed(item) for item in items]


def test_text_that_looks_like_a_placeholder_is_noticed_when_it_is_not_escaped():
    """The planted defect of the property above: without the escape, a user's text would be filled."""
    assert filled("${gpucap:0}", {"0": "stolen"}) == "stolen"
    places = Placeholders()
    assert filled(places.take("${gpucap:0}"), places.values) == "${gpucap:0}"


def test_each_value_stands_once_whatever_the_number_of_jobs():
    places = Placeholders()
    for _ in range(100):
        places.take({"RoleArn": "${Token[Role.1]}", "Image": "${Token[Account.2]}.dkr/x"})
    assert places.values == {"0": "${Token[Role.1]}", "1": "${Token[Account.2]}"}


def test_a_list_token_is_refused_with_its_place():
    with pytest.raises(UnresolvedListError, match=r"request\.VpcConfig\.Subnets: a list token"):
        Placeholders().take({"VpcConfig": {"Subnets": ["#{Token[TOKEN.7]}"]}})


def test_what_is_no_json_is_refused_with_its_place():
    with pytest.raises(InvalidInputError, match=r"request\.A\[1\]: plain JSON is needed, a object was given"):
        Placeholders().take({"A": [1, object()]})


def test_a_placeholder_without_a_value_says_that_two_deploys_met():
    with pytest.raises(InvalidInputError, match="two deploys"):
        filled("${gpucap:3}", {"0": "x"})


def test_an_item_is_read_as_it_was_written():
    item = FleetItem(name="a", seconds=60, request={"RoleArn": "r"}, reasons=[None, "slower"])
    assert FleetItem.of(json.loads(json.dumps(item.to_dict())), {}) == item
    refused = FleetItem(name="b", seconds=0, refused="GPU-PL02 ...")
    assert FleetItem.of(refused.to_dict(), {}) == refused


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_file_is_one_json_array_with_an_item_a_line(count):
    items = [{"name": f"job-{n}"} for n in range(count)]
    lines = fleet_text(items)
    assert json.loads("\n".join(lines)) == items
    assert [json.loads(line.rstrip(",")) for line in lines[1:-1]] == items


BASE = {
    "AlgorithmSpecification": {"TrainingImage": "x:1"},
    "RoleArn": "arn:1",
    "HyperParameters": {"lr": "0.1"},
    "InputDataConfig": [{"ChannelName": "train"}],
    "OutputDataConfig": {"S3OutputPath": "s3://b/o"},
    "ResourceConfig": {"InstancePreferences": [{"InstanceType": "ml.p5.48xlarge"}]},
    "StoppingCondition": {"MaxRuntimeInSeconds": 60},
}


@pytest.mark.parametrize(
    "change",
    [
        {"RoleArn": "arn:2"},
        {"Tags": [{"Key": "a", "Value": "b"}]},
        {"StoppingCondition": {"MaxRuntimeInSeconds": 90}},
        {"ResourceConfig": {"InstancePreferences": [{"InstanceType": "ml.p4d.24xlarge"}]}},
        {"VpcConfig": {"Subnets": ["s"]}},
    ],
)
def test_where_and_how_long_a_job_runs_does_not_make_it_another_job(change):
    assert content_digest(BASE | change) == content_digest(BASE)


@pytest.mark.parametrize(
    "change",
    [
        {"HyperParameters": {"lr": "0.2"}},
        {"AlgorithmSpecification": {"TrainingImage": "x:2"}},
        {"OutputDataConfig": {"S3OutputPath": "s3://b/p"}},
        {"Environment": {"A": "b"}},
        {"MemberOfTomorrow": {"A": "b"}},
    ],
)
def test_what_a_job_computes_makes_it_another_job(change):
    assert content_digest(BASE | change) != content_digest(BASE)


def test_a_job_holds_every_limited_type_that_it_may_take():
    entries = [{"InstanceType": name} for name in ("ml.p5.48xlarge", "ml.p4d.24xlarge", "ml.g5.xlarge")]
    limits = {"ml.p5.48xlarge": 1, "ml.p4d.24xlarge": 1, "ml.g6.xlarge": 1}
    request = {"ResourceConfig": {"InstancePreferences": entries}, "Environment": {"InstanceType": "ml.g6.xlarge"}}
    assert limited_types(request, limits) == ["ml.p4d.24xlarge", "ml.p5.48xlarge"]


@pytest.mark.parametrize("name", ["", "a b", "a" * 129, 7, None, "naïve", "a#b"])
def test_a_name_that_no_tag_could_hold_is_refused(name):
    with pytest.raises(InvalidInputError, match="1 to 128 of the characters"):
        require_item_name(name)
