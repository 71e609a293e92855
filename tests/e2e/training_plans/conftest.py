"""A plan through the real CDK CLI, told as one story that the tests look at."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from constructs_lib.sandbox import Capacity, Sandbox

HERE = "123456789012/us-east-1"
DAY = 86400.0
SPENDING = ("CreateTrainingPlan", "ExtendTrainingPlan")
CAPACITY = {
    "offerings": [
        {"instance_type": "ml.p5.48xlarge", "count": [4, 8], "days": [3], "price": "40.00"},
        # Paid at once, starts in three weeks, 20 minutes late.
        {
            "instance_type": "ml.p5e.48xlarge",
            "count": 2,
            "fee": "9000.00",
            "start": "21d",
            "end": "30d",
            "late": "20m",
            "payment": {"takes": "0"},
        },
        {
            "instance_type": "ml.p4d.24xlarge",
            "count": 1,
            "fee": "700.00",
            "start": "40d",
            "end": "41d",
            "payment": {"takes": "2h"},
        },
    ]
}
APP = """
import json
import os

import aws_cdk as cdk
from constructs import Construct

from constructs_lib import Approval, CapacityBuyer, CapacityWindow, PriceCeiling, TrainingPlan, TrainingPlanTarget

app = cdk.App()
env = cdk.Environment(account="123456789012", region="us-east-1")
said = json.loads(os.environ["SAID"])


def plan(scope, construct_id, **props):
    return TrainingPlan(
        scope,
        construct_id,
        window=CapacityWindow(start_after=said["after"], end_before=said["before"]),
        target=TrainingPlanTarget.TRAINING_JOB,
        **props,
    )


nightly = cdk.Stack(app, "Nightly", env=env)
bought = plan(
    Construct(nightly, said["inside"]) if said.get("inside") else nightly,
    said.get("construct", "Plan"),
    training_plan_name="nightly",
    instance_type="ml.p5.48xlarge",
    instance_count=said.get("count", 4),
    duration=cdk.Duration.days(3),
    generation=said.get("generation", 1),
    max_upfront_fee=PriceCeiling("30000", "USD"),
)
later = cdk.Stack(app, "Later", env=env)
CapacityBuyer(later, notices="arn:aws:sns:us-east-1:123456789012:people")
for name, kind, count, days in (("later", "ml.p5e.48xlarge", 2, 9), ("slow", "ml.p4d.24xlarge", 1, 1)):
    plan(
        later,
        name.title(),
        training_plan_name=name,
        instance_type=kind,
        instance_count=count,
        duration=cdk.Duration.days(days),
        max_upfront_fee=PriceCeiling("10000", "USD"),
    ).on_status_change("Changed")
plan(
    cdk.Stack(app, "Asked", env=env),
    "Weekly",
    training_plan_name="weekly",
    instance_type="ml.p5.48xlarge",
    instance_count=4,
    duration=cdk.Duration.days(3),
    max_upfront_fee=PriceCeiling("30000", "USD"),
    approval=Approval.required(topic="arn:aws:sns:us-east-1:123456789012:people"),
)
app.synth()
"""


@dataclass
class Step:
    """One run of the CLI, and what there was after it."""

    code: int
    said: str
    calls: list[str]
    purchases: list[dict[str, Any]]
    outputs: str = ""
    resources: dict[str, str] = field(default_factory=dict)
    status: str = ""

    @property
    def spent(self) -> list[str]:
        return [name for name in self.calls if name in SPENDING]


class Project:
    """The app in a folder of its own, and the CLI in front of it."""

    def __init__(self, folder: Path, sandbox: Sandbox, cdk: Callable[..., Any]) -> None:
        self.folder, self.sandbox, self._cdk = folder, sandbox, cdk
        (folder / "app.py").write_text(APP, encoding="utf-8")
        (folder / "cdk.json").write_text(json.dumps({"app": f"{sys.executable} app.py"}), encoding="utf-8")
        now = sandbox.clock.now()
        self.times = {"after": sandbox.clock.iso(now + DAY), "before": sandbox.clock.iso(now + 50 * DAY)}
        self.last_day = sandbox.clock.iso(now + 60 * DAY)[:10]

    def key(self, *names: str) -> str:
        return ",".join(f"{name}@{self.last_day}@{HERE}" for name in names)

    def run(self, *arguments: str, stack: str = "Nightly", key: str = "", again: str = "", **said: Any) -> Step:
        """Run the CLI for one stack."""
        given = {"purchase": key, "ask-again": again}
        context = [word for name, text in given.items() if text for word in ("-c", f"@gpu-capacity/{name}={text}")]
        variables = {"SAID": json.dumps(self.times | said), **self.sandbox.environment()}
        before = len(self.sandbox.sagemaker.requests)
        done = self._cdk(self.folder, arguments[0], stack, *arguments[1:], *context, variables=variables)
        calls = [operation for _, operation, _ in self.sandbox.sagemaker.requests[before:]]
        step = Step(done.returncode, done.stdout + done.stderr, calls, self.sandbox.sagemaker.purchases())
        cloudformation = self.sandbox.client("cloudformation")
        with contextlib.suppress(cloudformation.exceptions.ClientError):  # the stack was deleted
            described = cloudformation.describe_stacks(StackName=stack)["Stacks"][0]
            step.status = described["StackStatus"]
            step.outputs = "\n".join(output["OutputValue"] for output in described.get("Outputs", ()))
            rows = cloudformation.list_stack_resources(StackName=stack)["StackResourceSummaries"]
            kind = "Custom::SageMakerTrainingPlan"
            step.resources = {
                row["LogicalResourceId"]: row["PhysicalResourceId"]
                for row in rows
                if row["ResourceType"] == kind and not row["ResourceStatus"].startswith("DELETE")
            }
        return step

    def deploy(self, **given: Any) -> Step:
        return self.run("deploy", "--require-approval", "never", **given)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(speed=60, capacity=Capacity.of(CAPACITY)) as running:
        running.client("sns").create_topic(Name="people")
        yield running


@pytest.fixture(scope="module")
def project(sandbox: Sandbox, cdk: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Project:
    return Project(tmp_path_factory.mktemp("app"), sandbox, cdk)


@pytest.fixture(scope="module")
def story(project: Project) -> dict[str, Step]:
    """Everything that happens to one plan, in order."""
    key = project.key("nightly#1")
    both = project.key("nightly#1", "nightly#2")
    moved = {"inside": "Team", "construct": "Reserved"}
    return {
        "quoted": project.deploy(),
        "bought": project.deploy(key=key),
        "again": project.deploy(key=key),
        "moved": project.deploy(key=key, **moved),
        "deleted": project.run("destroy", "--force", **moved),
        "made again": project.deploy(key=key, **moved),
        "more": project.deploy(key=key, count=8, **moved),
        "raised": project.deploy(key=both, generation=2, count=8, **moved),
        "lowered": project.deploy(key=both, generation=1, count=8, **moved),
        "destroyed": project.run("destroy", "--force", **moved),
        "adopted": project.deploy(key=both, generation=2, count=8, **moved),
    }
