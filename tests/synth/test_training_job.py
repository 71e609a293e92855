"""A PreferenceTrainingJob renders the request it was asked for, and refuses what AWS would refuse."""

import json
from datetime import timedelta
from inspect import signature

import aws_cdk as cdk
import pytest
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_stepfunctions as sfn

from constructs_lib import HasTrainingPlanArn, InputChannel, InstancePreference, PreferenceTrainingJob, TrainingJobSpec
from constructs_lib.model import InvalidInputError, UnresolvedListError

PLAN = "arn:aws:sagemaker:us-east-1:111122223333:training-plan/research"


def preferences(*types, **more):
    return [InstancePreference(kind, **more) for kind in types]


def test_a_shared_count_stands_on_the_job_and_no_single_type_is_injected(make_job, request_of):
    resources = request_of(make_job())["ResourceConfig"]
    assert resources["InstanceCount"] == 8
    assert [entry["InstanceType"] for entry in resources["InstancePreferences"]] == [
        "ml.p5.48xlarge",
        "ml.p4d.24xlarge",
    ]
    assert "InstanceType" not in resources


def test_counts_on_entries_leave_no_count_on_the_job(make_job, request_of):
    entries = [InstancePreference("ml.g6.48xlarge", 2), InstancePreference("ml.g5.48xlarge", 4)]
    resources = request_of(make_job(preferences=entries, instance_count=None))["ResourceConfig"]
    assert "InstanceCount" not in resources
    assert [entry["InstanceCount"] for entry in resources["InstancePreferences"]] == [2, 4]


def test_a_plan_on_an_entry_reaches_the_request_from_text_or_from_whatever_has_an_arn(make_job, request_of):
    class Imported:
        training_plan_arn = PLAN

    assert isinstance(Imported(), HasTrainingPlanArn)
    for plan, name in ((PLAN, "Text"), (Imported(), "Object")):
        entries = [InstancePreference("ml.p5.48xlarge", training_plan=plan), InstancePreference("ml.p4d.24xlarge")]
        request = request_of(make_job(name, preferences=entries))
        assert request["ResourceConfig"]["InstancePreferences"][0]["TrainingPlanArns"] == [PLAN]


def test_every_field_of_the_spec_is_a_keyword_of_the_construct():
    ours = set(signature(PreferenceTrainingJob.__init__).parameters)
    by_the_construct = {"name": "construct_id", "role_arn": "role"}
    assert {by_the_construct.get(name, name) for name in signature(TrainingJobSpec).parameters} <= ours


@pytest.mark.parametrize(
    ("props", "words"),
    [
        ({"preferences": []}, "GPU-PL01"),
        ({"preferences": preferences("ml.p5.48xlarge", "ml.p5.48xlarge")}, "GPU-PL02"),
        ({"preferences": [InstancePreference("ml.p5.48xlarge", 2), InstancePreference("ml.g5.xlarge")]}, "GPU-PL03"),
        ({"instance_count": None}, "GPU-PL03"),
        ({"preferences": preferences("ml.p5.48xlarge", "ml.p4d.24xlarge", instance_count=8)}, "GPU-PL03"),
        ({"request_overrides": {"EnableManagedSpotTraining": True}}, "GPU-PL04"),
        ({"request_overrides": {"ResourceConfig": {"InstanceType": "ml.g5.xlarge"}}}, "GPU-PL04"),
        ({"training_plan": PLAN, "preferences": preferences("ml.p5.48xlarge", training_plan=PLAN)}, "GPU-PL05"),
        ({"max_pending": 60}, "GPU-PL07"),
        ({"request_overrides": {"ResourceConfig": {"SelectedInstanceType": "ml.g5.xlarge"}}}, "GPU-PL15"),
        ({"reserved_only": True}, "GPU-PL17"),
    ],
)
def test_what_aws_would_refuse_is_refused_at_construction_in_the_rules_words(make_job, props, words):
    with pytest.raises(InvalidInputError, match=words) as refused:
        make_job(**props)
    assert "Research/FineTune" in str(refused.value)


@pytest.mark.parametrize(
    "props",
    [
        {"preferences": []},
        {"preferences": preferences("ml.p5.48xlarge", "ml.p5.48xlarge")},
        {"preferences": [InstancePreference("ml.p5.48xlarge", 2), InstancePreference("ml.g5.xlarge")]},
        {
            "instance_count": None,
            "preferences": [InstancePreference("ml.p5.48xlarge", 2), InstancePreference("ml.g5.xlarge")],
        },
    ],
    ids=["empty", "twice", "shared and own counts", "some counts"],
)
def test_a_wrong_list_is_one_clear_message(make_job, props):
    with pytest.raises(InvalidInputError) as refused:
        make_job(**props)
    assert str(refused.value).count("GPU-") == 1


@pytest.mark.parametrize("prop", ["subnets", "security_groups", "entrypoint", "arguments", "preferences"])
def test_a_list_token_is_refused_with_words(make_job, prop):
    token = cdk.Fn.split(",", cdk.Fn.import_value("names"))
    with pytest.raises(UnresolvedListError, match=f"{prop}: a list token was given"):
        make_job(**{prop: token})


def test_a_list_token_inside_an_override_is_refused_with_words(make_job):
    with pytest.raises(UnresolvedListError, match="request_overrides: a list token"):
        make_job(request_overrides={"VpcConfig": {"Subnets": cdk.Fn.split(",", cdk.Fn.import_value("subnets"))}})


def test_a_token_object_inside_an_override_is_refused_with_words(make_job):
    with pytest.raises(InvalidInputError, match=r"turn a CDK token into text with Token\.as_string"):
        make_job(request_overrides={"Environment": {"KEY": cdk.Fn.get_att("Other", "Arn")}})


def test_numbers_known_only_at_deploy_reach_the_request_as_numbers(stack, make_job, synth, of_type):
    count = cdk.CfnParameter(stack, "Count", type="Number")
    hours = cdk.CfnParameter(stack, "Seconds", type="Number")
    job = make_job(instance_count=count.value_as_number, max_runtime=cdk.Duration.seconds(hours.value_as_number))
    machines = of_type(synth(job.node.root), "AWS::StepFunctions::StateMachine")
    parts = next(iter(machines.values()))["DefinitionString"]["Fn::Join"][1]
    for name, before in (("Count", '"InstanceCount":'), ("Seconds", '"MaxRuntimeInSeconds":')):
        place = parts.index({"Ref": name})
        assert parts[place - 1].endswith(before)
        assert not parts[place + 1].startswith('"')


def test_an_instance_type_from_a_mapping_is_accepted(stack, make_job, synth):
    sizes = cdk.CfnMapping(stack, "Sizes", mapping={"prod": {"type": "ml.p5.48xlarge"}})
    kind = cdk.Fn.find_in_map(sizes.logical_id, "prod", "type")
    make_job(preferences=[InstancePreference(kind), InstancePreference("ml.p4d.24xlarge")])
    assert "Fn::FindInMap" in str(synth(stack.node.root))


def test_a_duration_and_a_timedelta_and_seconds_say_the_same(make_job, request_of):
    times = {"Cdk": cdk.Duration.hours(2), "Python": timedelta(hours=2), "Plain": 7200}
    seen = [request_of(make_job(name, max_pending=time))["StoppingCondition"] for name, time in times.items()]
    assert seen == [{"MaxRuntimeInSeconds": 216000, "MaxPendingTimeInSeconds": 7200}] * 3


def test_a_duration_from_a_token_in_another_unit_is_refused_with_words(stack, make_job):
    hours = cdk.CfnParameter(stack, "Hours", type="Number")
    with pytest.raises(InvalidInputError, match=r"max_runtime: .* write Duration\.seconds"):
        make_job(max_runtime=cdk.Duration.hours(hours.value_as_number))


def test_a_size_becomes_gigabytes_and_half_a_gigabyte_is_refused(make_job, request_of):
    job = make_job(volume_size_gb=cdk.Size.tebibytes(1))
    assert request_of(job)["ResourceConfig"]["VolumeSizeInGB"] == 1024
    with pytest.raises(InvalidInputError, match="volume_size_gb: a whole number of GiB"):
        make_job("Half", volume_size_gb=cdk.Size.mebibytes(1536))


def test_roles_and_keys_may_be_constructs(stack, make_job, request_of):
    role = iam.Role(stack, "Training", assumed_by=iam.ServicePrincipal("sagemaker.amazonaws.com"))
    key = kms.CfnKey(stack, "Key", key_policy={})
    request = request_of(make_job(role=role, output_kms_key=key))
    assert "Training" in request["RoleArn"]
    assert "Key" in request["OutputDataConfig"]["KmsKeyId"]


def test_text_that_looks_like_a_substitution_stays_as_it_is(make_job, request_of):
    job = make_job(environment={"PATTERN": "${HOME}/x"}, hyperparameters={"quote": 'say "hi"\n'})
    request = request_of(job)
    assert request["Environment"] == {"PATTERN": "${HOME}/x"}
    assert request["HyperParameters"] == {"quote": 'say "hi"\n'}


def test_a_full_channel_and_an_override_reach_the_request(make_job, request_of):
    job = make_job(
        inputs={"train": InputChannel(s3_uri="s3://bucket/train", content_type="text/csv")},
        request_overrides={
            "ProfilerConfig": {"DisableProfiler": True},
            "StoppingCondition": {"MaxRuntimeInSeconds": 9},
        },
    )
    request = request_of(job)
    assert request["InputDataConfig"][0]["ContentType"] == "text/csv"
    assert request["ProfilerConfig"] == {"DisableProfiler": True}
    assert request["StoppingCondition"] == {"MaxRuntimeInSeconds": 9, "MaxPendingTimeInSeconds": 7200}
    assert job.request["ProfilerConfig"] == {"DisableProfiler": True}


def test_a_role_and_own_role_exclude_each_other_and_an_unknown_integration_is_named(make_job):
    with pytest.raises(InvalidInputError, match="own_role"):
        make_job(role="arn:aws:iam::111122223333:role/x", own_role=True)
    with pytest.raises(InvalidInputError, match="'native' was given; 'launcher' and 'optimized' are allowed"):
        make_job(integration="native")


def test_own_role_is_a_second_resource_that_reaches_only_what_this_job_names(make_job, synth, of_type, resolved):
    make_job("Shared", inputs={"train": "s3://shared/train"})
    job = make_job("Secret", inputs={"train": "s3://secret/train"}, own_role=True)
    roles = of_type(synth(job.node.root), "AWS::IAM::Role")
    own = str(resolved(roles["SecretRole"]))
    shared = str(resolved(next(role for name, role in roles.items() if "ExecutionRole" in name)))
    assert "secret/train" in own
    assert "shared/train" not in own
    assert "secret/train" not in shared
    assert job.execution_role.role_ref.role_arn


def test_preference_reasons_go_to_the_launcher_and_never_to_aws(make_job, definition_of):
    entries = [InstancePreference("ml.p5.48xlarge", reason="fastest"), InstancePreference("ml.p4d.24xlarge")]
    payload = definition_of(make_job(preferences=entries))["States"]["Launch"]["Parameters"]["Payload"]
    assert payload["reasons"] == ["fastest", None]
    assert "fastest" not in str(payload["request"])
    plain = definition_of(make_job("Plain"))["States"]["Launch"]["Parameters"]["Payload"]
    assert "reasons" not in plain


@pytest.mark.parametrize(
    ("props", "seconds"),
    [
        ({}, 216000 + 7200 + 3600),
        ({"max_pending": None}, 216000 + 2419200 + 3600),
        ({"timeout": cdk.Duration.hours(1)}, 3600),
        ({"timeout": timedelta(minutes=5)}, 300),
        ({"preferences": preferences("ml.p5.48xlarge", training_plan=PLAN)}, 31_536_000),
        ({"preferences": preferences("ml.p5.48xlarge"), "training_plan": PLAN}, 31_536_000),
    ],
)
def test_a_launch_is_stopped_after_the_longest_time_it_may_need(make_job, definition_of, props, seconds):
    assert definition_of(make_job(**props))["States"]["Start"]["Parameters"]["seconds"] == seconds


def test_the_machine_logs_everything_traces_and_is_named_like_its_jobs(make_job, synth, of_type):
    job = make_job()
    (machine,) = of_type(synth(job.node.root), "AWS::StepFunctions::StateMachine").values()
    assert machine["LoggingConfiguration"]["Level"] == "ALL"
    assert machine["LoggingConfiguration"]["IncludeExecutionData"] is True
    assert machine["TracingConfiguration"] == {"Enabled": True}
    assert machine["StateMachineName"] == job.job_name_prefix
    assert job.job_name_prefix.startswith("Research-FineTune-")


def test_a_machine_name_of_ones_own_is_watched_too(make_job, synth, of_type, resolved):
    job = make_job(state_machine_name="nightly")
    template = synth(job.node.root)
    (machine,) = of_type(template, "AWS::StepFunctions::StateMachine").values()
    assert machine["StateMachineName"] == "nightly"
    rules = str(resolved(of_type(template, "AWS::Events::Rule")))
    assert "arn:aws:states:us-east-1:111122223333:stateMachine:nightly" in rules
    assert "execution:nightly*" in str(resolved(of_type(template, "AWS::IAM::Role")))


def test_a_grant_lets_a_role_start_the_machine_and_nothing_else(stack, make_job, synth, of_type):
    role = iam.Role(stack, "Scientist", assumed_by=iam.ServicePrincipal("ec2.amazonaws.com"))
    job = make_job()
    job.grants.start(role)
    (policy,) = of_type(synth(stack.node.root), "AWS::IAM::Policy").values()
    (statement,) = policy["PolicyDocument"]["Statement"]
    assert statement["Action"] == "states:StartExecution"
    assert statement["Resource"] == {"Ref": "FineTune"}


def test_a_job_is_a_step_of_a_machine_of_ones_own_whose_ends_can_be_caught_by_name(
    stack, make_job, synth, of_type, resolved
):
    job = make_job()
    step = job.as_step("Train", entry="$$.Map.Item.Index", machine_name="Nightly")
    step.add_catch(sfn.Pass(stack, "Cheaper"), errors=["InsufficientCapacity"])
    machine = sfn.StateMachine(
        stack, "Nightly", state_machine_name="Nightly", definition_body=sfn.DefinitionBody.from_chainable(step)
    )
    job.grants.launch(machine)
    template = synth(stack.node.root)
    text = next(
        m["DefinitionString"]
        for m in of_type(template, "AWS::StepFunctions::StateMachine").values()
        if m.get("StateMachineName") == "Nightly"
    )
    state = json.loads(resolved(text))["States"]["Train"]
    assert state["Type"] == "Parallel"
    assert state["OutputPath"] == "$[0]"
    assert state["Catch"] == [{"ErrorEquals": ["InsufficientCapacity"], "Next": "Cheaper"}]
    inner = state["Branches"][0]["States"]
    assert inner["Train Start"]["Parameters"]["entered.$"] == "$$.State.EnteredTime"
    entry = inner["Train Launch"]["Parameters"]["Payload"]["entry"]
    assert entry == {"redrive.$": "$$.Execution.RedriveCount", "entered.$": "$.entered", "item.$": "$.item"}
    assert inner["Train Stop"]["Parameters"]["entered.$"] == "$.entered"
    policies = str(resolved(of_type(template, "AWS::IAM::Policy")))
    assert "lambda:InvokeFunction" in policies
    roles = str(resolved(of_type(template, "AWS::IAM::Role")))
    assert "execution:Nightly*" in roles
    assert "execution:*" not in roles


def test_a_step_in_an_unnamed_machine_lets_the_launcher_look_at_every_execution_but_wakes_it_for_none(
    stack, make_job, synth, of_type, resolved
):
    make_job().as_step("Train")
    template = synth(stack.node.root)
    assert "execution:*" in str(resolved(of_type(template, "AWS::IAM::Role")))
    patterns = [rule["EventPattern"]["detail"] for rule in of_type(template, "AWS::Events::Rule").values()]
    (machines,) = [resolved(detail["stateMachineArn"]) for detail in patterns if "stateMachineArn" in detail]
    assert machines == [{"prefix": "arn:aws:states:us-east-1:111122223333:stateMachine:Research-"}]


def test_metrics_name_the_machine_the_type_and_the_end(make_job):
    job = make_job()
    ended = job.metric_runs_ended(end="InsufficientCapacity")
    assert (ended.namespace, ended.metric_name, ended.statistic) == ("GpuCapacity", "Ended", "Sum")
    assert ended.dimensions == {"Machine": job.job_name_prefix, "End": "InsufficientCapacity"}
    pending = job.metric_pending_seconds(instance_type="ml.p5.48xlarge", statistic="p90")
    assert pending.dimensions == {"Machine": job.job_name_prefix, "InstanceType": "ml.p5.48xlarge"}
    assert pending.statistic == "p90"
    assert job.metric_rank().metric_name == "Rank"
    assert job.metric_runtime_seconds().metric_name == "RuntimeSeconds"
    assert job.metric_billable_instance_seconds().statistic == "Sum"
    with pytest.raises(ValueError, match="Complete"):
        job.metric_runs_ended(end="Complete")
    with pytest.raises(InvalidInputError, match="integration='optimized'"):
        make_job("Plain", integration="optimized").metric_rank()
