"""A tuning job's fields become a request with tuning's own ordered list, never with an undocumented one."""

import pytest

from constructs_lib.model import InstancePreference, InvalidInputError, TrainingJobSpec
from constructs_lib.model.tuning import HyperparameterRange, TuningJobSpec, TuningObjective

PLAN = "arn:aws:sagemaker:us-east-1:111122223333:training-plan/research"


def spec(training=None, **fields):
    given_training = {
        "name": "tune",
        "image": "image:1",
        "output": "s3://b/o",
        "preferences": [InstancePreference("ml.p5.48xlarge"), InstancePreference("ml.p4d.24xlarge")],
        "instance_count": 2,
        "volume_size_gb": 100,
        "max_runtime": 3600,
        **(training or {}),
    }
    given = {
        "objective": TuningObjective("loss", "Minimize"),
        "ranges": {"rate": HyperparameterRange.continuous(0.1, 0.2)},
        "max_jobs": 4,
        "max_parallel": 2,
        **fields,
    }
    return TuningJobSpec(training=TrainingJobSpec(**given_training), **given)


def test_the_list_is_tunings_own_and_no_preference_list_is_sent():
    definition = spec().to_request()["TrainingJobDefinition"]
    assert "InstancePreferences" not in str(definition)
    assert "ResourceConfig" not in definition
    assert definition["HyperParameterTuningResourceConfig"]["AllocationStrategy"] == "Prioritized"


def test_the_wait_is_ours_and_never_sent():
    assert spec({"max_pending": 7200}).to_request() == spec().to_request()


def test_tags_are_the_tuning_jobs_and_hyperparameters_are_static():
    sent = spec({"tags": {"team": "x"}, "hyperparameters": {"epochs": "3"}}).to_request()
    assert sent["Tags"] == [{"Key": "team", "Value": "x"}]
    assert sent["TrainingJobDefinition"]["StaticHyperParameters"] == {"epochs": "3"}
    assert "HyperParameters" not in sent["TrainingJobDefinition"]


def test_overrides_merge_last():
    sent = spec(request_overrides={"HyperParameterTuningJobConfig": {"RandomSeed": 7}}).to_request()
    assert sent["HyperParameterTuningJobConfig"]["RandomSeed"] == 7


@pytest.mark.parametrize(
    ("training", "words"),
    [
        ({"training_plan": PLAN}, "training_plan: a training job inside a tuning job has no such field"),
        ({"keep_alive": 60}, "keep_alive: a training job inside"),
        ({"entrypoint": ["x"], "arguments": ["y"]}, "entrypoint, arguments: a training job inside"),
        ({"request_overrides": {"A": 1}}, "give the tuning job's own instead"),
        ({"volume_size_gb": None}, "volume_size_gb is missing"),
        ({"instance_count": None}, "give instance_count once for all entries"),
        ({"preferences": [InstancePreference("ml.p5.48xlarge", 1)]}, "give instance_count once for all entries"),
        (
            {"preferences": [InstancePreference("ml.p5.48xlarge", 1), InstancePreference("ml.p4d.24xlarge")]},
            "give instance_count once for all entries",
        ),
        (
            {"preferences": [InstancePreference("ml.p5.48xlarge", training_plan=PLAN)]},
            r"a plan for ml\.p5\.48xlarge: tuning cannot use a training plan",
        ),
        ({"hyperparameters": {"rate": "1"}}, "rate: a hyperparameter is static or has a range"),
    ],
)
def test_a_training_job_that_tuning_could_not_run_is_refused_with_words(training, words):
    with pytest.raises(InvalidInputError, match=words):
        spec(training)


@pytest.mark.parametrize(
    ("fields", "words"),
    [({"ranges": {}}, "ranges is empty"), ({"strategy": "bayesian"}, "Bayesian, Random, Hyperband, Grid are allowed")],
)
def test_a_search_for_nothing_or_by_no_known_strategy_is_refused(fields, words):
    with pytest.raises(InvalidInputError, match=words):
        spec(**fields)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: HyperparameterRange.integer(3, 1), "the range from 3 to 1 is empty"),
        (lambda: HyperparameterRange.categorical([]), "a list of texts is needed"),
        (lambda: HyperparameterRange.categorical("adam"), "a list of texts is needed, 'adam' was given"),
        (lambda: TuningObjective("loss", "minimize"), "'Minimize' and 'Maximize' are allowed"),
    ],
)
def test_a_range_or_an_objective_of_nothing_is_refused(make, words):
    with pytest.raises(InvalidInputError, match=words):
        make()
