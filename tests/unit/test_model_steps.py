"""A step's request is the job's with what the step says, and impossible steps are refused with words."""

import pytest

from constructs_lib.model import InstancePreference, InvalidInputError, TrainingJobSpec, UnresolvedListError
from constructs_lib.model.processing import ProcessingJobSpec
from constructs_lib.model.steps import LaunchStep, processing_request, training_request

P5 = InstancePreference("ml.p5.48xlarge", instance_count=1)
PLAN = "arn:aws:sagemaker:us-east-1:111122223333:training-plan/research"


def job(**fields):
    given = {"name": "job", "image": "image:1", "output": "s3://b/o", "preferences": [], "max_runtime": 3600}
    return TrainingJobSpec(**{**given, **fields})


def processing(**fields):
    given = {"name": "job", "image": "image:1", "preferences": [], "volume_size_gb": 10, "max_runtime": 3600}
    return ProcessingJobSpec(**{**given, **fields})


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"max_wait": 60}, "max_wait: it is for a spot step"),
        ({"spot": True}, "a spot step needs it"),
        ({"spot": True, "max_wait": 7200, "max_pending": 1800}, "takes no max_pending"),
        ({"spot": True, "max_wait": 7200, "training_plan": PLAN}, "a plan excludes managed spot training"),
        ({"preferences": "ml.p5.48xlarge"}, "preferences: a list is needed"),
        ({"preferences": ["ml.p5.48xlarge"]}, "each entry is an InstancePreference"),
    ],
)
def test_a_step_that_nothing_could_be_is_refused_with_words(fields, words):
    with pytest.raises(InvalidInputError, match=words):
        LaunchStep(**{"preferences": [P5], **fields})


def test_spot_with_a_list_is_refused_and_names_what_was_given():
    with pytest.raises(InvalidInputError, match=r"takes one type.*ml\.p5\.48xlarge, ml\.p4d\.24xlarge was given"):
        LaunchStep([P5, InstancePreference("ml.p4d.24xlarge")], spot=True, max_wait=60)
    with pytest.raises(InvalidInputError, match="none was given"):
        LaunchStep([], spot=True, max_wait=60)


def test_spot_with_a_plan_on_its_entry_is_refused():
    with pytest.raises(InvalidInputError, match=r"ml\.p5\.48xlarge names one"):
        LaunchStep([InstancePreference("ml.p5.48xlarge", training_plan=PLAN)], spot=True, max_wait=60)


def test_a_list_token_of_preferences_is_refused():
    with pytest.raises(UnresolvedListError):
        LaunchStep(["#{Token[TOKEN.5]}"])


def test_what_a_step_does_not_say_is_the_jobs():
    sent = training_request(job(instance_count=3, max_pending=1900, environment={"A": "1"}), LaunchStep([]))
    assert sent["ResourceConfig"] == {"InstanceCount": 3, "InstancePreferences": []}
    assert sent["StoppingCondition"] == {"MaxRuntimeInSeconds": 3600, "MaxPendingTimeInSeconds": 1900}
    assert sent["Environment"] == {"A": "1"}


def test_the_jobs_count_is_left_out_where_entries_have_their_own():
    sent = training_request(job(instance_count=3), LaunchStep([P5]))
    assert sent["ResourceConfig"] == {"InstancePreferences": [{"InstanceType": "ml.p5.48xlarge", "InstanceCount": 1}]}


def test_a_step_with_an_image_runs_it_instead_of_the_jobs_algorithm():
    sent = training_request(job(image=None, algorithm_name="xgboost"), LaunchStep([P5], image="neuron:1"))
    assert sent["AlgorithmSpecification"]["TrainingImage"] == "neuron:1"
    assert "AlgorithmName" not in sent["AlgorithmSpecification"]


def test_the_steps_override_comes_after_the_jobs_and_after_spot():
    over = {"Environment": {"A": "job"}, "EnableManagedSpotTraining": None}
    step = LaunchStep([P5], spot=True, max_wait=7200, request_overrides={"Environment": {"A": "step"}})
    sent = training_request(job(request_overrides=over), step)
    assert sent["Environment"] == {"A": "step"}
    assert "EnableManagedSpotTraining" not in sent


def test_the_count_of_a_spot_step_is_its_own_its_entrys_or_the_jobs():
    one = InstancePreference("ml.p5.48xlarge")
    for step, shared, count in (
        (LaunchStep([one], spot=True, max_wait=60, instance_count=5), 3, 5),
        (LaunchStep([InstancePreference("ml.p5.48xlarge", 4)], spot=True, max_wait=60), 3, 4),
        (LaunchStep([one], spot=True, max_wait=60), 3, 3),
    ):
        sent = training_request(job(instance_count=shared), step)["ResourceConfig"]
        assert sent == {"InstanceType": "ml.p5.48xlarge", "InstanceCount": count}


def test_a_plan_for_all_steps_is_refused_since_it_would_reach_those_on_demand_too():
    with pytest.raises(InvalidInputError, match="name the plan on the step or on the entry"):
        training_request(job(training_plan=PLAN), LaunchStep([P5]))


@pytest.mark.parametrize(
    "fields",
    [{"hyperparameters": {"a": "1"}}, {"spot": True, "max_wait": 60}, {"training_plan": PLAN}],
    ids=lambda fields: next(iter(fields)),
)
def test_what_only_training_knows_is_refused_in_a_processing_step(fields):
    with pytest.raises(InvalidInputError, match=f"{next(iter(fields))}.*only training jobs know that"):
        processing_request(processing(), LaunchStep([P5], **fields))


def test_steps_of_one_job_share_nothing_that_one_could_change_for_the_other():
    spec = job(instance_count=1)
    first, second = (training_request(spec, LaunchStep([InstancePreference("ml.p5.48xlarge")])) for _ in range(2))
    first["RoleArn"] = "one"
    first["Environment"] = {"A": "1"}
    assert "RoleArn" not in second
    assert "Environment" not in second
