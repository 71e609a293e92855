"""The payload of a state, and the identity that a job gets from it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructs_lib.model import InvalidInputError, RunEnd
from constructs_lib.runtime.identity import Identity, plain_entry
from constructs_lib.runtime.items import from_item, to_item
from constructs_lib.runtime.launch import Launch

EXECUTION = "arn:aws:states:us-east-1:123456789012:execution:Lab-Tune-0011aabb:e"
PAYLOAD = {
    "action": "launch",
    "job": "Lab-Tune-0011aabb",
    "kind": "training",
    "step": 1,
    "token": "t",
    "execution": EXECUTION,
    "state": "Launch",
    "try": 0,
    "entry": {"redrive": 0},
    "reason": "TimedOut",
    "request": {"Tags": [{"Key": "team", "Value": "lab"}, {"Key": "gpucap:step", "Value": "9"}]},
}
MARKS = st.dictionaries(
    st.text(min_size=1, max_size=8),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=300),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
        max_leaves=6,
    ),
    max_size=4,
)


def identity(**entry):
    return Identity("Lab-Tune-0011aabb", EXECUTION, "Launch", plain_entry(entry))


def test_a_stop_has_the_launchs_name_and_is_later_than_all_its_tries():
    launch, stop = Launch.from_payload(PAYLOAD | {"try": 8}), Launch.from_payload(PAYLOAD | {"action": "stop"})
    assert launch.name == stop.name
    assert launch.try_number < stop.try_number
    assert (launch.limit, stop.limit) == (None, RunEnd.TIMED_OUT)


def test_our_tags_replace_tags_of_the_same_keys_and_leave_the_others():
    request = Launch.from_payload(PAYLOAD).named(PAYLOAD["request"])
    tags = {tag["Key"]: tag["Value"] for tag in request["Tags"]}
    assert tags["team"] == "lab"
    assert tags["gpucap:step"] == "1"
    assert len(request["Tags"]) == 5


@pytest.mark.parametrize("key", ["job", "token", "execution", "state", "try", "request"])
def test_a_payload_that_lacks_something_is_refused_with_its_name(key):
    with pytest.raises(InvalidInputError, match=f"lacks {key}"):
        Launch.from_payload({k: v for k, v in PAYLOAD.items() if k != key})


@pytest.mark.parametrize(
    ("change", "words"),
    [({"kind": "transform"}, "kind 'transform'"), ({"action": "stop", "reason": "Bored"}, "reason 'Bored'")],
)
def test_a_payload_with_an_unknown_word_is_refused_with_the_known_ones(change, words):
    with pytest.raises(InvalidInputError, match=words):
        Launch.from_payload(PAYLOAD | change)


STEPS = PAYLOAD | {
    "since": 0,
    "seconds": 100,
    "reasons": ["paid"],
    "then": [{"request": {"n": 2}, "seconds": 200}, {"request": {"n": 3}, "seconds": 300, "max_pending": 60}],
}


def test_each_step_has_its_request_its_name_and_the_time_of_the_one_after_it():
    launches = [Launch.from_payload(STEPS | {"step": step}) for step in (1, 2, 3)]
    assert [launch.wish.request.get("n") for launch in launches] == [None, 2, 3]
    assert [launch.following_seconds for launch in launches] == [200, 300, 0]
    assert [launch.wish.max_pending for launch in launches] == [None, None, 60]
    assert [launch.wish.reasons for launch in launches] == [("paid",), (), ()]
    assert len({launch.name for launch in launches}) == 3


@pytest.mark.parametrize("action", ["launch", "stop"])
def test_a_redrive_at_a_later_step_sends_the_machine_to_the_first_with_its_time(action):
    launch = Launch.from_payload(STEPS | {"action": action, "step": 3, "entry": {"redrive": 1}, "earlier": [{"a": 1}]})
    assert launch.anew == {"next": 1, "seconds": 100, "earlier": []}
    assert (launch.identity.step, launch.earlier, launch.limit) == (1, (), None)


def test_a_redrive_at_the_first_step_launches_it():
    launch = Launch.from_payload(STEPS | {"action": "stop", "entry": {"redrive": 1}})
    assert (launch.anew, launch.limit, launch.identity.redrive) == (None, None, 1)


def test_a_step_of_a_redriven_launch_is_no_redrive():
    launch = Launch.from_payload(STEPS | {"step": 2, "since": 1, "entry": {"redrive": 1}})
    assert (launch.anew, launch.identity.step) == (None, 2)


@pytest.mark.parametrize("step", [0, 4])
def test_a_step_that_the_strategy_does_not_have_is_refused(step):
    with pytest.raises(InvalidInputError, match="the strategy has 3"):
        Launch.from_payload(STEPS | {"step": step})


def test_steps_without_the_first_ones_time_are_refused():
    with pytest.raises(InvalidInputError, match="lacks seconds"):
        Launch.from_payload({key: value for key, value in STEPS.items() if key != "seconds"})


@given(MARKS)
def test_an_entrys_marks_come_back_from_the_table_unchanged(entry):
    plain = plain_entry(entry)
    assert from_item(to_item(plain)) == plain


@given(MARKS, MARKS)
def test_names_are_equal_exactly_when_entries_are(one, other):
    marks = [repr(sorted(plain_entry(entry).items())) for entry in (one, other)]
    names = [Identity("Lab", EXECUTION, "Launch", plain_entry(entry)).name for entry in (one, other)]
    assert (names[0] == names[1]) == (marks[0] == marks[1])


@given(MARKS)
def test_tags_are_what_sagemaker_takes_and_name_the_owner(entry):
    own = Identity("Lab", EXECUTION, "Launch", plain_entry(entry))
    tags = own.tags()
    assert all(
        len(value) <= 256 and all(c.isascii() and (c.isalnum() or c in " _.:/=+-@") for c in value)
        for value in tags.values()
    )
    assert own.owns(tags | {"team": "lab"}) is True
    assert own.owns({"team": "lab"}) is None
    assert identity(redrive=77).owns(tags) is False


def test_a_long_execution_arn_is_hashed():
    long = Identity("Lab", EXECUTION + "x" * 256, "Launch", {"redrive": 0})
    assert long.tags()["gpucap:execution"].startswith("sha256:")
    assert long.owns(long.tags())
