"""Endpoints on reserved capacity through the real CDK CLI, with somebody who asks them all the time."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import BotoCoreError, ClientError

from constructs_lib.sandbox import Capacity, Sandbox

HERE = "123456789012/us-east-1"
DAY, MINUTE = 86400.0, 60.0
CAPACITY = {
    "default_free": 4,
    "endpoint": {"create": "3m", "update": "3m", "delete": "1m"},
    "plans": [
        {
            "name": "today",
            "instance_type": "ml.p5.48xlarge",
            "count": 2,
            "target": "endpoint",
            "start": "-1h",
            "end": "23h",
        }
    ],
    "offerings": [
        {
            "instance_type": "ml.p5.48xlarge",
            "count": 3,
            "target": "endpoint",
            "fee": "9000.00",
            "start": "7d",
            "end": "10d",
            "payment": {"takes": "0"},
        }
    ],
}
APP = """
import json
import os

import aws_cdk as cdk
from aws_cdk import aws_sagemaker as sagemaker

from constructs_lib import (
    CapacityWindow, EndpointKeeper, OnExpiry, PriceCeiling, ReservedEndpoint, ReservedEndpointConfig, TrainingPlan,
    TrainingPlanTarget,
)

app = cdk.App()
env = cdk.Environment(account="123456789012", region="us-east-1")
said = json.loads(os.environ["SAID"])
role = "arn:aws:iam::123456789012:role/model"


def model(stack, name):
    image = {"image": "123456789012.dkr.ecr.us-east-1.amazonaws.com/chat:1"}
    return sagemaker.CfnModel(stack, name, model_name=name, execution_role_arn=role, primary_container=image)


plain = cdk.Stack(app, "Plain", env=env)
model(plain, "echo")
today = "arn:aws:sagemaker:us-east-1:123456789012:training-plan/today"
if said.get("expired"):
    variant = sagemaker.CfnEndpointConfig.ProductionVariantProperty(
        variant_name="AllTraffic", model_name="echo", instance_type="ml.g5.48xlarge", initial_instance_count=1,
        initial_variant_weight=1,
    )
    config = sagemaker.CfnEndpointConfig(plain, "OnDemand", production_variants=[variant])
else:
    config = ReservedEndpointConfig(
        plain, "Config", plan=today, model_name="echo", instance_type="ml.p5.48xlarge",
        instance_count=said.get("plain count", 2),
    )
sagemaker.CfnEndpoint(plain, "Echo", endpoint_name="echo", endpoint_config_name=config.attr_endpoint_config_name)

serving = cdk.Stack(app, "Serving", env=env)
EndpointKeeper(serving, period=cdk.Duration.minutes(5))
models = [model(serving, name) for name in ("chat-1", "chat-2")]
plan = TrainingPlan(
    serving, "Plan", training_plan_name="serving", instance_type="ml.p5.48xlarge", instance_count=3,
    duration=cdk.Duration.days(3), target=TrainingPlanTarget.ENDPOINT, max_upfront_fee=PriceCeiling("10000", "USD"),
    window=CapacityWindow(start_after=said["after"], end_before=said["before"]),
)
endpoint = ReservedEndpoint(
    serving, "Chat", plan=plan, model_name=said.get("model", "chat-1"), instance_count=2, endpoint_name="chat",
    on_expiry=OnExpiry.to_on_demand("ml.g6e.48xlarge", "ml.g5.48xlarge", last_resort=OnExpiry.delete()),
    margin=cdk.Duration.minutes(30),
)
endpoint.node.add_dependency(*models)
app.synth()
"""


class Caller(threading.Thread):
    """Asks an endpoint 20 times a second of the wall's clock; use it as a context manager."""

    def __init__(self, sandbox: Sandbox, endpoint: str) -> None:
        super().__init__(daemon=True)
        self.client, self.endpoint = sandbox.client("sagemaker-runtime"), endpoint
        self.answered, self.failed, self.ended = 0, [], threading.Event()

    def run(self) -> None:
        while not self.ended.wait(0.05):
            try:
                answer = self.client.invoke_endpoint(EndpointName=self.endpoint, Body=b"hello")
                self.answered += answer["Body"].read() == b"hello"
            except (ClientError, BotoCoreError) as error:
                self.failed.append(str(error))

    def __enter__(self) -> Caller:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.join()


class Serving:
    """The app in a folder of its own, the CLI in front of it, and the clock."""

    def __init__(self, folder: Path, sandbox: Sandbox, cdk: Callable[..., Any]) -> None:
        self.folder, self.sandbox, self._cdk = folder, sandbox, cdk
        (folder / "app.py").write_text(APP, encoding="utf-8")
        (folder / "cdk.json").write_text(json.dumps({"app": f"{sys.executable} app.py"}), encoding="utf-8")
        now = sandbox.clock.now()
        self.said: dict[str, Any] = {"after": sandbox.clock.iso(now + DAY), "before": sandbox.clock.iso(now + 30 * DAY)}
        self.key = f"serving#1@{sandbox.clock.iso(now + 20 * DAY)[:10]}@{HERE}"

    def run(self, *arguments: str, **said: Any) -> Any:
        """Run the CLI; what was said once stays said."""
        self.said |= said
        variables = {"SAID": json.dumps(self.said), **self.sandbox.environment()}
        return self._cdk(self.folder, *arguments, variables=variables)

    def deploy(self, stack: str, **said: Any) -> Any:
        context = ("-c", f"@gpu-capacity/purchase={self.key}")
        return self.run("deploy", stack, "--require-approval", "never", *context, **said)

    def caller(self, endpoint: str) -> Caller:
        return Caller(self.sandbox, endpoint)

    def ask(self, endpoint: str) -> str:
        """Ask once; return what it answered, or why it did not."""
        try:
            answer = self.sandbox.client("sagemaker-runtime").invoke_endpoint(EndpointName=endpoint, Body=b"hello")
        except ClientError as error:
            return str(error)
        return str(answer["Body"].read().decode())

    def described(self, endpoint: str) -> dict[str, Any] | None:
        try:
            return dict(self.sandbox.client("sagemaker").describe_endpoint(EndpointName=endpoint))
        except ClientError:
            return None

    def config(self, endpoint: str = "chat") -> dict[str, Any]:
        """Return the first variant of the configuration in service."""
        found = self.described(endpoint)
        assert found, f"there is no endpoint {endpoint}"
        client = self.sandbox.client("sagemaker")
        config = client.describe_endpoint_config(EndpointConfigName=found["EndpointConfigName"])
        return dict(config["ProductionVariants"][0])

    def go_to(self, moment: float) -> None:
        self.sandbox.clock.jump(max(0.0, moment - self.sandbox.clock.now()))

    def wait(self, seen: Callable[[], Any], within: float) -> float:
        """Wait for something on the running clock; return how many virtual seconds it took."""
        begun, real = self.sandbox.clock.now(), time.monotonic()
        while not seen():
            assert self.sandbox.clock.now() - begun < within, self.described("chat")
            assert time.monotonic() - real < 120, self.described("chat")
            time.sleep(0.02)
        return self.sandbox.clock.now() - begun


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(speed=60, capacity=Capacity.of(CAPACITY)) as running:
        yield running


@pytest.fixture(scope="module")
def serving(sandbox: Sandbox, cdk: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Serving:
    return Serving(tmp_path_factory.mktemp("app"), sandbox, cdk)


@pytest.fixture(autouse=True)
def shell(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `gpucap sandbox start` lets a person export."""
    for name, value in sandbox.environment().items():
        monkeypatch.setenv(name, value)
