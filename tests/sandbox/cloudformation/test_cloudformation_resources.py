"""Every resource type: made, asked for all its attributes, changed in place, removed without a trace."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from botocore.exceptions import ClientError

from constructs_lib.sandbox.cloudformation.resources import TYPES

TRUST = {
    "Statement": [{"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}]
}
ALLOW = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "sqs:*", "Resource": "*"}]}
DENY = {"Version": "2012-10-17", "Statement": [{"Effect": "Deny", "Action": "sqs:*", "Resource": "*"}]}
PASS = json.dumps({"StartAt": "A", "States": {"A": {"Type": "Pass", "End": True}}})
FAIL = json.dumps({"StartAt": "A", "States": {"A": {"Type": "Fail"}}})
ROLE = {"Type": "AWS::IAM::Role", "Properties": {"AssumeRolePolicyDocument": TRUST}}
ROLE_ARN = {"Fn::GetAtt": "Role.Arn"}
FUNCTION = {
    "Type": "AWS::Lambda::Function",
    "Properties": {
        "Runtime": "python3.13",
        "Handler": "index.handler",
        "Role": ROLE_ARN,
        "Code": {"ZipFile": "def handler(event, context): return 1"},
    },
}
TABLE = {
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}
IMAGE = "123456789012.dkr.ecr.us-east-1.amazonaws.com/image:1"
MODEL = {
    "Type": "AWS::SageMaker::Model",
    "Properties": {"ExecutionRoleArn": ROLE_ARN, "PrimaryContainer": {"Image": IMAGE}},
}
VARIANT = {"VariantName": "a", "ModelName": {"Fn::GetAtt": "Model.ModelName"}, "InitialVariantWeight": 1}
CONFIG = {
    "Type": "AWS::SageMaker::EndpointConfig",
    "Properties": {"ProductionVariants": [{**VARIANT, "InstanceType": "ml.m5.large", "InitialInstanceCount": 1}]},
}
VPC = {"Type": "AWS::EC2::VPC", "Properties": {"CidrBlock": "10.0.0.0/16"}}
TARGET = {
    "MaxCapacity": 4,
    "MinCapacity": 1,
    "ResourceId": {"Fn::Sub": "table/${Table}"},
    "RoleARN": ROLE_ARN,
    "ScalableDimension": "dynamodb:table:ReadCapacityUnits",
    "ServiceNamespace": "dynamodb",
}
Look = Callable[[Any, str], Any]


@dataclass
class Case:
    """One resource ``It`` with what it needs; `look(cloud, physical_id)` shows it, or nothing once it is gone."""

    type: str
    first: dict[str, Any]
    look: Look
    then: dict[str, Any] | None = None
    changed: Callable[[Any], bool] = bool
    needs: dict[str, Any] = field(default_factory=dict)


def one(service: str, operation: str, parameter: str, *path: str, of: Callable[[str], str] = str) -> Look:
    """Look by one call that takes the name, or fails if there is nothing of it."""

    def look(cloud: Any, physical_id: str) -> Any:
        try:
            value = getattr(cloud.client(service), operation)(**{parameter: of(physical_id)})
        except ClientError as error:
            code, message = error.response["Error"]["Code"], error.response["Error"]["Message"]
            missing = ("NotFound", "NoSuch", "NotExist", "404", "NonExistent", "ParameterNotFound")
            assert any(word in code for word in missing) or "ot found" in message or "ot find" in message, error
            return None
        for key in path:
            value = value[int(key)] if key.isdigit() else value.get(key)
            if not value:
                return None
        return value

    return look


def listed(service: str, operation: str, path: str, name: str) -> Look:
    """Look through a list for an item whose member `name` is the physical ID."""

    def look(cloud: Any, physical_id: str) -> Any:
        items = getattr(cloud.client(service), operation)()[path]
        return next((item for item in items if item[name] == physical_id), None)

    return look


def after(separator: str) -> Callable[[str], str]:
    return lambda text: text.rpartition(separator)[2]


def tagged(first: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {**first, **more}


CASES = [
    Case(
        "AWS::IAM::Role",
        {"AssumeRolePolicyDocument": TRUST, "Policies": [{"PolicyName": "p", "PolicyDocument": ALLOW}]},
        one("iam", "get_role", "RoleName", "Role"),
        then={
            "AssumeRolePolicyDocument": TRUST,
            "Description": "new",
            "MaxSessionDuration": 7200,
            "ManagedPolicyArns": ["arn:aws:iam::aws:policy/ReadOnlyAccess"],
            "PermissionsBoundary": "arn:aws:iam::aws:policy/PowerUserAccess",
            "Tags": [{"Key": "a", "Value": "b"}],
        },
        changed=lambda role: (
            role["Description"] == "new"
            and role["MaxSessionDuration"] == 7200
            and role["Tags"] == [{"Key": "a", "Value": "b"}]
            and "PermissionsBoundary" in role
        ),
    ),
    Case(
        "AWS::IAM::Policy",
        {"PolicyName": "mine", "PolicyDocument": ALLOW, "Roles": [{"Ref": "Role"}]},
        lambda cloud, _: _policy_of_any_role(cloud, "mine"),
        then={"PolicyName": "mine", "PolicyDocument": DENY, "Roles": [{"Ref": "Role"}]},
        changed=lambda document: document["Statement"][0]["Effect"] == "Deny",
        needs={"Role": ROLE},
    ),
    Case(
        "AWS::IAM::ManagedPolicy",
        {"PolicyDocument": ALLOW, "Roles": [{"Ref": "Role"}]},
        one("iam", "get_policy", "PolicyArn", "Policy"),
        then={"PolicyDocument": DENY},
        changed=lambda policy: policy["DefaultVersionId"] == "v2" and policy["AttachmentCount"] == 0,
        needs={"Role": ROLE},
    ),
    Case(
        "AWS::IAM::InstanceProfile",
        {"Roles": [{"Ref": "Role"}]},
        one("iam", "get_instance_profile", "InstanceProfileName", "InstanceProfile"),
        needs={"Role": ROLE},
    ),
    Case(
        "AWS::Lambda::Function",
        FUNCTION["Properties"],
        one("lambda", "get_function", "FunctionName", "Configuration"),
        then={
            **FUNCTION["Properties"],
            "Code": {"ZipFile": "def handler(event, context): return 2"},
            "Environment": {"Variables": {"N": 1}},
            "MemorySize": "256",
            "Timeout": 9,
            "ReservedConcurrentExecutions": 1,
            "Tags": [{"Key": "a", "Value": "b"}],
        },
        changed=lambda c: (c["MemorySize"], c["Timeout"], c["Environment"]["Variables"]) == (256, 9, {"N": "1"}),
        needs={"Role": ROLE},
    ),
    Case(
        "AWS::Lambda::Permission",
        {"FunctionName": {"Ref": "Fn"}, "Action": "lambda:InvokeFunction", "Principal": "events.amazonaws.com"},
        lambda cloud, physical_id: _statement(cloud, physical_id),
        needs={"Role": ROLE, "Fn": FUNCTION},
    ),
    Case(
        "AWS::Lambda::EventInvokeConfig",
        {"FunctionName": {"Ref": "Fn"}, "Qualifier": "$LATEST", "MaximumRetryAttempts": 0},
        one("lambda", "get_function_event_invoke_config", "FunctionName", of=lambda text: text.partition("|")[0]),
        then={"FunctionName": {"Ref": "Fn"}, "Qualifier": "$LATEST", "MaximumRetryAttempts": "1"},
        changed=lambda config: config["MaximumRetryAttempts"] == 1,
        needs={"Role": ROLE, "Fn": FUNCTION},
    ),
    Case(
        "AWS::Lambda::Version",
        {"FunctionName": {"Ref": "Fn"}},
        one("lambda", "get_function", "FunctionName", "Configuration"),
        needs={"Role": ROLE, "Fn": FUNCTION},
    ),
    Case(
        "AWS::Lambda::Alias",
        {"FunctionName": {"Ref": "Fn"}, "FunctionVersion": "$LATEST", "Name": "live"},
        lambda cloud, arn: _alias(cloud, arn),
        then={"FunctionName": {"Ref": "Fn"}, "FunctionVersion": "$LATEST", "Name": "live", "Description": "new"},
        changed=lambda alias: alias["Description"] == "new",
        needs={"Role": ROLE, "Fn": FUNCTION},
    ),
    Case(
        "AWS::Lambda::EventSourceMapping",
        {"FunctionName": {"Ref": "Fn"}, "EventSourceArn": {"Fn::GetAtt": "Queue.Arn"}, "BatchSize": 1},
        one("lambda", "get_event_source_mapping", "UUID"),
        then={"FunctionName": {"Ref": "Fn"}, "EventSourceArn": {"Fn::GetAtt": "Queue.Arn"}, "BatchSize": 5},
        changed=lambda mapping: mapping["BatchSize"] == 5,
        needs={"Role": ROLE, "Fn": FUNCTION, "Queue": {"Type": "AWS::SQS::Queue"}},
    ),
    Case(
        "AWS::Logs::LogGroup",
        {"RetentionInDays": 7},
        lambda cloud, name: next(
            iter(cloud.client("logs").describe_log_groups(logGroupNamePrefix=name)["logGroups"]), None
        ),
        then={"RetentionInDays": 14, "Tags": [{"Key": "a", "Value": "b"}]},
        changed=lambda group: group["retentionInDays"] == 14,
    ),
    Case(
        "AWS::Logs::MetricFilter",
        {
            "LogGroupName": {"Ref": "Group"},
            "FilterPattern": "ERROR",
            "MetricTransformations": [
                {
                    "MetricName": "m",
                    "MetricNamespace": "n",
                    "MetricValue": "1",
                    "Dimensions": [{"Key": "d", "Value": "$.d"}],
                }
            ],
        },
        listed("logs", "describe_metric_filters", "metricFilters", "filterName"),
        then={
            "LogGroupName": {"Ref": "Group"},
            "FilterPattern": "FATAL",
            "MetricTransformations": [{"MetricName": "m", "MetricNamespace": "n", "MetricValue": "1"}],
        },
        changed=lambda metric_filter: metric_filter["filterPattern"] == "FATAL",
        needs={"Group": {"Type": "AWS::Logs::LogGroup"}},
    ),
    Case(
        "AWS::Logs::QueryDefinition",
        {"Name": "q", "QueryString": "fields @message"},
        lambda *_: None,
        then={"Name": "q", "QueryString": "fields @timestamp"},
    ),
    Case(
        "AWS::Logs::ResourcePolicy",
        {"PolicyName": "p", "PolicyDocument": json.dumps(ALLOW)},
        listed("logs", "describe_resource_policies", "resourcePolicies", "policyName"),
        then={"PolicyName": "p", "PolicyDocument": json.dumps(DENY)},
        changed=lambda policy: "Deny" in policy["policyDocument"],
    ),
    Case(
        "AWS::DynamoDB::Table",
        {
            **TABLE,
            "DeletionProtectionEnabled": False,
            "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True},
            "TimeToLiveSpecification": {"AttributeName": "ttl", "Enabled": True},
            "StreamSpecification": {"StreamViewType": "NEW_IMAGE"},
            "SSESpecification": {"SSEEnabled": True},
        },
        one("dynamodb", "describe_table", "TableName", "Table"),
        then={
            **TABLE,
            "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True},
            "TimeToLiveSpecification": {"AttributeName": "ttl", "Enabled": True},
            "SSESpecification": {"SSEEnabled": True},
            "StreamSpecification": {"StreamViewType": "NEW_IMAGE"},
            "AttributeDefinitions": [*TABLE["AttributeDefinitions"], {"AttributeName": "by", "AttributeType": "S"}],
            "GlobalSecondaryIndexes": [
                {
                    "IndexName": "by-by",
                    "KeySchema": [{"AttributeName": "by", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "ALL"},
                }
            ],
            "Tags": [{"Key": "a", "Value": "b"}],
        },
        changed=lambda table: [index["IndexName"] for index in table["GlobalSecondaryIndexes"]] == ["by-by"],
    ),
    Case(
        "AWS::DynamoDB::GlobalTable",
        {**TABLE, "StreamSpecification": {"StreamViewType": "NEW_IMAGE"}, "Replicas": [{"Region": "us-east-1"}]},
        one("dynamodb", "describe_table", "TableName", "Table"),
        then={
            **TABLE,
            "StreamSpecification": {"StreamViewType": "NEW_IMAGE"},
            "Replicas": [{"Region": "us-east-1", "Tags": [{"Key": "a", "Value": "b"}]}],
        },
    ),
    Case(
        "AWS::Events::EventBus",
        {"Name": "bus"},
        one("events", "describe_event_bus", "Name"),
    ),
    Case(
        "AWS::Events::Rule",
        {
            "EventPattern": {"source": ["aws.sagemaker"]},
            "Targets": [{"Id": "q", "Arn": {"Fn::GetAtt": "Queue.Arn"}}],
        },
        one("events", "describe_rule", "Name"),
        then={"ScheduleExpression": "rate(1 hour)", "State": "DISABLED"},
        changed=lambda rule: rule["State"] == "DISABLED",
        needs={"Queue": {"Type": "AWS::SQS::Queue"}},
    ),
    Case(
        "AWS::Scheduler::ScheduleGroup",
        {},
        one("scheduler", "get_schedule_group", "Name"),
        then={"Tags": [{"Key": "a", "Value": "b"}]},
    ),
    Case(
        "AWS::Scheduler::Schedule",
        {
            "FlexibleTimeWindow": {"Mode": "OFF"},
            "ScheduleExpression": "rate(1 hour)",
            "Target": {"Arn": {"Fn::GetAtt": "Queue.Arn"}, "RoleArn": ROLE_ARN},
        },
        one("scheduler", "get_schedule", "Name"),
        then={
            "FlexibleTimeWindow": {"Mode": "FLEXIBLE", "MaximumWindowInMinutes": "5"},
            "ScheduleExpression": "rate(2 hours)",
            "Target": {"Arn": {"Fn::GetAtt": "Queue.Arn"}, "RoleArn": ROLE_ARN, "Input": "{}"},
        },
        changed=lambda schedule: schedule["ScheduleExpression"] == "rate(2 hours)",
        needs={"Role": ROLE, "Queue": {"Type": "AWS::SQS::Queue"}},
    ),
    Case(
        "AWS::StepFunctions::StateMachine",
        {"RoleArn": ROLE_ARN, "DefinitionString": PASS},
        one("stepfunctions", "describe_state_machine", "stateMachineArn"),
        then={
            "RoleArn": ROLE_ARN,
            "DefinitionString": FAIL.replace("Fail", "${Kind}"),
            "DefinitionSubstitutions": {"Kind": "Succeed"},
            "Tags": [{"Key": "a", "Value": "b"}],
        },
        changed=lambda machine: json.loads(machine["definition"])["States"]["A"]["Type"] == "Succeed",
        needs={"Role": ROLE},
    ),
    Case(
        "AWS::S3::Bucket",
        {
            "BucketEncryption": {
                "ServerSideEncryptionConfiguration": [{"ServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}}]
            },
            "PublicAccessBlockConfiguration": {"BlockPublicAcls": True, "RestrictPublicBuckets": "true"},
            "VersioningConfiguration": {"Status": "Enabled"},
            "OwnershipControls": {"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]},
            "CorsConfiguration": {"CorsRules": [{"AllowedMethods": ["GET"], "AllowedOrigins": ["*"]}]},
        },
        lambda cloud, name: _bucket(cloud, name),
        then={
            "LifecycleConfiguration": {
                "Rules": [
                    {
                        "Id": "old",
                        "Status": "Enabled",
                        "ExpirationInDays": 3,
                        "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 1},
                        "Transitions": [{"StorageClass": "GLACIER", "TransitionInDays": 1}],
                    }
                ]
            },
            "NotificationConfiguration": {"EventBridgeConfiguration": {"EventBridgeEnabled": True}},
            "Tags": [{"Key": "a", "Value": "b"}],
        },
        changed=lambda bucket: bucket["rule"]["Expiration"]["Days"] == 3 and bucket["versioning"] == "Suspended",
    ),
    Case(
        "AWS::S3::BucketPolicy",
        {"Bucket": {"Ref": "Bucket"}, "PolicyDocument": ALLOW},
        one("s3", "get_bucket_policy", "Bucket", "Policy"),
        then={"Bucket": {"Ref": "Bucket"}, "PolicyDocument": DENY},
        changed=lambda policy: "Deny" in policy,
        needs={"Bucket": {"Type": "AWS::S3::Bucket"}},
    ),
    Case(
        "AWS::SNS::Topic",
        {"DisplayName": "one", "Subscription": [{"Protocol": "sqs", "Endpoint": {"Fn::GetAtt": "Queue.Arn"}}]},
        one("sns", "get_topic_attributes", "TopicArn", "Attributes"),
        then={"DisplayName": "two", "Tags": [{"Key": "a", "Value": "b"}]},
        changed=lambda topic: topic["DisplayName"] == "two" and topic["SubscriptionsConfirmed"] == "0",
        needs={"Queue": {"Type": "AWS::SQS::Queue"}},
    ),
    Case(
        "AWS::SNS::Subscription",
        {"TopicArn": {"Ref": "Topic"}, "Protocol": "sqs", "Endpoint": {"Fn::GetAtt": "Queue.Arn"}},
        one("sns", "get_subscription_attributes", "SubscriptionArn", "Attributes"),
        then={
            "TopicArn": {"Ref": "Topic"},
            "Protocol": "sqs",
            "Endpoint": {"Fn::GetAtt": "Queue.Arn"},
            "RawMessageDelivery": True,
            "FilterPolicy": {"kind": ["a"]},
        },
        changed=lambda subscription: subscription["RawMessageDelivery"] == "true",
        needs={"Topic": {"Type": "AWS::SNS::Topic"}, "Queue": {"Type": "AWS::SQS::Queue"}},
    ),
    Case(
        "AWS::SNS::TopicPolicy",
        {"Topics": [{"Ref": "Topic"}], "PolicyDocument": ALLOW},
        lambda cloud, _: _topic_policy(cloud),
        then={"Topics": [{"Ref": "Topic"}], "PolicyDocument": DENY},
        changed=lambda policy: policy["Statement"][0]["Effect"] == "Deny",
        needs={"Topic": {"Type": "AWS::SNS::Topic"}},
    ),
    Case(
        "AWS::SQS::Queue",
        {
            "VisibilityTimeout": 60,
            "RedrivePolicy": {"deadLetterTargetArn": {"Fn::GetAtt": "Dead.Arn"}, "maxReceiveCount": 3},
        },
        one("sqs", "get_queue_attributes", "QueueUrl"),
        then={"DelaySeconds": 5, "Tags": [{"Key": "a", "Value": "b"}]},
        needs={"Dead": {"Type": "AWS::SQS::Queue"}},
    ),
    Case(
        "AWS::SQS::QueuePolicy",
        {"Queues": [{"Ref": "Queue"}], "PolicyDocument": ALLOW},
        lambda cloud, _: _queue_policy(cloud),
        then={"Queues": [{"Ref": "Queue"}], "PolicyDocument": DENY},
        changed=lambda policy: "Deny" in policy,
        needs={"Queue": {"Type": "AWS::SQS::Queue"}},
    ),
    Case(
        "AWS::SSM::Parameter",
        {"Type": "String", "Value": "one"},
        one("ssm", "get_parameter", "Name", "Parameter"),
        then={"Type": "String", "Value": "two", "Tags": {"a": "b"}},
        changed=lambda parameter: parameter["Value"] == "two",
    ),
    Case(
        "AWS::CloudWatch::Alarm",
        {
            "ComparisonOperator": "GreaterThanThreshold",
            "EvaluationPeriods": 1,
            "Threshold": "5",
            "MetricName": "m",
            "Namespace": "n",
            "Period": 60,
            "Statistic": "Sum",
            "Dimensions": [{"Name": "d", "Value": "v"}],
        },
        listed("cloudwatch", "describe_alarms", "MetricAlarms", "AlarmName"),
        then={
            "ComparisonOperator": "GreaterThanThreshold",
            "EvaluationPeriods": 2,
            "Threshold": 5,
            "MetricName": "m",
            "Namespace": "n",
            "Period": 60,
            "Statistic": "Sum",
            "Tags": [{"Key": "a", "Value": "b"}],
        },
        changed=lambda alarm: alarm["EvaluationPeriods"] == 2 and not alarm["Dimensions"],
    ),
    Case(
        "AWS::CloudWatch::CompositeAlarm",
        {"AlarmRule": "FALSE"},
        lambda *_: None,
        then={"AlarmRule": "TRUE"},
    ),
    Case(
        "AWS::CloudWatch::Dashboard",
        {"DashboardBody": '{"widgets": []}'},
        one("cloudwatch", "get_dashboard", "DashboardName", "DashboardBody"),
        then={"DashboardBody": '{"widgets": [], "start": "-PT1H"}'},
        changed=lambda body: "start" in body,
    ),
    Case(
        "AWS::KMS::Key",
        {"KeyPolicy": ALLOW, "EnableKeyRotation": True, "Tags": [{"Key": "a", "Value": "b"}]},
        lambda cloud, key: _usable_key(cloud, key),
        then={"KeyPolicy": DENY, "Description": "new", "Enabled": "true", "Tags": [{"Key": "a", "Value": "c"}]},
        changed=lambda key: key["Description"] == "new",
    ),
    Case(
        "AWS::KMS::Alias",
        {"AliasName": "alias/mine", "TargetKeyId": {"Ref": "Key"}},
        listed("kms", "list_aliases", "Aliases", "AliasName"),
        then={"AliasName": "alias/mine", "TargetKeyId": {"Ref": "Other"}},
        needs={"Key": {"Type": "AWS::KMS::Key"}, "Other": {"Type": "AWS::KMS::Key"}},
    ),
    Case(
        "AWS::ApplicationAutoScaling::ScalableTarget",
        TARGET,
        lambda cloud, _: _scaling(cloud, "describe_scalable_targets", "ScalableTargets"),
        then={
            **TARGET,
            "MaxCapacity": 9,
            "ScheduledActions": [
                {
                    "ScheduledActionName": "night",
                    "Schedule": "cron(0 0 * * ? *)",
                    "ScalableTargetAction": {"MaxCapacity": 1},
                }
            ],
        },
        changed=lambda target: target["MaxCapacity"] == 9,
        needs={"Role": ROLE, "Table": {"Type": "AWS::DynamoDB::Table", "Properties": TABLE}},
    ),
    Case(
        "AWS::ApplicationAutoScaling::ScalingPolicy",
        {
            "PolicyName": "p",
            "PolicyType": "TargetTrackingScaling",
            "ScalingTargetId": {"Ref": "Target"},
            "TargetTrackingScalingPolicyConfiguration": {
                "TargetValue": 70,
                "PredefinedMetricSpecification": {"PredefinedMetricType": "DynamoDBReadCapacityUtilization"},
            },
        },
        lambda cloud, _: _scaling(cloud, "describe_scaling_policies", "ScalingPolicies"),
        needs={
            "Role": ROLE,
            "Table": {"Type": "AWS::DynamoDB::Table", "Properties": TABLE},
            "Target": {"Type": "AWS::ApplicationAutoScaling::ScalableTarget", "Properties": TARGET},
        },
    ),
    Case(
        "AWS::SageMaker::Model",
        MODEL["Properties"],
        one("sagemaker", "describe_model", "ModelName", of=after("/")),
        then={**MODEL["Properties"], "Tags": [{"Key": "a", "Value": "b"}]},
        needs={"Role": ROLE},
    ),
    Case(
        "AWS::SageMaker::EndpointConfig",
        CONFIG["Properties"],
        one("sagemaker", "describe_endpoint_config", "EndpointConfigName", of=after("/")),
        needs={"Role": ROLE, "Model": MODEL},
    ),
    Case(
        "AWS::SageMaker::Endpoint",
        {"EndpointConfigName": {"Fn::GetAtt": "Config.EndpointConfigName"}},
        one("sagemaker", "describe_endpoint", "EndpointName", of=after("/")),
        needs={"Role": ROLE, "Model": MODEL, "Config": CONFIG},
    ),
    Case(
        "AWS::SageMaker::Cluster",
        {
            "InstanceGroups": [
                {
                    "InstanceCount": 1,
                    "InstanceGroupName": "g",
                    "ThreadsPerCore": 1,
                    "InstanceType": "ml.c5.large",
                    "ExecutionRole": ROLE_ARN,
                    "LifeCycleConfig": {"OnCreate": "on.sh", "SourceS3Uri": "s3://sagemaker-x/y"},
                }
            ]
        },
        one("sagemaker", "describe_cluster", "ClusterName", of=after("/")),
        needs={"Role": ROLE},
    ),
    Case(
        "AWS::SageMaker::Pipeline",
        {
            "PipelineName": "p",
            "PipelineDefinition": {"PipelineDefinitionBody": '{"Steps": []}'},
            "RoleArn": ROLE_ARN,
        },
        one("sagemaker", "describe_pipeline", "PipelineName"),
        then={
            "PipelineName": "p",
            "PipelineDefinition": {"PipelineDefinitionBody": '{"Steps": [], "Version": "1"}'},
            "RoleArn": ROLE_ARN,
        },
        changed=lambda pipeline: "Version" in pipeline["PipelineDefinition"],
        needs={"Role": ROLE},
    ),
    Case(
        "AWS::EC2::VPC",
        {"CidrBlock": "10.0.0.0/16", "EnableDnsHostnames": True, "Tags": [{"Key": "a", "Value": "b"}]},
        listed("ec2", "describe_vpcs", "Vpcs", "VpcId"),
        then={"CidrBlock": "10.0.0.0/16", "Tags": [{"Key": "a", "Value": "c"}]},
        changed=lambda vpc: vpc["Tags"] == [{"Key": "a", "Value": "c"}],
    ),
    Case(
        "AWS::EC2::Subnet",
        {
            "VpcId": {"Ref": "Vpc"},
            "CidrBlock": "10.0.1.0/24",
            "AvailabilityZone": {"Fn::Select": [0, {"Fn::GetAZs": ""}]},
        },
        listed("ec2", "describe_subnets", "Subnets", "SubnetId"),
        then={
            "VpcId": {"Ref": "Vpc"},
            "CidrBlock": "10.0.1.0/24",
            "AvailabilityZone": "us-east-1a",
            "MapPublicIpOnLaunch": True,
        },
        changed=lambda subnet: subnet["MapPublicIpOnLaunch"],
        needs={"Vpc": VPC},
    ),
    Case(
        "AWS::EC2::SecurityGroup",
        {"GroupDescription": "d", "VpcId": {"Ref": "Vpc"}},
        listed("ec2", "describe_security_groups", "SecurityGroups", "GroupId"),
        then={
            "GroupDescription": "d",
            "VpcId": {"Ref": "Vpc"},
            "SecurityGroupIngress": [
                {"IpProtocol": "tcp", "FromPort": 443, "ToPort": "443", "CidrIp": "0.0.0.0/0", "Description": "web"}
            ],
        },
        changed=lambda group: group["IpPermissions"][0]["FromPort"] == 443 and len(group["IpPermissionsEgress"]) == 1,
        needs={"Vpc": VPC},
    ),
    Case(
        "AWS::EC2::LaunchTemplate",
        {
            "LaunchTemplateData": {
                "InstanceType": "p5.48xlarge",
                "InstanceMarketOptions": {"MarketType": "capacity-block"},
            }
        },
        listed("ec2", "describe_launch_templates", "LaunchTemplates", "LaunchTemplateId"),
        then={"LaunchTemplateData": {"InstanceType": "p4d.24xlarge"}},
        changed=lambda template: template["LatestVersionNumber"] == 2,
    ),
    Case(
        "AWS::EC2::InternetGateway",
        {},
        listed("ec2", "describe_internet_gateways", "InternetGateways", "InternetGatewayId"),
    ),
    Case(
        "AWS::EC2::VPCGatewayAttachment",
        {"VpcId": {"Ref": "Vpc"}, "InternetGatewayId": {"Ref": "Gateway"}},
        lambda cloud, _: _attachments(cloud),
        needs={"Vpc": VPC, "Gateway": {"Type": "AWS::EC2::InternetGateway"}},
    ),
    Case(
        "AWS::EC2::RouteTable",
        {"VpcId": {"Ref": "Vpc"}},
        listed("ec2", "describe_route_tables", "RouteTables", "RouteTableId"),
        needs={"Vpc": VPC},
    ),
    Case(
        "AWS::EC2::Route",
        {"RouteTableId": {"Ref": "Routes"}, "DestinationCidrBlock": "0.0.0.0/0", "GatewayId": {"Ref": "Gateway"}},
        lambda cloud, _: _routes(cloud),
        needs={
            "Vpc": VPC,
            "Gateway": {"Type": "AWS::EC2::InternetGateway"},
            "Attached": {
                "Type": "AWS::EC2::VPCGatewayAttachment",
                "Properties": {"VpcId": {"Ref": "Vpc"}, "InternetGatewayId": {"Ref": "Gateway"}},
            },
            "Routes": {"Type": "AWS::EC2::RouteTable", "Properties": {"VpcId": {"Ref": "Vpc"}}},
        },
    ),
    Case(
        "AWS::EC2::SubnetRouteTableAssociation",
        {"RouteTableId": {"Ref": "Routes"}, "SubnetId": {"Ref": "Subnet"}},
        lambda cloud, physical_id: _association(cloud, physical_id),
        needs={
            "Vpc": VPC,
            "Routes": {"Type": "AWS::EC2::RouteTable", "Properties": {"VpcId": {"Ref": "Vpc"}}},
            "Subnet": {"Type": "AWS::EC2::Subnet", "Properties": {"VpcId": {"Ref": "Vpc"}, "CidrBlock": "10.0.2.0/24"}},
        },
    ),
    Case("AWS::CDK::Metadata", {"Analytics": "v2"}, lambda *_: None, then={"Analytics": "v3"}),
    Case("AWS::CloudFormation::WaitConditionHandle", {}, lambda *_: None),
]


def _policy_of_any_role(cloud: Any, name: str) -> Any:
    iam = cloud.client("iam")
    for role in iam.list_roles()["Roles"]:
        if name in iam.list_role_policies(RoleName=role["RoleName"])["PolicyNames"]:
            return iam.get_role_policy(RoleName=role["RoleName"], PolicyName=name)["PolicyDocument"]
    return None


def _statement(cloud: Any, sid: str) -> Any:
    for function in cloud.client("lambda").list_functions()["Functions"]:
        try:
            policy = json.loads(cloud.client("lambda").get_policy(FunctionName=function["FunctionName"])["Policy"])
        except ClientError:
            continue
        return next((statement for statement in policy["Statement"] if statement["Sid"] == sid), None)
    return None


def _alias(cloud: Any, arn: str) -> Any:
    function, _, name = arn.rpartition(":")
    try:
        return cloud.client("lambda").get_alias(FunctionName=function, Name=name)
    except ClientError:
        return None


def _bucket(cloud: Any, name: str) -> Any:
    s3 = cloud.client("s3")
    if name not in [bucket["Name"] for bucket in s3.list_buckets()["Buckets"]]:
        return None
    try:
        rule = s3.get_bucket_lifecycle_configuration(Bucket=name)["Rules"][0]
    except ClientError:
        rule = None
    return {"rule": rule, "versioning": s3.get_bucket_versioning(Bucket=name).get("Status")}


def _topic_policy(cloud: Any) -> Any:
    for topic in cloud.client("sns").list_topics()["Topics"]:
        attributes = cloud.client("sns").get_topic_attributes(TopicArn=topic["TopicArn"])["Attributes"]
        return json.loads(attributes["Policy"])
    return None


def _queue_policy(cloud: Any) -> Any:
    for url in cloud.client("sqs").list_queues().get("QueueUrls", []):
        answer = cloud.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=["Policy"])
        return answer.get("Attributes", {}).get("Policy")
    return None


def _usable_key(cloud: Any, key: str) -> Any:
    about = cloud.client("kms").describe_key(KeyId=key)["KeyMetadata"]
    return None if about["KeyState"] == "PendingDeletion" else about


def _scaling(cloud: Any, operation: str, path: str) -> Any:
    items = getattr(cloud.client("application-autoscaling"), operation)(ServiceNamespace="dynamodb")[path]
    return next(iter(items), None)


def _attachments(cloud: Any) -> Any:
    gateways = cloud.client("ec2").describe_internet_gateways()["InternetGateways"]
    return [attachment for gateway in gateways for attachment in gateway["Attachments"]]


def _routes(cloud: Any) -> Any:
    tables = cloud.client("ec2").describe_route_tables()["RouteTables"]
    return [route for table in tables for route in table["Routes"] if route.get("DestinationCidrBlock") == "0.0.0.0/0"]


def _association(cloud: Any, identifier: str) -> Any:
    tables = cloud.client("ec2").describe_route_tables()["RouteTables"]
    found = [a for table in tables for a in table["Associations"] if a["RouteTableAssociationId"] == identifier]
    return next(iter(found), None)


def _template(case: Case, properties: dict[str, Any]) -> dict[str, Any]:
    kind = next(kind for kind in TYPES if kind.type == case.type)
    return {
        "Resources": {**case.needs, "It": {"Type": case.type, "Properties": properties}},
        "Outputs": {
            attribute.replace("/", ""): {"Value": {"Fn::GetAtt": ["It", attribute]}}
            for attribute in sorted(kind.attributes or ())
        },
    }


def test_every_type_has_a_case() -> None:
    assert sorted(case.type for case in CASES) == sorted(kind.type for kind in TYPES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.type.removeprefix("AWS::").replace("::", "-"))
def test_a_resource_is_made_changed_in_place_and_removed_without_a_trace(cloud: Any, case: Case) -> None:
    name = f"s-{CASES.index(case)}"
    assert cloud.create(name, _template(case, case.first)) == "CREATE_COMPLETE", cloud.reasons(name, "It")
    physical = cloud.physical(name)["It"]
    assert physical
    is_real = not next(kind for kind in TYPES if kind.type == case.type).note
    assert bool(case.look(cloud, physical)) == is_real
    if case.then is not None:
        assert cloud.update(name, _template(case, case.then)) == "UPDATE_COMPLETE", cloud.reasons(name, "It")
        assert cloud.physical(name)["It"] == physical, "it was replaced"
        now = case.look(cloud, physical)
        assert case.changed(now) or not is_real, now
        assert cloud.update(name, _template(case, case.first)) == "UPDATE_COMPLETE", cloud.reasons(name, "It")
    assert cloud.delete(name) == "DELETE_COMPLETE"
    assert not case.look(cloud, physical)
