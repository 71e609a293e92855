"""Functions' own code runs in workers as Lambda would run it."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

from constructs_lib.sandbox import Sandbox

pytestmark = pytest.mark.slow

Make = Callable[..., str]
Invoke = Callable[..., Any]


# ------------------------------------------------------------------------------------------------ what a handler finds


def test_a_handler_gets_its_event_and_its_result_comes_back(make_function: Make, invoke: Invoke) -> None:
    name = make_function("def handler(event, context): return {'got': event, 'text': 'ü'}")
    assert invoke(name, {"a": [1, None, "ü"]}) == {"got": {"a": [1, None, "ü"]}, "text": "ü"}


def test_a_worker_stays_warm_and_keeps_its_module(make_function: Make, invoke: Invoke) -> None:
    name = make_function(
        "import os\ncount = 0\ndef handler(e, c):\n    global count; count += 1; return [os.getpid(), count]"
    )
    (first, one), (second, two) = invoke(name), invoke(name)
    assert (first, one, two) == (second, 1, 2)


def test_changed_code_or_settings_get_a_fresh_worker(
    sandbox: Sandbox, make_function: Make, invoke: Invoke, zipped: Callable[..., bytes]
) -> None:
    client = sandbox.client("lambda")
    name = make_function("import os\ndef handler(e, c): return os.environ.get('WHO', 'nobody')")
    assert invoke(name) == "nobody"
    client.update_function_configuration(FunctionName=name, Environment={"Variables": {"WHO": "somebody"}})
    assert invoke(name) == "somebody"
    client.update_function_code(FunctionName=name, ZipFile=zipped("def handler(e, c): return 'new'"))
    assert invoke(name) == "new"


def test_a_function_sees_what_lambda_brings_and_nothing_else_that_is_installed_here(
    make_function: Make, invoke: Invoke
) -> None:
    name = make_function("""
        import importlib.util
        def handler(names, context): return [name for name in names if importlib.util.find_spec(name)]
    """)
    names = ["boto3", "botocore", "urllib3", "dateutil", "json", "constructs_lib", "moto", "yaml", "aws_cdk", "pytest"]
    assert invoke(name, names) == ["boto3", "botocore", "urllib3", "dateutil", "json"]


def test_the_package_of_the_zip_wins_over_the_repository(
    sandbox: Sandbox, make_function: Make, invoke: Invoke, zipped: Callable[..., bytes]
) -> None:
    name = make_function("def handler(e, c): return None")
    files = {"constructs_lib/__init__": "here = 'zip'"}
    code = zipped("import constructs_lib\ndef handler(e, c): return constructs_lib.here", **files)
    sandbox.client("lambda").update_function_code(FunctionName=name, ZipFile=code)
    assert invoke(name) == "zip"


def test_a_handler_may_lie_in_a_package(
    sandbox: Sandbox, make_function: Make, invoke: Invoke, zipped: Callable[..., bytes]
) -> None:
    name = make_function("def handler(e, c): return None", Handler="package/module.run")
    code = zipped(**{"package/__init__": "", "package/module": "def run(e, c): return __name__"})
    sandbox.client("lambda").update_function_code(FunctionName=name, ZipFile=code)
    assert invoke(name) == "package.module"


def test_the_context_object_and_the_environment_are_lambdas(make_function: Make, invoke: Invoke) -> None:
    name = make_function(
        """
        import os
        def handler(event, context):
            names = ["function_name", "function_version", "invoked_function_arn", "memory_limit_in_mb"]
            names.append("log_group_name")
            keys = ["AWS_REGION", "AWS_LAMBDA_FUNCTION_NAME", "_HANDLER", "MINE", "ROOT"]
            return {
                **{name: getattr(context, name) for name in names},
                **{key: os.environ[key] for key in keys},
                "id": len(context.aws_request_id),
                "left": context.get_remaining_time_in_millis(),
                "root": os.environ["LAMBDA_TASK_ROOT"],
            }
        """,
        MemorySize=512,
        Environment={"Variables": {"MINE": "yes", "ROOT": "/var/task/data"}},
    )
    got = invoke(name)
    left, root = got.pop("left"), got.pop("root")
    assert got == {
        "function_name": name,
        "function_version": "$LATEST",
        "invoked_function_arn": f"arn:aws:lambda:us-east-1:123456789012:function:{name}",
        "memory_limit_in_mb": "512",
        "log_group_name": f"/aws/lambda/{name}",
        "AWS_REGION": "us-east-1",
        "AWS_LAMBDA_FUNCTION_NAME": name,
        "_HANDLER": "index.handler",
        "MINE": "yes",
        "ROOT": f"{root}/data",
        "id": 36,
    }
    assert 50_000 < left <= 60_000


def test_a_plain_client_in_a_handler_talks_to_the_sandbox(
    sandbox: Sandbox, make_function: Make, invoke: Invoke
) -> None:
    name = make_function("""
        import boto3
        def handler(event, context):
            boto3.client("sns").create_topic(Name="from-a-handler")
            return boto3.client("sts").get_caller_identity()["Account"]
    """)
    assert invoke(name) == "123456789012"
    assert any(t["TopicArn"].endswith(":from-a-handler") for t in sandbox.client("sns").list_topics()["Topics"])


# ---------------------------------------------------------------------------------------------------------------- time


def test_a_handler_lives_in_virtual_time(sandbox: Sandbox, make_function: Make, invoke: Invoke) -> None:
    name = make_function("""
        import datetime, time
        from datetime import datetime as early
        def handler(event, context):
            utc = datetime.timezone.utc
            return [time.time(), time.time_ns() / 1e9,
                    datetime.datetime.now(utc).timestamp(), early.now(utc).timestamp(),
                    datetime.datetime.utcnow().replace(tzinfo=utc).timestamp(), time.mktime(time.localtime()),
                    isinstance(datetime.datetime.now(), datetime.datetime), datetime.date.today().isoformat(),
                    time.strftime("%Y-%m-%d"), time.gmtime().tm_year]
    """)
    sandbox.clock.jump(400 * 86400)
    before = sandbox.clock.now()
    *moments, same, today, text, year = invoke(name)
    after = sandbox.clock.now()
    assert all(before - 1 <= moment <= after for moment in moments), (before, moments, after)
    assert (same, today, text, year) == (
        True,
        sandbox.clock.iso()[:10],
        sandbox.clock.iso()[:10],
        int(sandbox.clock.iso()[:4]),
    )


def test_a_sleep_costs_virtual_time_and_no_real_time(make_function: Make, invoke: Invoke) -> None:
    name = make_function("""
        import time
        def handler(seconds, context):
            start = time.time(); time.sleep(seconds)
            return [time.time() - start, context.get_remaining_time_in_millis()]
    """)
    invoke(name, 0)
    start = time.monotonic()
    slept, left = invoke(name, 30)
    assert time.monotonic() - start < 2
    assert 30 <= slept < 45
    assert 15_000 < left <= 30_000


def test_work_costs_no_more_virtual_time_than_real_time(sandbox: Sandbox, make_function: Make, invoke: Invoke) -> None:
    name = make_function("""
        import time
        def handler(event, context):
            first, end = time.time(), time.monotonic() + 0.3
            while time.monotonic() < end: pass
            return time.time() - first
    """)
    assert 0.3 <= invoke(name) < 1.0


def test_a_handler_that_waits_for_another_lets_it_sleep_at_full_speed(
    sandbox: Sandbox, make_function: Make, invoke: Invoke
) -> None:
    inner = make_function("import time\ndef handler(e, c): time.sleep(50)")
    outer = make_function(f"""
        import boto3
        def handler(event, context):
            return boto3.client("lambda").invoke(FunctionName="{inner}")["StatusCode"]
    """)
    invoke(inner)
    start = time.monotonic()
    assert invoke(outer) == 200
    assert time.monotonic() - start < 10


# -------------------------------------------------------------------------------------------------------------- failing


@pytest.mark.parametrize(
    ("code", "kind", "words"),
    [
        ("def handler(e, c): return {}['x']", "KeyError", "'x'"),
        ("def handler(e, c): return object()", "Runtime.MarshalError", "Unable to marshal response"),
        ("import nothing_like_that\ndef handler(e, c): pass", "Runtime.ImportModuleError", "nothing_like_that"),
        ("def other(e, c): pass", "Runtime.HandlerNotFound", "Handler 'handler' missing on module 'index'"),
        ("def handler(e, c) pass", "Runtime.UserCodeSyntaxError", "Syntax error in module 'index'"),
        ("1 / 0", "ZeroDivisionError", "division by zero"),
        ("import sys\ndef handler(e, c): sys.exit(3)", "Runtime.ExitError", "exit status 3"),
        ("import os\ndef handler(e, c): os.kill(os.getpid(), 9)", "Runtime.ExitError", "signal: killed"),
    ],
)
def test_each_way_to_fail_is_reported_as_lambda_reports_it(
    sandbox: Sandbox, make_function: Make, invoke: Invoke, code: str, kind: str, words: str
) -> None:
    name = make_function(code)
    answer = sandbox.client("lambda").invoke(FunctionName=name)
    payload = json.loads(answer["Payload"].read())
    assert (answer["StatusCode"], answer["FunctionError"], payload["errorType"]) == (200, "Unhandled", kind)
    assert words in payload["errorMessage"]
    assert invoke(name)["errorType"] == kind  # again, from a fresh worker if the last one is gone


def test_a_handlers_error_shows_where_it_was_raised(make_function: Make, invoke: Invoke) -> None:
    name = make_function("def helper(): raise ValueError('no')\ndef handler(e, c): helper()")
    error = invoke(name)
    assert error["errorMessage"] == "no"
    assert [("helper" in frame, "index.py" in frame) for frame in error["stackTrace"]] == [(True, True), (True, True)]


def test_a_handler_over_its_time_limit_is_killed_and_the_next_one_starts_fresh(
    make_function: Make, invoke: Invoke
) -> None:
    name = make_function(
        """
        import time
        count = 0
        def handler(seconds, context):
            global count
            count += 1
            time.sleep(seconds)
            return count
        """,
        Timeout=30,
    )
    assert invoke(name, 20) == 1
    error = invoke(name, 31)
    assert error["errorType"] == "Sandbox.Timedout"
    assert error["errorMessage"].endswith("Task timed out after 30.00 seconds")
    assert invoke(name, 0) == 1


def test_a_busy_handler_is_killed_by_the_walls_clock(make_function: Make, invoke: Invoke) -> None:
    name = make_function("def handler(e, c):\n    while True: pass", Timeout=1)
    start = time.monotonic()
    assert invoke(name)["errorType"] == "Sandbox.Timedout"
    assert time.monotonic() - start == pytest.approx(1, abs=0.9)


def test_a_jump_of_the_clock_times_nobody_out(sandbox: Sandbox, make_function: Make, invoke: Invoke) -> None:
    name = make_function(
        "import time\ndef handler(e, c):\n    end = time.monotonic() + 0.5\n    while time.monotonic() < end: pass"
    )
    threading.Timer(0.2, sandbox.clock.jump, args=(86400,)).start()
    assert invoke(name) is None


@pytest.mark.parametrize("runtime", ["nodejs20.x", "java21"])
def test_other_runtimes_fail_in_words(make_function: Make, invoke: Invoke, runtime: str) -> None:
    error = invoke(make_function("", Runtime=runtime))
    assert (error["errorType"], error["errorMessage"]) == (
        "Sandbox.Unsupported",
        f"the sandbox does not run {runtime}: only python runtimes",
    )


def test_an_unknown_function_is_not_found(sandbox: Sandbox) -> None:
    with pytest.raises(ClientError, match="ResourceNotFoundException"):
        sandbox.client("lambda").invoke(FunctionName="nobody")


# ----------------------------------------------------------------------------------------------------------------- logs


def test_what_a_function_writes_is_in_its_log_group(sandbox: Sandbox, make_function: Make, invoke: Invoke) -> None:
    name = make_function("""
        import logging, os, sys
        logging.getLogger().setLevel(logging.INFO)
        def handler(event, context):
            print("printed"); sys.stderr.write("to stderr\\n"); logging.info("logged"); os.system("echo from a child")
            if event: os._exit(1)
    """)
    before = int(sandbox.clock.now() * 1000)
    invoke(name)
    events = sandbox.client("logs").filter_log_events(logGroupName=f"/aws/lambda/{name}")["events"]
    lines = [event["message"] for event in events]
    assert lines[0].startswith("START RequestId: ")
    assert lines[-2].startswith("END RequestId: ")
    assert lines[-1].startswith("REPORT RequestId: ")
    assert {"printed", "to stderr", "from a child"} <= set(lines)
    assert any(line.startswith("[INFO]") and line.endswith("logged") for line in lines)
    assert all(before <= event["timestamp"] <= sandbox.clock.now() * 1000 for event in events)
    invoke(name, True)
    events = sandbox.client("logs").filter_log_events(logGroupName=f"/aws/lambda/{name}")["events"]
    assert [event["message"] for event in events].count("printed") == 2  # a crash loses no line


def test_a_function_may_log_to_a_group_of_its_own(sandbox: Sandbox, make_function: Make, invoke: Invoke) -> None:
    name = make_function("def handler(e, c): print('here')", LoggingConfig={"LogGroup": "/mine"})
    invoke(name)
    messages = [e["message"] for e in sandbox.client("logs").filter_log_events(logGroupName="/mine")["events"]]
    assert "here" in messages


def test_the_log_tail_comes_with_the_answer_when_asked_for(sandbox: Sandbox, make_function: Make) -> None:
    name = make_function("def handler(e, c): print('tail')")
    answer = sandbox.client("lambda").invoke(FunctionName=name, LogType="Tail")
    assert "tail\nEND RequestId" in base64.b64decode(answer["LogResult"]).decode()
    assert "LogResult" not in sandbox.client("lambda").invoke(FunctionName=name)
