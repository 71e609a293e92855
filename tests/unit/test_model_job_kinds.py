"""Where each kind of job says the same things, and what may be taken out of a request."""

from __future__ import annotations

import pytest

from constructs_lib.model import InvalidInputError
from constructs_lib.model.job_kinds import JOB_KINDS, job_kind

PLAN = "arn:aws:sagemaker:us-east-1:123456789012:training-plan/p"
TRAINING = JOB_KINDS["training"]


def types(kind, request):
    return [(entry.instance_type, entry.instance_count) for entry in kind.entries(request)]


def test_a_list_with_counts_of_its_own_one_shared_count_and_one_fixed_type_read_alike():
    entries = [{"InstanceType": "a", "InstanceCount": 2}, {"InstanceType": "b", "InstanceCount": 4}]
    assert types(TRAINING, {"ResourceConfig": {"InstancePreferences": entries}}) == [("a", 2), ("b", 4)]
    shared = {"InstanceCount": 3, "InstancePreferences": [{"InstanceType": "a"}]}
    assert types(TRAINING, {"ResourceConfig": shared}) == [("a", 3)]
    assert types(TRAINING, {"ResourceConfig": {"InstanceType": "a", "InstanceCount": 5}}) == [("a", 5)]
    assert types(TRAINING, {}) == []


def test_plans_of_entries_and_of_the_whole_job_are_told_apart():
    entries = [{"InstanceType": "a", "TrainingPlanArns": [PLAN]}, {"InstanceType": "b"}]
    found = TRAINING.entries({"ResourceConfig": {"InstancePreferences": entries, "TrainingPlanArn": PLAN + "-2"}})
    assert [(one.plan, one.job_plan) for one in found] == [(PLAN, PLAN + "-2"), (None, PLAN + "-2")]


def test_a_tuning_job_names_its_types_in_every_definition():
    config = {"InstanceConfigs": [{"InstanceType": "a", "InstanceCount": 1}, {"InstanceType": "b", "InstanceCount": 2}]}
    one, other = {"HyperParameterTuningResourceConfig": config}, {"ResourceConfig": {"InstanceType": "c"}}
    tuning = JOB_KINDS["tuning"]
    assert types(tuning, {"TrainingJobDefinition": one}) == [("a", 1), ("b", 2)]
    assert types(tuning, {"TrainingJobDefinitions": [one, other]}) == [("a", 1), ("b", 2), ("c", 1)]
    assert tuning.without({"TrainingJobDefinitions": [one, other]}, frozenset({"c"})) is None
    left = tuning.without({"TrainingJobDefinitions": [one, other]}, frozenset({"a"}))
    assert types(tuning, left) == [("b", 2), ("c", 1)]


def test_taking_types_out_leaves_the_request_itself_alone():
    request = {"ResourceConfig": {"InstancePreferences": [{"InstanceType": "a"}, {"InstanceType": "b"}]}}
    assert types(TRAINING, TRAINING.without(request, frozenset({"a"}))) == [("b", 1)]
    assert TRAINING.without(request, frozenset({"a", "b"})) is None
    assert len(types(TRAINING, request)) == 2
    assert TRAINING.without({"ResourceConfig": {"InstanceType": "a"}}, frozenset({"a"})) is None


def test_a_bound_below_what_aws_takes_is_the_least_that_it_takes():
    request = {}
    JOB_KINDS["tuning"].set_max_runtime(request, 5)
    assert request == {"HyperParameterTuningJobConfig": {"ResourceLimits": {"MaxRuntimeInSeconds": 120}}}


def test_subnets_are_found_in_every_kind():
    config = {"Subnets": ["subnet-1"], "SecurityGroupIds": ["sg-1"]}
    assert TRAINING.subnets({"VpcConfig": config}) == ["subnet-1"]
    assert JOB_KINDS["processing"].subnets({"NetworkConfig": {"VpcConfig": config}}) == ["subnet-1"]
    assert JOB_KINDS["tuning"].subnets({"TrainingJobDefinition": {"VpcConfig": config}}) == ["subnet-1"]


def test_an_unknown_kind_is_refused_with_the_known_ones():
    with pytest.raises(InvalidInputError, match="one of training, processing, tuning"):
        job_kind("transform")
