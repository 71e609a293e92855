"""Fixtures for tests that need the sandbox."""

from __future__ import annotations

import io
import json
import textwrap
import time
import uuid
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from constructs_lib.sandbox import Sandbox

SPEED = 600.0


@pytest.fixture(scope="module")
def running() -> Iterator[Sandbox]:
    """One sandbox for a test module."""
    with Sandbox(speed=SPEED) as sandbox:
        yield sandbox


@pytest.fixture
def sandbox(running: Sandbox) -> Iterator[Sandbox]:
    """The module's sandbox, with no planned failure before or after the test."""
    running.faults.clear()
    yield running
    left = [fault for fault in running.faults.pending() if fault.times is not None]
    running.faults.clear()
    assert not left, f"planned failures that never happened: {left}"


@pytest.fixture(scope="module")
def role_arn(running: Sandbox) -> str:
    """A role that functions and machines can be given."""
    iam = running.client("iam")
    return str(iam.create_role(RoleName="tester", AssumeRolePolicyDocument="{}")["Role"]["Arn"])


@pytest.fixture
def zipped() -> Callable[..., bytes]:
    """Zip text files given as ``name=text``; the code of ``index.py`` may come first."""

    def zip_files(code: str = "", /, **files: str) -> bytes:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for name, text in {"index": code, **files}.items():
                archive.writestr(f"{name}.py", textwrap.dedent(text))
        return buffer.getvalue()

    return zip_files


@pytest.fixture
def make_function(sandbox: Sandbox, role_arn: str, zipped: Callable[..., bytes]) -> Callable[..., str]:
    """Create a Lambda function from the text of its index.py and return its name."""

    def make(code: str, **config: Any) -> str:
        name = f"f-{uuid.uuid4().hex[:8]}"
        settings = {"Runtime": "python3.13", "Handler": "index.handler", "Role": role_arn, "Timeout": 60} | config
        sandbox.client("lambda").create_function(FunctionName=name, Code={"ZipFile": zipped(code)}, **settings)
        return name

    return make


@pytest.fixture
def invoke(sandbox: Sandbox) -> Callable[..., Any]:
    """Invoke a function synchronously; return its decoded payload, which has errorType if it failed."""

    def call(name: str, event: Any = None) -> Any:
        answer = sandbox.client("lambda").invoke(FunctionName=name, Payload=json.dumps(event).encode())
        return json.loads(answer["Payload"].read())

    return call


@pytest.fixture
def eventually() -> Callable[..., Any]:
    """Call a function until it returns something true, for at most some real seconds."""

    def wait(look: Callable[[], Any], seconds: float = 15.0) -> Any:
        deadline = time.monotonic() + seconds
        while not (value := look()):
            assert time.monotonic() < deadline, f"nothing within {seconds} s"
            time.sleep(0.02)
        return value

    return wait


@pytest.fixture
def recorder(make_function: Callable[..., str], sandbox: Sandbox) -> Callable[[], tuple[str, Callable[[], list[Any]]]]:
    """Make a function that only returns its event; the second value lists the events it has received."""

    def make(**config: Any) -> tuple[str, Callable[[], list[Any]]]:
        name = make_function("def handler(event, context): return event", **config)
        arn = sandbox.client("lambda").get_function(FunctionName=name)["Configuration"]["FunctionArn"]
        return arn, lambda: [run.event for run in list(sandbox.lambdas.invocations) if run.function == name]

    return make
