"""What the jobs of a stack share is made once, bounded, replaceable, and deleted in the right order."""

import json

import aws_cdk as cdk
import pytest
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct

from constructs_lib import CapacityKit, InstancePreference
from constructs_lib.model import InvalidInputError

PLAN = "arn:aws:sagemaker:us-east-1:111122223333:training-plan/research"
ROLE = "arn:aws:iam::111122223333:role/given"


@pytest.fixture
def statements(of_type, resolved):
    """Return a function that gives the statements of one of the kit's roles, by the role's construct id."""

    def of(template, construct_id):
        roles = of_type(template, "AWS::IAM::Role")
        (role,) = (role for name, role in roles.items() if name.startswith(f"GpuCapacity{construct_id}"))
        (policy,) = role["Policies"]
        return resolved(policy["PolicyDocument"]["Statement"])

    return of


def allowed(statements, action):
    """Return the resources on which one action is allowed."""
    return sorted(r for s in statements if action in s["Action"] for r in s["Resource"])


def test_jobs_of_a_stack_share_one_kit_at_one_path(stack, make_job):
    team = Construct(stack, "Team")
    one, other = make_job("One"), make_job("Other", scope=team)
    assert one.kit is other.kit is CapacityKit.of(team)
    assert one.kit.node.path == "Research/GpuCapacity"


def test_a_nested_stack_has_a_kit_and_a_prefix_of_its_own(app, stack, make_job):
    nested = cdk.NestedStack(stack, "Nightly")
    outer, inner = make_job(), make_job(scope=nested)
    assert inner.kit is not outer.kit
    assert inner.kit.node.path == "Research/Nightly/GpuCapacity"
    assert "Token" not in inner.job_name_prefix
    assert inner.job_name_prefix != outer.job_name_prefix
    app.synth()


def test_a_job_with_the_kit_of_another_stack_is_named_so_that_the_kits_roles_and_events_know_it(
    app, stack, make_job, synth
):
    other = cdk.Stack(app, "Nightly")
    job = make_job(scope=other, kit=CapacityKit.of(stack))
    assert job.job_name_prefix.startswith("Research-FineTune-")
    kinds = {resource["Type"] for resource in synth(app, "Nightly")["Resources"].values()}
    assert kinds == {"AWS::StepFunctions::StateMachine"}
    assert "Fn::ImportValue" in str(synth(app, "Nightly"))


def test_a_kit_stands_in_its_stack_under_its_id_and_once(stack, make_job):
    with pytest.raises(InvalidInputError, match="the id 'GpuCapacity'"):
        CapacityKit(stack, "Kit")
    with pytest.raises(InvalidInputError, match="directly in its stack"):
        CapacityKit(Construct(stack, "Team"), "GpuCapacity")
    make_job()
    with pytest.raises(InvalidInputError, match="make your own before the first job"):
        CapacityKit(stack)


def test_parts_that_are_brought_are_used_and_not_made(stack, make_job, synth, of_type, resolved):
    table = dynamodb.Table(
        stack, "Runs", partition_key=dynamodb.Attribute(name="name", type=dynamodb.AttributeType.STRING)
    )
    group = logs.LogGroup(stack, "Group")
    CapacityKit(
        stack,
        "GpuCapacity",
        execution_role=ROLE,
        machine_role=ROLE,
        launcher_role=iam.Role.from_role_arn(stack, "Given", ROLE),
        schedule_role=ROLE,
        run_table=table,
        log_group=group,
    )
    job = make_job()
    template = synth(stack.node.root)
    assert not of_type(template, "AWS::IAM::Role")
    assert len(of_type(template, "AWS::DynamoDB::Table")) == len(of_type(template, "AWS::Logs::LogGroup")) == 1
    (machine,) = of_type(template, "AWS::StepFunctions::StateMachine").values()
    assert machine["RoleArn"] == ROLE
    destination = machine["LoggingConfiguration"]["Destinations"][0]["CloudWatchLogsLogGroup"]["LogGroupArn"]
    assert resolved(destination).endswith(":*")
    for function in of_type(template, "AWS::Lambda::Function").values():
        assert function["Role"] == ROLE
        assert "Runs" in str(function["Environment"]["Variables"]["GPUCAP_RUN_TABLE"])
    assert job.request["RoleArn"] == ROLE


def test_jobs_of_the_optimized_integration_alone_make_no_function_no_table_and_no_rule(make_job, synth):
    template = synth(make_job(integration="optimized").node.root)
    kinds = sorted(resource["Type"] for resource in template["Resources"].values())
    assert kinds == ["AWS::IAM::Role", "AWS::IAM::Role", "AWS::Logs::LogGroup", "AWS::StepFunctions::StateMachine"]


def test_the_launcher_stack_has_exactly_these_resources_and_only_typed_ones(make_job, synth):
    template = synth(make_job().node.root)
    kinds = sorted(resource["Type"] for resource in template["Resources"].values())
    assert kinds == [
        "AWS::DynamoDB::Table",
        "AWS::Events::Rule",
        "AWS::Events::Rule",
        "AWS::IAM::Role",
        "AWS::IAM::Role",
        "AWS::IAM::Role",
        "AWS::IAM::Role",
        "AWS::Lambda::Function",
        "AWS::Lambda::Function",
        "AWS::Lambda::Permission",
        "AWS::Lambda::Permission",
        "AWS::Logs::LogGroup",
        "AWS::Scheduler::Schedule",
        "AWS::StepFunctions::StateMachine",
        "Custom::GpuCapacityDrain",
    ]


def test_the_drain_goes_first_while_everything_that_ends_jobs_is_still_there(make_job, synth):
    template = synth(make_job().node.root)
    (drain,) = (r for r in template["Resources"].values() if r["Type"] == "Custom::GpuCapacityDrain")
    waits = {template["Resources"][name]["Type"] for name in drain["DependsOn"]}
    assert waits == {"AWS::Events::Rule", "AWS::Lambda::Permission", "AWS::Scheduler::Schedule"}
    assert drain["Properties"]["TableName"]["Ref"].startswith("GpuCapacityRunTable")
    assert int(drain["Properties"]["ServiceTimeout"]) > 900


def test_functions_know_the_table_the_model_and_their_own_time(make_job, synth, of_type):
    functions = of_type(synth(make_job().node.root), "AWS::Lambda::Function")
    by_handler = {function["Handler"].split(".")[-2]: function for function in functions.values()}
    assert {name: function["Timeout"] for name, function in by_handler.items()} == {"launcher": 60, "drain": 900}
    for function in by_handler.values():
        assert function["Runtime"] == "python3.13"
        variables = function["Environment"]["Variables"]
        assert variables["AWS_DATA_PATH"] == "/var/task/models"
        assert variables["GPUCAP_LAUNCHER_TIMEOUT"] == "60"


def test_events_are_filtered_by_the_prefix_of_the_stack(make_job, synth, of_type, resolved):
    rules = resolved(
        [rule["EventPattern"] for rule in of_type(synth(make_job().node.root), "AWS::Events::Rule").values()]
    )
    by_source = {rule["source"][0]: rule for rule in rules}
    job = by_source["aws.sagemaker"]["detail"]
    assert job["TrainingJobName"] == [{"prefix": "Research-"}]
    assert sorted(job["TrainingJobStatus"]) == ["Completed", "Failed", "Stopped"]
    execution = by_source["aws.states"]["detail"]
    assert sorted(execution["status"]) == ["ABORTED", "FAILED", "TIMED_OUT"]
    assert execution["stateMachineArn"] == [{"prefix": "arn:aws:states:us-east-1:111122223333:stateMachine:Research-"}]


def test_the_sweep_runs_every_five_minutes_as_the_schedule_role(make_job, synth, of_type, statements):
    template = synth(make_job().node.root)
    (schedule,) = of_type(template, "AWS::Scheduler::Schedule").values()
    assert schedule["ScheduleExpression"] == "rate(5 minutes)"
    assert json.loads(schedule["Target"]["Input"]) == {"action": "sweep"}
    (statement,) = statements(template, "ScheduleRole")
    assert statement["Action"] == ["lambda:InvokeFunction"]


def test_the_launcher_may_touch_only_the_jobs_roles_and_executions_of_its_stack(make_job, synth, statements):
    launcher = statements(synth(make_job().node.root), "LauncherRole")
    jobs = [f"arn:aws:sagemaker:us-east-1:111122223333:training-job/{name}-*" for name in ("Research", "research")]
    for action in ("CreateTrainingJob", "DescribeTrainingJob", "StopTrainingJob", "ListTags", "AddTags"):
        assert allowed(launcher, f"sagemaker:{action}") == jobs
    (passing,) = (s for s in launcher if "iam:PassRole" in s["Action"])
    assert passing["Condition"] == {"StringEquals": {"iam:PassedToService": "sagemaker.amazonaws.com"}}
    assert len(passing["Resource"]) == 1
    assert allowed(launcher, "states:DescribeExecution") == [
        "arn:aws:states:us-east-1:111122223333:execution:Research-*"
    ]
    assert allowed(launcher, "states:SendTaskSuccess") == ["*"]
    wide = [s["Action"] for s in launcher if "*" in s["Resource"]]
    answers = ["states:SendTaskSuccess", "states:SendTaskFailure", "states:SendTaskHeartbeat"]
    assert wide == [["servicequotas:ListServiceQuotas"], answers]


def test_a_job_on_a_plan_lets_the_launcher_use_the_plan_and_its_reserved_capacity(make_job, synth, statements):
    make_job("Plain")
    reserved = [InstancePreference("ml.p5.48xlarge", training_plan=PLAN)]
    launcher = statements(synth(make_job("Reserved", preferences=reserved).node.root), "LauncherRole")
    create = allowed(launcher, "sagemaker:CreateTrainingJob")
    assert PLAN in create
    assert "arn:aws:sagemaker:us-east-1:111122223333:reserved-capacity/*" in create


def test_a_sync_machine_has_all_that_step_functions_needs_for_it(make_job, synth, statements):
    template = synth(make_job(integration="optimized").node.root)
    machine = statements(template, "MachineRole")
    for action in ("CreateTrainingJob", "DescribeTrainingJob", "StopTrainingJob", "ListTags", "AddTags"):
        assert any("training-job/Research-*" in arn for arn in allowed(machine, f"sagemaker:{action}"))
    rule = "arn:aws:events:us-east-1:111122223333:rule/StepFunctionsGetEventsForSageMakerTrainingJobsRule"
    for action in ("PutRule", "PutTargets", "DescribeRule"):
        assert allowed(machine, f"events:{action}") == [rule]
    assert allowed(machine, "iam:PassRole")
    assert not allowed(machine, "lambda:InvokeFunction")


def test_machines_of_launched_jobs_may_call_the_launcher_log_and_trace_and_nothing_else(make_job, synth, statements):
    job = make_job()
    machine = statements(synth(job.node.root), "MachineRole")
    actions = {action.split(":")[0] for statement in machine for action in statement["Action"]}
    assert actions == {"lambda", "logs", "xray"}
    function = job.kit.launcher_name
    assert allowed(machine, "lambda:InvokeFunction") == [f"arn:aws:lambda:us-east-1:111122223333:function:{function}"]


def test_the_execution_role_is_folded_from_what_all_jobs_name(make_job, synth, statements):
    make_job("One", inputs={"train": "s3://one/train"}, output="s3://out/models")
    make_job(
        "Two", inputs={"train": "s3://two/train", "part": "s3://two/train/part"}, checkpoint="s3://out/checkpoints"
    )
    job = make_job(
        "Three",
        output="s3://out/models/three",
        output_kms_key="1234abcd-12ab-34cd-56ef-1234567890ab",
        hyperparameters={"sagemaker_submit_directory": '"s3://code/source.tar.gz"'},
        request_overrides={"TensorBoardOutputConfig": {"S3OutputPath": "s3://boards"}},
    )
    role = statements(synth(job.node.root), "ExecutionRole")
    reads = [s["Resource"] for s in role if s["Action"] == ["s3:GetObject"]]
    assert reads == [
        [f"arn:aws:s3:::{path}*" for path in ("bucket/train", "code/source.tar.gz", "one/train", "two/train")]
    ]
    writes = allowed(role, "s3:PutObject")
    assert writes == [f"arn:aws:s3:::{path}/*" for path in ("boards", "bucket/models", "out/checkpoints", "out/models")]
    assert allowed(role, "s3:ListBucket") == [
        f"arn:aws:s3:::{b}" for b in ("boards", "bucket", "code", "one", "out", "two")
    ]
    assert allowed(role, "ecr:BatchGetImage") == ["arn:aws:ecr:us-east-1:111122223333:repository/train"]
    key = "arn:aws:kms:us-east-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"
    assert allowed(role, "kms:GenerateDataKey") == [key]
    assert not allowed(role, "ec2:CreateNetworkInterface")


def test_network_interface_calls_are_there_only_when_a_job_runs_in_a_vpc(make_job, synth, statements):
    job = make_job(subnets=["subnet-1", "subnet-2", "subnet-3"], security_groups=["sg-1"])
    assert allowed(statements(synth(job.node.root), "ExecutionRole"), "ec2:CreateNetworkInterface") == ["*"]


def test_a_volume_key_may_be_granted_to_aws_only_by_role_and_launcher(make_job, synth, statements):
    job = make_job(
        preferences=[InstancePreference("ml.c5.18xlarge")],
        max_pending=None,
        volume_size_gb=100,
        volume_kms_key="alias/volumes",
    )
    template = synth(job.node.root)
    for role in ("ExecutionRole", "LauncherRole"):
        (grant,) = (s for s in statements(template, role) if "kms:CreateGrant" in s["Action"])
        assert grant["Condition"]["Bool"] == {"kms:GrantIsForAWSResource": "true"}
        assert grant["Condition"]["ForAnyValue:StringEquals"] == {"kms:ResourceAliases": ["alias/volumes"]}


def test_shared_data_is_written_as_one_prefix_and_jobs_under_it_add_nothing(stack, make_job, synth, statements):
    CapacityKit(stack, "GpuCapacity", shared_data=["s3://bucket/runs"])
    for i in range(120):
        job = make_job(f"Job{i}", output=f"s3://bucket/runs/{i}/models", checkpoint=f"s3://bucket/runs/{i}/checkpoints")
    assert allowed(statements(synth(job.node.root), "ExecutionRole"), "s3:PutObject") == ["arn:aws:s3:::bucket/runs/*"]


def test_a_policy_larger_than_iam_takes_fails_the_synth_and_names_the_ways_out(make_job, app):
    for i in range(120):
        make_job(f"Job{i}", output=f"s3://a-bucket-with-a-rather-long-name/experiments/models/run-number-{i}")
    with pytest.raises(RuntimeError, match=r"ExecutionRole: .*10,240.*own_role=True.*shared_data"):
        app.synth()


def test_own_roles_are_passed_by_their_path_so_that_hundreds_fit_into_the_launchers_policy(make_job, synth, statements):
    for i in range(3):
        job = make_job(f"Job{i}", own_role=True)
    template = synth(job.node.root)
    passed = allowed(statements(template, "LauncherRole"), "iam:PassRole")
    assert passed == ["arn:aws:iam::111122223333:role/gpu-capacity/Research/*"]
    assert template["Resources"]["Job1Role"]["Properties"]["Path"] == "/gpu-capacity/Research/"


def test_extra_statements_reach_the_execution_role(stack, make_job, synth, statements):
    statement = {
        "Effect": "Allow",
        "Action": ["kms:Decrypt"],
        "Resource": ["arn:aws:kms:us-east-1:111122223333:key/data"],
    }
    CapacityKit.of(stack).add_to_execution_policy(statement)
    assert statement in statements(synth(make_job().node.root), "ExecutionRole")


@pytest.mark.parametrize("how", ["prop", "of", "context"])
def test_a_permissions_boundary_is_on_every_role(tmp_path, make_job, synth, of_type, how):
    name = "developer"
    context = {"@aws-cdk/core:permissionsBoundary": {"name": name}} if how == "context" else None
    stack = cdk.Stack(cdk.App(outdir=str(tmp_path / "out"), context=context), "Research")
    if how == "prop":
        CapacityKit(stack, "GpuCapacity", permissions_boundary=f"arn:aws:iam::111122223333:policy/{name}")
    if how == "of":
        iam.PermissionsBoundary.of(stack).apply(iam.ManagedPolicy.from_managed_policy_name(stack, "Boundary", name))
    make_job(scope=stack, own_role=True)
    make_job("Shared", scope=stack)
    roles = of_type(synth(stack.node.root), "AWS::IAM::Role")
    assert len(roles) == 5
    assert all(name in str(role["PermissionsBoundary"]) for role in roles.values())
