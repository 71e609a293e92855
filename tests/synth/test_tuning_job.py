"""A TuningJob renders tuning's own ordered list, and refuses what tuning does not take."""

import aws_cdk as cdk
import pytest

from constructs_lib import InstancePreference, PriceBook, PriceCeiling
from constructs_lib.model import InvalidInputError
from constructs_lib.model.naming import TUNING_NAME_MAX

TYPES = ("p5.48xlarge", "p4d.24xlarge", "g6e.48xlarge", "g6.48xlarge", "g5.48xlarge", "g5.24xlarge", "g5.12xlarge")


def entries(count):
    return [InstancePreference(f"ml.{name}") for name in TYPES[:count]]


def test_the_list_is_tunings_own(make_tuning, payload_of):
    payload = payload_of(make_tuning())
    definition = payload["request"]["TrainingJobDefinition"]
    assert payload["kind"] == "tuning"
    assert definition["HyperParameterTuningResourceConfig"] == {
        "AllocationStrategy": "Prioritized",
        "InstanceConfigs": [
            {"InstanceType": "ml.g6.12xlarge", "InstanceCount": 1, "VolumeSizeInGB": 200},
            {"InstanceType": "ml.g5.12xlarge", "InstanceCount": 1, "VolumeSizeInGB": 200},
        ],
    }
    assert "InstancePreferences" not in str(payload["request"])
    assert definition["RoleArn"]


def test_six_entries_are_allowed_and_seven_are_refused(make_tuning):
    assert make_tuning("Six", training={"preferences": entries(6)})
    with pytest.raises(InvalidInputError, match=r"GPU-PL27.*|7 entries; 1 to 6 are allowed"):
        make_tuning("Seven", training={"preferences": entries(7)})


@pytest.mark.parametrize(
    ("training", "props", "words"),
    [
        ({"preferences": []}, {}, "GPU-PL27|has 0 entries"),
        ({"keep_alive": 60}, {}, "has no such field"),
        ({}, {"strategy": "Best"}, "Bayesian, Random, Hyperband, Grid are allowed"),
        ({"preferences": [InstancePreference("ml.inf2.xlarge"), *entries(1)]}, {}, "is no type that training has"),
        ({}, {"integration": "optimized", "finish_by": 60}, "limits need the launcher"),
        ({"max_pending": 60}, {"integration": "optimized"}, "max_pending need the launcher"),
        ({"role_arn": "arn:aws:iam::111122223333:role/x"}, {"own_role": True}, "own_role: it makes a role"),
        (
            {},
            {"max_cost": PriceCeiling("9", "USD"), "price_book": PriceBook({}, "USD", "2026-11-29", "a list")},
            r"needs a price for ml\.g6\.12xlarge, ml\.g5\.12xlarge",
        ),
    ],
)
def test_what_tuning_does_not_take_is_refused_with_words(make_tuning, training, props, words):
    with pytest.raises(InvalidInputError, match=words):
        make_tuning(training=training, **props)


def test_the_backstop_is_the_tuning_jobs_own_runtime_and_its_wait(make_tuning, definition_of):
    job = make_tuning(training={"max_pending": 1800}, max_total_runtime=cdk.Duration.days(2))
    states = definition_of(job)["States"]
    assert states["Start"]["Parameters"]["seconds"] == 1800 + 2 * 86_400 + 3600
    assert states["Launch"]["Parameters"]["Payload"]["max_pending"] == 1800
    assert definition_of(make_tuning("Plain"))["States"]["Start"]["Parameters"]["seconds"] == 31_536_000


def test_the_roles_let_the_launcher_tune_and_the_training_jobs_reach_their_data(make_tuning, synth, of_type, resolved):
    roles = of_type(synth(make_tuning().node.root), "AWS::IAM::Role")
    launcher = str(resolved(next(role for name, role in roles.items() if "LauncherRole" in name)))
    for verb in ("Create", "Describe", "Stop"):
        assert f"sagemaker:{verb}HyperParameterTuningJob" in launcher
    assert "hyper-parameter-tuning-job/Research-*" in launcher
    assert "sagemaker:ListTrainingJobsForHyperParameterTuningJob" in launcher
    execution = str(resolved(next(role for name, role in roles.items() if "ExecutionRole" in name)))
    assert "bucket/train*" in execution
    assert "bucket/tuned/*" in execution
    assert "log-group:/aws/sagemaker/TrainingJobs*" in execution


def test_an_own_role_reaches_what_the_training_jobs_name(make_tuning, synth, of_type, resolved):
    job = make_tuning(own_role=True)
    assert "bucket/tuned" in str(resolved(of_type(synth(job.node.root), "AWS::IAM::Role")["SearchRole"]))


def test_a_role_that_is_brought_is_used_and_passed(make_tuning, synth, of_type, resolved):
    role = "arn:aws:iam::111122223333:role/mine"
    job = make_tuning(role=role)
    roles = of_type(synth(job.node.root), "AWS::IAM::Role")
    assert job.request["TrainingJobDefinition"]["RoleArn"] == role
    assert role in str(resolved(next(one for name, one in roles.items() if "LauncherRole" in name)))
    assert not [name for name in roles if "ExecutionRole" in name]


@pytest.mark.parametrize("stack_name", ["Research", "ResearchPlatform-Production-eu"])
def test_the_optimized_integration_names_jobs_as_tuning_allows_and_as_the_roles_know_them(
    app, make_tuning, resolved, stack_name, definition_of
):
    job = make_tuning(scope=cdk.Stack(app, stack_name + "2"), integration="optimized")
    task = definition_of(job)["States"]["Launch"]
    assert task["Resource"].endswith(":states:::sagemaker:createHyperParameterTuningJob.sync")
    name = task["Parameters"]["HyperParameterTuningJobName.$"]
    prefix = name.split("'")[1].removesuffix("{}")
    assert "States.UUID()" in name
    assert len(prefix) + 8 <= TUNING_NAME_MAX
    assert prefix == job.kit.name_prefix


def test_step_functions_needs_its_own_rule_for_tuning(make_tuning, synth, of_type, resolved):
    roles = str(resolved(of_type(synth(make_tuning(integration="optimized").node.root), "AWS::IAM::Role")))
    assert "rule/StepFunctionsGetEventsForSageMakerTuningJobsRule" in roles
    assert "ListTrainingJobsForHyperParameterTuningJob" not in roles


def test_a_tuning_job_is_a_step_and_is_measured_by_its_machine(make_tuning):
    job = make_tuning()
    assert job.as_step("Tune it").to_state_json()["Type"] == "Parallel"
    assert job.metric_rank().dimensions == {"Machine": job.job_name_prefix}
    assert job.spec.max_jobs == 10
