"""Reserved endpoints as real stacks in the sandbox: their keeper runs there, and somebody asks them all the time."""

from __future__ import annotations

import contextlib
import io
import json
import os
import threading
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_sns as sns
from botocore.exceptions import BotoCoreError, ClientError

from constructs_lib import EndpointKeeper, OnExpiry, ReservedEndpoint, TrainingPlan
from constructs_lib.cli.main import main
from constructs_lib.runtime.endpoint_table import EndpointTable
from constructs_lib.sandbox import Capacity, Sandbox

os.environ.setdefault("CDK_VALIDATION", "false")

ACCOUNT, REGION, STACK, NAME = "123456789012", "us-east-1", "Serving", "chat"
BUCKET = f"cdk-hnb659fds-assets-{ACCOUNT}-{REGION}"
P5, G5 = "ml.p5.48xlarge", "ml.g5.48xlarge"
MINUTE, HOUR = 60.0, 3600.0
# The last resort is taken two periods after the cut: virtual time may not outrun the functions of a busy machine.
PERIOD_MINUTES = 3
EARLY = HOUR  # before a segment ends: the longest reading of when an endpoint's instances go
SPEED = 200.0
# Real seconds: whatever a story waits for has come by then, or never will.
PATIENCE = 90
TIMES = {"create": "2m", "update": "2m", "scale": "1m", "rollback": "1m", "delete": "1m", "capacity_wait": "5m"}


def plan(name: str = "today", count: int = 2, start: str = "1h", end: str = "49h", **more: Any) -> dict[str, Any]:
    """Return a plan for the capacity file."""
    window = {} if "segments" in more else {"start": start, "end": end}
    return {"name": name, "instance_type": P5, "count": count, "target": "endpoint", **window, **more}


@dataclass(frozen=True)
class Seen:
    """What somebody saw who asked: how often they were answered, how often not, and for how long at most not."""

    answered: int
    failed: int
    gap: float
    configs: tuple[str, ...]


class Caller(threading.Thread):
    """Asks an endpoint 20 times a second of the wall's clock; use it as a context manager."""

    def __init__(self, site: Site, endpoint: str) -> None:
        super().__init__(daemon=True)
        self._site, self._endpoint, self._ended = site, endpoint, threading.Event()
        self._client, self._begun = site.sandbox.client("sagemaker-runtime"), site.now

    def run(self) -> None:
        while not self._ended.wait(0.05):
            try:
                self._client.invoke_endpoint(EndpointName=self._endpoint, Body=b"hello")["Body"].read()
            except (ClientError, BotoCoreError):
                continue  # the sandbox's own log says how it was answered

    def __enter__(self) -> Caller:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self.join()

    @property
    def seen(self) -> Seen:
        """What the sandbox's log says of the requests since the caller began."""
        rows = [row for row in self._site.sandbox.sagemaker.endpoints.invocations(self._endpoint)
                if row["time"] >= self._begun]  # fmt: skip
        answered = [row for row in rows if row["error"] is None]
        failed = [row["time"] for row in rows if row["error"] is not None]
        gaps = [
            after["time"] - before["time"]
            for before, after in pairwise(answered)
            if any(before["time"] < moment < after["time"] for moment in failed)
        ]
        configs = tuple(dict.fromkeys(row["config"] for row in answered))
        return Seen(len(answered), len(failed), max(gaps, default=0.0), configs)


class Site:
    """A sandbox, the stack of reserved endpoints in it, and what happened there.

    Parameters
    ----------
    folder : Path
        Where stacks are synthesized.
    plans : list
        Of the capacity file.
    more
        What else the capacity file says.
    """

    def __init__(self, folder: Path, plans: list[dict[str, Any]], **more: Any) -> None:
        document = {"default_free": 8, "endpoint": TIMES, "plans": plans} | more
        self.sandbox = Sandbox(speed=SPEED, capacity=Capacity.of(document))
        self._counts = {row["name"]: row["count"] for row in plans}
        self._folder, self._deploys = folder, 0
        self._by_hand: set[str] = set()
        self._since = 0.0

    # --- deploying
    def deploy(self, *endpoints: dict[str, Any], held: bool = True, defect: Mapping[str, str] | None = None) -> str:
        """Deploy a stack that declares endpoints, or change it, and return its status.

        Parameters
        ----------
        endpoints
            Properties of `ReservedEndpoint`; ``plan`` by name, ``margin_minutes``.
        held
            Whether it takes no virtual time.
        defect
            What is planted into the code of the functions: texts, and what replaces each.
        """
        self._deploys += 1
        with self.sandbox.clock.held() if held else contextlib.nullcontext():
            app = cdk.App(outdir=str(self._folder / f"cdk{self._deploys}.out"))
            stack = cdk.Stack(app, STACK, env=cdk.Environment(account=ACCOUNT, region=REGION))
            keeper = EndpointKeeper(
                stack, period=cdk.Duration.minutes(PERIOD_MINUTES), notices=sns.CfnTopic(stack, "Notices")
            )
            cdk.CfnOutput(stack, "Table", value=keeper.table_name)
            for number, props in enumerate(endpoints):
                ReservedEndpoint(stack, f"Chat{number}", **_declared(stack, props))
            folder = Path(app.synth().directory)
            template = self._upload(folder, (folder / f"{STACK}.template.json").read_text(), defect or {})
            stacks = self.sandbox.client("cloudformation")
            call = stacks.update_stack if self.status else stacks.create_stack
            call(StackName=STACK, TemplateBody=template, Capabilities=["CAPABILITY_NAMED_IAM"])
            return self.deployed()

    def _upload(self, folder: Path, template: str, defect: Mapping[str, str]) -> str:
        """Upload the assets; return the template, which names the code anew if a defect is in it."""
        for asset in json.loads((folder / f"{STACK}.assets.json").read_text())["files"].values():
            source = folder / asset["source"]["path"]
            body = source.read_bytes()
            for place in asset["destinations"].values():
                key = place["objectKey"]
                if defect and source.suffix == ".zip":
                    key, body = f"{self._deploys}-{key}", planted(body, defect)
                    template = template.replace(place["objectKey"], key)
                self.sandbox.client("s3").put_object(Bucket=BUCKET, Key=key, Body=body)
        return template

    @property
    def status(self) -> str:
        """The stack's status; "" without one."""
        try:
            found = self.sandbox.client("cloudformation").describe_stacks(StackName=STACK)["Stacks"][0]
        except ClientError:
            return ""
        return str(found["StackStatus"])

    @property
    def reasons(self) -> list[str]:
        """Why resources of the stack failed."""
        events = self.sandbox.client("cloudformation").describe_stack_events(StackName=STACK)["StackEvents"]
        return [event.get("ResourceStatusReason", "") for event in events if "FAILED" in event["ResourceStatus"]]

    def deployed(self) -> str:
        return str(self._real(lambda: None if self.status.endswith("IN_PROGRESS") else self.status or "DELETED"))

    def delete(self) -> str:
        """Delete the stack and return its last status."""
        self.sandbox.client("cloudformation").delete_stack(StackName=STACK)
        return self.deployed()

    # --- time
    def begin(self, name: str = "today", *, before: float = 0.0) -> float:
        """Begin a story at the start of a plan, or so many seconds before it; return that start."""
        start = self.segments(name)[0][0]
        assert self.now <= start - before + HOUR, f"the time of the plan {name} has passed: stories go in their order"
        self.go_to(start - before + 1)
        self._since = self.now
        return start

    def ended(self, *, kept: bool = False) -> list[str]:
        """End a story: declare nothing any more, and return everything that must never be and was."""
        status = self.deploy(held=False)
        wrongs = [
            *([] if status == "UPDATE_COMPLETE" else [status, *self.reasons]),
            *self.wrongs(kept=kept),
            *self.left(),
        ]
        return wrongs + [row.name for row in self.table.all()]

    @property
    def now(self) -> float:
        return self.sandbox.clock.now()

    def go_to(self, moment: float) -> None:
        """Skip the time until a moment: nobody sees it."""
        self.sandbox.clock.jump(max(0.0, moment - self.now))

    def until(self, seen: Callable[[], Any], within: float = HOUR) -> float:
        """Wait for something on the running clock; return how many virtual seconds it took."""
        begun, real = self.now, time.monotonic()
        while not seen():
            assert self.now - begun < within, self.told()
            assert time.monotonic() - real < PATIENCE, self.told()
            time.sleep(0.02)
        return self.now - begun

    def runs(self, count: int) -> None:
        """Let the keeper look so often."""
        had = len(self.keeper_runs())
        self._real(lambda: len(self.keeper_runs()) >= had + count)

    def keeper_runs(self) -> list[Any]:
        return [run for run in self.sandbox.lambdas.invocations if "Keeper" in run.function]

    def _real(self, look: Callable[[], Any]) -> Any:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if found := look():
                return found
            time.sleep(0.03)
        raise AssertionError(f"waited {PATIENCE} s in vain: {self.told()}")

    # --- looking, without a request over HTTP: faults are for the functions
    def ask(self, operation: str, **request: Any) -> dict[str, Any]:
        return self.sandbox.sagemaker.handle(operation, request)

    def endpoint(self, name: str = NAME) -> dict[str, Any] | None:
        rows = self.ask("ListEndpoints", NameContains=name)["Endpoints"]
        return self.ask("DescribeEndpoint", EndpointName=name) if any(r["EndpointName"] == name for r in rows) else None

    def serves(self, name: str = NAME, *, model: str | None = None, on: str | None = None) -> bool:
        """Tell whether an endpoint is InService, with a model, on a plan ("" for none)."""
        found = self.endpoint(name)
        if not found or found["EndpointStatus"] != "InService":
            return False
        variant = self.variant(found["EndpointConfigName"])
        plan_arn = variant.get("CapacityReservationConfig", {}).get("MlReservationArn", "")
        return model in (None, variant["ModelName"]) and on in (None, plan_arn.rpartition("/")[2])

    def variant(self, config: str) -> dict[str, Any]:
        """Return the first variant of a configuration, though it be deleted."""
        requests = [r for _, call, r in self.sandbox.sagemaker.requests
                    if call == "CreateEndpointConfig" and r["EndpointConfigName"] == config]  # fmt: skip
        return dict(requests[-1]["ProductionVariants"][0])

    def count(self, name: str = NAME) -> int:
        found = self.endpoint(name)
        return found["ProductionVariants"][0]["CurrentInstanceCount"] if found else 0

    def configs(self) -> set[str]:
        return {row["EndpointConfigName"] for row in self.ask("ListEndpointConfigs")["EndpointConfigs"]}

    def calls(self, operation: str, since: float = 0.0) -> list[dict[str, Any]]:
        """Return the requests of an operation, those that were refused too."""
        return [r for t, call, r in self.sandbox.sagemaker.requests if call == operation and t >= since]

    @property
    def table(self) -> EndpointTable:
        outputs = self.sandbox.client("cloudformation").describe_stacks(StackName=STACK)["Stacks"][0]["Outputs"]
        [name] = [each["OutputValue"] for each in outputs if each["OutputKey"] == "Table"]
        return EndpointTable(self.sandbox.client("dynamodb"), name)

    def item(self, name: str = NAME) -> Any:
        return self.table.read(name)

    def state(self, name: str = NAME) -> str:
        found = self.item(name)
        return found.state if found else ""

    def segments(self, name: str = "today") -> list[tuple[float, float]]:
        """Return the start and the end of a plan's segments."""
        described = self.ask("DescribeTrainingPlan", TrainingPlanName=name)
        return [(part["StartTime"], part["EndTime"]) for part in described["ReservedCapacitySummaries"]]

    def end(self, name: str = "today", segment: int = -1) -> float:
        return self.segments(name)[segment][1]

    def targets(self) -> list[dict[str, Any]]:
        client = self.sandbox.client("application-autoscaling")
        return list(client.describe_scalable_targets(ServiceNamespace="sagemaker")["ScalableTargets"])

    def rows(self) -> list[dict[str, Any]]:
        """Return what happened to endpoints in this story."""
        return [row for row in self.sandbox.sagemaker.endpoints.log() if row["time"] >= self._since]

    def log(self, what: str, name: str = NAME) -> list[dict[str, Any]]:
        return [row for row in self.rows() if (row["what"], row["endpoint"]) == (what, name)]

    def notices(self) -> list[str]:
        """Return what people were told in this story."""
        return [notice.message for notice in self.sandbox.notices if notice.time >= self._since]

    def alarm(self, kind: str, name: str = "Chat0") -> str:
        """Return the state of an alarm of an endpoint."""
        alarms = self.sandbox.client("cloudwatch").describe_alarms()["MetricAlarms"]
        [state] = [row["StateValue"] for row in alarms if f"{name}{kind}" in row["AlarmName"]]
        return str(state)

    def told(self) -> dict[str, Any]:
        """What helps to see why something did not come."""
        runs = self.keeper_runs()
        last = {"runs": len(runs), "log": runs[-1].log[-2000:]} if runs else {}
        rows = (
            [f"{row.name} {row.state}: {row.reason}; {row.calling}" for row in self.table.all()] if self.status else []
        )
        events = [f"{row['time'] - self.now:.0f} {row['what']} {row['config']} {row['reason'] or ''}"
                  for row in self.sandbox.sagemaker.endpoints.log()[-12:]]  # fmt: skip
        return {"stack": self.status, "items": rows, "log": events, "keeper": last}

    def caller(self, name: str = NAME) -> Caller:
        return Caller(self, name)

    # --- by hand
    def by_hand(self, name: str, config: str, model: str = "old", count: int = 2, on: str = "today") -> None:
        """Make an endpoint with a configuration of a fixed name, as somebody did long ago."""
        self._by_hand |= {config}
        client, variant = self.sandbox.client("sagemaker"), {"VariantName": "AllTraffic", "ModelName": model}
        capacity = {"CapacityReservationPreference": "capacity-reservations-only", "MlReservationArn": arn(on)}
        variant |= {"InstanceType": P5, "InitialInstanceCount": count, "CapacityReservationConfig": capacity}
        client.create_endpoint_config(EndpointConfigName=config, ProductionVariants=[variant])
        if self.endpoint(name):
            client.update_endpoint(EndpointName=name, EndpointConfigName=config)
        else:
            client.create_endpoint(EndpointName=name, EndpointConfigName=config)

    # --- oracles: what must never be, in the sandbox's own log
    def wrongs(self, *, kept: bool = False) -> list[str]:
        """Return everything that must never be and was; what is kept may stay on its plan."""
        late = [] if kept else self.past_the_usable_end()
        return [*self.beyond_the_plan(), *self.deleted_in_use(), *late, *self.badly_scaled()]

    def beyond_the_plan(self) -> list[str]:
        """Return where more instances were asked of a plan than it has, or than were free there."""
        names = {row["endpoint"] for row in self.rows()}
        rows = [row for name in names for row in self.sandbox.sagemaker.evaluations(f"endpoint/{name}")]
        asked = [
            f"{row['needed']} instances of {row['training_plan_arn']} wanted, {row['free']} free"
            for row in rows
            if row["time"] >= self._since and row["training_plan_arn"] and row["needed"] > row["free"]
        ]
        variants = [row["ProductionVariants"][0] for row in self.calls("CreateEndpointConfig", self._since)]
        plans = [(row, row.get("CapacityReservationConfig", {}).get("MlReservationArn", "")) for row in variants]
        return asked + [
            f"{row['InitialInstanceCount']} instances declared on {plan_arn}"
            for row, plan_arn in plans
            if plan_arn and row["InitialInstanceCount"] > self._counts[plan_arn.rpartition("/")[2]]
        ]

    def deleted_in_use(self) -> list[str]:
        return [f"{row['reason']} of {row['endpoint']} was deleted in use"
                for row in self.rows()
                if row["what"] == "configuration deleted while in use"]  # fmt: skip

    def past_the_usable_end(self) -> list[str]:
        """Return which endpoint had instances of a plan after they may have gone, whatever the reading is."""
        log, found = self.rows(), []
        for name in dict.fromkeys(row["endpoint"] for row in log):
            rows = [row for row in log if row["endpoint"] == name]
            for row, following in pairwise([*rows, {"time": self.now}]):
                capacity = self.variant(row["config"]).get("CapacityReservationConfig")
                if not capacity or row["what"] in ("deleted", "Failed"):
                    continue
                for start, end in self.segments(capacity["MlReservationArn"].rpartition("/")[2]):
                    if start <= row["time"] < end and following["time"] > end - EARLY:
                        late = following["time"] - (end - EARLY)
                        found.append(f"{name} was {row['what']} on its plan {late:.0f} s past the usable end")
        return found

    def badly_scaled(self) -> list[str]:
        return [f"autoscaling failed to go from {row['from']} to {row['to']}: {row['cause']}"
                for row in self.sandbox.sagemaker.scaling.activities
                if row["status"] != "Successful" and row["time"] >= self._since]  # fmt: skip

    def left(self) -> list[str]:
        """Return what is left of endpoints, besides the configurations that were made by hand."""
        endpoints = [row["EndpointName"] for row in self.ask("ListEndpoints")["Endpoints"]]
        targets = [row["ResourceId"] for row in self.targets()]
        return [*endpoints, *sorted(self.configs() - self._by_hand), *targets]


def arn(name: str) -> str:
    return f"arn:aws:sagemaker:{REGION}:{ACCOUNT}:training-plan/{name}"


def _declared(stack: cdk.Stack, props: dict[str, Any]) -> dict[str, Any]:
    given = {"plan": "today", "model_name": "m1", "instance_count": 2, "on_expiry": OnExpiry.delete()} | props
    name = given.pop("plan")
    imported = TrainingPlan.from_training_plan_arn(
        stack, f"Plan{len(stack.node.children)}", arn(name), instance_type=P5
    )
    margin = cdk.Duration.minutes(given.pop("margin_minutes", 12))
    return {"endpoint_name": NAME, "margin": margin, **given, "plan": imported}


def planted(archive: bytes, defect: Mapping[str, str]) -> bytes:
    """Return the functions' code with a defect in it."""
    buffer, hits = io.BytesIO(), dict.fromkeys(defect, 0)
    with zipfile.ZipFile(io.BytesIO(archive)) as given, zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as made:
        for entry in given.infolist():
            body = given.read(entry)
            if entry.filename.startswith("constructs_lib/model/endpoints"):
                for old, new in defect.items():
                    hits[old] += body.count(old.encode())
                    body = body.replace(old.encode(), new.encode())
            made.writestr(entry, body)
    assert all(hits.values()), hits
    return buffer.getvalue()


@pytest.fixture(scope="module")
def open_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Site]]:
    """Return a function that opens a sandbox with plans in place of the one before: ``open_site([plan(...)])``."""
    opened: list[Site] = []

    def start(plans: list[dict[str, Any]], **more: Any) -> Site:
        while opened:
            opened.pop().sandbox.stop()
        site = Site(tmp_path_factory.mktemp("stack"), plans, **more)
        site.sandbox.start()
        opened.append(site)
        return site

    yield start
    while opened:
        opened.pop().sandbox.stop()


@pytest.fixture(scope="session", name="plan")
def plan_() -> Callable[..., dict[str, Any]]:
    """Return the function that makes a plan for the capacity file."""
    return plan


@pytest.fixture
def gpucap(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str]]:
    """Return a function that runs a command against a site: ``gpucap(site, "endpoint", "status")``."""

    def run(site: Site, *arguments: str) -> tuple[int, str]:
        for name, value in site.sandbox.environment().items():
            monkeypatch.setenv(name, value)
        code = main(list(arguments))
        caught = capsys.readouterr()
        return code, caught.out + caught.err

    return run
