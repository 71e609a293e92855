"""A stack synthesized in this process and deployed to the sandbox without the CDK CLI, and its machines run there."""

from __future__ import annotations

import io
import json
import os
import time
import zipfile
from pathlib import Path

import aws_cdk as cdk
import pytest

from constructs_lib.sandbox import Capacity, Sandbox

os.environ.setdefault("CDK_VALIDATION", "false")

ACCOUNT, REGION = "123456789012", "us-east-1"
BUCKET = f"cdk-hnb659fds-assets-{ACCOUNT}-{REGION}"
ENDED = ("SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED")
# Real seconds: whatever a test waits for has come by then, or never will.
PATIENCE = 120


class Deployed:
    """A stack in the sandbox, with what tests do to it."""

    def __init__(self, sandbox, stack, outputs):
        self.sandbox, self.stack, self.outputs = sandbox, stack, outputs

    def client(self, service):
        return self.sandbox.client(service)

    def start(self, output="Machine", **given):
        machine = self.outputs[output]
        return self.client("stepfunctions").start_execution(stateMachineArn=machine, **given)["executionArn"]

    def execution(self, arn):
        return self.client("stepfunctions").describe_execution(executionArn=arn)

    def ended(self, arn):
        """Wait for the execution's end and return its description."""
        return wait_for(lambda: found if (found := self.execution(arn))["status"] in ENDED else None)

    def job_names(self):
        """Return the jobs that exist, the oldest first."""
        jobs = self.client("sagemaker").list_training_jobs(SortBy="CreationTime", SortOrder="Ascending", MaxResults=100)
        return [job["TrainingJobName"] for job in jobs["TrainingJobSummaries"]]

    def job(self, name):
        return self.client("sagemaker").describe_training_job(TrainingJobName=name)

    def job_ended(self, name):
        moving = ("InProgress", "Stopping")
        return wait_for(lambda: found if (found := self.job(name))["TrainingJobStatus"] not in moving else None)

    def rows(self):
        """Return the run table's rows by job name."""
        [table] = [name for name in self.client("dynamodb").list_tables()["TableNames"] if name.startswith(self.stack)]
        items = self.client("dynamodb").scan(TableName=table, ConsistentRead=True)["Items"]
        return {item["name"]["S"]: item for item in items}

    def launcher(self):
        """Return the launcher function's name."""
        functions = self.client("lambda").list_functions()["Functions"]
        return next(f["FunctionName"] for f in functions if "launcher" in f["Handler"])

    def sweep(self):
        """Run a sweep now and wait for it."""
        answer = self.client("lambda").invoke(FunctionName=self.launcher(), Payload=b'{"action": "sweep"}')
        assert "FunctionError" not in answer, answer["Payload"].read()

    def pending(self):
        """Wait until the one job looks for capacity, and return its name."""

        def look():
            names = self.job_names()
            return names[0] if names and self.sandbox.sagemaker.evaluations(names[0]) else None

        return wait_for(look)

    def live(self):
        """Return the jobs that run or are being stopped."""
        return [name for name in self.job_names() if self.job(name)["TrainingJobStatus"] in ("InProgress", "Stopping")]

    def settled(self, name):
        """Wait until the row of a job is closed, and return it."""
        return wait_for(lambda: row if "open" not in (row := self.rows()[name]) else None)

    def calls(self, operation):
        return [request for _, name, request in self.sandbox.sagemaker.requests if name == operation]

    def destroy(self):
        """Delete the stack and return its last status."""
        clients = self.client("cloudformation")
        stack = clients.describe_stacks(StackName=self.stack)["Stacks"][0]["StackId"]
        clients.delete_stack(StackName=self.stack)

        def status():
            found = clients.describe_stacks(StackName=stack)["Stacks"][0]["StackStatus"]
            return None if found.endswith("IN_PROGRESS") else found

        return wait_for(status)


def wait_for(look, patience=PATIENCE):
    """Return the first truthy answer of ``look``."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        if found := look():
            return found
        time.sleep(0.05)
    raise AssertionError(f"waited {patience} s in vain")


def deploy(sandbox, app, name):
    """Upload the assets of a synthesized stack, create it and return it with its outputs."""
    folder = Path(app.synth().directory)
    s3, stacks = sandbox.client("s3"), sandbox.client("cloudformation")
    for asset in json.loads((folder / f"{name}.assets.json").read_text())["files"].values():
        source = folder / asset["source"]["path"]
        body = zipped(source) if asset["source"]["packaging"] == "zip" else source.read_bytes()
        for place in asset["destinations"].values():
            s3.put_object(Bucket=BUCKET, Key=place["objectKey"], Body=body)
    template = (folder / f"{name}.template.json").read_text()
    stacks.create_stack(StackName=name, TemplateBody=template, Capabilities=["CAPABILITY_NAMED_IAM"])

    def done():
        stack = stacks.describe_stacks(StackName=name)["Stacks"][0]
        return None if stack["StackStatus"].endswith("IN_PROGRESS") else stack

    stack = wait_for(done)
    events = stacks.describe_stack_events(StackName=name)["StackEvents"]
    reasons = [e.get("ResourceStatusReason") for e in events if "FAILED" in e["ResourceStatus"]]
    assert stack["StackStatus"] == "CREATE_COMPLETE", reasons
    return Deployed(sandbox, name, {o["OutputKey"]: o["OutputValue"] for o in stack.get("Outputs", [])})


def zipped(source):
    if source.is_file():
        return source.read_bytes()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(source.rglob("*")):
            if path.is_file():
                archive.write(path, path.relative_to(source))
    return buffer.getvalue()


@pytest.fixture(scope="session", name="wait_for")
def wait_for_():
    """Return the function that waits for the first truthy answer of another."""
    return wait_for


@pytest.fixture(scope="session")
def deploy_stack():
    """Return the function that deploys a synthesized stack: ``deploy_stack(sandbox, app, name)``."""
    return deploy


@pytest.fixture
def launch(tmp_path):
    """Return a function that starts a sandbox with a capacity and deploys what ``build`` makes to it."""
    running = []

    def start(build, capacity=None, speed=300.0, name="Flow"):
        sandbox = Sandbox(speed=speed, capacity=Capacity.of(capacity or {}))
        # Starting and deploying take real time, not the scenario's.
        with sandbox.clock.held():
            running.append(sandbox.start())
            app = cdk.App(outdir=str(tmp_path / "cdk.out"))
            environment = cdk.Environment(account=ACCOUNT, region=REGION)
            build(cdk.Stack(app, name, env=environment))
            return deploy(sandbox, app, name)

    yield start
    for sandbox in running:
        sandbox.stop()
