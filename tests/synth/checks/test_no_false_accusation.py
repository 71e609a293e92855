"""Good apps, made with aws-cdk-lib's own constructs, break no rule: nothing good is accused."""

import json
from pathlib import Path

import aws_cdk as cdk
import pytest
from aws_cdk import aws_applicationautoscaling as scaling
from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_batch as batch
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_eks as eks
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sagemaker as sagemaker
from aws_cdk import aws_stepfunctions as sfn
from aws_cdk import aws_stepfunctions_tasks as tasks
from aws_cdk import custom_resources as cr

from constructs_lib.rules import Severity, check
from constructs_lib.rules.readers.files import expand, read_inputs

FIELD = Path(__file__).parents[2] / "fixtures" / "field"
IMAGE = "763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.5-gpu-py311"


def endpoint(stack):
    role = iam.Role(stack, "Role", assumed_by=iam.ServicePrincipal("sagemaker.amazonaws.com"))
    container = sagemaker.CfnModel.ContainerDefinitionProperty(image=IMAGE)
    model = sagemaker.CfnModel(stack, "Model", execution_role_arn=role.role_arn, primary_container=container)
    variant = sagemaker.CfnEndpointConfig.ProductionVariantProperty(
        model_name=model.attr_model_name, variant_name="main", initial_instance_count=2, instance_type="ml.g5.xlarge"
    )
    config = sagemaker.CfnEndpointConfig(stack, "Config", production_variants=[variant])
    live = sagemaker.CfnEndpoint(stack, "Endpoint", endpoint_config_name=config.attr_endpoint_config_name)
    target = scaling.ScalableTarget(
        stack,
        "Scaling",
        service_namespace=scaling.ServiceNamespace.SAGEMAKER,
        scalable_dimension="sagemaker:variant:DesiredInstanceCount",
        resource_id=f"endpoint/{live.attr_endpoint_name}/variant/main",
        min_capacity=1,
        max_capacity=4,
    )
    metric = scaling.PredefinedMetric.SAGEMAKER_VARIANT_INVOCATIONS_PER_INSTANCE
    target.scale_to_track_metric("Load", target_value=100, predefined_metric=metric)


def training_task(stack):
    bucket = s3.Bucket(stack, "Data")
    location = tasks.S3Location.from_bucket(bucket, "train")
    source = tasks.DataSource(s3_data_source=tasks.S3DataSource(s3_location=location))
    train = tasks.SageMakerCreateTrainingJob(
        stack,
        "Train",
        training_job_name=sfn.JsonPath.string_at("$.name"),
        algorithm_specification=tasks.AlgorithmSpecification(
            training_image=tasks.DockerImage.from_registry(IMAGE), training_input_mode=tasks.InputMode.FILE
        ),
        input_data_config=[tasks.Channel(channel_name="train", data_source=source)],
        output_data_config=tasks.OutputDataConfig(s3_output_location=tasks.S3Location.from_bucket(bucket, "out")),
        resource_config=tasks.ResourceConfig(
            instance_count=1, instance_type=ec2.InstanceType("g5.xlarge"), volume_size=cdk.Size.gibibytes(50)
        ),
        integration_pattern=sfn.IntegrationPattern.RUN_JOB,
    )
    train.add_catch(sfn.Fail(stack, "Failed"), errors=["States.ALL"])
    sfn.StateMachine(stack, "Machine", definition_body=sfn.DefinitionBody.from_chainable(train))


def exhaustive_choice(stack):
    describe = tasks.CallAwsService(
        stack,
        "Describe",
        service="sagemaker",
        action="describeTrainingJob",
        parameters={"TrainingJobName": sfn.JsonPath.string_at("$.name")},
        iam_resources=["*"],
        result_path="$.job",
    )
    wait = sfn.Wait(stack, "Wait", time=sfn.WaitTime.duration(cdk.Duration.minutes(1)))
    status = "$.job.TrainingJobStatus"
    choice = sfn.Choice(stack, "Status")
    choice.when(sfn.Condition.string_equals(status, "Completed"), sfn.Succeed(stack, "Done"))
    for end in ("Failed", "Stopped"):
        choice.when(sfn.Condition.string_equals(status, end), sfn.Fail(stack, end))
    for moving in ("InProgress", "Stopping", "Deleting"):
        choice.when(sfn.Condition.string_equals(status, moving), wait)
    body = sfn.DefinitionBody.from_chainable(wait.next(describe).next(choice))
    sfn.StateMachine(stack, "Machine", definition_body=body)


def choice_with_default(stack):
    done, failed = sfn.Succeed(stack, "Done"), sfn.Fail(stack, "Failed")
    choice = sfn.Choice(stack, "Status").when(sfn.Condition.string_equals("$.status", "Completed"), done)
    choice.otherwise(failed)
    sfn.StateMachine(stack, "Machine", definition_body=sfn.DefinitionBody.from_chainable(choice))


def pipeline(stack):
    role = iam.Role(stack, "Role", assumed_by=iam.ServicePrincipal("sagemaker.amazonaws.com"))
    resources = {"InstanceCount": 1, "InstanceType": {"Get": "Parameters.Type"}, "VolumeSizeInGB": 50}
    arguments = {
        "AlgorithmSpecification": {"TrainingImage": IMAGE, "TrainingInputMode": "File"},
        "OutputDataConfig": {"S3OutputPath": "s3://bucket/out"},
        "ResourceConfig": resources,
        "RoleArn": "arn:aws:iam::111122223333:role/x",
        "StoppingCondition": {"MaxRuntimeInSeconds": 3600},
    }
    body = {"Version": "2020-12-01", "Steps": [{"Name": "Train", "Type": "Training", "Arguments": arguments}]}
    definition = {"PipelineDefinitionBody": json.dumps(body)}
    sagemaker.CfnPipeline(stack, "P", pipeline_name="p", pipeline_definition=definition, role_arn=role.role_arn)


def on_demand_reservation(stack):
    reservation = ec2.CfnCapacityReservation(
        stack, "Odcr", instance_count=1, instance_platform="Linux/UNIX", instance_type="p5.48xlarge"
    )
    target = ec2.CfnLaunchTemplate.CapacityReservationTargetProperty(capacity_reservation_id=reservation.ref)
    specification = ec2.CfnLaunchTemplate.CapacityReservationSpecificationProperty(capacity_reservation_target=target)
    data = ec2.CfnLaunchTemplate.LaunchTemplateDataProperty(capacity_reservation_specification=specification)
    ec2.CfnLaunchTemplate(stack, "Template", launch_template_data=data)


def capacity_block_node_group(stack):
    target = {"CapacityReservationTarget": {"CapacityReservationId": "cr-0123456789abcdef0"}}
    data = {
        "InstanceType": "p5.48xlarge",
        "InstanceMarketOptions": {"MarketType": "capacity-block"},
        "CapacityReservationSpecification": target,
    }
    template = cdk.CfnResource(
        stack, "Template", type="AWS::EC2::LaunchTemplate", properties={"LaunchTemplateData": data}
    )
    eks.CfnNodegroup(
        stack,
        "Nodes",
        cluster_name="c",
        node_role="arn:aws:iam::111122223333:role/nodes",
        subnets=["subnet-1"],
        capacity_type="CAPACITY_BLOCK",
        launch_template=eks.CfnNodegroup.LaunchTemplateSpecificationProperty(id=template.ref, version="1"),
    )


def ordinary_group(stack):
    vpc = ec2.Vpc(stack, "Vpc", max_azs=2, nat_gateways=0)
    image = ec2.MachineImage.latest_amazon_linux2023()
    template = ec2.LaunchTemplate(
        stack, "Template", machine_image=image, instance_type=ec2.InstanceType("g5.xlarge"), spot_options=None
    )
    policy = autoscaling.MixedInstancesPolicy(
        launch_template=template,
        launch_template_overrides=[
            autoscaling.LaunchTemplateOverrides(instance_type=ec2.InstanceType(kind))
            for kind in ("g5.xlarge", "g6.xlarge")
        ],
    )
    subnets = ec2.SubnetSelection(subnet_type=ec2.SubnetType.PUBLIC)
    autoscaling.AutoScalingGroup(stack, "Group", vpc=vpc, mixed_instances_policy=policy, vpc_subnets=subnets)


def policies_by_team_tag(stack):
    role = iam.Role(stack, "Role", assumed_by=iam.AccountRootPrincipal())
    role.add_to_policy(
        iam.PolicyStatement(
            actions=["sagemaker:DescribeTrainingJob", "sagemaker:StopTrainingJob"],
            resources=["*"],
            conditions={"StringEquals": {"aws:ResourceTag/team": "${aws:PrincipalTag/team}"}},
        )
    )
    role.add_to_policy(
        iam.PolicyStatement(
            effect=iam.Effect.DENY,
            not_actions=["iam:*", "sts:*"],
            resources=["*"],
            conditions={"StringNotEquals": {"aws:RequestedRegion": ["us-east-1", "us-west-2"]}},
        )
    )
    iam.ManagedPolicy(
        stack,
        "Read",
        statements=[iam.PolicyStatement(actions=["sagemaker:List*", "sagemaker:Describe*"], resources=["*"])],
        roles=[role],
    )


def guarded_instance_types(stack):
    iam.ManagedPolicy(
        stack,
        "Types",
        statements=[
            iam.PolicyStatement(
                actions=["sagemaker:CreateTrainingJob"],
                resources=["*"],
                conditions={
                    "ForAllValues:StringLike": {"sagemaker:InstanceTypes": ["ml.g5.*"]},
                    "Null": {"sagemaker:InstanceTypes": "false"},
                },
            )
        ],
    )


def job_events(stack):
    fn = lambda_.Function(
        stack,
        "Fn",
        runtime=lambda_.Runtime.PYTHON_3_13,
        handler="index.handler",
        code=lambda_.Code.from_inline("def handler(e, c): pass"),
    )
    detail = {"TrainingJobStatus": ["Failed"]}
    pattern = events.EventPattern(
        source=["aws.sagemaker"], detail_type=["SageMaker Training Job State Change"], detail=detail
    )
    events.Rule(stack, "Jobs", event_pattern=pattern, targets=[targets.LambdaFunction(fn)])
    both = ["Capacity Block Expiration Warning", "Capacity Block Reservation Expiration Warning"]
    events.Rule(stack, "Blocks", event_pattern=events.EventPattern(source=["aws.ec2"], detail_type=both))
    events.Rule(stack, "Tick", schedule=events.Schedule.rate(cdk.Duration.minutes(5)))


def batch_and_table(stack):
    vpc = ec2.Vpc(stack, "Vpc", max_azs=2, nat_gateways=0)
    batch.ManagedEc2EcsComputeEnvironment(
        stack,
        "Compute",
        vpc=vpc,
        vpc_subnets=ec2.SubnetSelection(subnet_type=ec2.SubnetType.PUBLIC),
        instance_types=[ec2.InstanceType("g5.xlarge")],
        use_optimal_instance_classes=False,
    )
    key = dynamodb.Attribute(name="id", type=dynamodb.AttributeType.STRING)
    dynamodb.Table(stack, "Table", partition_key=key)


def harmless_custom_resource(stack):
    call = cr.AwsSdkCall(
        service="SageMaker",
        action="describeTrainingPlan",
        parameters={"TrainingPlanName": "nightly"},
        physical_resource_id=cr.PhysicalResourceId.of("nightly"),
    )
    policy = cr.AwsCustomResourcePolicy.from_sdk_calls(resources=cr.AwsCustomResourcePolicy.ANY_RESOURCE)
    cr.AwsCustomResource(stack, "Look", on_create=call, policy=policy, install_latest_aws_sdk=False)


APPS = [
    endpoint,
    training_task,
    exhaustive_choice,
    choice_with_default,
    pipeline,
    on_demand_reservation,
    capacity_block_node_group,
    ordinary_group,
    policies_by_team_tag,
    guarded_instance_types,
    job_events,
    batch_and_table,
    harmless_custom_resource,
]


def errors(path):
    library = read_inputs(expand([str(path)]).files)
    assert not library.reading.unreadable
    assert library.checked
    found = check(library.reading.subjects)
    return [(f.rule, f.resource, f.message) for f in found if f.severity is Severity.ERROR]


@pytest.mark.parametrize("build", APPS, ids=lambda build: build.__name__)
def test_a_good_app_has_no_error(build, tmp_path):
    app = cdk.App(outdir=str(tmp_path / "cdk.out"))
    build(cdk.Stack(app, "Good"))
    app.synth()
    assert errors(tmp_path / "cdk.out") == []


@pytest.mark.parametrize("path", sorted((FIELD / "cfn").iterdir()), ids=lambda path: path.name)
def test_a_good_template_of_others_has_no_error(path):
    assert errors(path) == []


def test_the_list_that_an_escape_hatch_adds_beside_the_injected_type_is_found(tmp_path):
    app = cdk.App(outdir=str(tmp_path / "cdk.out"))
    stack = cdk.Stack(app, "Bad")
    training_task(stack)
    machine = stack.node.find_child("Machine").node.default_child
    text = json.dumps(stack.resolve(machine.definition_string))
    entry, beside = '{\\"InstanceType\\":\\"ml.g5.xlarge\\"}', '\\"VolumeSizeInGB\\"'
    text = text.replace(beside, f'\\"InstancePreferences\\":[{entry}],{beside}')
    machine.add_property_override("DefinitionString", json.loads(text))
    app.synth()
    assert "GPU-PL04" in {rule for rule, _, _ in errors(tmp_path / "cdk.out")}
