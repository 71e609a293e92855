"""Every resource type: made, asked for all its attributes, changed in place, removed without a trace."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from constructs_lib.sandbox.cloudformation.resources import TYPES
from constructs_lib.sandbox.cloudformation.templates import read

pytestmark = pytest.mark.slow

DATA = read((Path(__file__).parent / "resources.yaml").read_text(encoding="utf-8")).data
CASES: list[dict[str, Any]] = DATA["cases"]
KINDS = {kind.type: kind for kind in TYPES}
MISSING = ("NotFound", "NoSuch", "NotExist", "404", "NonExistent", "ValidationException", "ValidationError")
Look = Callable[[Any, str], Any]


def one(service: str, operation: str, parameter: str, *path: str, of: Callable[[str], str] = str) -> Look:
    """Look by a call that takes the name and fails, or has nothing at `path`, if there is nothing of it."""

    def look(cloud: Any, physical_id: str) -> Any:
        try:
            value = getattr(cloud.client(service), operation)(**{parameter: of(physical_id)})
        except ClientError as error:
            if not any(word in error.response["Error"]["Code"] for word in MISSING):
                raise
            return None
        for key in path:
            value = value.get(key)
        return value

    return look


def listed(service: str, operation: str, path: str, name: str, **parameters: Any) -> Look:
    """Look through a list for an item whose member `name` is the physical ID."""

    def look(cloud: Any, physical_id: str) -> Any:
        items = getattr(cloud.client(service), operation)(**parameters)[path]
        return next((item for item in items if item[name] == physical_id), None)

    return look


def last(text: str) -> str:
    return text.rpartition("/")[2]


def role_policy(cloud: Any, _: str) -> Any:
    iam = cloud.client("iam")
    for role in iam.list_roles()["Roles"]:
        if "mine" in iam.list_role_policies(RoleName=role["RoleName"])["PolicyNames"]:
            return iam.get_role_policy(RoleName=role["RoleName"], PolicyName="mine")["PolicyDocument"]
    return None


def statement(cloud: Any, sid: str) -> Any:
    for function in cloud.client("lambda").list_functions()["Functions"]:
        look = one("lambda", "get_policy", "FunctionName", "Policy")
        policy = json.loads(look(cloud, function["FunctionName"]) or '{"Statement": []}')
        return next((entry for entry in policy["Statement"] if entry["Sid"] == sid), None)
    return None


def alias(cloud: Any, arn: str) -> Any:
    function, _, name = arn.rpartition(":")
    functions = [entry["FunctionArn"] for entry in cloud.client("lambda").list_functions()["Functions"]]
    return cloud.client("lambda").get_alias(FunctionName=function, Name=name) if function in functions else None


def bucket(cloud: Any, name: str) -> Any:
    if listed("s3", "list_buckets", "Buckets", "Name")(cloud, name) is None:
        return None
    rules = one("s3", "get_bucket_lifecycle_configuration", "Bucket", "Rules")(cloud, name)
    return {"rules": rules, "versioning": cloud.client("s3").get_bucket_versioning(Bucket=name).get("Status")}


def topic_policy(cloud: Any, _: str) -> Any:
    for topic in cloud.client("sns").list_topics()["Topics"]:
        return json.loads(cloud.client("sns").get_topic_attributes(**topic)["Attributes"]["Policy"])
    return None


def queue_policy(cloud: Any, _: str) -> Any:
    for url in cloud.client("sqs").list_queues().get("QueueUrls", []):
        answer = cloud.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=["Policy"])
        return answer.get("Attributes", {}).get("Policy")
    return None


def usable_key(cloud: Any, key: str) -> Any:
    about = cloud.client("kms").describe_key(KeyId=key)["KeyMetadata"]
    return None if about["KeyState"] == "PendingDeletion" else about


def scaling(operation: str, path: str) -> Look:
    def look(cloud: Any, _: str) -> Any:
        items = getattr(cloud.client("application-autoscaling"), operation)(ServiceNamespace="dynamodb")[path]
        return next(iter(items), None)

    return look


def attachment(cloud: Any, _: str) -> Any:
    gateways = cloud.client("ec2").describe_internet_gateways()["InternetGateways"]
    return [attached for gateway in gateways for attached in gateway["Attachments"]]


def route(cloud: Any, _: str) -> Any:
    tables = cloud.client("ec2").describe_route_tables()["RouteTables"]
    routes = [entry for table in tables for entry in table["Routes"]]
    return [entry for entry in routes if entry.get("DestinationCidrBlock") == "0.0.0.0/0"]


def association(cloud: Any, identifier: str) -> Any:
    tables = cloud.client("ec2").describe_route_tables()["RouteTables"]
    found = [entry for table in tables for entry in table["Associations"]]
    return next((entry for entry in found if entry["RouteTableAssociationId"] == identifier), None)


def nothing(_cloud: Any, _physical_id: str) -> None:
    """Types of which the sandbox makes nothing, as their events say."""


# How to see a resource; it is there when this gives something, and gone when it gives nothing.
LOOK: dict[str, Look] = {
    "AWS::ApplicationAutoScaling::ScalableTarget": scaling("describe_scalable_targets", "ScalableTargets"),
    "AWS::ApplicationAutoScaling::ScalingPolicy": scaling("describe_scaling_policies", "ScalingPolicies"),
    "AWS::CDK::Metadata": nothing,
    "AWS::CloudFormation::WaitConditionHandle": nothing,
    "AWS::CloudFormation::Stack": listed("cloudformation", "describe_stacks", "Stacks", "StackId"),
    "AWS::CloudWatch::Alarm": listed("cloudwatch", "describe_alarms", "MetricAlarms", "AlarmName"),
    "AWS::CloudWatch::CompositeAlarm": nothing,
    "AWS::CloudWatch::Dashboard": one("cloudwatch", "get_dashboard", "DashboardName", "DashboardBody"),
    "AWS::DynamoDB::GlobalTable": one("dynamodb", "describe_table", "TableName", "Table"),
    "AWS::DynamoDB::Table": one("dynamodb", "describe_table", "TableName", "Table"),
    "AWS::EC2::InternetGateway": listed("ec2", "describe_internet_gateways", "InternetGateways", "InternetGatewayId"),
    "AWS::EC2::LaunchTemplate": listed("ec2", "describe_launch_templates", "LaunchTemplates", "LaunchTemplateId"),
    "AWS::EC2::Route": route,
    "AWS::EC2::RouteTable": listed("ec2", "describe_route_tables", "RouteTables", "RouteTableId"),
    "AWS::EC2::SecurityGroup": listed("ec2", "describe_security_groups", "SecurityGroups", "GroupId"),
    "AWS::EC2::Subnet": listed("ec2", "describe_subnets", "Subnets", "SubnetId"),
    "AWS::EC2::SubnetRouteTableAssociation": association,
    "AWS::EC2::VPC": listed("ec2", "describe_vpcs", "Vpcs", "VpcId"),
    "AWS::EC2::VPCGatewayAttachment": attachment,
    "AWS::Events::EventBus": one("events", "describe_event_bus", "Name"),
    "AWS::Events::Rule": one("events", "describe_rule", "Name"),
    "AWS::IAM::InstanceProfile": one("iam", "get_instance_profile", "InstanceProfileName", "InstanceProfile"),
    "AWS::IAM::ManagedPolicy": one("iam", "get_policy", "PolicyArn", "Policy"),
    "AWS::IAM::Policy": role_policy,
    "AWS::IAM::Role": one("iam", "get_role", "RoleName", "Role"),
    "AWS::KMS::Alias": listed("kms", "list_aliases", "Aliases", "AliasName"),
    "AWS::KMS::Key": usable_key,
    "AWS::Lambda::Alias": alias,
    "AWS::Lambda::EventInvokeConfig": one(
        "lambda", "get_function_event_invoke_config", "FunctionName", of=lambda text: text.partition("|")[0]
    ),
    "AWS::Lambda::EventSourceMapping": one("lambda", "get_event_source_mapping", "UUID"),
    "AWS::Lambda::Function": one("lambda", "get_function", "FunctionName", "Configuration"),
    "AWS::Lambda::Permission": statement,
    "AWS::Lambda::Version": one("lambda", "get_function", "FunctionName", "Configuration"),
    "AWS::Logs::LogGroup": listed("logs", "describe_log_groups", "logGroups", "logGroupName"),
    "AWS::Logs::MetricFilter": listed("logs", "describe_metric_filters", "metricFilters", "filterName"),
    "AWS::Logs::QueryDefinition": nothing,
    "AWS::Logs::ResourcePolicy": listed("logs", "describe_resource_policies", "resourcePolicies", "policyName"),
    "AWS::S3::Bucket": bucket,
    "AWS::S3::BucketPolicy": one("s3", "get_bucket_policy", "Bucket", "Policy"),
    "AWS::SNS::Subscription": one("sns", "get_subscription_attributes", "SubscriptionArn", "Attributes"),
    "AWS::SNS::Topic": one("sns", "get_topic_attributes", "TopicArn", "Attributes"),
    "AWS::SNS::TopicPolicy": topic_policy,
    "AWS::SQS::Queue": one("sqs", "get_queue_attributes", "QueueUrl"),
    "AWS::SQS::QueuePolicy": queue_policy,
    "AWS::SSM::Parameter": one("ssm", "get_parameter", "Name", "Parameter"),
    "AWS::SageMaker::Cluster": one("sagemaker", "describe_cluster", "ClusterName", of=last),
    "AWS::SageMaker::Endpoint": one("sagemaker", "describe_endpoint", "EndpointName", of=last),
    "AWS::SageMaker::EndpointConfig": one("sagemaker", "describe_endpoint_config", "EndpointConfigName", of=last),
    "AWS::SageMaker::Model": one("sagemaker", "describe_model", "ModelName", of=last),
    "AWS::SageMaker::Pipeline": one("sagemaker", "describe_pipeline", "PipelineName"),
    "AWS::Scheduler::Schedule": one("scheduler", "get_schedule", "Name"),
    "AWS::Scheduler::ScheduleGroup": one("scheduler", "get_schedule_group", "Name"),
    "AWS::StepFunctions::StateMachine": one("stepfunctions", "describe_state_machine", "stateMachineArn"),
}
AB = [{"Key": "a", "Value": "b"}]
# What an update in place has to be seen by; types that are not here have to keep existing.
CHANGED: dict[str, Callable[[Any], bool]] = {
    "AWS::ApplicationAutoScaling::ScalableTarget": lambda target: target["MaxCapacity"] == 9,
    "AWS::CloudWatch::Alarm": lambda alarm: alarm["EvaluationPeriods"] == 2 and not alarm["Dimensions"],
    "AWS::CloudWatch::Dashboard": lambda body: "start" in body,
    "AWS::DynamoDB::Table": lambda table: [i["IndexName"] for i in table["GlobalSecondaryIndexes"]] == ["by-by"],
    "AWS::EC2::LaunchTemplate": lambda template: template["LatestVersionNumber"] == 2,
    "AWS::EC2::SecurityGroup": lambda group: (
        group["IpPermissions"][0]["FromPort"] == 443 and len(group["IpPermissionsEgress"]) == 1
    ),
    "AWS::EC2::Subnet": lambda subnet: subnet["MapPublicIpOnLaunch"],
    "AWS::EC2::VPC": lambda vpc: vpc["Tags"] == [{"Key": "a", "Value": "c"}],
    "AWS::Events::Rule": lambda rule: rule["State"] == "DISABLED",
    "AWS::IAM::ManagedPolicy": lambda policy: (policy["DefaultVersionId"], policy["AttachmentCount"]) == ("v2", 0),
    "AWS::IAM::Policy": lambda document: document["Statement"][0]["Effect"] == "Deny",
    "AWS::IAM::Role": lambda role: (
        (role["Description"], role["MaxSessionDuration"], role["Tags"]) == ("new", 7200, AB)
        and "PermissionsBoundary" in role
    ),
    "AWS::KMS::Key": lambda key: key["Description"] == "new",
    "AWS::Lambda::Alias": lambda entry: entry["Description"] == "new",
    "AWS::Lambda::EventInvokeConfig": lambda config: config["MaximumRetryAttempts"] == 1,
    "AWS::Lambda::EventSourceMapping": lambda mapping: mapping["BatchSize"] == 5,
    "AWS::Lambda::Function": lambda function: (
        (function["MemorySize"], function["Timeout"], function["Environment"]) == (256, 9, {"Variables": {"N": "1"}})
    ),
    "AWS::Logs::LogGroup": lambda group: group["retentionInDays"] == 14,
    "AWS::Logs::MetricFilter": lambda entry: entry["filterPattern"] == "FATAL",
    "AWS::Logs::ResourcePolicy": lambda policy: "Deny" in policy["policyDocument"],
    "AWS::S3::Bucket": lambda seen: seen["rules"][0]["Expiration"]["Days"] == 3 and seen["versioning"] == "Suspended",
    "AWS::S3::BucketPolicy": lambda policy: "Deny" in policy,
    "AWS::SNS::Subscription": lambda subscription: subscription["RawMessageDelivery"] == "true",
    "AWS::SNS::Topic": lambda topic: (topic["DisplayName"], topic["SubscriptionsConfirmed"]) == ("two", "0"),
    "AWS::SNS::TopicPolicy": lambda policy: policy["Statement"][0]["Effect"] == "Deny",
    "AWS::SQS::QueuePolicy": lambda policy: "Deny" in policy,
    "AWS::SSM::Parameter": lambda parameter: parameter["Value"] == "two",
    "AWS::SageMaker::Pipeline": lambda pipeline: "Version" in pipeline["PipelineDefinition"],
    "AWS::Scheduler::Schedule": lambda schedule: schedule["ScheduleExpression"] == "rate(2 hours)",
    "AWS::StepFunctions::StateMachine": lambda machine: "Succeed" in machine["definition"],
}


def template(case: dict[str, Any], properties: dict[str, Any]) -> dict[str, Any]:
    """Return a template with one resource ``It``, what it needs, and an output of each of its attributes."""
    needs = {name: DATA["needs"][name] for name in case.get("needs", [])}
    return {
        "Resources": {**needs, "It": {"Type": case["type"], "Properties": properties}},
        "Outputs": {name: {"Value": {"Fn::GetAtt": ["It", name]}} for name in KINDS[case["type"]].attributes or ()},
    }


@pytest.fixture(scope="module", autouse=True)
def templates(module_cloud: Any) -> None:
    """Put two templates of nested stacks into S3."""
    s3 = module_cloud.client("s3")
    s3.create_bucket(Bucket="templates")
    for delay in (1, 2):
        inner = {"Type": "AWS::SQS::Queue", "Properties": {"DelaySeconds": delay}}
        s3.put_object(Bucket="templates", Key=f"{delay}.json", Body=json.dumps({"Resources": {"Inner": inner}}))


def test_every_type_has_a_case() -> None:
    assert sorted(case["type"] for case in CASES) == sorted(KINDS) == sorted(LOOK)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["type"].removeprefix("AWS::").replace("::", "-"))
def test_a_resource_is_made_changed_in_place_and_removed_without_a_trace(cloud: Any, case: dict[str, Any]) -> None:
    name, look, is_real = f"s-{CASES.index(case)}", LOOK[case["type"]], not KINDS[case["type"]].note
    assert cloud.create(name, template(case, case["first"])) == "CREATE_COMPLETE", cloud.reasons(name, "It")
    physical = cloud.physical(name)["It"]
    assert physical
    assert bool(look(cloud, physical)) == is_real
    if "then" in case:
        assert cloud.update(name, template(case, case["then"])) == "UPDATE_COMPLETE", cloud.reasons(name, "It")
        assert cloud.physical(name)["It"] == physical, "it was replaced"
        now = look(cloud, physical)
        assert CHANGED.get(case["type"], bool)(now) or not is_real, now
        assert cloud.update(name, template(case, case["first"])) == "UPDATE_COMPLETE", cloud.reasons(name, "It")
    assert cloud.delete(name) == "DELETE_COMPLETE"
    assert not look(cloud, physical)
