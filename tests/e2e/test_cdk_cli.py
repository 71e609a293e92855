"""The real CDK CLI against the sandbox: deploy, deploy again, change, fail, destroy."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from constructs_lib.sandbox import Sandbox

pytestmark = pytest.mark.slow

STACK = "Sandboxed"
AS_BEFORE = ("--app", "cdk.out")
HANDLER = """
import json
import urllib.request


def handler(event, context):
    properties = event["ResourceProperties"]
    refused = event["RequestType"] != "Delete" and int(properties["Price"]) > 100
    answer = {key: event[key] for key in ("StackId", "RequestId", "LogicalResourceId")}
    answer |= {
        "PhysicalResourceId": "the-plan",
        "Status": "FAILED" if refused else "SUCCESS",
        "Reason": f"{properties['Price']} USD is above the ceiling" if refused else "",
        "Data": {"PlanArn": f"arn:plan:{properties['Price']}"},
    }
    print(json.dumps({"request": event["RequestType"], "price": properties["Price"]}))
    request = urllib.request.Request(event["ResponseURL"], json.dumps(answer).encode(), method="PUT")
    urllib.request.urlopen(request).close()
"""
APP = """
import os

import aws_cdk as cdk
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sagemaker as sagemaker
from aws_cdk import aws_sns as sns
from aws_cdk import aws_stepfunctions as sfn

app = cdk.App()
stack = cdk.Stack(app, "Sandboxed", env=cdk.Environment(account="123456789012", region="us-east-1"))
price, delay = os.environ["PRICE"], int(os.environ["PAUSE"])

table = dynamodb.Table(
    stack,
    "Table",
    partition_key=dynamodb.Attribute(name="id", type=dynamodb.AttributeType.STRING),
    billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
    removal_policy=cdk.RemovalPolicy.DESTROY,
)
buyer = lambda_.Function(
    stack,
    "Buyer",
    runtime=lambda_.Runtime.PYTHON_3_13,
    handler="index.handler",
    code=lambda_.Code.from_asset("handler"),
    timeout=cdk.Duration.seconds(30),
    log_group=logs.LogGroup(stack, "Logs", removal_policy=cdk.RemovalPolicy.DESTROY),
)
table.grant_read_write_data(buyer)
plan = cdk.CustomResource(
    stack,
    "Plan",
    resource_type="Custom::SageMakerTrainingPlan",
    service_token=buyer.function_arn,
    properties={"Price": price},
    service_timeout=cdk.Duration.minutes(5),
)
machine = sfn.StateMachine(
    stack,
    "Machine",
    definition_body=sfn.DefinitionBody.from_chainable(
        sfn.Pass(stack, "Plan it", result=sfn.Result.from_object({"plan": plan.get_att_string("PlanArn")})).next(
            sfn.Wait(stack, "Pause", time=sfn.WaitTime.duration(cdk.Duration.seconds(delay)))
        )
    ),
)
events.Rule(
    stack,
    "Failed",
    event_pattern=events.EventPattern(source=["aws.sagemaker"]),
    targets=[targets.SfnStateMachine(machine)],
)
sns.Topic(stack, "Topic")
s3.Bucket(stack, "Bucket", removal_policy=cdk.RemovalPolicy.DESTROY, versioned=True)
sagemaker.CfnModel(
    stack,
    "Model",
    execution_role_arn=iam.Role(stack, "Role", assumed_by=iam.ServicePrincipal("sagemaker.amazonaws.com")).role_arn,
    primary_container={"image": "123456789012.dkr.ecr.us-east-1.amazonaws.com/image:1"},
)
cdk.CfnOutput(stack, "PlanArn", value=plan.get_att_string("PlanArn"))
cdk.CfnOutput(stack, "MachineArn", value=machine.state_machine_arn)
app.synth()
"""


class Project:
    """A CDK app in a folder of its own, and the CLI in front of it."""

    def __init__(self, folder: Path, sandbox: Sandbox, cdk: Callable[..., Any]) -> None:
        self.folder, self._cdk = folder, cdk
        self.sandbox = sandbox
        (folder / "handler").mkdir()
        (folder / "handler" / "index.py").write_text(HANDLER, encoding="utf-8")
        (folder / "app.py").write_text(APP, encoding="utf-8")
        (folder / "cdk.json").write_text(json.dumps({"app": f"{sys.executable} app.py"}), encoding="utf-8")

    def cdk(self, *arguments: str, price: int = 10, pause: int = 60) -> subprocess.CompletedProcess[str]:
        """Run the CLI.

        A run that is given ``AS_BEFORE`` uses what the run before it synthesized.
        """
        variables = {"PRICE": str(price), "PAUSE": str(pause), **self.sandbox.environment()}
        return self._cdk(self.folder, *arguments, variables=variables)

    def deploy(self, *arguments: str, **given: int) -> subprocess.CompletedProcess[str]:
        return self.cdk("deploy", STACK, "--require-approval", "never", *arguments, **given)

    def describe(self) -> dict[str, Any]:
        return self.sandbox.client("cloudformation").describe_stacks(StackName=STACK)["Stacks"][0]

    def resource(self, construct: str) -> str:
        """The physical ID of the one resource whose logical ID begins with a construct's."""
        listed = self.sandbox.client("cloudformation").list_stack_resources(StackName=STACK)["StackResourceSummaries"]
        kinds = {"Machine": "AWS::StepFunctions::StateMachine"}
        (found,) = [r["PhysicalResourceId"] for r in listed if r["ResourceType"] == kinds[construct]]
        return found

    def requests(self) -> list[str]:
        """What the buyer was asked for, the oldest first."""
        return [run.event["RequestType"] for run in self.sandbox.lambdas.invocations]

    def pause(self) -> int:
        """The deployed machine's pause in seconds."""
        (machine,) = self.sandbox.client("stepfunctions").list_state_machines()["stateMachines"]
        described = self.sandbox.client("stepfunctions").describe_state_machine(
            stateMachineArn=machine["stateMachineArn"]
        )
        return json.loads(described["definition"])["States"]["Pause"]["Seconds"]


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(speed=60) as running:
        yield running


@pytest.fixture(scope="module")
def project(sandbox: Sandbox, cdk: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Project:
    return Project(tmp_path_factory.mktemp("app"), sandbox, cdk)


@pytest.fixture(scope="module")
def deployed(project: Project) -> subprocess.CompletedProcess[str]:
    return project.deploy()


def said(run: subprocess.CompletedProcess[str]) -> str:
    return run.stdout + run.stderr


def test_a_stack_is_deployed(project: Project, deployed: subprocess.CompletedProcess[str]) -> None:
    assert deployed.returncode == 0, said(deployed)
    assert "Sandboxed.PlanArn = arn:plan:10" in said(deployed)
    assert "CREATE_COMPLETE" in deployed.stdout
    assert project.describe()["StackStatus"] == "CREATE_COMPLETE"
    assert project.pause() == 60


def test_deploying_again_changes_nothing(project: Project, deployed: subprocess.CompletedProcess[str]) -> None:
    before = len(project.sandbox.lambdas.invocations)
    again = project.deploy()
    assert again.returncode == 0, said(again)
    assert "(no changes)" in said(again)
    forced = project.deploy("--force", *AS_BEFORE)
    assert forced.returncode == 0, said(forced)
    assert "would not make any changes" in said(forced)
    assert project.describe()["StackStatus"] == "CREATE_COMPLETE"
    assert len(project.sandbox.lambdas.invocations) == before


def test_a_difference_is_shown(project: Project, deployed: subprocess.CompletedProcess[str]) -> None:
    shown = project.cdk("diff", STACK, price=20)
    assert shown.returncode == 0, said(shown)
    assert "[~] Custom::SageMakerTrainingPlan Plan" in said(shown)
    assert "[-] 10" in said(shown)
    assert "[+] 20" in said(shown)


def test_a_change_is_made_in_place(project: Project, deployed: subprocess.CompletedProcess[str]) -> None:
    physical = project.resource("Machine")
    changed = project.deploy(price=20, pause=90)
    assert changed.returncode == 0, said(changed)
    assert "Sandboxed.PlanArn = arn:plan:20" in said(changed)
    assert project.pause() == 90
    assert project.resource("Machine") == physical
    assert project.requests()[-1] == "Update"


def test_a_failing_change_is_rolled_back_and_its_reason_shown(
    project: Project, deployed: subprocess.CompletedProcess[str]
) -> None:
    before = project.pause(), project.describe()["Outputs"]
    failed = project.deploy(price=500, pause=30)
    assert failed.returncode == 1
    assert "500 USD is above the ceiling" in said(failed)
    assert "UPDATE_ROLLBACK_COMPLET" in said(failed), "the CLI cuts statuses to its column"
    assert (project.pause(), project.describe()["Outputs"]) == before
    assert project.describe()["StackStatus"] == "UPDATE_ROLLBACK_COMPLETE"
    assert project.requests()[-2:] == ["Update", "Update"], "the roll-back is an Update like any other"


def test_a_failure_without_roll_back_can_be_rolled_back_by_command(
    project: Project, deployed: subprocess.CompletedProcess[str]
) -> None:
    paused = project.pause()
    failed = project.deploy("--no-rollback", price=600, pause=30)
    assert failed.returncode == 1
    assert project.describe()["StackStatus"] == "UPDATE_FAILED"
    back = project.cdk("rollback", STACK, *AS_BEFORE)
    assert back.returncode == 0, said(back)
    assert project.describe()["StackStatus"] == "UPDATE_ROLLBACK_COMPLETE"
    assert project.pause() == paused


def test_a_stack_is_deployed_without_a_change_set_too(
    project: Project, deployed: subprocess.CompletedProcess[str]
) -> None:
    direct = project.deploy("--method", "direct", price=30)
    assert direct.returncode == 0, said(direct)
    assert "Sandboxed.PlanArn = arn:plan:30" in said(direct)


def test_destroy_leaves_nothing(project: Project, deployed: subprocess.CompletedProcess[str]) -> None:
    client = project.sandbox.client
    destroyed = project.cdk("destroy", STACK, "--force", *AS_BEFORE)
    assert destroyed.returncode == 0, said(destroyed)
    with pytest.raises(ClientError, match="does not exist"):
        project.describe()
    assert project.requests()[-1] == "Delete"
    left = {
        "tables": client("dynamodb").list_tables()["TableNames"],
        "functions": client("lambda").list_functions()["Functions"],
        "machines": client("stepfunctions").list_state_machines()["stateMachines"],
        "rules": client("events").list_rules()["Rules"],
        "topics": client("sns").list_topics()["Topics"],
        "models": client("sagemaker").list_models()["Models"],
        "roles": client("iam").list_roles()["Roles"],
        "buckets": [b["Name"] for b in client("s3").list_buckets()["Buckets"] if not b["Name"].startswith("cdk-")],
        "log groups": [
            group["logGroupName"]
            for group in client("logs").describe_log_groups()["logGroups"]
            if group["logGroupName"].startswith(STACK)
        ],
    }
    assert left == {name: [] for name in left}


def test_every_call_the_cli_made_of_cloudformation_was_answered(
    project: Project, deployed: subprocess.CompletedProcess[str]
) -> None:
    calls = [entry for entry in project.sandbox.requests if entry.service == "cloudformation"]
    assert {"CreateChangeSet", "ExecuteChangeSet", "DescribeStackEvents", "DeleteStack"} <= {c.operation for c in calls}
    refused = {(call.operation, call.status) for call in calls if call.status >= 400}
    # The CLI asks for stacks and change sets that are not there, to see that they are not.
    assert refused <= {("DescribeStacks", 400), ("DescribeChangeSet", 404)}, refused
