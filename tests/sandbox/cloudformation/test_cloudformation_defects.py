"""Planted defects: each is seen by a short run of the kind that the other tests make."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from constructs_lib.sandbox.cloudformation import operation, schedule, steps
from constructs_lib.sandbox.cloudformation.registry import Facts, Registry
from constructs_lib.sandbox.cloudformation.resources import custom
from constructs_lib.sandbox.cloudformation.stacks import Journal

pytestmark = pytest.mark.slow

BAD = {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "Nonsense", "Value": "v"}}


def queue(**properties: Any) -> dict[str, Any]:
    return {"Type": "AWS::SQS::Queue", "Properties": properties}


def thing(cloud: Any, **properties: Any) -> dict[str, Any]:
    def handler(event: dict[str, Any]) -> dict[str, Any]:
        wanted = event["ResourceProperties"]
        return {"PhysicalResourceId": wanted.get("Id", "one"), "Status": wanted.get("Answer", "SUCCESS"), "Reason": "r"}

    return {"Type": "Custom::Thing", "Properties": {"ServiceToken": cloud.function("thing", handler), **properties}}


def sent(cloud: Any) -> list[tuple[str, str, str]]:
    return [
        (event["RequestType"], event.get("PhysicalResourceId", ""), event["ResourceProperties"].get("A", ""))
        for event in cloud.delivered
    ]


def taken_back(cloud: Any, name: str) -> Any:
    """A replaced queue after a failed update."""
    cloud.create(name, {"Resources": {"Queue": queue()}})
    before = cloud.physical(name)
    after = {"Queue": queue(QueueName=f"{name}-new"), "Bad": {**BAD, "DependsOn": "Queue"}}
    cloud.update(name, {"Resources": after})
    return cloud.physical(name) == before


def swapped(cloud: Any, name: str) -> Any:
    """What a custom resource is sent when its update fails."""
    cloud.create(name, {"Resources": {"Thing": thing(cloud, A="1")}})
    cloud.update(name, {"Resources": {"Thing": thing(cloud, A="2", Answer="FAILED")}})
    return sent(cloud)


def untouched(cloud: Any, name: str) -> Any:
    """Calls for a queue that an update does not change."""
    cloud.create(name, {"Resources": {"Queue": queue(DelaySeconds=1)}})
    cloud.calls.clear()
    cloud.update(name, {"Resources": {"Queue": queue(DelaySeconds=1)}, "Outputs": {"O": {"Value": "1"}}})
    return cloud.history(name, "Queue")


def ordered(cloud: Any, name: str) -> Any:
    """Whether what needs a custom resource waits for it."""

    def handler(_: dict[str, Any]) -> dict[str, Any]:
        time.sleep(0.1)
        return {}

    slow = {"Type": "Custom::Slow", "Properties": {"ServiceToken": cloud.function("slow", handler)}}
    user = {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": {"Ref": "Slow"}}}
    return cloud.create(name, {"Resources": {"User": user, "Slow": slow}})


def cleaned(cloud: Any, name: str) -> Any:
    """What a custom resource is sent when it takes another physical ID."""
    cloud.create(name, {"Resources": {"Thing": thing(cloud, A="1", Id="a")}})
    cloud.update(name, {"Resources": {"Thing": thing(cloud, A="2", Id="b")}})
    return sent(cloud)


def kept(cloud: Any, name: str) -> Any:
    """Whether a retained custom resource hears of its stack's deletion."""
    cloud.create(name, {"Resources": {"Thing": {**thing(cloud), "DeletionPolicy": "Retain"}}})
    cloud.delete(name)
    return [kind for kind, *_ in sent(cloud)]


def as_text(cloud: Any, name: str) -> Any:
    """How a boolean arrives."""
    cloud.create(name, {"Resources": {"Thing": thing(cloud, Flag=True)}})
    return cloud.delivered[0]["ResourceProperties"]["Flag"]


def replaced(cloud: Any, name: str) -> Any:
    """Whether a new queue name makes a new queue."""
    cloud.create(name, {"Resources": {"Queue": queue()}})
    before = cloud.physical(name)
    cloud.update(name, {"Resources": {"Queue": queue(QueueName=f"{name}-new")}})
    return cloud.physical(name) != before


def removed(cloud: Any, name: str) -> Any:
    """What is left of a create that failed."""
    cloud.create(name, {"Resources": {"Queue": queue(), "Bad": {**BAD, "DependsOn": "Queue"}}})
    return cloud.client("sqs").list_queues(QueueNamePrefix=f"{name}-").get("QueueUrls", [])


def counted(cloud: Any, name: str) -> Any:
    """How often an event is delivered."""
    cloud.create(name, {"Resources": {"Thing": thing(cloud)}})
    return len(cloud.delivered)


def _no_dependencies(board: Any) -> str | None:
    name = board._waiting.pop(0) if board._waiting else None
    board.running |= {name} - {None}
    return name


def _invoke_twice(event: dict[str, Any], request: Any) -> None:
    for _ in range(2):
        request.client("lambda").invoke(
            FunctionName=event["ServiceToken"], InvocationType="Event", Payload=json.dumps(event).encode()
        )


COUNT = itertools.count()
Run = Callable[[Any, str], Any]
DEFECTS: list[tuple[Run, Any, str, Any]] = [
    (taken_back, Journal, "replaced", lambda self, resource: self.discard(resource)),
    (swapped, operation.Operation, "roll_back", lambda self, reason, skip=(): self.stack.move("UPDATE_FAILED", reason)),
    (
        untouched,
        Registry,
        "with_tags",
        lambda self, kind, properties, tags: {**properties, "DelaySeconds": next(COUNT)},
    ),
    (ordered, schedule._Board, "take", _no_dependencies),
    (cleaned, Journal, "replaced", lambda self, resource: None),
    (kept, steps.Steps, "skip", lambda self, resource: self.delete(resource)),
    (as_text, custom, "as_strings", lambda value: value),
    (replaced, Facts, "replaces", lambda self, old, new: []),
    (removed, operation.Operation, "_delete", lambda self, resources, keeps, clean=False: set()),
    (counted, custom, "_invoke", _invoke_twice),
]


@pytest.mark.parametrize(
    ("run", "owner", "name", "defect"), DEFECTS, ids=[f"{run.__name__}-{name}" for run, _, name, _ in DEFECTS]
)
def test_a_planted_defect_is_seen(
    cloud: Any, monkeypatch: pytest.MonkeyPatch, run: Run, owner: Any, name: str, defect: Any
) -> None:
    number = DEFECTS.index((run, owner, name, defect))
    right = run(cloud, f"right{number}")
    cloud.delivered.clear()
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, defect)
        wrong = run(cloud, f"wrong{number}")
    assert wrong != right
