"""Many executions that wait cost threads and memory, and no time of the processor."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from constructs_lib.sandbox import Sandbox
from constructs_lib.sandbox.states import engine

pytestmark = pytest.mark.slow

MANY = 300


def _threads() -> int:
    return sum(thread.name.startswith("states-") for thread in threading.enumerate())


def test_hundreds_of_executions_wait_for_tokens_on_one_idle_thread_each(
    sandbox: Sandbox, sfn: Any, machine: Any, eventually: Any
) -> None:
    resource = "arn:aws:states:::aws-sdk:eventbridge:listEventBuses.waitForTaskToken"
    task = {"Type": "Task", "Resource": resource, "TimeoutSeconds": 86_400_000, "Parameters": {}, "End": True}
    arn = machine({"T": task})
    with sandbox.clock.held(), ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: sfn.start_execution(stateMachineArn=arn), range(MANY)))
        tokens = engine.current().tokens
        eventually(lambda: len(engine.current().running) == len(tokens.open_texts()) == MANY, 60)
        eventually(lambda: _threads() == MANY, 60)
        before = time.process_time()
        time.sleep(2)
        assert time.process_time() - before < 0.5
        list(pool.map(lambda text: sfn.send_task_success(taskToken=text, output="{}"), tokens.open_texts()))
        eventually(lambda: not engine.current().running, 60)
        eventually(lambda: not _threads(), 60)
