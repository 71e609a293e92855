"""The front, the faults in it, and starting and stopping."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError, ConnectionClosedError

from constructs_lib.sandbox import Late, Sandbox, SandboxError

pytestmark = pytest.mark.slow

REFUSED = ("ThrottlingException", "slow down <please>", 429)


def ask(sandbox: Sandbox, what: str, body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(f"{sandbox.url}/_sandbox/{what}", data=data) as answer:
        return json.load(answer)


def make_table(sandbox: Sandbox, name: str) -> None:
    sandbox.client("dynamodb").create_table(
        TableName=name,
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
    )


# One call of each protocol: JSON, Query, EC2, REST JSON, REST XML, CBOR.
CALLS: list[tuple[str, str, Callable[[Any], Any]]] = [
    ("sagemaker", "ListTrainingJobs", lambda client: client.list_training_jobs()),
    ("stepfunctions", "ListStateMachines", lambda client: client.list_state_machines()),
    ("dynamodb", "ListTables", lambda client: client.list_tables()),
    ("events", "ListRules", lambda client: client.list_rules()),
    ("ssm", "GetParameter", lambda client: client.get_parameter(Name="/cdk-bootstrap/hnb659fds/version")),
    ("cloudformation", "DescribeStacks", lambda client: client.describe_stacks()),
    ("sns", "ListTopics", lambda client: client.list_topics()),
    ("iam", "ListRoles", lambda client: client.list_roles()),
    ("ec2", "DescribeVpcs", lambda client: client.describe_vpcs()),
    ("lambda", "ListFunctions", lambda client: client.list_functions()),
    ("scheduler", "ListSchedules", lambda client: client.list_schedules()),
    ("s3", "ListBuckets", lambda client: client.list_buckets()),
    ("cloudwatch", "DescribeAlarms", lambda client: client.describe_alarms()),
]


@pytest.mark.parametrize(("service", "operation", "call"), CALLS, ids=[service for service, *_ in CALLS])
def test_an_error_before_a_call_is_worded_as_its_protocol_words_it(
    sandbox: Sandbox, service: str, operation: str, call: Callable[[Any], Any]
) -> None:
    sandbox.faults.add(service, operation, error=REFUSED)
    with pytest.raises(ClientError) as raised:
        call(sandbox.client(service))
    error = raised.value.response
    assert (error["Error"]["Code"], error["Error"]["Message"]) == REFUSED[:2]
    assert error["ResponseMetadata"]["HTTPStatusCode"] == 429
    assert raised.value.operation_name == operation
    call(sandbox.client(service))  # the next one passes


def test_a_call_that_failed_before_never_reached_its_service(sandbox: Sandbox) -> None:
    sandbox.faults.add("dynamodb", "CreateTable", error=REFUSED)
    with pytest.raises(ClientError):
        make_table(sandbox, "never")
    assert "never" not in sandbox.client("dynamodb").list_tables()["TableNames"]


@pytest.mark.parametrize("error", [REFUSED, "drop"], ids=["error", "drop"])
def test_a_call_that_failed_after_took_effect(sandbox: Sandbox, error: Any) -> None:
    name = "kept-drop" if error == "drop" else "kept-error"
    sandbox.faults.add("dynamodb", "CreateTable", when="after", error=error)
    with pytest.raises((ClientError, ConnectionClosedError)):
        make_table(sandbox, name)
    assert name in sandbox.client("dynamodb").list_tables()["TableNames"]
    assert sandbox.faults.hits["dynamodb.CreateTable", "after"] >= 1


def test_a_dropped_call_gets_no_answer(sandbox: Sandbox) -> None:
    sandbox.faults.add("sagemaker", "ListTrainingJobs", error="drop")
    with pytest.raises(ConnectionClosedError):
        sandbox.client("sagemaker").list_training_jobs()


def test_a_late_call_loses_its_caller_and_takes_effect_afterwards(
    sandbox: Sandbox, eventually: Callable[..., Any]
) -> None:
    sandbox.faults.add("dynamodb", "CreateTable", error=Late(600))
    before = sandbox.clock.now()
    with pytest.raises(ConnectionClosedError):
        make_table(sandbox, "late")
    tables = sandbox.client("dynamodb").list_tables
    assert "late" not in tables()["TableNames"]
    assert sandbox.clock.now() < before + 600
    eventually(lambda: "late" in tables()["TableNames"])
    assert sandbox.clock.now() >= before + 600


def test_a_delay_takes_virtual_time_and_then_goes_on(sandbox: Sandbox) -> None:
    sandbox.faults.add("sagemaker", "ListTrainingJobs", error=120)
    sandbox.faults.add("sagemaker", "ListTrainingJobs", error=REFUSED)
    before = sandbox.clock.now()
    with pytest.raises(ClientError, match="slow down"):
        sandbox.client("sagemaker").list_training_jobs()
    assert sandbox.clock.now() - before >= 120


def test_a_fault_sees_the_parameters_of_every_kind_of_request(sandbox: Sandbox) -> None:
    seen: list[dict[str, Any]] = []

    def look(request: dict[str, Any]) -> bool:
        seen.append(request)
        return False

    for service, operation in [
        ("dynamodb", "ListTables"),
        ("sns", "CreateTopic"),
        ("lambda", "GetFunction"),
        ("s3", "PutObject"),
    ]:
        sandbox.faults.add(service, operation, error="drop", match=look, times=None)
    sandbox.client("dynamodb").list_tables(Limit=7)
    sandbox.client("sns").create_topic(Name="topic")
    with pytest.raises(ClientError, match="Function not found"):
        sandbox.client("lambda").get_function(FunctionName="nobody")
    sandbox.client("s3").put_object(Bucket="cdk-hnb659fds-assets-123456789012-us-east-1", Key="a/b", Body=b"x")
    assert [
        request.get("Limit") or request.get("Name") or request.get("FunctionName") or request.get("Key")
        for request in seen
    ] == [7, "topic", "nobody", "a/b"]


def test_each_call_is_kept_with_its_time_and_status(sandbox: Sandbox) -> None:
    before = sandbox.clock.now()
    with pytest.raises(ClientError):
        sandbox.client("ssm").get_parameter(Name="/nobody")
    latest = sandbox.requests[-1]
    assert (latest.service, latest.operation, latest.request, latest.status) == (
        "ssm",
        "GetParameter",
        {"Name": "/nobody"},
        400,
    )
    assert before <= latest.time <= sandbox.clock.now()
    assert ask(sandbox, "requests")[-1]["operation"] == "GetParameter"


def test_time_can_be_asked_for_slept_and_advanced_over_http(sandbox: Sandbox) -> None:
    first = ask(sandbox, "now")
    assert first["now"] == pytest.approx(sandbox.clock.now(), abs=600)
    assert ask(sandbox, "advance", {"seconds": 86400})["now"] >= first["now"] + 86400
    assert ask(sandbox, "sleep", {"seconds": 60})["now"] >= first["now"] + 86460
    assert ask(sandbox, "health")["status"] == "running"


@pytest.mark.parametrize(
    ("what", "body", "words"),
    [
        ("advance", {"seconds": "soon"}, "virtual seconds as a JSON body"),
        ("advance", {"seconds": -5}, "only moves forward"),
        ("advance", [], "virtual seconds as a JSON body"),
        ("rewind", {}, "use one of now, sleep, advance, health, requests"),
    ],
)
def test_a_bad_control_request_is_answered_in_words(sandbox: Sandbox, what: str, body: Any, words: str) -> None:
    with pytest.raises(urllib.error.HTTPError) as raised:
        ask(sandbox, what, body)
    assert raised.value.code in (400, 404)
    assert words in json.load(raised.value)["message"]


def test_moto_tells_virtual_time(sandbox: Sandbox) -> None:
    sandbox.clock.jump(10 * 86400)
    made = sandbox.client("iam").create_role(RoleName="late", AssumeRolePolicyDocument="{}")["Role"]["CreateDate"]
    assert made.timestamp() == pytest.approx(sandbox.clock.now(), abs=600)


def test_the_environment_points_a_plain_sdk_at_the_sandbox(sandbox: Sandbox) -> None:
    code = "import boto3; print(boto3.client('sts').get_caller_identity()['Account'])"
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"} | sandbox.environment()
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "123456789012"


def test_what_cdk_bootstrap_makes_is_there(sandbox: Sandbox) -> None:
    version = sandbox.client("ssm").get_parameter(Name="/cdk-bootstrap/hnb659fds/version")["Parameter"]["Value"]
    assert int(version) >= 6
    sandbox.client("s3").head_bucket(Bucket="cdk-hnb659fds-assets-123456789012-us-east-1")


def test_a_failure_inside_the_sandbox_is_an_answer_and_is_logged(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sandbox.sagemaker, "handle", lambda *_: {}["gone"])
    with pytest.raises(ClientError, match="the sandbox failed: KeyError"):
        sandbox.client("sagemaker").list_training_jobs()
    assert "sagemaker.ListTrainingJobs failed inside the sandbox" in caplog.text


def test_a_call_that_the_sandbox_lacks_is_refused_in_words_without_a_traceback(
    sandbox: Sandbox, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ClientError, match="lacks this") as refused:
        sandbox.client("cloudtrail").lookup_events()
    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 501
    assert "Traceback" not in capfd.readouterr().err


def test_a_second_sandbox_in_one_process_is_refused_in_words(sandbox: Sandbox) -> None:
    with pytest.raises(SandboxError, match="another sandbox runs in this process"):
        Sandbox().start()


# What follows runs in processes of its own, as starting and stopping is about the whole process.
ROOT = Path(__file__).parents[2]


def run(code: str) -> str:
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_is_ready_within_4_seconds_of_work_and_half_a_gigabyte() -> None:
    out = run("""
        import re, time; start = time.monotonic()
        import urllib.request
        from pathlib import Path
        from constructs_lib.sandbox import Sandbox
        with Sandbox() as sandbox:
            urllib.request.urlopen(sandbox.url + "/_sandbox/health").read()
            most = re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]
            print(time.monotonic() - start, time.process_time(), most)
    """)
    wall, work, kilobytes = map(float, out.split())
    print(f"ready after {wall:.2f} s, of which {work:.2f} s are work, with {kilobytes / 1024:.0f} MB")
    assert work < 4  # the wall's time depends on who else uses the machine
    assert kilobytes < 500 * 1024


TWO_ROUNDS = """
    import io, json, os, threading, time, urllib.request, zipfile
    from constructs_lib.sandbox import Sandbox

    def package(code):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.writestr("index.py", code)
        return {"ZipFile": buffer.getvalue()}

    def gone(look):
        try: look()
        except OSError: return True

    before = set(os.environ)
    for round in range(2):
        sandbox = Sandbox(speed=600).start()
        iam, client = sandbox.client("iam"), sandbox.client("lambda")
        assert iam.list_roles()["Roles"] == [], "state of the last sandbox"
        role = iam.create_role(RoleName="r", AssumeRolePolicyDocument="{}")["Role"]["Arn"]
        code = "import os, time\\ndef handler(seconds, _):\\n    time.sleep(seconds)\\n    return os.getpid()"
        client.create_function(FunctionName="f", Runtime="python3.11", Role=role, Handler="index.handler", Timeout=900,
                               Code=package(code))
        pid = json.loads(client.invoke(FunctionName="f", Payload=b"0")["Payload"].read())
        os.kill(pid, 0)
        # What would still run for a long time: a delayed call, a sleeping function, a timer.
        sandbox.faults.add("sagemaker", "ListTrainingJobs", error=1e9)
        threading.Thread(target=lambda: gone(sandbox.client("sagemaker").list_training_jobs), daemon=True).start()
        client.invoke(FunctionName="f", InvocationType="Event", Payload=b"800")
        sandbox.clock.call_at(sandbox.clock.now() + 1e6, print)
        time.sleep(0.3)
        start = time.monotonic()
        sandbox.stop()
        took = time.monotonic() - start
        sandbox.stop()
        assert took < 4, took  # less than the patience with threads that do not end
        left = [t.name for t in threading.enumerate() if t.name.startswith("sandbox") or "request" in t.name]
        assert not left, left
        assert gone(lambda: os.kill(pid, 0)), "a worker lives"
        assert gone(lambda: urllib.request.urlopen(sandbox.url)), "the port answers"
        assert set(os.environ) == before, set(os.environ) ^ before
    print("clean")
"""


def test_it_leaves_no_thread_process_port_or_state_behind() -> None:
    assert run(TWO_ROUNDS).strip() == "clean"


def test_a_port_in_use_is_refused_in_words_and_can_be_tried_again() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        out = run(f"""
            from constructs_lib.sandbox import Sandbox, SandboxError
            try: Sandbox(port={port}).start()
            except SandboxError as error: print(error)
            with Sandbox() as sandbox: print("started")
        """)
    assert f"cannot listen on 127.0.0.1:{port}" in out
    assert out.strip().endswith("started")


def test_wait_returns_once_the_sandbox_is_stopped() -> None:
    out = run("""
        import threading
        from constructs_lib.sandbox import Sandbox
        sandbox = Sandbox().start()
        threading.Timer(0.2, sandbox.stop).start()
        sandbox.wait(); print("over")
    """)
    assert out.strip() == "over"


def test_ctrl_c_stops_a_waiting_sandbox() -> None:
    code = (
        "from constructs_lib.sandbox import Sandbox\n"
        "sandbox = Sandbox().start(); print(sandbox.url, flush=True); sandbox.wait(); print('over')\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        process.stdout.readline()
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    assert out.strip() == "over"
    assert process.returncode == 0
