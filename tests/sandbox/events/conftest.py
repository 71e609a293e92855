"""Fixtures for tests of EventBridge and of Scheduler."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest

from constructs_lib.sandbox import Sandbox


@pytest.fixture
def rule(sandbox: Sandbox) -> Any:
    """Make a rule with one target; all of them are disabled after the test."""
    events, names = sandbox.client("events"), []

    def make(pattern: Any, arn: str, bus: str = "default", state: str = "ENABLED", **target: Any) -> str:
        name = f"rule-{uuid.uuid4().hex[:8]}"
        when = {"ScheduleExpression": pattern} if isinstance(pattern, str) else {"EventPattern": json.dumps(pattern)}
        events.put_rule(Name=name, EventBusName=bus, State=state, **when)
        events.put_targets(Rule=name, EventBusName=bus, Targets=[{"Id": "1", "Arn": arn, **target}])
        names.append((name, bus))
        return name

    yield make
    for name, bus in names:
        events.disable_rule(Name=name, EventBusName=bus)
