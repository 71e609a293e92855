"""cdk-nag's AWS solutions pack finds nothing, and what is acknowledged for it is pinned here with its reasons."""

from aws_cdk import aws_iam as iam

from constructs_lib import CapacityKit, InstancePreference, LaunchStep, TrainingPlan

PLAN = "arn:aws:sagemaker:us-east-1:111122223333:training-plan/research"
HERE = "<AWS::Region>:<AWS::AccountId>"
IAM5 = "AwsSolutions-IAM5[Resource::{}]"


def everything(make_job):
    """Add jobs of every kind: launched, optimized, with a role of its own, on a plan, in a VPC, with keys."""
    reserved = [InstancePreference("ml.p5.48xlarge", training_plan=PLAN)]
    make_job("Reserved", preferences=reserved, subnets=["subnet-1"], security_groups=["sg-1"])
    cpu = [InstancePreference("ml.c5.18xlarge")]
    make_job(
        "Keys", preferences=cpu, max_pending=None, volume_size_gb=50, volume_kms_key="alias/v", output_kms_key="alias/o"
    )
    return make_job("Own", own_role=True, integration="optimized")


def test_cdk_nag_finds_nothing_in_jobs_of_every_kind(app, make_job, nag):
    everything(make_job)
    assert nag(app) == set()


def started_by_themselves(stack, make_job, make_processing, make_tuning):
    """Add processing, tuning and a launch in steps, and all that starts a job by itself."""
    plan = TrainingPlan.from_training_plan_arn(
        stack, "Nightly", PLAN, instance_type="ml.p5.48xlarge", instance_count=4, starts_at="2026-12-10T11:30Z"
    )
    job = make_job(
        preferences=(),
        instance_count=None,
        steps=[LaunchStep([plan.preference()]), LaunchStep([InstancePreference("ml.p5.48xlarge", 4)])],
        subnets=["subnet-1"],
        security_groups=["sg-1"],
        run_overrides=["inputs"],
        start_by=86_400,
    )
    plan.start_on_active(job)
    job.start_on_schedule("Daily", "rate(1 day)")
    job.start_on_object_created("Data", "incoming")
    make_processing("Sync", integration="optimized")
    make_tuning("SyncToo", integration="optimized")
    make_processing()
    return make_tuning()


def test_cdk_nag_finds_nothing_in_other_kinds_steps_and_starts(app, stack, make_job, make_processing, make_tuning, nag):
    started_by_themselves(stack, make_job, make_processing, make_tuning)
    assert nag(app) == set()


def test_what_is_acknowledged_for_other_kinds_steps_and_starts_is_pinned(
    app, stack, make_job, make_processing, make_tuning, acknowledged
):
    kit = started_by_themselves(stack, make_job, make_processing, make_tuning).kit
    app.synth()
    others = {
        IAM5.format(f"arn:<AWS::Partition>:sagemaker:{HERE}:{kind}/{name}-*")
        for kind in ("processing-job", "hyper-parameter-tuning-job")
        for name in ("Research", "research")
    }
    training = {
        IAM5.format(f"arn:<AWS::Partition>:sagemaker:{HERE}:training-job/{name}-*") for name in ("Research", "research")
    }
    logs = {
        IAM5.format(f"arn:<AWS::Partition>:logs:{HERE}:log-group:/aws/sagemaker/{kind}*")
        for kind in ("TrainingJobs", "ProcessingJobs")
    }
    data = {
        IAM5.format(f"arn:<AWS::Partition>:s3:::{path}")
        for path in ("bucket/train*", "bucket/models/*", "bucket/texts*", "bucket/vectors/*", "bucket/tuned/*")
    }
    expected = {
        kit.launcher_role: {
            *others,
            *training,
            IAM5.format("*"),
            IAM5.format(f"arn:<AWS::Partition>:sagemaker:{HERE}:reserved-capacity/*"),
            IAM5.format("<GpuCapacityRunTable260A4C11.Arn>/index/*"),
            IAM5.format(f"arn:<AWS::Partition>:states:{HERE}:execution:Research-*"),
        },
        kit.machine_role: {*others, IAM5.format("*")},
        kit.execution_role: {*logs, *data, IAM5.format("*"), IAM5.format("arn:<AWS::Partition>:s3:::incoming/*")},
        kit.schedule_role: set(),
        kit.event_role: set(),
    }
    found = {construct: acknowledged(construct) for construct in expected}
    assert {construct: set(ids) for construct, ids in found.items()} == expected
    assert all(len(reason) > 20 for ids in found.values() for reason in ids.values())


def test_every_acknowledged_id_is_known_and_has_a_reason(app, make_job, acknowledged):
    own = everything(make_job)
    app.synth()
    kit = own.kit
    jobs = {
        IAM5.format(f"arn:<AWS::Partition>:sagemaker:{HERE}:training-job/{name}-*") for name in ("Research", "research")
    }
    logs = IAM5.format(f"arn:<AWS::Partition>:logs:{HERE}:log-group:/aws/sagemaker/TrainingJobs*")
    train, models = (IAM5.format(f"arn:<AWS::Partition>:s3:::bucket/{path}") for path in ("train*", "models/*"))
    keys = IAM5.format(f"arn:<AWS::Partition>:kms:{HERE}:key/*")
    expected = {
        kit: {"AwsSolutions-L1"},
        kit.execution_role: {IAM5.format("*"), logs, train, models, keys},
        own.execution_role: {IAM5.format("*"), logs, train, models},
        kit.launcher_role: {
            *jobs,
            keys,
            IAM5.format("*"),
            IAM5.format(f"arn:<AWS::Partition>:sagemaker:{HERE}:reserved-capacity/*"),
            IAM5.format("<GpuCapacityRunTable260A4C11.Arn>/index/*"),
            IAM5.format(f"arn:<AWS::Partition>:states:{HERE}:execution:Research-*"),
        },
        kit.machine_role: {
            *jobs,
            IAM5.format("*"),
            IAM5.format("arn:<AWS::Partition>:iam::<AWS::AccountId>:role/gpu-capacity/Research/*"),
        },
        kit.schedule_role: set(),
    }
    found = {construct: acknowledged(construct) for construct in expected}
    assert {construct: set(ids) for construct, ids in found.items()} == expected
    assert all(len(reason) > 20 for ids in found.values() for reason in ids.values())


def test_a_wildcard_that_the_user_adds_is_the_users_to_explain(app, stack, make_job, nag):
    CapacityKit.of(stack).add_to_execution_policy(
        {"Effect": "Allow", "Action": ["kms:Decrypt"], "Resource": ["arn:aws:kms:us-east-1:111122223333:key/*"]}
    )
    make_job()
    rule = IAM5.format("arn:aws:kms:us-east-1:111122223333:key/*")
    assert nag(app) == {(rule, "Research/GpuCapacity/ExecutionRole")}


def test_the_pack_is_really_asked(app, stack, make_job, nag):
    make_job()
    iam.CfnRole(
        stack,
        "Admin",
        assume_role_policy_document={},
        managed_policy_arns=["arn:aws:iam::aws:policy/AdministratorAccess"],
    )
    rule = "AwsSolutions-IAM4[Policy::arn:aws:iam::aws:policy/AdministratorAccess]"
    assert (rule, "Research/Admin") in nag(app)
