"""A PreferenceProcessingJob renders the request it was asked for, and refuses what AWS would refuse or nobody meant."""

from datetime import timedelta

import aws_cdk as cdk
import pytest
from aws_cdk import aws_iam as iam
from aws_cdk.aws_stepfunctions import CfnStateMachine

from constructs_lib import InstancePreference, LaunchStep, PriceBook, PriceCeiling
from constructs_lib.model import InvalidInputError

PLAN = "arn:aws:sagemaker:us-east-1:111122223333:training-plan/research"
G6, G5, CPU = (InstancePreference(f"ml.{name}") for name in ("g6.12xlarge", "g5.12xlarge", "c5.4xlarge"))


def test_a_job_is_one_state_machine_that_launches_a_processing_job(make_processing, payload_of):
    job = make_processing()
    assert isinstance(job, CfnStateMachine)
    payload = payload_of(job)
    cluster = payload["request"]["ProcessingResources"]["ClusterConfig"]
    assert payload["kind"] == "processing"
    assert [entry["InstanceType"] for entry in cluster["InstancePreferences"]] == ["ml.g6.12xlarge", "ml.g5.12xlarge"]
    assert "InstanceType" not in cluster


@pytest.mark.parametrize("wait", [cdk.Duration.hours(1), timedelta(hours=1), 3600])
def test_the_wait_is_told_to_the_launcher_and_counts_in_the_backstop(make_processing, definition_of, wait):
    states = definition_of(make_processing(max_pending=wait))["States"]
    assert states["Launch"]["Parameters"]["Payload"]["max_pending"] == 3600
    assert states["Start"]["Parameters"]["seconds"] == 3600 + 6 * 3600 + 3600
    assert "MaxPendingTimeInSeconds" not in str(states["Launch"]["Parameters"]["Payload"]["request"])


def test_a_wait_that_nobody_bounds_is_stopped_after_a_year(make_processing, definition_of):
    assert definition_of(make_processing())["States"]["Start"]["Parameters"]["seconds"] == 31_536_000


def test_cpu_types_come_last_where_they_are_declared(make_processing, payload_of):
    payload = payload_of(make_processing(cpu_last_resort=[CPU]))
    cluster = payload["request"]["ProcessingResources"]["ClusterConfig"]
    assert [entry["InstanceType"] for entry in cluster["InstancePreferences"]][-1] == "ml.c5.4xlarge"


def test_a_declared_last_resort_is_acknowledged_for_the_rule_that_would_warn_of_it(make_processing, acknowledged):
    assert set(acknowledged(make_processing(cpu_last_resort=[CPU]))) == {"GpuCapacity::GPU-PL12"}
    assert acknowledged(make_processing("Plain")) == {}


@pytest.mark.parametrize(
    ("props", "words"),
    [
        ({"preferences": [G6, CPU]}, r"ml\.c5\.4xlarge has no accelerator and stands beside ml\.g6\.12xlarge"),
        ({"cpu_last_resort": [G5]}, r"cpu_last_resort: ml\.g5\.12xlarge has an accelerator"),
        ({"preferences": (), "steps": [LaunchStep([G6, CPU])]}, "give it as cpu_last_resort, or in a step of its own"),
        ({"preferences": (), "steps": [LaunchStep([G6]), LaunchStep([G5])]}, "step 1 has no max_pending"),
        ({"preferences": (), "steps": [LaunchStep([G6], hyperparameters={"a": "1"})]}, "only training jobs know that"),
        ({"preferences": [InstancePreference("ml.p4d.24xlarge")]}, "GPU-PL06"),
        ({"preferences": [InstancePreference("ml.g6.12xlarge", training_plan=PLAN)]}, "GPU-PL13"),
        ({"request_overrides": {"StoppingCondition": {"MaxPendingTimeInSeconds": 1800}}}, "GPU-PL13"),
        ({"volume_size_gb": None}, "GPU-PL10"),
        ({"volume_size_gb": cdk.Size.tebibytes(5)}, "GPU-PL10.*smallest local disk|smallest local disk"),
        ({"max_runtime": cdk.Duration.days(10)}, "GPU-PL25"),
        ({"preferences": [G6, G6]}, "GPU-PL02"),
        ({"integration": "optimized", "max_pending": 60}, "max_pending need the launcher"),
        (
            {"max_cost": PriceCeiling("9", "USD"), "price_book": PriceBook({}, "USD", "2026-11-29", "a list")},
            r"needs a price for ml\.g6\.12xlarge, ml\.g5\.12xlarge",
        ),
    ],
)
def test_what_aws_would_refuse_and_what_nobody_meant_is_refused_with_words(make_processing, props, words):
    with pytest.raises(InvalidInputError, match=words):
        make_processing(**props)


def test_a_step_without_accelerators_is_meant_and_waits_for_nothing(make_processing, payload_of):
    steps = [LaunchStep([G6], max_pending=cdk.Duration.minutes(20)), LaunchStep([CPU])]
    payload = payload_of(make_processing(preferences=(), steps=steps))
    assert (payload["max_pending"], "max_pending" in payload["then"][0]) == (1200, False)


def test_the_optimized_integration_is_step_functions_own_and_grants_what_it_needs(
    make_processing, synth, of_type, resolved
):
    job = make_processing(integration="optimized")
    template = synth(job.node.root)
    (machine,) = of_type(template, "AWS::StepFunctions::StateMachine").values()
    assert ":states:::sagemaker:createProcessingJob.sync" in str(resolved(machine["DefinitionString"]))
    roles = str(resolved(of_type(template, "AWS::IAM::Role")))
    for action in ("CreateProcessingJob", "DescribeProcessingJob", "StopProcessingJob", "ListTags", "AddTags"):
        assert f"sagemaker:{action}" in roles
    assert "rule/StepFunctionsGetEventsForSageMakerProcessingJobsRule" in roles
    assert "TrainingJob" not in roles
    assert not of_type(template, "AWS::Lambda::Function")


def test_the_roles_know_only_the_kind_of_job_that_there_is(make_processing, synth, of_type, resolved):
    roles = of_type(synth(make_processing().node.root), "AWS::IAM::Role")
    text = str(resolved(list(roles.values())))
    assert "processing-job/Research-*" in text
    assert "log-group:/aws/sagemaker/ProcessingJobs*" in text
    assert "TrainingJob" not in text
    assert "TuningJob" not in text
    execution = str(resolved(next(role for name, role in roles.items() if "ExecutionRole" in name)))
    assert "bucket/texts*" in execution
    assert "bucket/vectors/*" in execution
    assert "repository/embed" in execution


def test_events_of_both_kinds_wake_the_launcher_through_one_rule(
    make_job, make_processing, make_tuning, synth, of_type
):
    make_job()
    make_processing()
    rules = of_type(synth(make_tuning().node.root), "AWS::Events::Rule").values()
    (pattern,) = (rule["EventPattern"] for rule in rules if rule["EventPattern"]["source"] == ["aws.sagemaker"])
    assert pattern["detail-type"] == [
        "SageMaker Training Job State Change",
        "SageMaker Processing Job State Change",
        "SageMaker HyperParameter Tuning Job State Change",
    ]
    details = pattern["detail"]["$or"]
    names = [next(iter(detail)) for detail in details]
    assert names == ["TrainingJobName", "ProcessingJobName", "HyperParameterTuningJobName"]
    assert all(
        detail[name] == [{"prefix": "Research-"}] for name, detail in zip(names, pattern["detail"]["$or"], strict=True)
    )


def test_a_processing_job_is_a_step_and_can_be_started_and_measured(stack, make_processing, synth, of_type):
    job = make_processing(run_overrides=["inputs", "environment"])
    step = job.as_step("Embed it", entry="$$.Map.Item.Index", overrides="$.overrides").to_state_json()
    assert step["Type"] == "Parallel"
    role = iam.Role(stack, "Scientist", assumed_by=iam.ServicePrincipal("ec2.amazonaws.com"))
    job.grants.start(role)
    assert job.metric_pending_seconds().dimensions == {"Machine": job.job_name_prefix}
    assert job.metric_runs_ended(end="InsufficientCapacity").metric_name == "Ended"
    assert "states:StartExecution" in str(of_type(synth(stack.node.root), "AWS::IAM::Policy"))


def test_own_role_reaches_only_what_this_job_names(make_processing, synth, of_type, resolved):
    make_processing("Shared", inputs={"texts": "s3://shared/texts"})
    job = make_processing("Secret", inputs={"texts": "s3://secret/texts"}, own_role=True)
    roles = of_type(synth(job.node.root), "AWS::IAM::Role")
    own = str(resolved(roles["SecretRole"]))
    assert "secret/texts" in own
    assert "shared/texts" not in own
