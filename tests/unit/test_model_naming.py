"""Names: readable, short enough, equal over retries, different over entries."""

import re

import botocore.session
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructs_lib import facts
from constructs_lib.model import InvalidInputError, job_name, name_prefix
from constructs_lib.model.naming import JOB_NAME_MAX, PREFIX_MAX, TUNING_NAME_MAX, stack_prefix

NAME = facts.limit("TrainingJobName")
TUNING = botocore.session.get_session().get_service_model("sagemaker").shape_for("HyperParameterTuningJobName").metadata
EXECUTION = "arn:aws:states:us-east-1:111122223333:execution:machine:run"


@given(st.text(max_size=200), st.text(max_size=200), st.text(max_size=60))
def test_every_prefix_starts_with_its_stacks_and_leaves_room_for_a_job_name(stack, construct, path):
    prefix = name_prefix(stack, construct, path)
    assert prefix.startswith(stack_prefix(stack))
    assert len(prefix) <= PREFIX_MAX
    name = job_name(prefix, EXECUTION, "Launch", {"redrive": 0}, step=99)
    assert len(name) <= JOB_NAME_MAX == NAME.max
    assert re.fullmatch(NAME.pattern, name)


@given(st.text(max_size=200), st.text(max_size=200), st.text(max_size=60), st.integers(1, 99))
def test_a_tuning_jobs_name_is_short_and_still_starts_with_its_stacks(stack, construct, path, step):
    prefix = name_prefix(stack, construct, path)
    name = job_name(prefix, EXECUTION, "Launch", {"redrive": 0}, step, kind="tuning")
    assert name.startswith(stack_prefix(stack))
    assert len(name) <= TUNING_NAME_MAX == TUNING["max"]
    assert re.fullmatch(TUNING["pattern"], name)
    assert name != job_name(prefix + "x"[: PREFIX_MAX - len(prefix)], EXECUTION, "Other", {}, step, kind="tuning")


def test_the_same_path_gives_the_same_prefix_and_another_path_another():
    assert name_prefix("S", "Job", "S/Job") == name_prefix("S", "Job", "S/Job")
    assert name_prefix("S", "Job", "S/Job") != name_prefix("S", "Job", "S/Team/Job")


entries = st.dictionaries(
    st.sampled_from(["redrive", "item", "entered"]), st.integers() | st.text(max_size=9), min_size=1
)


@given(entries, entries, st.integers(1, 99))
def test_equal_entries_have_equal_names_and_different_entries_different_ones(one, other, step):
    first, second = (job_name("p", EXECUTION, "Launch", entry, step) for entry in (one, other))
    assert (first == second) == (one == other)
    assert first == job_name("p", EXECUTION, "Launch", dict(reversed(one.items())), step)


def test_executions_states_and_steps_have_names_of_their_own():
    names = {
        job_name("p", execution, state, {"redrive": 0}, step)
        for execution in (EXECUTION, EXECUTION + "2")
        for state in ("Launch", "Other")
        for step in (1, 2)
    }
    assert len(names) == 8


@pytest.mark.parametrize(
    ("prefix", "step", "words"), [("", 1, "prefix"), ("x" * 44, 1, "prefix"), ("p", 0, "step"), ("p", 100, "step")]
)
def test_a_name_that_would_not_fit_is_refused(prefix, step, words):
    with pytest.raises(InvalidInputError, match=words):
        job_name(prefix, EXECUTION, "Launch", {}, step)
