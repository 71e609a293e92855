"""Any history of creates, updates and deletes with failures anywhere: the stack always knows what exists."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from constructs_lib.sandbox.clock import Clock
from constructs_lib.sandbox.cloudformation import CloudFormation, registry
from constructs_lib.sandbox.cloudformation.registry import Facts
from constructs_lib.sandbox.cloudformation.resources.base import Made, Request, ResourceError, ResourceType
from constructs_lib.sandbox.cloudformation.stacks import Journal
from constructs_lib.sandbox.context import Context
from constructs_lib.sandbox.errors import ServiceError
from constructs_lib.sandbox.faults import Faults

pytestmark = pytest.mark.slow

KIND = "Test::Thing"


class World(ResourceType):
    """What exists, by physical ID; a call fails where `failures` says so."""

    type = KIND
    attributes = frozenset({"Id"})

    def __init__(self) -> None:
        self.things: dict[str, dict[str, Any]] = {}
        self.failures: Iterator[bool] = iter(())
        self.failed = False
        self._ids = itertools.count(1)

    def _call(self) -> None:
        if next(self.failures, False):
            self.failed = True
            raise ResourceError("refused")

    def create(self, request: Request) -> Made:
        self._call()
        identifier = f"{request.logical_id}{next(self._ids)}"
        self.things[identifier] = request.properties
        request.initiated(identifier)
        self._call()  # a create can fail half-way
        return Made(identifier, {"Id": identifier})

    def update(self, request: Request) -> Made:
        self._call()
        assert request.physical_id in self.things, "an update of something that is gone"
        self.things[request.physical_id] = request.properties
        return Made(request.physical_id, {"Id": request.physical_id})

    def delete(self, request: Request) -> None:
        self._call()
        assert request.physical_id in self.things, "a second delete"
        del self.things[request.physical_id]


class Stack:
    """One stack in a world without a network."""

    def __init__(self) -> None:
        self.world = World()
        context = Context(clock=Clock(60), faults=Faults(), emit=lambda *_: None, client=lambda _: None)
        self.engine = CloudFormation(context)
        self.engine._store.types._types[KIND] = self.world
        self.identifier = ""

    def do(self, action: str, resources: dict[str, Any] | None = None, **more: str) -> str | None:
        params = {"StackName": self.identifier or "stack", **more}
        if resources is not None:
            params["TemplateBody"] = json.dumps({"Resources": resources})
        try:
            answer = ET.fromstring(self.engine.handle(action, params))
        except ServiceError:
            return None
        self.identifier = next((node.text for node in answer.iter() if node.tag.endswith("StackId")), self.identifier)
        return self.engine.wait(self.identifier)

    def lost(self) -> set[str]:
        """What exists and the stack does not know of: what a clean-up gave up on."""
        journal = self.engine._store.find(self.identifier).journal or Journal(stable=None)
        known = {resource.physical_id for resource in [*journal.originals.values(), *journal.leftovers]}
        return self.world.things.keys() - self.owned().keys() - known

    def owned(self) -> dict[str, dict[str, Any]]:
        resources = self.engine._store.find(self.identifier).resources.values()
        return {resource.physical_id: resource.properties for resource in resources if resource.exists}


@pytest.fixture(scope="module", autouse=True)
def _kind() -> Iterator[None]:
    schemas = registry._schemas()
    schemas[KIND] = Facts(properties=("Value", "Key", "Needs"), create_only=("Key",))
    yield
    del schemas[KIND]


@st.composite
def templates(draw: st.DrawFn) -> dict[str, Any]:
    """A template of a few things, each of which may need those before it."""
    names = draw(st.lists(st.sampled_from("ABCD"), min_size=1, max_size=4, unique=True).map(sorted))
    resources = {}
    for index, name in enumerate(names):
        properties: dict[str, Any] = {"Value": draw(st.integers(0, 2)), "Key": draw(st.integers(0, 1))}
        if index and draw(st.booleans()):
            needed = draw(st.sampled_from(names[:index]))
            properties["Needs"] = draw(st.sampled_from([{"Ref": needed}, {"Fn::GetAtt": [needed, "Id"]}]))
        resources[name] = {"Type": KIND, "Properties": properties}
    return resources


FAILURES = st.lists(st.sampled_from([False, False, False, True]), max_size=12)
FIRST = st.one_of(st.just([]), FAILURES)
STEPS = st.lists(
    st.tuples(st.sampled_from(["update", "update", "update", "keep", "roll back", "continue"]), templates(), FAILURES),
    max_size=5,
)


def check_update(stack: Stack, action: str, resources: dict[str, Any], failures: list[bool]) -> None:
    """Do one step and hold what exists against what the stack says."""
    world = stack.world
    before, lost = dict(world.things), stack.lost()
    stable = stack.engine._store.find(stack.identifier).journal is None
    world.failures, world.failed = iter(failures), False
    if action == "roll back":
        status = stack.do("RollbackStack")
    elif action == "continue":
        status = stack.do("ContinueUpdateRollback")
    else:
        more = {"DisableRollback": "true"} if action == "keep" else {}
        status = stack.do("UpdateStack", resources, **more)
    owned = stack.owned()
    if status in ("CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE"):
        assert owned.items() <= world.things.items(), "something the stack lists is missing or different"
    assert world.failed or stack.lost() == lost, "something was left behind"
    if status == "UPDATE_COMPLETE" and action in ("update", "keep"):
        assert set(resources) == {identifier[0] for identifier in owned}
    if status == "UPDATE_ROLLBACK_COMPLETE" and stable:
        assert before.items() <= world.things.items(), "not everything is as it was"


def live(first: dict[str, Any], failures: list[bool], steps: Any) -> None:
    """Live through one history."""
    stack = Stack()
    stack.world.failures = iter(failures)
    more = {"DisableRollback": "true"} if steps and steps[0][0] != "update" else {}
    status = stack.do("CreateStack", first, **more)
    assert status in ("CREATE_COMPLETE", "ROLLBACK_COMPLETE", "ROLLBACK_FAILED", "CREATE_FAILED")
    if status == "ROLLBACK_COMPLETE":
        assert stack.world.things == {}, "a failed create left something behind"
    for step in steps:
        check_update(stack, *step)
    lost = stack.lost()
    stack.world.failures = iter(())
    assert stack.do("DeleteStack") == "DELETE_COMPLETE"
    assert stack.world.things.keys() == lost, "destroy leaves nothing but what a clean-up gave up on"


@settings(max_examples=300, deadline=None)
@given(templates(), FIRST, STEPS)
@example(
    # What a create and an update without roll-back leave half-made goes with the roll-back that follows.
    {"A": {"Type": KIND, "Properties": {"Value": 0, "Key": 0}}},
    [False, True],
    [("keep", {"A": {"Type": KIND, "Properties": {"Value": 1, "Key": 0}}}, [False, True]), ("roll back", {}, [])],
)
def test_the_stack_always_knows_what_exists(first: dict[str, Any], failures: list[bool], steps: Any) -> None:
    live(first, failures, steps)


@pytest.mark.parametrize(
    ("name", "defect"),
    [
        ("replaced", lambda self, resource: self.discard(resource)),
        ("discard", lambda self, resource: None),
    ],
    ids=["a lost original", "a forgotten replacement"],
)
def test_a_planted_defect_is_found(monkeypatch: pytest.MonkeyPatch, name: str, defect: Any) -> None:
    @settings(max_examples=1000, deadline=None, phases=[Phase.generate], report_multiple_bugs=False, database=None)
    @given(templates(), FIRST, STEPS)
    def histories(first: dict[str, Any], failures: list[bool], steps: Any) -> None:
        live(first, failures, steps)

    monkeypatch.setattr(Journal, name, defect)
    with pytest.raises(AssertionError):
        histories()
